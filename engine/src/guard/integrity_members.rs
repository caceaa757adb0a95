//! Integrity members: the surface as the operator's own command lists it never loses an identity.
//!
//! The known set only grows; the rule is the same within a run and after a resume.

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use alloc::format;

pub static GUARD: Guard = Guard {
    name: "integrity_members",
    catches: "an identity that the integrity command no longer lists",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(set) = &evidence.measurement.integrity else {
        return Outcome::not_applicable("the contract has no integrity command");
    };
    if !set.error.is_empty() {
        return Outcome::unavailable(format!("the integrity command's answer is unusable: {}", set.error));
    }
    if set.total == 0 && set.lost.is_empty() {
        return Outcome::unavailable("the integrity command lists nothing, so nothing could be lost".into());
    }
    Outcome::active(
        set.lost
            .iter()
            .map(|id| GUARD.violation(id.as_str(), "no longer listed"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::id::Digest;
    use crate::event::measurement::IntegritySet;
    use alloc::string::String;
    use alloc::vec;

    fn set(total: u64, lost: &[&str], error: &str) -> Option<IntegritySet> {
        Some(IntegritySet {
            total,
            digest: Digest::ZERO,
            added: vec![],
            lost: lost.iter().map(|id| String::from(*id)).collect(),
            error: error.into(),
        })
    }

    #[test]
    fn a_lost_identity_is_a_violation() {
        let mut bench = Bench::honest();
        bench.measurement.integrity = set(2, &["t2"], "");
        assert_eq!(check(&bench.evidence()).findings[0].subject, "t2");
    }

    #[test]
    fn an_unusable_or_empty_answer_is_not_green() {
        let mut bench = Bench::honest();
        for broken in [set(0, &[], "exit status 2"), set(0, &[], "")] {
            bench.measurement.integrity = broken;
            assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
        }
        bench.measurement.integrity = set(3, &[], "");
        assert!(check(&bench.evidence()).findings.is_empty());
    }
}
