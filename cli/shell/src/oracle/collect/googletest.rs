//! GoogleTest's JSON reports, asked for by `GTEST_OUTPUT`: one file for each test binary that runs.
//!
//! Suites repeat between binaries, so a member is its binary, its suite and its name.

use serde_json::Value;

use super::{Artefact, CollectError, Collector, InjectRequest, Injection};
use crate::oracle::{Measured, Member, Status};

pub(super) static COLLECTOR: Collector = Collector {
    name: "googletest",
    doc: "GoogleTest: the JSON report of each test binary (injected by GTEST_OUTPUT)",
    detect: |detection| detection.find(|run| run.arguments().iter().any(|word| word.starts_with("--gtest_"))),
    inject,
    collect,
};

const NAME: &str = "googletest";

/// A path that ends in a slash is a directory, in which each binary takes a name of its own.
fn inject(request: &InjectRequest<'_>) -> Injection {
    Injection {
        env: vec![("GTEST_OUTPUT".to_string(), format!("json:{}/", request.reports_dir))],
        ..Injection::default()
    }
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let written = artefact
        .reports_dir_files
        .iter()
        .filter_map(|(name, bytes)| Some((name.strip_suffix(".json")?, bytes.as_slice())));
    let named = artefact.report.map(|bytes| ("", bytes));
    let reports: Vec<(&str, &[u8])> = named.into_iter().chain(written).collect();
    if reports.is_empty() {
        return Err(CollectError::Absent {
            collector: NAME,
            what: "JSON report",
        });
    }
    let mut measured = Measured::unfinished(NAME);
    let mut announced = 0;
    for (binary, bytes) in reports {
        let root: Value = serde_json::from_slice(bytes).map_err(|error| CollectError::json(NAME, &error))?;
        let Some(suites) = root.get("testsuites").and_then(Value::as_array) else {
            return Err(CollectError::Malformed {
                collector: NAME,
                what: "there is no list testsuites".into(),
                line: None,
            });
        };
        let before = measured.members.len();
        for suite in suites {
            let tests = suite.get("testsuite").and_then(Value::as_array);
            let members = tests
                .into_iter()
                .flatten()
                .map(|test| member(binary, suite, test, artefact));
            measured.members.extend(members);
        }
        announced += number(&root, "tests").unwrap_or(0);
        let failed = measured.members[before..]
            .iter()
            .filter(|m| m.status.is_failing())
            .count() as u64;
        if let Some(stated) = number(&root, "failures").filter(|stated| *stated != failed) {
            measured
                .contradictions
                .push(format!("the report states {stated} failed tests and lists {failed}"));
        }
    }
    measured.announced = Some(announced);
    measured.concluded = Some(measured.members.len() as u64);
    // A binary that dies writes no report at all.
    measured.finished = true;
    Ok(measured.settled())
}

fn member(binary: &str, suite: &Value, test: &Value, artefact: &Artefact<'_>) -> Member {
    let name = format!("{}.{}", text(suite, "name"), text(test, "name"));
    let failures = test.get("failures").and_then(Value::as_array);
    let status = match (text(test, "status"), text(test, "result")) {
        _ if failures.is_some() => Status::Failed,
        ("NOTRUN", _) | (_, "SUPPRESSED") => Status::Ignored,
        (_, "SKIPPED") => Status::Skipped,
        ("RUN", "COMPLETED" | "") => Status::Passed,
        _ => Status::Error,
    };
    let said: Vec<&str> = failures
        .into_iter()
        .flatten()
        .map(|failure| text(failure, "failure"))
        .collect();
    let id = if binary.is_empty() {
        name
    } else {
        format!("{binary}::{name}")
    };
    let mut member = Member::new(id, status)
        .saying(&said.join("\n"))
        .of_suite(text(suite, "name"));
    let file = text(test, "file");
    member.file = (!file.is_empty()).then(|| artefact.relative(file));
    member.line = number(test, "line").and_then(|line| u32::try_from(line).ok());
    member
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use super::super::Detection;
    use super::*;

    #[test]
    fn every_binary_is_asked_for_a_file_of_its_own() {
        let request = InjectRequest {
            detection: &Detection::default(),
            reports_dir: "/reports",
            support_dir: "",
            light: false,
        };
        let set = inject(&request).environment(|_| Some("xml:mine".to_string()));
        assert_eq!(set, [("GTEST_OUTPUT".to_string(), "json:/reports/".to_string())]);
    }
}
