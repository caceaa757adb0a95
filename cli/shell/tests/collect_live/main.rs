//! Real runners, started through a wrapper with nothing but the injected environment.
//!
//! A runner that is not on this machine is said aloud and skipped. `LOOPEXEC_TEST_PYTHON` names a
//! python that has pytest, `LOOPEXEC_TEST_XDIST` a directory with pytest-xdist.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test harness; a skipped runner is said aloud"
)]

mod harness;
mod native;
mod python;
