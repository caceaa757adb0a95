//! Why a life of a run could not begin or could not keep its record.

use std::fmt;
use std::io;
use std::path::PathBuf;

use engine::event::halt::HaltReason;

use crate::lock::LockError;
use crate::paths::PathError;
use crate::process::ProcessError;
use crate::tree::TreeError;

/// Nothing is halted by these: a halt is an event, and these are the cases in which none could be written.
#[derive(Debug)]
pub enum RunError {
    Path(PathError),
    Lock(LockError),
    Journal(journal::Error),
    Tree(TreeError),
    Process(ProcessError),
    Io {
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// Nothing is left to work on, and nothing to write to.
    WorkdirRemoved {
        workdir: PathBuf,
    },
    /// The workdir has no run (of this name).
    NoRun {
        workdir: PathBuf,
    },
    /// The governor of the run died before the first event was durable.
    NeverBegan {
        run_id: String,
    },
    /// The run ended for a reason that forbids going on.
    NotResumable {
        run_id: String,
        reason: HaltReason,
    },
    /// A process of an earlier life ignores even SIGKILL.
    StillRunning {
        pid: u32,
        command: String,
    },
    /// A key of an earlier life may still be good.
    KeyNotRevoked {
        label: String,
        why: String,
    },
    /// The journal and the machine disagree: a bug, or tampering.
    Illegal {
        seq: u64,
        why: String,
    },
    Unsupported,
}

impl RunError {
    /// The halt reason whose class the exit code takes.
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::Path(_) | Self::Lock(_) | Self::Tree(_) | Self::Io { .. } => HaltReason::WorkspaceInvalid,
            Self::WorkdirRemoved { .. } | Self::NeverBegan { .. } | Self::NoRun { .. } => HaltReason::WorkspaceInvalid,
            Self::Journal(error) => journal_reason(error),
            Self::NotResumable { reason, .. } => *reason,
            Self::Illegal { .. } | Self::StillRunning { .. } => HaltReason::ObjectiveUnverified,
            Self::KeyNotRevoked { .. } => HaltReason::CredentialScopeInvalid,
            Self::Process(_) | Self::Unsupported => HaltReason::InternalError,
        }
    }
}

/// Damage is an integrity matter, anything else one of the workspace.
fn journal_reason(error: &journal::Error) -> HaltReason {
    match error {
        journal::Error::Corrupt(_) | journal::Error::RolledBack { .. } => HaltReason::ObjectiveUnverified,
        _ => HaltReason::WorkspaceInvalid,
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Tree(error) => error.fmt(f),
            Self::Process(error) => error.fmt(f),
            Self::Io { doing, path, error } => write!(f, "could not {doing} {}: {error}", path.display()),
            Self::WorkdirRemoved { workdir } => write!(
                f,
                "the workdir {} was removed while the run was at work, and the record of the run with it; \
                 restore it from a copy, or start again in a new one",
                workdir.display()
            ),
            Self::NoRun { workdir } => {
                write!(
                    f,
                    "no recorded run state in {}; start one with `loopexec run`",
                    workdir.display()
                )
            }
            Self::NeverBegan { run_id } => write!(
                f,
                "run {run_id} was ended before its first event, so there is nothing to go on with; \
                 start a new one with `loopexec run`"
            ),
            Self::NotResumable { run_id, reason } => write!(
                f,
                "run {run_id} ended with {reason} and is not continued; start a new one with `loopexec run`"
            ),
            Self::StillRunning { pid, command } => write!(
                f,
                "process {pid} of an earlier run could not be ended ({command}) and may still write, so nothing that is \
                 measured beside it can be trusted; find out what it waits for, or restart the machine"
            ),
            Self::KeyNotRevoked { label, why } => write!(
                f,
                "the key {label} of an earlier life may still be good, and no other is made beside it: {why}; see to that \
                 and resume again, or wait until its time to live is over"
            ),
            Self::Illegal { seq, why } => write!(
                f,
                "event {seq} of the journal is not one that this run could have recorded ({why}); \
                 `loopexec verify` says more"
            ),
            Self::Unsupported => f.write_str("not available on this platform"),
        }
    }
}

impl std::error::Error for RunError {}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for RunError {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}

from! {
    PathError => Path,
    LockError => Lock,
    journal::Error => Journal,
    TreeError => Tree,
    ProcessError => Process,
}

impl RunError {
    /// An event that the machine refuses.
    pub(super) fn illegal(seq: u64, illegal: &engine::Illegal) -> Self {
        Self::Illegal {
            seq,
            why: illegal.to_string(),
        }
    }
}
