//! Why a verdict could not be replayed.

use std::fmt;

use engine::event::halt::HaltReason;

use crate::lock::LockError;
use crate::record::RecordError;
use crate::scratch::ScratchError;
use crate::session::RunError;
use crate::tree::TreeError;

/// What stands in the way; a verdict that differs is no error but a result.
#[derive(Debug)]
pub enum ReplayError {
    Record(RecordError),
    Lock(LockError),
    Tree(TreeError),
    Run(RunError),
    /// Nothing was executed.
    NotVerified {
        why: String,
    },
    /// No check of this run came to an exit status.
    NothingToReplay,
    Scratch(ScratchError),
    /// A signal cut the check short.
    Interrupted {
        signal: i32,
    },
}

impl ReplayError {
    /// The halt reason whose class the exit code takes.
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::NotVerified { .. } | Self::NothingToReplay => HaltReason::ObjectiveUnverified,
            // The recorded tree is part of the evidence.
            Self::Tree(TreeError::NotStored { .. } | TreeError::BlobMissing { .. }) => HaltReason::ObjectiveUnverified,
            Self::Record(error) => error.reason(),
            Self::Run(error) => error.reason(),
            Self::Lock(_) | Self::Tree(_) | Self::Scratch(_) | Self::Interrupted { .. } => HaltReason::WorkspaceInvalid,
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Tree(error) => write!(f, "the recorded tree cannot be laid out: {error}"),
            Self::Run(error) => write!(f, "the recorded check could not be run: {error}"),
            Self::NotVerified { why } => {
                write!(f, "the journal does not verify, so nothing of it was executed: {why}")
            }
            Self::NothingToReplay => {
                f.write_str("no check of this run came to an exit status, so there is no verdict to replay")
            }
            Self::Interrupted { signal } => {
                write!(f, "the replay was interrupted by signal {signal}; nothing was changed")
            }
            Self::Scratch(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for ReplayError {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    RecordError => Record,
    LockError => Lock,
    TreeError => Tree,
    RunError => Run,
    ScratchError => Scratch,
}
