//! lcov's tracefile: `SF:` begins a file, `DA:` is one of its lines, `end_of_record` ends it.
//!
//! Written by lcov, grcov, gcovr, cargo-llvm-cov, c8, jest, vitest, node's own test runner and many more. Functions and
//! branches are not read.

use super::error::shown;
use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "lcov",
    recognise: |content| {
        content
            .text()
            .lines()
            .take(2)
            .any(|line| line.starts_with("SF:") || line.starts_with("TN:"))
    },
    read,
};

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let mut open = None;
    for line in content.text().lines().map(str::trim) {
        if line == "end_of_record" {
            open = None;
        } else if let Some(path) = line.strip_prefix("SF:") {
            open = Some(draft.file(&[path]));
        } else if let Some(said) = line.strip_prefix("DA:") {
            let Some(slot) = &open else {
                return Err(CoverageError::malformed(
                    FORMAT.name,
                    "a line stands outside of every file",
                ));
            };
            let (number, ran) = data(said).ok_or_else(|| {
                let what = format!("`DA:{}` is no line and its count", shown(said));
                CoverageError::malformed(FORMAT.name, what)
            })?;
            draft.line(slot, number, ran)?;
        }
    }
    match open {
        None => Ok(()),
        Some(_) => Err(CoverageError::Truncated {
            format: FORMAT.name,
            what: "its last file has no end".into(),
        }),
    }
}

/// `LINE,COUNT` and perhaps a checksum.
fn data(said: &str) -> Option<(i64, bool)> {
    let mut parts = said.split(',');
    let number = parts.next()?.trim().parse().ok()?;
    let count: u64 = parts.next()?.trim().parse().ok()?;
    Some((number, count > 0))
}
