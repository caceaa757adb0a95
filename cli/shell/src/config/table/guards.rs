//! `[guards]`: which guards run, what they watch, and what a violation does.

use engine::event::policy::{
    Adequacy, BLOCKED_DEFAULT, GuardBudget, GuardPolicy, OnViolation, OverBudget, Policy, Surface,
};
use engine::vet::left_out_when_fast;

use super::super::duration;
use super::super::error::Fault;
use super::super::setting::{Kind, Off, Setting};
use super::super::value::Value;
use super::row;

const GROUP: &str = "Guards";

/// Stands for the built-in list in a list of blocked paths.
pub const BLOCKED_DEFAULT_WORD: &str = "default";

/// Test directories: watched instead of blocked when the surface may grow.
const TEST_DIRECTORIES: &[&str] = &["test/", "tests/"];

const VIOLATIONS_MAX: u32 = 1_000_000;
const MUTANTS_MAX: u64 = 256;
const CHECKS_MAX: u32 = 1_000_000;
const PERCENT_MAX: u64 = 100;

pub(super) const ROWS: &[Setting] = &[
    // Before the blocked paths: their default depends on it.
    Setting {
        kind: Kind::Choice(labels!(Surface)),
        set: |policy, value| {
            let label = value.text()?;
            let surface = Surface::from_label(&label).ok_or_else(|| Fault::Malformed {
                wanted: labels!(Surface).join(" or "),
                found: label,
            })?;
            policy.guards.surface = surface;
            policy.guards.blocked = blocked_default(surface);
            policy.guards.budget = GuardBudget::of(surface);
            Ok(())
        },
        show: |policy| policy.guards.surface.label().to_owned(),
        ..row::blank(
            GROUP,
            "guards.surface",
            "--surface",
            "LOOPEXEC_SURFACE",
            "Whether tests may be added (extend) or not touched (frozen)",
            "Under `extend` the test directories are watched instead of blocked, and green needs the original tests to pass as well; where tests changed, up to ten more runs of the check compare them with the original ones.",
        )
    },
    Setting {
        kind: Kind::Patterns,
        off: Off::Word,
        set: set_blocked,
        show: |policy| row::list(&policy.guards.blocked),
        ..row::blank(
            GROUP,
            "guards.blocked",
            "--blocked",
            "LOOPEXEC_BLOCKED",
            "Pattern of paths that must not change",
            "Replaces the built-in list; the word `default` among the patterns stands for it.",
        )
    },
    row!(
        list Patterns,
        guards.protected,
        row::blank(
            GROUP,
            "guards.protected",
            "--protected",
            "LOOPEXEC_PROTECTED",
            "Further pattern of files that determine the check's result",
            "",
        )
    ),
    row!(
        list Patterns,
        guards.test_directories,
        row::blank(
            GROUP,
            "guards.suite_dirs",
            "--suite-dir",
            "LOOPEXEC_SUITE_DIRS",
            "Further pattern of a directory that holds tests, their helpers and their data",
            "Those with a conventional name that hold test files are found by themselves. Under `extend` they may change.",
        )
    ),
    row!(
        list Patterns,
        guards.allowed,
        row::blank(
            GROUP,
            "guards.allow",
            "--allow",
            "LOOPEXEC_ALLOW",
            "Pattern exempted from the blocked and the protected paths",
            "",
        )
    ),
    row!(
        switch negated,
        guards.commits_allowed,
        row::blank(
            GROUP,
            "guards.commits",
            "--no-commits",
            "LOOPEXEC_COMMITS",
            "Commits on the current branch are allowed",
            "The flag makes a commit by the work command a violation.",
        )
    ),
    row!(
        list Names,
        guards.off,
        row::blank(
            GROUP,
            "guards.off",
            "--guard-off",
            "LOOPEXEC_GUARD_OFF",
            "Guard to switch off; the receipt says so",
            "",
        )
    ),
    // Behind the guards that are off: it adds to them.
    Setting {
        kind: Kind::Bool,
        set: |policy, value| {
            if value.boolean()? {
                let off = &mut policy.guards.off;
                let more: Vec<_> = left_out_when_fast()
                    .filter(|name| !off.iter().any(|known| known == name))
                    .collect();
                off.extend(more.into_iter().map(str::to_owned));
            }
            Ok(())
        },
        show: |policy| {
            let off = |name: &str| policy.guards.off.iter().any(|known| known == name);
            left_out_when_fast().all(off).to_string()
        },
        ..row::blank(
            GROUP,
            "guards.fast",
            "--fast",
            "LOOPEXEC_FAST",
            "Before green only the replay of the start, the sentinel pair and the confirmation",
            "Switches the other guards before green off, and the receipt says so.",
        )
    },
    Setting {
        kind: Kind::Form("halt|restore[:N]"),
        set: set_on_violation,
        show: |policy| match policy.guards.on_violation {
            OnViolation::Halt => OnViolation::Halt.label().to_owned(),
            OnViolation::Restore => format!("{}:{}", OnViolation::Restore, policy.guards.violations_max),
        },
        ..row::blank(
            GROUP,
            "guards.on_violation",
            "--on-violation",
            "LOOPEXEC_ON_VIOLATION",
            "What a violation does to the run",
            "`restore` puts the protected files back, tells the agent, and halts at the Nth violating iteration (default 2).",
        )
    },
    row!(
        count(1, MUTANTS_MAX),
        guards.mutants_max,
        row::blank(
            GROUP,
            "guards.mutants_max",
            "--mutants-max",
            "LOOPEXEC_MUTANTS_MAX",
            "Changes that are tried before green, at most",
            "Expected values of tests that went from red to green, all in one further run of the check; changed lines of the product, each in a run of its own; where tests changed under `extend`, up to ten more.",
        )
    ),
    row!(
        choice Adequacy,
        guards.adequacy,
        row::blank(
            GROUP,
            "guards.adequacy",
            "--adequacy",
            "LOOPEXEC_ADEQUACY",
            "How much of what was changed the check must notice before green",
            "`change`: some part of it, and what else it does not notice or run is a note; `every`: each changed part, and each changed line runs.",
        )
    ),
    Setting {
        kind: Kind::Form("Nx|DURATION|Nx,DURATION"),
        off: Off::WordOrZero,
        set: set_budget,
        show: |policy| show_budget(&policy.guards.budget),
        ..row::blank(
            GROUP,
            "guards.budget",
            "--guard-budget",
            "LOOPEXEC_GUARD_BUDGET",
            "Time for all guards before green of one turn: so many times the check, or a duration",
            "10x,5m, the larger of the two, and 30x,5m under `extend`, when left out; `off` for no limit.",
        )
    },
    row!(
        choice OverBudget,
        guards.over_budget,
        row::blank(
            GROUP,
            "guards.over_budget",
            "--over-budget",
            "LOOPEXEC_OVER_BUDGET",
            "What a guard is that did not fit into the guards' time",
            "`unverified`: without it nothing is green; `leave-out`: it is off for this turn, and the receipt says so.",
        )
    ),
    row!(
        count(0, PERCENT_MAX) off 0,
        guards.min_coverage_percent,
        row::blank(
            GROUP,
            "guards.min_coverage",
            "--min-coverage",
            "LOOPEXEC_MIN_COVERAGE",
            "Percent of the product's lines that the check must run before green",
            "Of the lines that can run, as the coverage report has them.",
        )
    ),
    row!(
        switch negated,
        guards.confirm,
        row::blank(
            GROUP,
            "guards.confirm",
            "--no-confirm",
            "LOOPEXEC_CONFIRM",
            "Run the check once more on the same tree before green",
            "The flag skips that run, and the receipt says so.",
        )
    ),
    row!(
        command?,
        guards.judge,
        row::blank(
            GROUP,
            "guards.judge",
            "--judge",
            "LOOPEXEC_JUDGE",
            "Reviewer that may object before green",
            "It gets the change and what was measured as JSON on standard input, in a copy of the candidate (isolated, \
             in an empty directory), and prints one JSON object: \
             `{\"verdict\": \"pass\"|\"reject\"|\"hacking\", \"rationale\": \"...\"}`.",
        )
    ),
    row!(
        duration,
        guards.judge_timeout_ms,
        row::blank(
            GROUP,
            "guards.judge_timeout",
            "--judge-timeout",
            "LOOPEXEC_JUDGE_TIMEOUT",
            "Time for the reviewer",
            "A reviewer without an answer stops nothing unless it is required.",
        )
    ),
    row!(
        switch,
        guards.judge_required,
        row::blank(
            GROUP,
            "guards.judge_required",
            "--judge-required",
            "LOOPEXEC_JUDGE_REQUIRED",
            "Nothing is green without an answer of the reviewer",
            "",
        )
    ),
];

