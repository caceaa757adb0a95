//! Same failure: different attempts fail in exactly the same way (SPEC 4.3.2).
//!
//! Identical failing set and identical normalised messages, R candidates in a row, the tree changed in
//! between. Without messages there is nothing to compare, and the detector says nothing.

use alloc::format;

use super::{Alarm, Candidate, Detector, History};
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::policy::Thresholds;

pub const DETECTOR: Detector = Detector {
    reason: HaltReason::SameFailureRepeated,
    detect,
};

/// How many candidates in a row, the latest included, failed identically with changed trees.
pub fn streak(history: &History) -> u32 {
    let Some(latest) = history.latest() else { return 0 };
    if latest.messages == Digest::ZERO || latest.failing.is_empty() {
        return 0;
    }
    let mut streak = 0_u32;
    let mut newer: Option<&Candidate> = None;
    for candidate in history.candidates().rev() {
        let same = candidate.messages == latest.messages && candidate.failing == latest.failing;
        // A check may leave files behind: then a turn that changed nothing still has another tree.
        let one_attempt = newer.is_some_and(|newer| newer.no_op || newer.tree == candidate.tree);
        if !same || one_attempt {
            break;
        }
        newer = Some(candidate);
        streak += 1;
    }
    streak
}

fn detect(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    let r = thresholds.same_failure_r;
    let streak = streak(history);
    (r > 0 && streak >= r).then(|| Alarm {
        reason: HaltReason::SameFailureRepeated,
        cause: "identical_failure",
        detail: format!("{streak} different attempts in a row failed with the same messages (same_failure_r = {r})"),
        recheck: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::script::{candidate, digest, history};
    use super::*;

    fn same(iteration: u32, tree: u8) -> Candidate {
        Candidate {
            messages: digest(9),
            ..candidate(iteration, tree, "ab", "c")
        }
    }

    #[test]
    fn three_identical_failures_over_changed_trees_are_a_repeat() {
        let two = history([same(1, 1), same(2, 2)]);
        assert_eq!(detect(&two, &Thresholds::default()), None);
        let three = history([same(1, 1), same(2, 2), same(3, 3)]);
        assert!(detect(&three, &Thresholds::default()).is_some());
    }

    #[test]
    fn an_unchanged_tree_is_no_new_attempt() {
        assert_eq!(streak(&history([same(1, 1), same(2, 1), same(3, 1)])), 1);
        let idle = |n: u8| Candidate {
            no_op: true,
            ..same(n.into(), n)
        };
        assert_eq!(streak(&history([same(1, 1), idle(2), idle(3)])), 1);
    }

    #[test]
    fn other_messages_or_no_messages_break_the_streak() {
        let other = Candidate {
            messages: digest(8),
            ..same(2, 2)
        };
        assert_eq!(streak(&history([same(1, 1), other, same(3, 3)])), 1);
        let silent = |n: u8| Candidate {
            messages: Digest::ZERO,
            ..same(n.into(), n)
        };
        assert_eq!(streak(&history([silent(1), silent(2), silent(3)])), 0);
    }
}
