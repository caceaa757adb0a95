//! A command that could not do what it was asked: one sentence and the class of its exit code.

use engine::event::halt::HaltReason;
use shell::config::ConfigError;
use shell::doctor::DoctorError;
use shell::lock::LockError;
use shell::paths::PathError;
use shell::probe::ProbeError;
use shell::probe::kept::KeptError;
use shell::record::{AckError, RecordError};
use shell::replay::ReplayError;
use shell::session::RunError;
use shell::tree::TreeError;

/// Exit code of a wrong command line.
pub(crate) const USAGE: u8 = 2;

/// What went wrong, to what, and what to do: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: u8,
    /// Absent for usage errors.
    pub(crate) reason: Option<HaltReason>,
    /// Finer than the reason (SPEC 4.2.1); empty when there is nothing finer.
    pub(crate) cause: &'static str,
    pub(crate) message: String,
}

impl Failure {
    /// The command line is wrong and nothing was started.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: USAGE,
            reason: None,
            cause: "",
            message: message.into(),
        }
    }

    pub(crate) fn of(reason: HaltReason, cause: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit: reason.exit_code(),
            reason: Some(reason),
            cause,
            message: message.into(),
        }
    }

    /// Cut short by a signal: as a shell would say it.
    pub(crate) fn interrupted(signal: i32, message: impl Into<String>) -> Self {
        Self {
            exit: u8::try_from(128 + signal).unwrap_or(u8::MAX),
            reason: None,
            cause: "",
            message: message.into(),
        }
    }

    /// Something about the files of the workspace.
    pub(crate) fn workspace(message: impl Into<String>) -> Self {
        Self::of(HaltReason::WorkspaceInvalid, "", message)
    }

    /// A file operation of a command.
    pub(crate) fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::workspace(format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let class = error.class();
        let cause = match (class.reason(), &error.fault) {
            (Some(HaltReason::WorkspaceInvalid), shell::config::Fault::NoCheck) => "check_missing",
            (
                Some(HaltReason::WorkspaceInvalid),
                shell::config::Fault::Unpinned { .. } | shell::config::Fault::UnreadContext { .. },
            ) => "pin_missing",
            (Some(HaltReason::WorkspaceInvalid), _) => "configuration_invalid",
            (Some(HaltReason::InvariantFailed), shell::config::Fault::BadMoney { .. }) => "money_invalid",
            (Some(HaltReason::InvariantFailed), _) => "bound_invalid",
            _ => "",
        };
        Self {
            exit: class.exit_code(),
            reason: class.reason(),
            cause,
            message: error.to_string(),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::of(HaltReason::WorkspaceInvalid, path_cause(&error), path_message(&error))
    }
}

fn path_cause(error: &PathError) -> &'static str {
    match error {
        PathError::BadRunId { .. } => "run_id_invalid",
        PathError::RunExists { .. } => "run_id_used",
        PathError::Io {
            doing: "find the workdir",
            ..
        }
        | PathError::NotADirectory { .. } => "workdir_invalid",
        PathError::SymbolicLink { .. } | PathError::ForeignOwner { .. } => "state_directory_invalid",
        _ => "",
    }
}

fn path_message(error: &PathError) -> String {
    match error {
        PathError::BadRunId { .. } => format!("invalid --run-id: {error}"),
        _ => error.to_string(),
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let cause = match &error {
            LockError::Held { .. } => "locked",
            _ => "state_directory_invalid",
        };
        Self::of(HaltReason::WorkspaceInvalid, cause, error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Path(error) => error.into(),
            RecordError::Lock(error) => error.into(),
            other => Self::of(other.reason(), "", other.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Path(error) => error.into(),
            RunError::Lock(error) => error.into(),
            RunError::StillRunning { .. } => Self::of(error.reason(), "leftover_processes", error.to_string()),
            other => Self::of(other.reason(), "", other.to_string()),
        }
    }
}

impl From<AckError> for Failure {
    fn from(error: AckError) -> Self {
        match error {
            AckError::Record(error) => error.into(),
            AckError::Lock(error) => error.into(),
            other => Self::of(other.reason(), "", other.to_string()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Record(error) => error.into(),
            ReplayError::Lock(error) => error.into(),
            ReplayError::Run(error) => error.into(),
            // Nothing is wrong with the run.
            ReplayError::Interrupted { signal } => Self::interrupted(signal, error.to_string()),
            other => {
                let cause = match &other {
                    ReplayError::NotVerified { .. } => "journal_not_verified",
                    _ => "",
                };
                Self::of(other.reason(), cause, other.to_string())
            }
        }
    }
}

impl From<KeptError> for Failure {
    fn from(error: KeptError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Run(error) => error.into(),
            ProbeError::Interrupted { signal } => Self::interrupted(signal, error.to_string()),
            ProbeError::Scratch(ref why) if why.is_about_the_source() => {
                Self::of(error.reason(), "workdir_invalid", error.to_string())
            }
            ProbeError::Scratch(_) => Self::of(error.reason(), "", error.to_string()),
        }
    }
}

impl From<DoctorError> for Failure {
    fn from(error: DoctorError) -> Self {
        match error {
            DoctorError::Run(error) => error.into(),
            DoctorError::Interrupted { signal } => Self::interrupted(signal, error.to_string()),
            DoctorError::Scratch(ref why) if why.is_about_the_source() => {
                Self::of(error.reason(), "workdir_invalid", error.to_string())
            }
            DoctorError::Scratch(_) => Self::of(error.reason(), "", error.to_string()),
        }
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        Self::workspace(error.to_string())
    }
}

impl From<journal::Error> for Failure {
    fn from(error: journal::Error) -> Self {
        RecordError::Journal(error).into()
    }
}
