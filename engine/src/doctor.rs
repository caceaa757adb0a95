//! What an examination before a run says (SPEC 2.5): findings, and the reason that follows from them.
//!
//! ```text
//!   one look, one concern --> Finding { severity, subject, detail, remedy } --> judge --> reason and cause
//! ```
//!
//! A finding that is a problem carries the reason that a run would halt with, or that it would be refused with.

use alloc::string::String;

use crate::event::halt::HaltReason;

/// Reason and cause (SPEC 4.2.1).
pub type Fault = (HaltReason, &'static str);

/// There is nothing that decides.
pub const CHECK_MISSING: Fault = (HaltReason::WorkspaceInvalid, "check_missing");
/// The exit status of the check is not that of what it runs.
pub const EXIT_MASKED: Fault = (HaltReason::CheckInadequate, "exit_masked");
/// Two tests that nobody can satisfy together.
pub const CONTRADICTORY: Fault = (HaltReason::UnsatisfiableConstraints, "contradictory_assertions");
/// A program of the check is not there, or cannot be run.
pub const CHECK_NOT_FOUND: Fault = (HaltReason::ExecutionFailure, "check_not_found");
pub const CHECK_NOT_EXECUTABLE: Fault = (HaltReason::ExecutionFailure, "check_not_executable");
/// A program of the work command is not there, or cannot be run.
pub const EXEC_NOT_FOUND: Fault = (HaltReason::ExecutionFailure, "exec_not_found");
pub const EXEC_NOT_EXECUTABLE: Fault = (HaltReason::ExecutionFailure, "exec_not_executable");
/// The state directory is not private, or not loopexec's.
pub const STATE_INVALID: Fault = (HaltReason::WorkspaceInvalid, "state_directory_invalid");
/// A recorded history is damaged.
pub const HISTORY_DAMAGED: Fault = (HaltReason::ObjectiveUnverified, "journal_not_verified");
/// There is no room to work in, or no right to.
pub const NO_ROOM: Fault = (HaltReason::WorkspaceInvalid, "workdir_invalid");
/// A guard could not say anything, and so nothing could be green.
pub const GUARD_BLIND: Fault = (HaltReason::ObjectiveUnverified, "guard_unavailable");
/// The signing key lies where the work reaches it, or others do, or cannot be read.
pub const KEY_UNUSABLE: Fault = (HaltReason::WorkspaceInvalid, "key_unusable");
/// Processes of an earlier run are at work and nobody governs them.
pub const LEFT_RUNNING: Fault = (HaltReason::ObjectiveUnverified, "leftover_processes");

/// A key of an earlier run is good, and nobody could change that.
pub const KEY_LEFT: Fault = (HaltReason::CredentialScopeInvalid, "credential_not_revocable");

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing follows from it.
    Note,
    /// A run would be refused, would halt, or could not be believed.
    Problem(Fault),
}

impl Severity {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem(_) => "problem",
        }
    }

    pub const fn fault(self) -> Option<Fault> {
        match self {
            Self::Ok | Self::Note => None,
            Self::Problem(fault) => Some(fault),
        }
    }
}

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the concern that it belongs to.
    pub concern: &'static str,
    pub severity: Severity,
    /// The file, command or variable that it is about.
    pub subject: String,
    pub detail: String,
    /// What to do; empty when there is nothing to do.
    pub remedy: String,
}

/// The reason and cause of an examination: those of the first problem, in the order of the concerns.
pub fn judge(findings: &[Finding]) -> Option<Fault> {
    findings.iter().find_map(|finding| finding.severity.fault())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            concern: "any",
            severity,
            subject: String::new(),
            detail: String::new(),
            remedy: String::new(),
        }
    }

    #[test]
    fn the_first_problem_gives_the_reason_and_notes_give_none() {
        let (ok, note) = (finding(Severity::Ok), finding(Severity::Note));
        assert_eq!(judge(&[]), None);
        assert_eq!(judge(&[ok.clone(), note.clone()]), None);
        let problems = [EXIT_MASKED, KEY_UNUSABLE].map(|fault| finding(Severity::Problem(fault)));
        let [masked, exposed] = problems;
        assert_eq!(judge(&[note, masked.clone(), ok, exposed.clone()]), Some(EXIT_MASKED));
        assert_eq!(judge(&[exposed, masked]), Some(KEY_UNUSABLE));
    }
}
