//! Line coverage, as the tool that measured it reports it (SPEC 5.6.7).
//!
//! ```text
//!   bytes --what is in them--> Format --read--> Draft --settled--> Coverage { file -> lines that can run, ran or not }
//!                                                 \ paths --Names--> files of the tree; all others are left out
//! ```
//!
//! A format is one file and one line in `ALL`. Whoever runs in the process that is measured can bend the report, so
//! reading is total: any bytes give a coverage or a [`CoverageError`], within `LIMITS`. What a line that did not run is
//! worth is not said here.

mod cobertura;
mod coverage_py;
pub(crate) mod delta;
mod draft;
mod error;
mod go;
mod istanbul;
mod lcov;
mod llvm;
mod names;
mod source;
mod v8;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use draft::Draft;
pub use error::CoverageError;
pub use names::Names;
pub(crate) use source::Source;

/// What no report needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) report_bytes: usize,
    /// A line with a higher number is none that anybody wrote.
    line: u64,
    /// Lines that are named in all, as often as they are named.
    lines: usize,
}

pub(crate) const LIMITS: Limits = Limits {
    report_bytes: 64 << 20,
    line: 16_777_216,
    lines: 8_000_000,
};

/// One format.
#[derive(Debug)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    recognise: fn(&Content<'_>) -> bool,
    read: fn(&Content<'_>, &mut Draft<'_>) -> Result<(), CoverageError>,
}

/// Every format, by name.
pub(crate) static ALL: &[&Format] = &[
    &cobertura::FORMAT,
    &coverage_py::FORMAT,
    &go::FORMAT,
    &istanbul::FORMAT,
    &lcov::FORMAT,
    &llvm::FORMAT,
];

/// A report, as far as every format has to take it apart.
#[derive(Debug)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Json(Value),
}

impl Content<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Json(_) => "",
        }
    }

    /// A member of the object that the report is.
    fn member(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Text(_) => None,
            Self::Json(value) => value.get(name),
        }
    }
}

/// Which lines can run, and which of them ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Of its format.
    pub format: &'static str,
    /// By their paths in the tree.
    pub files: BTreeMap<String, Lines>,
}

/// The lines of one file, counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Sorted, each once: the line, and whether it ran.
    can_run: Vec<(u32, bool)>,
    /// Sorted: what the tool was told to leave out, where the format says so.
    excluded: Vec<u32>,
}

/// What a report says of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    Ran,
    DidNotRun,
    /// It could run, and whoever measured was told to leave it out.
    Excluded,
    /// Nothing: a blank line, a comment, a part of a longer statement.
    Unknown,
}

impl Lines {
    pub fn state(&self, line: u32) -> LineState {
        if let Ok(at) = self.can_run.binary_search_by_key(&line, |(known, _)| *known) {
            return match self.can_run[at].1 {
                true => LineState::Ran,
                false => LineState::DidNotRun,
            };
        }
        match self.excluded.binary_search(&line) {
            Ok(_) => LineState::Excluded,
            Err(_) => LineState::Unknown,
        }
    }

    /// Lines that can run, and whether they did.
    pub fn can_run(&self) -> impl Iterator<Item = (u32, bool)> {
        self.can_run.iter().copied()
    }
}

impl Coverage {
    /// Joins what another process of the same run reported: a line ran if it ran in any.
    pub fn join(&mut self, other: Self) {
        self.format = other.format;
        for (path, more) in other.files {
            let lines = self.files.entry(path).or_default();
            lines.can_run.extend(more.can_run);
            lines.excluded.extend(more.excluded);
            draft::settle(lines);
        }
    }
}

/// Reads a report of any format; `names` are the files of the tree that was measured.
///
/// # Errors
/// When it is too large, in no format that is known, broken, or about no file of the tree.
pub fn read(bytes: &[u8], names: &Names) -> Result<Coverage, CoverageError> {
    if bytes.len() > LIMITS.report_bytes {
        return Err(CoverageError::TooLarge {
            limit_bytes: LIMITS.report_bytes,
        });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    let content = match bytes.first() {
        None => return Err(CoverageError::Empty),
        Some(b'{' | b'[') => Content::Json(serde_json::from_slice(bytes).map_err(CoverageError::json)?),
        Some(_) => Content::Text(String::from_utf8_lossy(bytes)),
    };
    let format = ALL.iter().find(|format| (format.recognise)(&content));
    let format = format.ok_or(CoverageError::Unknown)?;
    let mut draft = Draft::new(format.name, names, LIMITS);
    (format.read)(&content, &mut draft)?;
    draft.settled()
}

#[cfg(test)]
mod tests;
