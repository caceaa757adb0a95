//! Advice: from a halt to a verdict, one sentence and the next step (SPEC 4.6).
//!
//! Computed from the same fold as everything else, with the evidence named. The next step is words about
//! the run, not a command line: the face of the program knows how its commands are spelled.

use alloc::format;
use alloc::string::{String, ToString};

use crate::event::halt::HaltReason;
use crate::event::run::Halted;
use crate::facts::Facts;
use crate::phase::closed::resumable;

/// What a person should make of a halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Done,
    RaiseTheLimit,
    DoNotRetry,
    Investigate,
    FixCheck,
    FixSubstrate,
    FixConfig,
    ReviewNeeded,
}

impl Verdict {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::RaiseTheLimit => "raise-the-limit",
            Self::DoNotRetry => "do-not-retry",
            Self::Investigate => "investigate",
            Self::FixCheck => "fix-check",
            Self::FixSubstrate => "fix-substrate",
            Self::FixConfig => "fix-config",
            Self::ReviewNeeded => "review-needed",
        }
    }
}

/// The command that fits next, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Check the receipt offline.
    Replay,
    /// Continue with a raised limit.
    ResumeWithMore,
    /// Continue as it is, after something outside was mended.
    Resume,
    /// Acknowledge, then continue.
    AckThenResume,
    /// Read what happened.
    Report,
    /// Start a new run after a change of the check or the contract.
    RunAnew,
}

/// Verdict, reason and next step of a halt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub verdict: Verdict,
    pub why: String,
    pub next: NextStep,
}

/// The advice for a halted run.
pub fn advise(facts: &Facts, halted: &Halted) -> Advice {
    let (verdict, next) = verdict(facts, halted);
    let next = if matches!(next, NextStep::Resume | NextStep::ResumeWithMore) && !resumable(halted.reason) {
        NextStep::RunAnew
    } else {
        next
    };
    Advice {
        verdict,
        why: why(facts, halted, verdict),
        next,
    }
}

fn verdict(facts: &Facts, halted: &Halted) -> (Verdict, NextStep) {
    use HaltReason as R;
    match halted.reason {
        R::SuccessConditionMet => (Verdict::Done, NextStep::Replay),
        R::MaxIterationsReached if halted.improving => (Verdict::RaiseTheLimit, NextStep::ResumeWithMore),
        R::MaxIterationsReached if !facts.history.measured() => (Verdict::Investigate, NextStep::Report),
        R::MaxIterationsReached => (Verdict::DoNotRetry, NextStep::Report),
        R::BudgetExceeded if halted.improving || !facts.history.measured() => {
            (Verdict::RaiseTheLimit, NextStep::ResumeWithMore)
        }
        R::BudgetExceeded => (Verdict::Investigate, NextStep::Report),
        R::NoProgressDetected | R::CostAnomaly | R::HeartbeatStale | R::ModelDriftDetected => {
            (Verdict::Investigate, NextStep::Report)
        }
        R::SameFailureRepeated
        | R::OscillationDetected
        | R::SameTestRegressed
        | R::UnsatisfiableConstraints
        | R::InfeasibleSuspected => (Verdict::DoNotRetry, NextStep::Report),
        // What moved lies outside of the tree: put back, the run goes on.
        R::CheckFlaky if halted.cause == "resume" => (Verdict::FixCheck, NextStep::Resume),
        R::CheckFlaky
        | R::CheckHasSideEffects
        | R::CheckNotHermetic
        | R::HermeticityViolation
        | R::CheckNotDeterministic
        | R::CheckInadequate => (Verdict::FixCheck, NextStep::RunAnew),
        R::ExecutionFailure if halted.cause.starts_with("check_") => (Verdict::FixCheck, NextStep::Resume),
        R::ExecutionFailure => (Verdict::FixSubstrate, NextStep::Resume),
        R::InternalError => (Verdict::FixSubstrate, NextStep::Report),
        // The disk or the directory failed under a sound contract: mended, the run goes on.
        R::WorkspaceInvalid if halted.cause == "workdir_lost" && facts.t0.is_some() => {
            (Verdict::FixSubstrate, NextStep::Resume)
        }
        R::WorkspaceInvalid | R::IsolationUnsatisfiable | R::CredentialScopeInvalid | R::InvariantFailed => {
            (Verdict::FixConfig, NextStep::RunAnew)
        }
        R::ContextBudgetUnsatisfiable => (Verdict::FixConfig, NextStep::ResumeWithMore),
        R::HumanRequired | R::ComprehensionDebtExceeded | R::EscalationPending | R::NoActionableTasks => {
            (Verdict::ReviewNeeded, NextStep::AckThenResume)
        }
        R::BlockedPathModified
        | R::MetricIntegrityViolation
        | R::RewardHackingDetected
        | R::ObjectiveUnverified
        | R::ReviewerRejected => (Verdict::ReviewNeeded, NextStep::Report),
    }
}

fn why(facts: &Facts, halted: &Halted, verdict: Verdict) -> String {
    let mut why = halted.sentence.clone();
    let tail = match verdict {
        Verdict::RaiseTheLimit => "More of the same is likely to help.".to_string(),
        Verdict::DoNotRetry => {
            "More of the same will not help: change the task, the agent or the check first.".to_string()
        }
        Verdict::ReviewNeeded => "A person should look before anything goes on.".to_string(),
        Verdict::FixCheck => "Until the check is mended no verdict of it can be trusted.".to_string(),
        Verdict::FixSubstrate => "Nothing is said about the work itself.".to_string(),
        Verdict::Investigate => match facts.history.best {
            Some(best) => format!(
                "The smallest failing set was {} at iteration {}.",
                best.failing, best.iteration
            ),
            None => "No runner named its tests, so nobody can tell slow progress from none.".to_string(),
        },
        Verdict::Done | Verdict::FixConfig => String::new(),
    };
    let more = remedy(facts, halted).map_or(tail, ToString::to_string);
    if !more.is_empty() {
        why.push(' ');
        why.push_str(&more);
    }
    why
}

