//! nextest's status lines for people, as printed on stderr.

use std::collections::BTreeMap;

use crate::oracle::{Member, Status};

/// What the status lines say.
#[derive(Default)]
pub(super) struct Lines {
    /// `Starting N tests`.
    pub(super) starting: Option<u64>,
    /// `N tests run` of the summary.
    pub(super) run: Option<u64>,
    pub(super) failed: Option<u64>,
    pub(super) tests: BTreeMap<String, Status>,
}

pub(super) fn read(text: &str) -> Lines {
    let mut lines = Lines::default();
    for line in text.lines() {
        let content = line.trim_start();
        if let Some(rest) = content.strip_prefix("Starting ") {
            lines.starting = lines.starting.or_else(|| leading(rest));
        } else if let Some(rest) = content.strip_prefix("Summary [").and_then(|rest| rest.split_once("] ")) {
            summary(rest.1, &mut lines);
        } else if line.len() - content.len() <= 12
            && let Some((status, name)) = status_line(content)
        {
            note(&mut lines.tests, name, status);
        }
    }
    lines
}

fn leading(text: &str) -> Option<u64> {
    text.split(' ').next()?.split('/').next()?.parse().ok()
}

/// `10 tests run: 8 passed (1 flaky), 2 failed, 2 skipped`
fn summary(text: &str, lines: &mut Lines) {
    let Some((run, parts)) = text.split_once(" run:") else {
        return;
    };
    lines.run = leading(run);
    let count = |what: &str| {
        parts
            .split(", ")
            .filter_map(|part| part.trim().split_once(' '))
            .find(|(_, word)| word.starts_with(what))
    };
    let number = |what: &str| count(what).and_then(|(n, _)| n.parse::<u64>().ok()).unwrap_or(0);
    lines.failed = Some(
        number("failed")
            .saturating_add(number("timed out"))
            .saturating_add(number("exec failed")),
    );
}

/// `FAIL [   0.017s] ( 1/10) demo::it name`
fn status_line(content: &str) -> Option<(Status, &str)> {
    let (word, rest) = content.split_once(" [")?;
    let (time, rest) = rest.split_once("] ")?;
    if !time
        .trim_start_matches(['>', ' '])
        .trim_end_matches('s')
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && !time.trim().is_empty()
    {
        return None;
    }
    let name = match rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((counter, name)) if counter.contains('/') || counter.contains('─') => name,
        _ => rest.trim_start(),
    };
    let retry = word.strip_prefix("TRY ").and_then(|rest| rest.split_once(' '));
    let (attempt, verdict) = match retry {
        Some((attempt, verdict)) => (attempt.parse::<u32>().ok()?, verdict),
        None => (1, word),
    };
    let status = match verdict {
        "PASS" | "LEAK" if attempt > 1 => Status::FlakyPassed,
        "PASS" | "LEAK" => Status::Passed,
        "SKIP" => Status::Ignored,
        "FAIL" | "LEAK-FAIL" | "FLKY-FL" => Status::Failed,
        "TIMEOUT" | "TMT" | "ABRT" | "ABORT" | "XFAIL" | "EXECFAIL" => Status::Error,
        _ if verdict.starts_with("FLAKY") => Status::FlakyPassed,
        _ if verdict.starts_with("SIG") && verdict.len() <= 10 => Status::Error,
        _ => return None,
    };
    let name = name.trim_end();
    (name.contains(' ') && !name.is_empty()).then_some((status, name))
}

/// A later line decides: attempts come in order, and the final list repeats the verdicts.
fn note(tests: &mut BTreeMap<String, Status>, name: &str, status: Status) {
    match tests.get_mut(name) {
        Some(known) if *known == Status::FlakyPassed && status == Status::Passed => {}
        Some(known) => *known = status,
        None => {
            tests.insert(name.to_string(), status);
        }
    }
}

pub(super) fn members(tests: &BTreeMap<String, Status>) -> Vec<Member> {
    tests
        .iter()
        .map(|(name, status)| {
            let suite = name.split(' ').next().unwrap_or_default();
            Member::new(name.clone(), *status).of_suite(suite)
        })
        .collect()
}
