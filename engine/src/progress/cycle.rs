//! Oscillation: the work goes round (SPEC 4.3.3).
//!
//! Either a tree comes back with a different one in between, or the sequence of failing sets repeats
//! with a period of at least two over the configured number of full periods. An unchanged set is not a
//! cycle.

use alloc::format;
use alloc::vec::Vec;

use super::{Alarm, Candidate, Detector, History};
use crate::event::halt::HaltReason;
use crate::event::policy::Thresholds;

pub const DETECTOR: Detector = Detector {
    reason: HaltReason::OscillationDetected,
    detect,
};

fn detect(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    let periods = usize::try_from(thresholds.oscillation_periods).unwrap_or(usize::MAX);
    if periods == 0 {
        return None;
    }
    let turns: Vec<&Candidate> = history.candidates().filter(|c| !c.no_op).collect();
    let tree = tree_cycle(&turns).map(|detail| ("tree_cycle", detail));
    let (cause, detail) =
        tree.or_else(|| set_cycle(&turns, periods.max(2)).map(|detail| ("failing_set_cycle", detail)))?;
    Some(Alarm {
        reason: HaltReason::OscillationDetected,
        cause,
        detail,
        recheck: true,
    })
}

fn tree_cycle(turns: &[&Candidate]) -> Option<alloc::string::String> {
    let (latest, before) = turns.split_last()?;
    let at = before.iter().rposition(|c| c.tree == latest.tree)?;
    let between = before[at + 1..].iter().any(|c| c.tree != latest.tree);
    between.then(|| {
        format!(
            "iteration {} brought back the tree of iteration {}",
            latest.iteration, before[at].iteration
        )
    })
}

fn set_cycle(turns: &[&Candidate], periods: usize) -> Option<alloc::string::String> {
    for period in 2..=turns.len() / periods {
        let tail = &turns[turns.len() - period * periods..];
        let repeats = (period..tail.len()).all(|i| tail[i].failing == tail[i - period].failing);
        let moves = tail[..period].iter().any(|c| c.failing != tail[0].failing);
        if repeats && moves {
            return Some(format!(
                "the failing set repeats with period {period} since iteration {} (oscillation_periods = {periods})",
                tail[0].iteration
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::script::{candidate, history};
    use super::*;

    fn reason(candidates: impl IntoIterator<Item = Candidate>) -> Option<HaltReason> {
        detect(&history(candidates), &Thresholds::default()).map(|a| a.reason)
    }

    #[test]
    fn a_tree_that_comes_back_is_a_cycle() {
        let cycle = [
            candidate(1, 1, "a", ""),
            candidate(2, 2, "b", ""),
            candidate(3, 1, "a", ""),
        ];
        assert_eq!(reason(cycle), Some(HaltReason::OscillationDetected));
    }

    #[test]
    fn an_unchanged_tree_or_set_is_no_cycle() {
        assert_eq!(reason([candidate(1, 1, "a", ""), candidate(2, 1, "a", "")]), None);
        assert_eq!(reason((1..9).map(|i| candidate(u32::from(i), i, "ab", ""))), None);
    }

    #[test]
    fn two_full_periods_of_failing_sets_are_a_cycle() {
        let sets = ["a", "b", "a", "b"];
        let turns = |n: usize| {
            (0..n).map(|i| candidate(u32::try_from(i).unwrap(), u8::try_from(i).unwrap() + 1, sets[i % 4], ""))
        };
        assert_eq!(reason(turns(3)), None);
        assert_eq!(reason(turns(4)), Some(HaltReason::OscillationDetected));
    }
}
