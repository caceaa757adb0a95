//! Whether a check can turn red, from runs of it in fresh copies (SPEC 6.6).
//!
//! A control run comes first: nothing that was changed in a copy says anything unless the unchanged copy was green.

use alloc::format;
use alloc::string::String;

use crate::doctor::Fault;
use crate::effect::Reading;
use crate::event::halt::HaltReason;
use crate::event::measurement::{ReportState, RunOutcome, StopCause};
use crate::members::CHECK;
use crate::probe::verdict::reason_of;
use crate::probe::{Class, Verdict};
use crate::words::counted;

/// The artefact of a green check contradicts it, or shows no test at all.
pub const ARTEFACT: Fault = (HaltReason::CheckInadequate, "artefact_consistency");
/// Product code was changed and the check stayed green.
pub const SURVIVED: Fault = (HaltReason::CheckInadequate, "code_mutant_survived");
/// A changed line that can run is run by no test.
pub const UNCOVERED: Fault = (HaltReason::CheckInadequate, "changed_lines_uncovered");
/// The operator's mutation did not do what it is for.
pub const MUTATION_FAILED: Fault = (HaltReason::ExecutionFailure, "mutation_failed");
/// Why a red run says nothing: what was changed cannot be built or loaded.
const NO_TEST_RAN: &str = "no test ran";

/// What the unchanged copy showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Green, with so many concluded tests where a runner is read.
    Green(Option<u64>),
    /// Red: nothing can be said about changes. The first failing members.
    Untested(String),
    /// It cannot be believed, or came to no verdict.
    Fault(Fault, String),
}

/// Judges the control run.
pub fn control(verdict: &Verdict, reading: &Reading) -> Control {
    let is_read = !reading.collector.is_empty();
    let concluded = is_read.then(|| reading.concluded.unwrap_or(reading.members.len() as u64));
    match &verdict.class {
        Class::Broken { cause, detail } => Control::Fault((reason_of(cause), cause), detail.clone()),
        Class::Red | Class::Green if is_read && reading.complete && reading.finished && concluded == Some(0) => {
            Control::Fault(ARTEFACT, "the check came to its end without running a test".into())
        }
        Class::Red => Control::Untested(failing(verdict)),
        Class::Green => match contradiction(verdict, reading, is_read) {
            Some(why) => Control::Fault(ARTEFACT, why),
            None => Control::Green(concluded),
        },
    }
}

fn failing(verdict: &Verdict) -> String {
    match verdict.failing.as_slice() {
        [] => "the check is red".into(),
        [only] if only == CHECK => "the check is red".into(),
        [first, ..] => format!(
            "{} failing, {first} first",
            counted(verdict.failing.len() as u64, "test")
        ),
    }
}

/// Why a green exit and its artefact cannot both be true.
fn contradiction(verdict: &Verdict, reading: &Reading, is_read: bool) -> Option<String> {
    if !verdict.failing.is_empty() {
        return Some(format!("the check exited green with {}", failing(verdict)));
    }
    if let Some(why) = reading.contradictions.first() {
        return Some(why.clone());
    }
    match reading.report {
        ReportState::Stale | ReportState::Absent | ReportState::Malformed => {
            return Some(format!("its report is {}", reading.report.label()));
        }
        ReportState::NotUsed | ReportState::Fresh => {}
    }
    match (reading.announced, reading.concluded) {
        (Some(announced), Some(concluded)) if concluded < announced => Some(format!(
            "{} announced and only {concluded} concluded",
            counted(announced, "test")
        )),
        _ if is_read && !reading.finished => Some("the runner never said that it came to its end".into()),
        _ => None,
    }
}

/// How a change fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The check noticed it: red, or out of time.
    Killed,
    /// The check stayed green.
    Survived,
    /// The check came to no verdict; the cause says why.
    Unjudged(&'static str),
}

impl Fate {
    /// `shows_tests`: the unchanged copy did.
    pub fn of(verdict: &Verdict, shows_tests: bool) -> Self {
        match &verdict.class {
            Class::Green if verdict.failing.is_empty() => Self::Survived,
            Class::Green => Self::Killed,
            Class::Red if shows_tests && verdict.collected.is_empty() => Self::Unjudged(NO_TEST_RAN),
            Class::Red => Self::Killed,
            // A change that never ends was noticed by whoever waits for it.
            Class::Broken { cause, .. } if cause.ends_with("_exceeded") => Self::Killed,
            Class::Broken { cause, .. } => Self::Unjudged(cause),
        }
    }

