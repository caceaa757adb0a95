//! No progress: the best failing set has not strictly shrunk for K iterations (SPEC 4.3.1).
//!
//! Compared with the best and not with the step before: 5, 6, 5, 6 "falls" every other step. Without
//! members a failing set has no size; then only turns that changed nothing count.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Alarm, Detector, History};
use crate::event::halt::HaltReason;
use crate::event::policy::Thresholds;

pub const DETECTOR: Detector = Detector {
    reason: HaltReason::NoProgressDetected,
    detect,
};

fn detect(history: &History, thresholds: &Thresholds) -> Option<Alarm> {
    let k = thresholds.no_progress_k;
    if k == 0 || history.stalled < k {
        return None;
    }
    let no_ops = history.candidates().rev().take_while(|c| c.no_op).count();
    let idle = match no_ops {
        0 => String::new(),
        1 => "; the last turn changed nothing".to_string(),
        _ => format!("; the last {no_ops} turns changed nothing"),
    };
    let detail = match history.best {
        Some(best) => format!(
            "the failing set has not fallen below {} since iteration {}, {} iterations ago (no_progress_k = {k}){idle}",
            best.failing, best.iteration, history.stalled
        ),
        None => format!(
            "{} turns in a row changed nothing (no_progress_k = {k})",
            history.stalled
        ),
    };
    Some(Alarm {
        reason: HaltReason::NoProgressDetected,
        cause: if history.best.is_none() || no_ops >= k as usize { "tree_unchanged" } else { "best_not_smaller" },
        detail,
        recheck: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Best;
    use super::*;

    fn stalled(stalled: u32) -> History {
        History {
            stalled,
            best: Some(Best {
                failing: 2,
                iteration: 1,
            }),
            ..History::default()
        }
    }

    #[test]
    fn a_stall_is_called_at_k_and_not_before() {
        let thresholds = Thresholds::default();
        assert_eq!(detect(&stalled(2), &thresholds), None);
        let alarm = detect(&stalled(3), &thresholds).unwrap();
        assert_eq!(alarm.reason, HaltReason::NoProgressDetected);
        assert!(alarm.detail.contains("no_progress_k = 3"), "{}", alarm.detail);
    }

    #[test]
    fn off_means_off() {
        assert_eq!(
            detect(
                &stalled(1_000),
                &Thresholds {
                    no_progress_k: 0,
                    ..Thresholds::default()
                }
            ),
            None
        );
    }
}
