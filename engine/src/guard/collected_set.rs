//! Collected set: no member that was there is gone (SPEC 4.2).
//!
//! Catches deleted, renamed and narrowed tests, filters in hooks and configuration, and runs that stop
//! before the end. Only a green check is accused: a red one may have died before it collected. Where tests may be
//! renamed, moved and split, what they demand under other names is compared by `kill_set`. A runner that names only
//! what failed is held to how many ran.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use crate::event::policy::Surface;
use crate::words::counted;

pub static GUARD: Guard = Guard {
    name: "collected_set",
    catches: "a test that is no longer collected",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.collected() && !evidence.measurement.complete {
        return counted_only(evidence);
    }
    if evidence.universe.is_empty() {
        let why = "no collector has named a member; the exit status is all there is";
        return if evidence.collected() {
            Outcome::active(Vec::new())
        } else {
            Outcome::not_applicable(why)
        };
    }
    if !evidence.green() {
        return Outcome::active(Vec::new());
    }
    if !evidence.collected() {
        let why = format!(
            "{} known and the check's output names none",
            counted(evidence.universe.len() as u64, "member")
        );
        return Outcome::unavailable(why);
    }
    let mut lost = evidence
        .universe
        .iter()
        .filter(|id| evidence.members.status(id).is_none());
    if evidence.policy.guards.surface == Surface::Extend {
        return lost.next().map_or_else(
            || Outcome::active(Vec::new()),
            |first| {
                let others = lost.count() as u64;
                let and = if others == 0 {
                    String::new()
                } else {
                    format!(", and {} with it", counted(others, "other member"))
                };
                Outcome::left_to_kill_set(&format!("{first} is no longer collected{and}"))
            },
        );
    }
    Outcome::active(
        lost.map(|id| GUARD.violation(id.as_str(), "no longer collected"))
            .collect(),
    )
}

/// What the total says where nobody names what passed: as many ran as ever were accepted.
fn counted_only(evidence: &Evidence<'_>) -> Outcome {
    // Said from the start, when nothing is known yet: a guard must not seem to stop applying later.
    let Some(ran) = evidence.measurement.concluded else {
        return Outcome::not_applicable("the runner names only what failed, and counts nothing");
    };
    let Some(before) = evidence.unnamed else {
        return if evidence.universe.is_empty() {
            Outcome::active(Vec::new())
        } else {
            Outcome::unavailable("the runner named every test and names only what fails now".into())
        };
    };
    if ran >= before || !evidence.green() {
        return Outcome::active(Vec::new());
    }
    let detail = format!(
        "{} ran and counted, and {ran} now; the runner names none that passes",
        counted(before, "test")
    );
    if evidence.policy.guards.surface == Surface::Extend {
        return Outcome::left_to_kill_set(&detail);
    }
    Outcome::active([GUARD.violation("suite", detail)].into())
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, members, run};
    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::measurement::MemberStatus::Passed;
    use crate::members::IdSet;

    #[test]
    fn a_lost_member_is_named_when_the_check_is_green() {
        let mut bench = Bench::honest();
        bench.members = members(&[("a", Passed), ("new", Passed)]);
        let found = check(&bench.evidence()).findings;
        assert_eq!((found.len(), found[0].subject.as_str()), (1, "b"));
    }

    #[test]
    fn a_new_member_is_welcome_and_a_red_run_is_not_accused() {
        let mut bench = Bench::honest();
        bench.members = members(&[("a", Passed), ("b", Passed), ("new", Passed)]);
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.members = members(&[]);
        bench.check = run(1);
        assert!(check(&bench.evidence()).findings.is_empty());
    }

    #[test]
    fn where_tests_may_be_renamed_a_lost_member_is_left_to_kill_set() {
        let mut bench = Bench::honest();
        bench.policy.guards.surface = Surface::Extend;
        assert_eq!(check(&bench.evidence()).state, GuardState::Active);
        bench.members = members(&[("new", Passed)]);
        let outcome = check(&bench.evidence());
        assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Deferred, 0));
        assert_eq!(
            outcome.note,
            "left to kill_set: a is no longer collected, and 1 other member with it"
        );
        bench.check = run(1);
        assert_eq!(check(&bench.evidence()).state, GuardState::Active);
    }

    /// A runner that names nothing that passes, and of which this many ran when it was accepted and now.
    fn unnamed(before: Option<u64>, now: Option<u64>) -> Bench {
        let mut bench = Bench::honest();
        bench.measurement.complete = false;
        bench.measurement.concluded = now;
        bench.unnamed = before;
        bench
    }

    #[test]
    fn a_runner_that_names_only_failures_is_held_to_how_many_ran() {
        let fewer = check(&unnamed(Some(5), Some(4)).evidence());
        assert_eq!(fewer.findings.len(), 1);
        assert_eq!(
            fewer.findings[0].detail,
            "5 tests ran and counted, and 4 now; the runner names none that passes"
        );
        for (before, now) in [(5, 5), (5, 6)] {
            assert!(check(&unnamed(Some(before), Some(now)).evidence()).findings.is_empty());
        }
        let mut red = unnamed(Some(5), Some(1));
        red.check = run(1);
        assert!(check(&red.evidence()).findings.is_empty(), "it may have stopped early");
        let mut extend = unnamed(Some(5), Some(4));
        extend.policy.guards.surface = Surface::Extend;
        assert_eq!(check(&extend.evidence()).state, GuardState::Deferred);
    }

    #[test]
    fn a_runner_that_counts_nothing_is_out_of_reach_and_one_that_stops_naming_is_unverified() {
        let mut bench = unnamed(None, None);
        for code in [0, 1] {
            bench.check = run(code);
            assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
        }
        assert_eq!(check(&unnamed(None, Some(2)).evidence()).state, GuardState::Unavailable);
        let mut first = unnamed(None, Some(2));
        first.universe = IdSet::default();
        assert_eq!(check(&first.evidence()).state, GuardState::Active);
    }

    #[test]
    fn known_members_and_an_unreadable_green_are_unverified() {
        let mut bench = Bench::honest();
        bench.measurement.collector.clear();
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
        bench.universe = IdSet::default();
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }
}
