//! Collected set: no member that was there is gone (SPEC 4.2).
//!
//! Catches deleted, renamed and narrowed tests, filters in hooks and configuration, and runs that stop
//! before the end. Only a green check is accused: a red one may have died before it collected. Where tests may be
//! renamed, moved and split, what they demand under other names is compared by `kill_set`.

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
    // Said from the start, when nothing is known yet: a guard must not seem to stop applying later.
    if evidence.collected() && !evidence.measurement.complete {
        return Outcome::not_applicable("the runner names only what failed");
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

    #[test]
    fn a_runner_that_names_only_failures_is_out_of_reach_red_and_green() {
        let mut bench = Bench::honest();
        bench.measurement.complete = false;
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
        bench.check = run(1);
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }

    #[test]
    fn known_members_and_an_unreadable_green_are_unverified() {
        let mut bench = Bench::honest();
        bench.measurement.collector.clear();
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
        bench.universe = IdSet::default();
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }

    #[test]
    fn a_runner_that_names_only_failures_is_not_judged_at_the_start_nor_later() {
        let mut bench = Bench::honest();
        bench.measurement.complete = false;
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
        bench.universe = IdSet::default();
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }
}