/// What a person can do about this very cause, where its reason alone does not say it.
fn remedy(facts: &Facts, halted: &Halted) -> Option<&'static str> {
    let shows_red = || facts.members.iter().any(|(_, status)| status.fails());
    match (halted.reason, halted.cause.as_str()) {
        (_, "protected_manifest" | "blocked_paths" | "determinant_files" | "surface_drift") => Some(
            "A person should look; a file that the work is meant to change is exempted in a new run with --allow PATH.",
        ),
        (HaltReason::CheckInadequate, "artefact_consistency") if shows_red() => Some(
            "Its exit status has to be that of the runner: take off what hides it, or keep a pipe with --pipefail.",
        ),
        (HaltReason::CheckFlaky, "resume") => {
            Some("If something outside of the tree changed since the life before, put it back and resume.")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::id::{Digest, Stamp};
    use crate::event::policy::Policy;
    use crate::event::run::RunOpened;

    fn facts() -> Facts {
        let opened = RunOpened {
            at: Stamp::default(),
            run_id: "r".into(),
            engine: "0".into(),
            workdir: "/w".into(),
            boot_id: String::new(),
            policy_digest: Digest::ZERO,
            policy: Policy::default(),
            origins: [].into(),
            programs: [].into(),
            probe: None,
            zones: [].into(),
        };
        *crate::State::open(opened).facts
    }

    fn halted(reason: HaltReason, cause: &str, improving: bool) -> Halted {
        Halted {
            iteration: 1,
            reason,
            cause: cause.into(),
            sentence: reason.row().sentence.into(),
            tree: Digest::ZERO,
            accepted: None,
            improving,
        }
    }

    #[test]
    fn every_reason_has_advice_with_a_sentence() {
        for reason in HaltReason::ALL {
            let advice = advise(&facts(), &halted(*reason, "", false));
            assert!(advice.why.ends_with('.'), "{reason}: {}", advice.why);
            let done = advice.verdict == Verdict::Done;
            assert_eq!(done, *reason == HaltReason::SuccessConditionMet, "{reason}");
        }
    }

    #[test]
    fn a_cap_while_improving_is_a_limit_to_raise_and_a_stalled_one_is_not() {
        let improving = advise(&facts(), &halted(HaltReason::MaxIterationsReached, "", true));
        assert_eq!(
            (improving.verdict, improving.next),
            (Verdict::RaiseTheLimit, NextStep::ResumeWithMore)
        );
        let mut measured = facts();
        measured.history.first = Some(crate::progress::Best {
            failing: 3,
            iteration: 0,
        });
        let stalled = advise(&measured, &halted(HaltReason::MaxIterationsReached, "", false));
        assert_eq!(stalled.verdict, Verdict::DoNotRetry);
    }

    #[test]
    fn a_broken_check_is_told_apart_from_a_broken_agent() {
        let check = advise(&facts(), &halted(HaltReason::ExecutionFailure, "check_killed", false));
        let agent = advise(
            &facts(),
            &halted(HaltReason::ExecutionFailure, "work_command_failed", false),
        );
        assert_eq!(
            (check.verdict, agent.verdict),
            (Verdict::FixCheck, Verdict::FixSubstrate)
        );
    }

    #[test]
    fn a_workdir_that_failed_under_a_run_is_mended_and_the_run_resumed() {
        let mut begun = facts();
        begun.t0 = Some(Digest::ZERO);
        let advice = advise(&begun, &halted(HaltReason::WorkspaceInvalid, "workdir_lost", false));
        assert_eq!((advice.verdict, advice.next), (Verdict::FixSubstrate, NextStep::Resume));
        let never = advise(&facts(), &halted(HaltReason::WorkspaceInvalid, "workdir_lost", false));
        assert_eq!(never.verdict, Verdict::FixConfig);
    }

    #[test]
    fn a_halt_over_a_watched_file_says_how_it_can_be_exempted() {
        for (reason, cause) in [
            (HaltReason::MetricIntegrityViolation, "protected_manifest"),
            (HaltReason::BlockedPathModified, "blocked_paths"),
            (HaltReason::MetricIntegrityViolation, "surface_drift"),
        ] {
            let advice = advise(&facts(), &halted(reason, cause, false));
            assert!(advice.why.contains("--allow PATH"), "{}", advice.why);
        }
        let lost = advise(
            &facts(),
            &halted(HaltReason::MetricIntegrityViolation, "collected_set", false),
        );
        assert!(!lost.why.contains("--allow"), "{}", lost.why);
    }

    #[test]
    fn a_check_that_moved_between_two_lives_is_put_back_and_the_run_resumed() {
        let moved = advise(&facts(), &halted(HaltReason::CheckFlaky, "resume", false));
        assert_eq!((moved.verdict, moved.next), (Verdict::FixCheck, NextStep::Resume));
        let flaky = advise(&facts(), &halted(HaltReason::CheckFlaky, "recheck", false));
        assert_eq!(flaky.next, NextStep::RunAnew);
    }

    #[test]
    fn nobody_is_told_to_resume_what_cannot_be_resumed() {
        for reason in HaltReason::ALL.iter().filter(|r| !resumable(**r)) {
            let next = advise(&facts(), &halted(*reason, "", true)).next;
            assert!(!matches!(next, NextStep::Resume | NextStep::ResumeWithMore), "{reason}");
        }
    }
}
