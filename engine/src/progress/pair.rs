//! Contradictory pair: two members that were never green together (SPEC 4.3.5).
//!
//! Computed over candidates and not over accepted states: with a ratchet that reverts, an alternation
//! never shows in what was accepted.

use alloc::format;
use alloc::string::String;

use super::{Alarm, Candidate, Detector, History};
use crate::event::halt::HaltReason;
use crate::event::policy::Thresholds;

pub const DETECTOR: Detector = Detector {
    reason: HaltReason::InfeasibleSuspected,
    detect,
};

/// Pairs looked at: members that the latest candidate fixed times members that it broke.
const PAIRS_MAX: usize = 256;

fn detect(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    let limit = usize::try_from(thresholds.pair_candidates).unwrap_or(usize::MAX);
    let latest = history.latest()?;
    if limit == 0 {
        return None;
    }
    let pairs = latest
        .fixed
        .iter()
        .flat_map(|fixed| latest.broke.iter().map(move |broke| (fixed, broke)));
    pairs.take(PAIRS_MAX).find_map(|(fixed, broke)| {
        let trades = trades(history, fixed, broke);
        (trades >= limit && !ever_together(history, fixed, broke)).then(|| Alarm {
            reason: HaltReason::InfeasibleSuspected,
            cause: "contradictory_pair",
            detail: format!(
                "{trades} different candidates made {fixed} pass by breaking {broke}, and none had both \
                 (pair_candidates = {limit})"
            ),
            recheck: true,
        })
    })
}

/// Different candidates that fix the one and break the other, in either direction.
fn trades(history: &History, one: &String, other: &String) -> usize {
    let trade = |c: &Candidate, a: &String, b: &String| c.fixed.contains(a) && c.broke.contains(b);
    let mut trees: alloc::vec::Vec<_> = history
        .candidates()
        .filter(|c| trade(c, one, other) || trade(c, other, one))
        .map(|c| c.tree)
        .collect();
    trees.sort_unstable();
    trees.dedup();
    trees.len()
}

fn ever_together(history: &History, one: &str, other: &str) -> bool {
    history
        .candidates()
        .any(|c| c.passing.contains(one) && c.passing.contains(other))
}

#[cfg(test)]
mod tests {
    use super::super::script::{candidate, history};
    use super::*;
    use alloc::vec;

    fn trade(iteration: u32, tree: u8) -> Candidate {
        Candidate {
            fixed: vec!["b".into()],
            broke: vec!["a".into()],
            ..candidate(iteration, tree, "a", "b")
        }
    }

    #[test]
    fn two_different_trades_without_a_common_green_are_a_contradiction() {
        let thresholds = Thresholds::default();
        assert_eq!(detect(&history([trade(1, 1)]), &thresholds), None);
        let alarm = detect(&history([trade(1, 1), trade(2, 2)]), &thresholds).unwrap();
        assert_eq!(alarm.reason, HaltReason::InfeasibleSuspected);
        assert!(alarm.recheck);
    }

    #[test]
    fn a_candidate_that_had_both_clears_the_pair() {
        let both = candidate(2, 5, "c", "ab");
        assert_eq!(
            detect(&history([trade(1, 1), both, trade(3, 2)]), &Thresholds::default()),
            None
        );
    }
}
