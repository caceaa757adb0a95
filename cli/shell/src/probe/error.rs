//! Why a check could not be probed.

use std::fmt;

use engine::event::halt::HaltReason;

use crate::scratch::ScratchError;
use crate::session::RunError;

/// What stands in the way; a check that disagrees is no error but a result.
#[derive(Debug)]
pub enum ProbeError {
    Scratch(ScratchError),
    Run(RunError),
    /// A signal ended it. Nothing is left of it.
    Interrupted {
        signal: i32,
    },
}

impl ProbeError {
    /// The halt reason whose class the exit code takes.
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::Run(error) => error.reason(),
            Self::Scratch(_) | Self::Interrupted { .. } => HaltReason::WorkspaceInvalid,
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scratch(error) => error.fmt(f),
            Self::Run(error) => write!(f, "the check could not be probed: {error}"),
            Self::Interrupted { signal } => write!(
                f,
                "the probe was interrupted by signal {signal}; its copies are removed and nothing else was touched"
            ),
        }
    }
}

impl std::error::Error for ProbeError {}

impl From<ScratchError> for ProbeError {
    fn from(error: ScratchError) -> Self {
        Self::Scratch(error)
    }
}

impl From<RunError> for ProbeError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
