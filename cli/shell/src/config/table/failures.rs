//! `[failures]`: what happens after a command that did not do its work.

use engine::event::policy::{OnCheckTimeout, OnExecFailure, OnExecTimeout};

use super::super::duration;
use super::super::error::Fault;
use super::super::setting::{Kind, Off, Setting};
use super::row;

const GROUP: &str = "Failures";

pub(super) const ROWS: &[Setting] = &[
    row!(
        choice OnExecFailure,
        failures.on_exec_failure,
        row::blank(
            GROUP,
            "failures.on_exec_failure",
            "--on-exec-failure",
            "LOOPEXEC_ON_EXEC_FAILURE",
            "What a failed work command does to the run",
            "`continue` lets the check decide; `retry` tries again in the same iteration.",
        )
    ),
    row!(
        count(0, 1_000),
        failures.exec_retries_max,
        row::blank(
            GROUP,
            "failures.exec_retries",
            "--exec-retries",
            "LOOPEXEC_EXEC_RETRIES",
            "Attempts beyond the first in one iteration, under retry",
            "",
        )
    ),
    row!(
        duration,
        failures.retry_backoff_ms,
        row::blank(
            GROUP,
            "failures.retry_backoff",
            "--retry-backoff",
            "LOOPEXEC_RETRY_BACKOFF",
            "First delay between attempts; doubles up to one minute",
            "",
        )
    ),
    row!(
        count(1, 1_000_000) off u32::MAX,
        failures.instant_failures_max,
        row::blank(
            GROUP,
            "failures.instant_failures",
            "--instant-failures",
            "LOOPEXEC_INSTANT_FAILURES",
            "Instant failures in a row that halt the run, whatever the policy",
            "",
        )
    ),
    row!(
        duration,
        failures.instant_failure_ms,
        row::blank(
            GROUP,
            "failures.instant_failure_within",
            "--instant-failure-within",
            "LOOPEXEC_INSTANT_FAILURE_WITHIN",
            "A failure at most this long after the start is instant",
            "",
        )
    ),
    row!(
        choice OnExecTimeout,
        failures.on_exec_timeout,
        row::blank(
            GROUP,
            "failures.on_exec_timeout",
            "--on-exec-timeout",
            "LOOPEXEC_ON_EXEC_TIMEOUT",
            "What a work command that ran out of time does to the run",
            "`check` lets the check decide.",
        )
    ),
    row!(
        choice OnCheckTimeout,
        failures.on_check_timeout,
        row::blank(
            GROUP,
            "failures.on_check_timeout",
            "--on-check-timeout",
            "LOOPEXEC_ON_CHECK_TIMEOUT",
            "What a check that ran out of time means",
            "`red` counts it as a failed check.",
        )
    ),
];
