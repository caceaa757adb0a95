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

impl Trend {
    /// Iterations after which nothing would fail any more if the slope holds; none is said without a fall.
    pub fn iterations_needed(self, failing: u64) -> Option<u64> {
        let slope = u64::try_from(self.slope_milli).ok().filter(|slope| *slope > 0)?;
        Some(failing.saturating_mul(1_000).div_ceil(slope))
    }
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

    #[test]
    fn the_slope_falls_from_the_first_set_and_is_rounded_toward_zero() {
        let slope =
            |first, best, iteration| trend(&history(first, best, 0), &Thresholds::default(), iteration).slope_milli;
        assert_eq!((slope(8, 4, 4), slope(8, 6, 3), slope(8, 7, 3)), (1_000, 666, 333));
        // A measurement that came late counts from where it came.
        let mut late = history(8, 4, 0);
        late.first = Some(Best {
            failing: 8,
            iteration: 2,
        });
        assert_eq!(trend(&late, &Thresholds::default(), 4).slope_milli, 2_000);
        assert_eq!(trend(&History::default(), &Thresholds::default(), 4).slope_milli, 0);
    }

    #[test]
    fn the_iterations_still_needed_are_rounded_up_and_no_further() {
        let needed = |failing, slope_milli| {
            let trend = Trend {
                improving: true,
                slope_milli,
            };
            trend.iterations_needed(failing)
        };
        assert_eq!(
            [needed(4, 1_000), needed(4, 2_000), needed(5, 2_000)],
            [Some(4), Some(2), Some(3)]
        );
        assert_eq!(
            [needed(1, 333), needed(0, 500), needed(1, 9_000)],
            [Some(4), Some(0), Some(1)]
        );
        assert_eq!([needed(4, 0), needed(4, -1_000)], [None, None]);
    }
}