/// The built-in blocked paths under `surface`.
fn blocked_default(surface: Surface) -> Vec<String> {
    let stays = |path: &&&str| surface == Surface::Frozen || !TEST_DIRECTORIES.contains(*path);
    BLOCKED_DEFAULT
        .iter()
        .filter(stays)
        .map(|path| (*path).to_owned())
        .collect()
}

fn set_blocked(policy: &mut Policy, value: Value) -> Result<(), Fault> {
    let mut blocked: Vec<String> = Vec::new();
    let written = value.unless_off().map(Value::texts).transpose()?.unwrap_or_default();
    for pattern in written {
        let more = if pattern == BLOCKED_DEFAULT_WORD {
            blocked_default(policy.guards.surface)
        } else {
            vec![pattern]
        };
        for pattern in more {
            if !blocked.contains(&pattern) {
                blocked.push(pattern);
            }
        }
    }
    policy.guards.blocked = blocked;
    Ok(())
}

/// `10x`, `30m`, the larger of the two as `10x,30m`, or `off`.
fn set_budget(policy: &mut Policy, value: Value) -> Result<(), Fault> {
    let mut budget = GuardBudget {
        checks: 0,
        at_least_ms: 0,
    };
    if let Some(value) = value.unless_off() {
        let text = value.text()?;
        let (times, least) = match text.split_once(',') {
            Some((times, least)) => (Some(times), Some(least)),
            None if text.ends_with('x') => (Some(text.as_str()), None),
            None => (None, Some(text.as_str())),
        };
        let malformed = || Fault::Malformed {
            wanted: format!("1x to {CHECKS_MAX}x, a duration such as 30m, both as in 10x,30m, or off"),
            found: text.clone(),
        };
        if let Some(times) = times {
            budget.checks = times_of(times).ok_or_else(malformed)?;
        }
        if let Some(least) = least {
            budget.at_least_ms = duration::parse(least).map_err(|fault| match fault {
                // Perhaps so many times the check was meant.
                Fault::MissingUnit { .. } => malformed(),
                fault => fault,
            })?;
        }
    }
    policy.guards.budget = budget;
    Ok(())
}