    /// The same of a run in a copy, by how it ended. `fails`: a member is shown as failing. `shown`: there are tests among
    /// what it shows, or the check never shows any; a program that cannot be built or loaded shows none.
    pub fn of_run(
        (stop, outcome, code): (StopCause, RunOutcome, i32),
        success_exit: i32,
        fails: bool,
        shown: bool,
    ) -> Self {
        match (stop, outcome, code) {
            (StopCause::Cancelled | StopCause::RunDeadline | StopCause::EgressCap, ..) => Self::Unjudged("cut short"),
            (
                StopCause::Deadline
                | StopCause::Idle
                | StopCause::FirstOutput
                | StopCause::OutputCap
                | StopCause::MemoryCap
                | StopCause::VolumeCap,
                ..,
            ) => Self::Killed,
            (StopCause::None, RunOutcome::Exited, code) if code == success_exit && !fails => Self::Survived,
            (StopCause::None, RunOutcome::Exited, 126 | 127) => Self::Unjudged("check_not_found"),
            (StopCause::None, RunOutcome::Exited, 129..=192) => Self::Unjudged("check_killed"),
            (StopCause::None, RunOutcome::Exited, _) if !shown => Self::Unjudged(NO_TEST_RAN),
            (StopCause::None, RunOutcome::Exited, _) => Self::Killed,
            (StopCause::None, ..) => Self::Unjudged("check_killed"),
        }
    }

    pub const fn label(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Survived => "survived",
            Self::Unjudged(_) => "unjudged",
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::id::Digest;
    use crate::event::measurement::MemberStatus;

    fn verdict(class: Class, failing: &[&str]) -> Verdict {
        Verdict {
            class,
            failing: failing.iter().map(|id| (*id).into()).collect(),
            skipped: vec![],
            collected: vec![],
        }
    }

    fn reading(collector: &str, tests: usize) -> Reading {
        let member = |at: usize| (format!("t{at}"), MemberStatus::Passed);
        Reading {
            collector: collector.into(),
            note: String::new(),
            report: ReportState::Fresh,
            announced: None,
            concluded: Some(tests as u64),
            finished: true,
            complete: true,
            contradictions: vec![],
            retried: 0,
            members: (0..tests).map(member).collect(),
            members_digest: Digest::ZERO,
            messages_digest: Digest::ZERO,
            output_digest: Digest::ZERO,
            integrity: None,
            cost_us: 0,
        }
    }

    #[test]
    fn a_green_control_counts_its_tests_and_a_red_one_is_untested() {
        let green = verdict(Class::Green, &[]);
        assert_eq!(control(&green, &reading("pytest", 2)), Control::Green(Some(2)));
        assert_eq!(
            control(&green, &reading("", 0)),
            Control::Green(None),
            "nobody reads it"
        );
        let red = control(&verdict(Class::Red, &["a", "b"]), &reading("pytest", 2));
        assert_eq!(red, Control::Untested("2 tests failing, a first".into()));
    }

    #[test]
    fn a_control_without_a_test_or_against_its_artefact_is_inadequate() {
        let green = verdict(Class::Green, &[]);
        let faulty =
            |verdict: &Verdict, reading: &Reading| matches!(control(verdict, reading), Control::Fault(ARTEFACT, _));
        for class in [Class::Green, Class::Red] {
            assert!(faulty(&verdict(class, &[]), &reading("pytest", 0)));
        }
        assert!(faulty(&verdict(Class::Green, &["a"]), &reading("pytest", 2)));
        for spoil in [
            (|r| r.finished = false) as fn(&mut Reading),
            |r| r.announced = Some(3),
            |r| r.report = ReportState::Stale,
            |r| r.contradictions = vec!["2 passed, 1 named".into()],
        ] {
            let mut spoiled = reading("pytest", 2);
            spoil(&mut spoiled);
            assert!(faulty(&green, &spoiled), "{spoiled:?}");
        }
    }

    #[test]
    fn a_change_is_killed_by_red_or_by_a_deadline_and_by_nothing_else() {
        let broken = |cause| Class::Broken {
            cause,
            detail: String::new(),
        };
        assert_eq!(Fate::of(&verdict(Class::Green, &[]), false), Fate::Survived);
        assert_eq!(Fate::of(&verdict(Class::Green, &["a"]), false), Fate::Killed);
        assert_eq!(Fate::of(&verdict(Class::Red, &[]), false), Fate::Killed);
        assert_eq!(Fate::of(&verdict(Class::Red, &[]), true), Fate::Unjudged(NO_TEST_RAN));
        assert_eq!(
            Fate::of(&verdict(broken("check_deadline_exceeded"), &[]), true),
            Fate::Killed
        );
        let missing = Fate::of(&verdict(broken("check_not_found"), &[]), true);
        assert_eq!(missing, Fate::Unjudged("check_not_found"));
    }
}
