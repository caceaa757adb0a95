//! Why a report of coverage says nothing.

use std::fmt;

/// A report that is there and cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoverageError {
    Empty,
    TooLarge {
        limit_bytes: usize,
    },
    /// In no format that is known.
    Unknown,
    Truncated {
        format: &'static str,
        what: String,
    },
    Malformed {
        format: &'static str,
        what: String,
    },
    /// More lines than any report needs.
    TooMany {
        format: &'static str,
        limit: usize,
    },
    /// No file that it names is one of the tree.
    Elsewhere {
        format: &'static str,
        first: String,
    },
}

/// How much of a text out of the report is shown.
const SHOWN_CHARS: usize = 120;

impl CoverageError {
    /// Of a report that is no JSON, or only the beginning of some.
    pub(super) fn json(error: serde_json::Error) -> Self {
        let (format, what) = ("JSON", error.to_string());
        match error.is_eof() {
            true => Self::Truncated { format, what },
            false => Self::Malformed { format, what },
        }
    }

    pub(super) fn malformed(format: &'static str, what: impl Into<String>) -> Self {
        Self::Malformed {
            format,
            what: what.into(),
        }
    }
}

/// The beginning of an untrusted text, on one line.
pub(super) fn shown(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(SHOWN_CHARS).collect()
}

impl fmt::Display for CoverageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the coverage report is empty"),
            Self::TooLarge { limit_bytes } => write!(
                f,
                "the coverage report is larger than the {limit_bytes} bytes that are read; let it be about the product alone"
            ),
            Self::Unknown => f.write_str(
                "the coverage report is in no format that is read: write coverage.py JSON, Cobertura XML, lcov, \
                 llvm-cov JSON, a Go profile or istanbul JSON",
            ),
            Self::Truncated { format, what } => write!(f, "the coverage report ({format}) breaks off: {what}"),
            Self::Malformed { format, what } => write!(f, "the coverage report ({format}) cannot be read: {what}"),
            Self::TooMany { format, limit } => {
                write!(f, "the coverage report ({format}) names more than {limit} lines")
            }
            Self::Elsewhere { format, first } => write!(
                f,
                "the coverage report ({format}) names no file of the tree; the first that it names is {first:?}"
            ),
        }
    }
}

impl std::error::Error for CoverageError {}
