//! cargo-nextest: its libtest-like JSON on stdout when injected or asked for, its status lines otherwise.
//!
//! Every test runs in a process of its own, so a test that ends its process with status 0 looks like
//! a pass here; that is for other guards to see.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Artefact, CollectError, Collector, Injection, libtest, nextest_text};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "nextest",
    doc: "cargo nextest: libtest-json-plus on stdout (injected), or the status lines on stderr",
    detect: |detection| detection.find(|run| run.is("cargo", &["nextest"]) || run.program() == "cargo-nextest"),
    inject: |_| Injection {
        env: vec![
            ("NEXTEST_EXPERIMENTAL_LIBTEST_JSON".to_string(), "1".to_string()),
            ("NEXTEST_MESSAGE_FORMAT".to_string(), "libtest-json-plus".to_string()),
        ],
        ..Injection::default()
    },
    collect,
};

/// One test of the JSON stream, its attempts merged.
#[derive(Default)]
struct Test {
    status: Option<Status>,
    message: String,
    attempts: u32,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let (stdout, stderr) = (plain::text(artefact.stdout), plain::text(artefact.stderr));
    let tests = read_json(&stdout);
    let mut lines = nextest_text::read(&stderr);
    if tests.is_empty() && lines.starting.is_none() {
        lines = nextest_text::read(&stdout);
    }
    let build = libtest::build_failure(&stderr).or_else(|| libtest::build_failure(&stdout));
    if tests.is_empty() && lines.starting.is_none() && build.is_none() {
        return Err(CollectError::Absent {
            collector: "nextest",
            what: "nextest output",
        });
    }
    let mut measured = if tests.is_empty() {
        from_lines(&lines)
    } else {
        from_json(tests, &lines)
    };
    if let Some(message) = build {
        measured
            .members
            .push(Member::new("build", Status::Error).saying(&message).as_container());
    }
    Ok(measured.settled())
}

fn read_json(text: &str) -> BTreeMap<String, Test> {
    let mut tests: BTreeMap<String, Test> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("type") != "test" {
            continue;
        }
        let (name, attempt) = split_attempt(text("name"));
        // libtest's own JSON has no `crate::binary$` in front of the name.
        if !name.contains('$') {
            continue;
        }
        let test = tests.entry(name.to_string()).or_default();
        test.attempts = test.attempts.max(attempt);
        test.status = match text("event") {
            "ok" if attempt > 1 => Some(Status::FlakyPassed),
            "ok" => Some(Status::Passed),
            "failed" | "timeout" => Some(Status::Failed),
            "ignored" => Some(Status::Ignored),
            _ => continue,
        };
        test.message = text("stdout").to_string();
    }
    tests
}

/// A retried test is reported as `name#2`.
fn split_attempt(name: &str) -> (&str, u32) {
    name.rsplit_once('#')
        .and_then(|(name, attempt)| Some((name, attempt.parse().ok()?)))
        .unwrap_or((name, 1))
}

fn from_json(tests: BTreeMap<String, Test>, lines: &nextest_text::Lines) -> Measured {
    let mut measured = Measured::unfinished("nextest");
    let ignored = tests
        .values()
        .filter(|test| test.status == Some(Status::Ignored))
        .count() as u64;
    let concluded = tests.values().filter(|test| test.status.is_some()).count() as u64;
    let failing = tests
        .values()
        .filter(|test| test.status == Some(Status::Failed))
        .count() as u64;
    measured.announced =
        Some((tests.len() as u64).max(lines.starting.map_or(0, |count| count.saturating_add(ignored))));
    measured.concluded = Some(concluded);
    measured.finished = lines.run.is_some();
    if let Some(run) = lines.run
        && run != concluded - ignored
    {
        measured.contradictions.push(format!(
            "the summary says {run} tests ran and {} were reported",
            concluded - ignored
        ));
    }
    if let Some(stated) = lines.failed
        && stated != failing
    {
        measured.contradictions.push(format!(
            "the summary says {stated} tests failed and {failing} were reported"
        ));
    }
    for (name, test) in tests {
        measured.retried += u64::from(test.attempts > 1);
        let (suite, case) = name.split_once('$').unwrap_or(("", &name));
        let id = format!("{suite} {case}");
        let status = test.status.unwrap_or(Status::Error);
        let message = if test.status.is_some() {
            test.message.as_str()
        } else {
            "started, and never came to a verdict"
        };
        measured
            .members
            .push(Member::new(id, status).saying(message).of_suite(suite));
    }
    measured
}

fn from_lines(lines: &nextest_text::Lines) -> Measured {
    let mut measured = Measured::unfinished("nextest");
    let ran: Vec<_> = lines
        .tests
        .values()
        .filter(|status| **status != Status::Ignored)
        .collect();
    measured.announced = lines.starting;
    measured.concluded = Some(lines.run.unwrap_or(ran.len() as u64));
    measured.finished = lines.run.is_some();
    measured.retried = ran.iter().filter(|status| ***status == Status::FlakyPassed).count() as u64;
    measured.members = nextest_text::members(&lines.tests);
    measured.complete = lines.run.is_none_or(|run| run == ran.len() as u64);
    if !measured.complete {
        measured
            .notes
            .push("the status level hides tests that passed".to_string());
    }
    let failing = ran.iter().filter(|status| status.is_failing()).count() as u64;
    if let Some(stated) = lines.failed
        && stated != failing
    {
        measured.contradictions.push(format!(
            "the summary says {stated} tests failed and {failing} are listed"
        ));
    }
    measured
}
