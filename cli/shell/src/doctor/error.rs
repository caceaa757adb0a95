//! Why an examination did not come to its end.

use std::fmt;

use engine::event::halt::HaltReason;

use crate::scratch::ScratchError;
use crate::session::RunError;

/// What stands in the way; what is wrong with the project is no error but a finding.
#[derive(Debug)]
pub enum DoctorError {
    Scratch(ScratchError),
    Run(RunError),
    /// A signal ended it. Nothing is left of it.
    Interrupted {
        signal: i32,
    },
}

impl DoctorError {
    /// The halt reason whose class the exit code takes.
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::Run(error) => error.reason(),
            Self::Scratch(_) | Self::Interrupted { .. } => HaltReason::WorkspaceInvalid,
        }
    }
}

impl fmt::Display for DoctorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scratch(error) => error.fmt(f),
            Self::Run(error) => write!(f, "the examination could not go on: {error}"),
            Self::Interrupted { signal } => write!(
                f,
                "the examination was interrupted by signal {signal}; nothing was changed and nothing is left of it"
            ),
        }
    }
}

impl std::error::Error for DoctorError {}

impl From<ScratchError> for DoctorError {
    fn from(error: ScratchError) -> Self {
        Self::Scratch(error)
    }
}

impl From<RunError> for DoctorError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
