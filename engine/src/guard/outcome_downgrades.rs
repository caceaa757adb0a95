//! Outcome downgrades: a test that counted does not stop counting.
//!
//! Catches new skips, expected failures, focus (which leaves the others pending), ignores and retries.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use crate::event::measurement::MemberStatus;

pub static GUARD: Guard = Guard {
    name: "outcome_downgrades",
    catches: "a test that is newly skipped, expected to fail, ignored, pending or retried",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

const fn counted(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Passed | MemberStatus::Failed | MemberStatus::Error
    )
}

const fn hidden(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Skipped
            | MemberStatus::Xfail
            | MemberStatus::Xpass
            | MemberStatus::Ignored
            | MemberStatus::Todo
            | MemberStatus::FlakyPassed
    )
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.collected() {
        return Outcome::not_applicable("no collector reads the outcome of single tests");
    }
    let downgraded = evidence.members.iter().filter_map(|(id, now)| {
        let before = evidence.accepted.status(id)?;
        (counted(before) && hidden(now)).then(|| GUARD.violation(id.as_str(), format!("was {before}, is {now}")))
    });
    Outcome::active(downgraded.collect())
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, members};
    use super::*;
    use crate::event::measurement::MemberStatus::{FlakyPassed, Ignored, Passed, Skipped, Todo, Xfail};

    #[test]
    fn every_way_to_stop_counting_is_a_violation() {
        for status in [Skipped, Xfail, Ignored, Todo, FlakyPassed] {
            let mut bench = Bench::honest();
            bench.members = members(&[("a", Passed), ("b", status)]);
            let found = check(&bench.evidence()).findings;
            assert_eq!(found.len(), 1, "{status}");
            assert!(found[0].detail.starts_with("was failed"), "{}", found[0].detail);
        }
    }

    #[test]
    fn a_test_that_was_always_skipped_or_is_new_is_no_downgrade() {
        let mut bench = Bench::honest();
        bench.accepted = members(&[("a", Passed), ("b", Skipped)]);
        bench.members = members(&[("a", Passed), ("b", Skipped), ("c", Skipped)]);
        assert!(check(&bench.evidence()).findings.is_empty());
    }
}
