//! Stable tree: what was judged is what was read.
//!
//! A file that kept changing while it was hashed, or could not be read at all, leaves the name of the tree
//! without meaning: nothing turns green on it.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;

pub static GUARD: Guard = Guard {
    name: "stable_tree",
    catches: "a file that changes while the tree is read, or cannot be read",
    reason: HaltReason::ObjectiveUnverified,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    for seen in evidence.after_exec.into_iter().chain([evidence.after_check]) {
        if let Some(path) = seen.unstable.first() {
            return Outcome::unavailable(format!("{path} kept changing while it was read"));
        }
        if let Some(path) = seen.unreadable.first() {
            return Outcome::unavailable(format!("{path} could not be read"));
        }
    }
    Outcome::active([].into())
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::finding::GuardState;

    #[test]
    fn a_restless_or_unreadable_file_makes_green_impossible() {
        assert_eq!(check(&Bench::honest().evidence()).state, GuardState::Active);
        let mut bench = Bench::honest();
        bench.after_exec.unstable = ["log.txt".into()].into();
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
        let mut bench = Bench::honest();
        bench.after_check.unreadable = ["secret".into()].into();
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
    }
}
