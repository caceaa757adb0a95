//! `[bounds]` and `[capture]`: limits of the run and of what is kept of its output.

use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::super::{duration, money, size};
use super::row;

const GROUP: &str = "Bounds";
const CAPTURE_GROUP: &str = "Captured output";

/// A million iterations at one a second are eleven days; more is a slip.
const ITERATIONS_MAX: u64 = 1_000_000;

/// What travels inside the journal stays small.
const INLINE_MAX_BYTES: u64 = 1 << 20;
const BLOB_MAX_BYTES: u64 = 1 << 40;

pub(super) const ROWS: &[Setting] = &[
    Setting {
        alias: Some("loop.max_iterations"),
        ..row!(
            count(1, ITERATIONS_MAX),
            bounds.max_iterations,
            row::blank(
                GROUP,
                "bounds.max_iterations",
                "--max-iterations",
                "LOOPEXEC_MAX_ITERATIONS",
                "Iterations after which the run halts, red or not",
                "At least 1. `--once` is the same as 1 and wins over this.",
            )
        )
    },
    row!(
        duration?,
        bounds.timeout_ms,
        row::blank(
            GROUP,
            "bounds.timeout",
            "--timeout",
            "LOOPEXEC_TIMEOUT",
            "Working time of the whole run, over all resumes",
            "",
        )
    ),
    row!(
        duration?,
        bounds.command_timeout_ms,
        row::blank(
            GROUP,
            "bounds.command_timeout",
            "--command-timeout",
            "LOOPEXEC_COMMAND_TIMEOUT",
            "Time for one work command",
            "Also for one check, unless the check has its own limit.",
        )
    ),
    row!(
        duration?,
        bounds.check_timeout_ms,
        row::blank(
            GROUP,
            "bounds.check_timeout",
            "--check-timeout",
            "LOOPEXEC_CHECK_TIMEOUT",
            "Time for one check",
            "",
        )
    ),
    row!(
        duration?,
        bounds.idle_timeout_ms,
        row::blank(
            GROUP,
            "bounds.idle_timeout",
            "--idle-timeout",
            "LOOPEXEC_IDLE_TIMEOUT",
            "Ends a command that has printed nothing for this long",
            "",
        )
    ),
    row!(
        duration?,
        bounds.first_output_timeout_ms,
        row::blank(
            GROUP,
            "bounds.first_output_timeout",
            "--first-output-timeout",
            "LOOPEXEC_FIRST_OUTPUT_TIMEOUT",
            "Ends a command that has printed nothing at all this long after its start",
            "",
        )
    ),
    row!(
        duration,
        bounds.grace_ms,
        row::blank(
            GROUP,
            "bounds.terminate_grace",
            "--terminate-grace",
            "LOOPEXEC_TERMINATE_GRACE",
            "Time between asking a command to end and ending it",
            "",
        )
    ),
    row!(
        money? WordOrZero,
        bounds.budget_microusd,
        row::blank(
            GROUP,
            "bounds.budget_usd",
            "--budget-usd",
            "LOOPEXEC_BUDGET_USD",
            "Dollars that the run may spend; needs metering",
            "At most six decimals, kept exactly. Zero means no budget.",
        )
    ),
];

pub(super) const CAPTURE_ROWS: &[Setting] = &[
    row!(
        size(INLINE_MAX_BYTES),
        capture.inline_max_bytes,
        row::blank(
            CAPTURE_GROUP,
            "capture.inline_max",
            "--inline-max",
            "LOOPEXEC_INLINE_MAX",
            "Outputs up to this size travel inside the journal",
            "",
        )
    ),
    row!(
        size(INLINE_MAX_BYTES),
        capture.excerpt_bytes,
        row::blank(
            CAPTURE_GROUP,
            "capture.excerpt",
            "--excerpt",
            "LOOPEXEC_EXCERPT",
            "Head and tail of a larger output that travel inside the journal",
            "",
        )
    ),
    row!(
        size(BLOB_MAX_BYTES),
        capture.blob_max_bytes,
        row::blank(
            CAPTURE_GROUP,
            "capture.blob_max",
            "--blob-max",
            "LOOPEXEC_BLOB_MAX",
            "How much of one output is kept in a file beside the journal",
            "",
        )
    ),
    row!(
        size(BLOB_MAX_BYTES)?,
        capture.output_cap_bytes,
        row::blank(
            CAPTURE_GROUP,
            "capture.output_cap",
            "--output-cap",
            "LOOPEXEC_OUTPUT_CAP",
            "Ends a command that prints more than this on one stream",
            "",
        )
    ),
];