fn times_of(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('x')?;
    let times = digits.parse().ok()?;
    (digits.bytes().all(|byte| byte.is_ascii_digit()) && (1..=CHECKS_MAX).contains(&times)).then_some(times)
}

fn show_budget(budget: &GuardBudget) -> String {
    let GuardBudget { checks, at_least_ms } = *budget;
    let least = duration::show(at_least_ms);
    match (checks, at_least_ms) {
        (0, 0) => "off".to_owned(),
        (0, _) => least,
        (_, 0) => format!("{checks}x"),
        (_, _) => format!("{checks}x,{least}"),
    }
}

fn set_on_violation(policy: &mut Policy, value: Value) -> Result<(), Fault> {
    let text = value.text()?;
    let malformed = || Fault::Malformed {
        wanted: "halt, restore or restore:N with N from 1 on".to_owned(),
        found: text.clone(),
    };
    let (label, count) = match text.split_once(':') {
        Some((label, count)) => (label, Some(count)),
        None => (text.as_str(), None),
    };
    let on_violation = OnViolation::from_label(label).ok_or_else(malformed)?;
    let violations_max = match (on_violation, count) {
        (_, None) => GuardPolicy::default().violations_max,
        (OnViolation::Halt, Some(_)) => return Err(malformed()),
        (OnViolation::Restore, Some(count)) => {
            let digits = !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit());
            let number = count.parse::<u32>().ok().filter(|_| digits);
            number
                .filter(|n| (1..=VIOLATIONS_MAX).contains(n))
                .ok_or_else(malformed)?
        }
    };
    policy.guards.on_violation = on_violation;
    policy.guards.violations_max = violations_max;
    Ok(())
}
