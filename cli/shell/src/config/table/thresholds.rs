//! `[thresholds]`: when the progress detectors speak. Off means off.

use super::super::setting::{Kind, Off, Setting};
use super::row;

const GROUP: &str = "Progress";
const MANY: u64 = 1_000_000;

/// What a zero means for this one, for scripts written against earlier versions of the flag.
const NO_PROGRESS_K_FOR_ZERO: u32 = 3;

pub(super) const ROWS: &[Setting] = &[
    Setting {
        kind: Kind::Count { min: 0, max: MANY },
        off: Off::Word,
        set: |policy, value| {
            policy.thresholds.no_progress_k = match value.unless_off() {
                None => 0,
                Some(value) => match value.count_u32()? {
                    0 => NO_PROGRESS_K_FOR_ZERO,
                    k => k,
                },
            };
            Ok(())
        },
        show: |policy| match policy.thresholds.no_progress_k {
            0 => row::OFF.to_owned(),
            k => k.to_string(),
        },
        ..row::blank(
            GROUP,
            "thresholds.no_progress_k",
            "--no-progress-k",
            "LOOPEXEC_NO_PROGRESS_K",
            "Iterations without a smaller best failing set that halt the run",
            "Zero means 3; `off` switches the detector off.",
        )
    },
    row!(
        count(2, MANY) off 0,
        thresholds.same_failure_r,
        row::blank(
            GROUP,
            "thresholds.same_failure_r",
            "--same-failure-r",
            "LOOPEXEC_SAME_FAILURE_R",
            "Identical failures in a row of different trees that halt the run",
            "",
        )
    ),
    row!(
        count(1, MANY) off 0,
        thresholds.oscillation_periods,
        row::blank(
            GROUP,
            "thresholds.oscillation_periods",
            "--oscillation-periods",
            "LOOPEXEC_OSCILLATION_PERIODS",
            "Full periods of a cycle that halt the run",
            "",
        )
    ),
    row!(
        count(1, MANY) off 0,
        thresholds.regression_candidates,
        row::blank(
            GROUP,
            "thresholds.regression_candidates",
            "--regression-candidates",
            "LOOPEXEC_REGRESSION_CANDIDATES",
            "Different candidates breaking the same passing test that halt the run",
            "",
        )
    ),
    row!(
        count(1, MANY) off 0,
        thresholds.pair_candidates,
        row::blank(
            GROUP,
            "thresholds.pair_candidates",
            "--pair-candidates",
            "LOOPEXEC_PAIR_CANDIDATES",
            "Candidates trading one test for another that halt the run",
            "",
        )
    ),
    row!(
        count(1, MANY) off 0,
        thresholds.comprehension_every,
        row::blank(
            GROUP,
            "thresholds.comprehension_every",
            "--comprehension-every",
            "LOOPEXEC_COMPREHENSION_EVERY",
            "Accepted, unread changes after which a person must look",
            "",
        )
    ),
];
