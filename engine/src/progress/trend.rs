//! The label at a cap: still improving, or stalled (SPEC 4.3.6).

use super::History;
use crate::event::policy::Thresholds;

/// The direction of a run when it was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trend {
    pub improving: bool,
    /// Mean fall of the best failing count an iteration, in thousandths.
    pub slope_milli: i64,
}

/// Improving means: the best set is smaller than the first one and fell within the patience.
pub fn trend(history: &History, thresholds: &Thresholds, iteration: u32) -> Trend {
    let (Some(first), Some(best)) = (history.first, history.best) else {
        return Trend {
            improving: false,
            slope_milli: 0,
        };
    };
    let span = i64::from(iteration.saturating_sub(first.iteration)).max(1);
    let fall = i64::try_from(first.failing).unwrap_or(i64::MAX) - i64::try_from(best.failing).unwrap_or(i64::MAX);
    let patient = thresholds.no_progress_k == 0 || history.stalled < thresholds.no_progress_k;
    Trend {
        improving: fall > 0 && patient,
        slope_milli: fall.saturating_mul(1_000) / span,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Best;
    use super::*;

    fn history(first: u64, best: u64, stalled: u32) -> History {
        History {
            first: Some(Best {
                failing: first,
                iteration: 0,
            }),
            best: Some(Best {
                failing: best,
                iteration: 4,
            }),
            stalled,
            ..History::default()
        }
    }

    #[test]
    fn one_early_improvement_does_not_count_for_ever() {
        let thresholds = Thresholds::default();
        assert_eq!(
            trend(&history(8, 4, 1), &thresholds, 4),
            Trend {
                improving: true,
                slope_milli: 1_000
            }
        );
        assert!(!trend(&history(8, 4, 3), &thresholds, 7).improving);
        assert!(!trend(&history(8, 8, 0), &thresholds, 4).improving);
        assert!(!trend(&History::default(), &thresholds, 4).improving);
    }
}
