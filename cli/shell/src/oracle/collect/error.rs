//! Why a run could not be measured.

use std::fmt;

/// A run without a usable artefact. Together with exit 0 this is a finding, never a green.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectError {
    /// The artefact is not there.
    Absent {
        collector: &'static str,
        what: &'static str,
    },
    /// The artefact is there and is not what it should be.
    Malformed {
        collector: &'static str,
        what: String,
        line: Option<usize>,
    },
    /// The artefact breaks off.
    Truncated { collector: &'static str, what: String },
    /// The artefact is larger than a collector reads.
    TooLarge {
        collector: &'static str,
        size_bytes: usize,
        limit_bytes: usize,
    },
    /// The runner did not start because of what was injected; the same run with
    /// [`light`](super::InjectRequest::light) set may.
    InjectionRefused {
        collector: &'static str,
        what: &'static str,
    },
}

impl CollectError {
    /// Of a report that is no JSON, or only the beginning of some.
    pub(super) fn json(collector: &'static str, error: &serde_json::Error) -> Self {
        if error.is_eof() {
            return Self::Truncated {
                collector,
                what: error.to_string(),
            };
        }
        Self::Malformed {
            collector,
            what: error.to_string(),
            line: Some(error.line()),
        }
    }
}

impl fmt::Display for CollectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { collector, what } => write!(
                f,
                "the check left no {what} for the {collector} collector to read; \
                 if it does not run {collector}, choose another one with --collector"
            ),
            Self::Malformed {
                collector,
                what,
                line: Some(line),
            } => {
                write!(
                    f,
                    "the {collector} collector could not read the check's report at line {line}: {what}"
                )
            }
            Self::Malformed {
                collector,
                what,
                line: None,
            } => {
                write!(f, "the {collector} collector could not read the check's report: {what}")
            }
            Self::Truncated { collector, what } => {
                write!(f, "the check's report for the {collector} collector breaks off: {what}")
            }
            Self::TooLarge {
                collector,
                size_bytes,
                limit_bytes,
            } => write!(
                f,
                "the check's report for the {collector} collector has {size_bytes} bytes and at most {limit_bytes} are read"
            ),
            Self::InjectionRefused { collector, what } => {
                write!(f, "{collector} did not start with the injected reporter: {what}")
            }
        }
    }
}

impl std::error::Error for CollectError {}
