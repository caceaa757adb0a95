//! Same test regressed: different candidates broke the same accepted-passing member (SPEC 4.3.4).
//!
//! The first time is reverted and told to the agent; the detector speaks when it happens again with
//! another change.

use alloc::format;

use super::{Alarm, Detector, History};
use crate::event::halt::HaltReason;
use crate::event::policy::Thresholds;

pub const DETECTOR: Detector = Detector {
    reason: HaltReason::SameTestRegressed,
    detect,
};

fn detect(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    let limit = usize::try_from(thresholds.regression_candidates).unwrap_or(usize::MAX);
    let latest = history.latest()?;
    if limit == 0 {
        return None;
    }
    latest.broke.iter().find_map(|member| {
        let mut trees: alloc::vec::Vec<_> = history
            .candidates()
            .filter(|c| c.broke.contains(member))
            .map(|c| c.tree)
            .collect();
        trees.sort_unstable();
        trees.dedup();
        (trees.len() >= limit).then(|| Alarm {
            reason: HaltReason::SameTestRegressed,
            cause: "accepted_member_broken",
            detail: format!(
                "{} different candidates broke {member}, which had passed (regression_candidates = {limit})",
                trees.len()
            ),
            recheck: false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::Candidate;
    use super::super::script::{candidate, history};
    use super::*;
    use alloc::vec;

    fn breaking(iteration: u32, tree: u8) -> Candidate {
        Candidate {
            broke: vec!["t".into()],
            ..candidate(iteration, tree, "t", "")
        }
    }

    #[test]
    fn the_second_different_candidate_that_breaks_the_same_member_halts() {
        let thresholds = Thresholds::default();
        assert_eq!(detect(&history([breaking(1, 1)]), &thresholds), None);
        assert_eq!(detect(&history([breaking(1, 1), breaking(2, 1)]), &thresholds), None);
        assert!(
            detect(
                &history([breaking(1, 1), candidate(2, 3, "", "t"), breaking(3, 2)]),
                &thresholds
            )
            .is_some()
        );
    }
}
