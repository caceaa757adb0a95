//! `[oracle]`: how the check is run and read.

use engine::stat::PPM;

use super::super::error::Fault;
use super::super::fixed;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::row;

const GROUP: &str = "Check";

pub(super) const ROWS: &[Setting] = &[
    row!(
        text,
        oracle.collector,
        row::blank(
            GROUP,
            "oracle.collector",
            "--collector",
            "LOOPEXEC_COLLECTOR",
            "How the check's results are read: a collector's name, or auto",
            "`auto` picks the collector of the test runner found in the check command.",
        )
    ),
    Setting {
        kind: Kind::Path,
        off: Off::Word,
        set: |policy, value| {
            policy.oracle.report = value.unless_off().map(Value::path).transpose()?;
            Ok(())
        },
        show: |policy| {
            row::or_off(policy.oracle.report.as_ref(), |path| {
                String::from_utf8_lossy(&path.0).into_owned()
            })
        },
        ..row::blank(
            GROUP,
            "oracle.report",
            "--report",
            "LOOPEXEC_REPORT",
            "Report file that the check writes, relative to the workdir",
            "Read only when the check has written it anew.",
        )
    },
    Setting {
        kind: Kind::Path,
        off: Off::Word,
        set: |policy, value| {
            policy.oracle.coverage = value.unless_off().map(Value::path).transpose()?;
            Ok(())
        },
        show: |policy| {
            row::or_off(policy.oracle.coverage.as_ref(), |path| {
                String::from_utf8_lossy(&path.0).into_owned()
            })
        },
        ..row::blank(
            GROUP,
            "oracle.coverage",
            "--coverage",
            "LOOPEXEC_COVERAGE",
            "Coverage report that the check writes, relative to the workdir",
            "coverage.py JSON, Cobertura XML, lcov, llvm-cov JSON, a Go profile or istanbul JSON. Before green the \
             check runs twice more in copies, and the report is read there.",
        )
    },
    row!(
        list EnvNames,
        oracle.pass_env,
        row::blank(
            GROUP,
            "oracle.check_env",
            "--check-env",
            "LOOPEXEC_CHECK_ENVS",
            "Environment variable that the check gets as you have it",
            "Without it a check finds a fixed time zone, language and seed, and no credentials, display or proxy.",
        )
    ),
    row!(
        switch,
        oracle.hermetic,
        row::blank(
            GROUP,
            "oracle.hermetic",
            "--hermetic",
            "LOOPEXEC_HERMETIC",
            "The check depends on nothing outside the tree, and is held to that",
            "Before green it runs once under strace and once in other surroundings; what it reached is named.",
        )
    ),
    row!(
        list Places,
        oracle.hermetic_allow,
        row::blank(
            GROUP,
            "oracle.hermetic_allow",
            "--hermetic-allow",
            "LOOPEXEC_HERMETIC_ALLOW",
            "Path or address outside that a hermetic check may reach all the same",
            "An absolute path with all below it, or an address with or without a port.",
        )
    ),
    row!(
        command?,
        oracle.failures_cmd,
        row::blank(
            GROUP,
            "oracle.failures_cmd",
            "--failures-cmd",
            "LOOPEXEC_FAILURES_CMD",
            "Prints one open failure a line from the check's captured output",
            "The output arrives on standard input, the paths of the captured files in the environment.",
        )
    ),
    row!(
        command?,
        oracle.integrity_cmd,
        row::blank(
            GROUP,
            "oracle.integrity_cmd",
            "--integrity-cmd",
            "LOOPEXEC_INTEGRITY_CMD",
            "Prints one identity of the test-determining surface a line",
            "An identity that the first measurement had and a later one lacks is an integrity violation.",
        )
    ),
    row!(
        switch negated,
        oracle.baseline,
        row::blank(
            GROUP,
            "oracle.baseline",
            "--no-baseline",
            "LOOPEXEC_BASELINE",
            "Run the check on the untouched tree before any work",
            "The flag skips that run, and the receipt says so.",
        )
    ),
    row!(
        switch,
        oracle.require_red,
        row::blank(
            GROUP,
            "oracle.require_red",
            "--require-red",
            "LOOPEXEC_REQUIRE_RED",
            "A check that is green before any work is inadequate instead of converged",
            "",
        )
    ),
    Setting {
        kind: Kind::Decimal { max: 1 },
        set: |policy, value| {
            let text = value.text()?;
            let wanted = "a rate below 1, such as 0.05";
            let parts = fixed::parse(&text, 6, wanted, "0.000001", u64::from(PPM))?;
            policy.oracle.max_flake_ppm =
                u32::try_from(parts)
                    .ok()
                    .filter(|parts| *parts < PPM)
                    .ok_or(Fault::Malformed {
                        wanted: wanted.to_owned(),
                        found: text,
                    })?;
            Ok(())
        },
        show: |policy| fixed::show(policy.oracle.max_flake_ppm.into(), 6),
        ..row::blank(
            GROUP,
            "oracle.max_flake_rate",
            "--max-flake-rate",
            "LOOPEXEC_MAX_FLAKE_RATE",
            "Share of the check's runs that may disagree on one tree",
            "Below 0.05 any disagreement halts. From there on the run halts when the runs prove more than that.",
        )
    },
    Setting {
        kind: Kind::Integer { min: 0, max: 125 },
        set: |policy, value| {
            policy.oracle.success_exit = i32::try_from(value.integer()?).unwrap_or(0);
            Ok(())
        },
        show: |policy| policy.oracle.success_exit.to_string(),
        ..row::blank(
            GROUP,
            "oracle.check_success_exit",
            "--check-success-exit",
            "LOOPEXEC_CHECK_SUCCESS_EXIT",
            "Exit code of the check that means green",
            "For checks that cannot speak through 0. Codes from 126 on say that a command could not run.",
        )
    },
];
