//! node's own test runner: TAP (injected), or its spec reporter.
//!
//! node counts tests and suites apart and, with several files, plans more points than it numbers;
//! the summary comments are therefore what the points are compared with. A file that ends its process
//! early with status 0 is one passing point named after the file.

use super::{Artefact, BOUNDS, CollectError, Collector, InjectRequest, Injection, node_spec, tap};
use crate::oracle::{Measured, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "node",
    doc: "node --test: TAP on stdout (injected), or the spec reporter's lines",
    detect: |detection| detection.find(|run| run.program() == "node" && run.has("--test")),
    inject,
    collect,
};

/// A second reporter would need a destination for each, so a command that names one keeps it.
fn inject(request: &InjectRequest<'_>) -> Injection {
    let own = request
        .detection
        .invocations()
        .iter()
        .any(|run| run.has("--test-reporter"));
    if own || request.light {
        return Injection::default();
    }
    let env_words = vec![("NODE_OPTIONS".to_string(), "--test-reporter=tap".to_string())];
    Injection {
        env_words,
        ..Injection::default()
    }
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let text = plain::text(artefact.report.unwrap_or(artefact.stdout));
    let reading = tap::read(&text);
    if reading.too_deep {
        return Err(BOUNDS.too_deep("node"));
    }
    let totals = totals_of(reading.comments.iter().map(String::as_str));
    let is_node = totals.iter().any(|(name, _)| name == "tests")
        || reading.points.iter().any(|point| point.yaml.contains("duration_ms"));
    // A plan of nothing is a run that found no test, and no run without a report.
    let found_none = reading.points.is_empty() && reading.planned == Some(0);
    if reading.points.is_empty() && !found_none || !is_node {
        return from_spec(&text, artefact);
    }
    let suites: Vec<bool> = reading
        .points
        .iter()
        .map(|point| point.yaml.contains("type: 'suite'"))
        .collect();
    let broken: Vec<bool> = reading
        .points
        .iter()
        .map(|point| {
            ["cancelledByParent", "hookFailed", "testTimeoutFailure"]
                .iter()
                .any(|word| point.yaml.contains(&format!("failureType: '{word}'")))
        })
        .collect();
    let mut measured = tap::measure("node", reading);
    for ((member, suite), broken) in measured.members.iter_mut().zip(&suites).zip(broken) {
        let relative = artefact.relative(&member.id);
        // A test with subtests is a test; `describe` makes a container, and so does a file that
        // reported nothing of its own.
        member.container = *suite || relative != member.id;
        member.id = relative;
        let telling = |line: &&str| !line.starts_with("duration_ms:") && !line.starts_with("type:");
        member.message = member.message.lines().filter(telling).collect::<Vec<_>>().join("\n");
        if broken && member.status == Status::Failed {
            member.status = Status::Error;
        }
    }
    let tests = suites.iter().filter(|suite| !**suite).count() as u64;
    finish(&mut measured, &totals, tests);
    Ok(measured.settled())
}

fn from_spec(text: &str, artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let spec = node_spec::read(text);
    if !spec.totals.iter().any(|(name, _)| name == "tests") {
        return Err(CollectError::Absent {
            collector: "node",
            what: "TAP or spec output of node's test runner",
        });
    }
    let mut measured = Measured::unfinished("node");
    measured.members = spec.members;
    for member in &mut measured.members {
        let relative = artefact.relative(&member.id);
        member.container |= relative != member.id;
        member.id = relative;
    }
    // The spec reporter draws a suite and a test with subtests alike.
    let sum = |wanted: &str| {
        spec.totals
            .iter()
            .filter(|(name, _)| name == wanted)
            .fold(0u64, |sum, (_, value)| sum.saturating_add(*value))
    };
    let tests = (measured.members.len() as u64).saturating_sub(sum("suites"));
    finish(&mut measured, &spec.totals, tests);
    Ok(measured.settled())
}

fn totals_of<'a>(comments: impl Iterator<Item = &'a str>) -> Vec<(String, u64)> {
    comments
        .filter_map(|comment| comment.split_once(' '))
        .filter_map(|(name, value)| Some((name.to_string(), value.parse().ok()?)))
        .collect()
}

fn finish(measured: &mut Measured, totals: &[(String, u64)], tests: u64) {
    let sum = |wanted: &str| {
        let values: Vec<u64> = totals
            .iter()
            .filter(|(name, _)| name == wanted)
            .map(|(_, value)| *value)
            .collect();
        (!values.is_empty()).then(|| values.iter().fold(0u64, |sum, value| sum.saturating_add(*value)))
    };
    measured.concluded = Some(tests);
    measured.announced = sum("tests").or(measured.announced);
    measured.finished = sum("tests").is_some();
    if let Some(stated) = sum("tests")
        && stated != tests
    {
        measured
            .contradictions
            .push(format!("the summary states {stated} tests and {tests} are listed"));
    }
    let failing = measured.failing().count() as u64;
    let stated = sum("fail").unwrap_or(0).saturating_add(sum("cancelled").unwrap_or(0));
    // Suites are not counted by node, so only the question whether anything failed can be compared.
    if measured.finished && (stated == 0) != (failing == 0) {
        measured
            .contradictions
            .push(format!("the summary states {stated} failures and {failing} are listed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_found_no_test_is_no_run_without_a_report() {
        let artefact = |stdout| Artefact {
            exit: Some(0),
            stdout,
            stderr: b"",
            report: None,
            reports_dir_files: &[],
            workdir: "/w",
        };
        let none = collect(&artefact(
            b"\n> test\n> node --test\n\nTAP version 13\n1..0\n# tests 0\n# pass 0\n",
        ))
        .unwrap();
        assert_eq!(
            (none.announced, none.concluded, none.finished),
            (Some(0), Some(0), true)
        );
        assert!(collect(&artefact(b"no such file\n")).is_err());
    }
}
