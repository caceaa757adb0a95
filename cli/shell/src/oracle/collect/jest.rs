//! jest's `--json` report, which vitest shares.
//!
//! jest takes no reporter from the environment, so a small script is preloaded into node that adds
//! the two options to jest's (and vitest's) own command line and does nothing in any other process.
//! Titles repeat between files, so a member is its file, its ancestors and its title.

use serde_json::Value;

use super::{Artefact, CollectError, Collector, InjectRequest, Injection, ReportPlan};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "jest",
    doc: "jest: its --json report (injected by a node preload), or the same JSON on stdout",
    detect: |detection| {
        detection.find(|run| {
            let script =
                run.program() == "node" && run.arguments().iter().any(|word| word.ends_with("jest/bin/jest.js"));
            script || matches!(run.program(), "jest" | "jest.js") || run.is("react-scripts", &["test"])
        })
    },
    inject: |request| inject(request, JEST_REPORT),
    collect: |artefact| collect("jest", JEST_REPORT, artefact),
};

/// Source of the node preload that adds a JSON report to jest and vitest.
pub const NODE_SHIM: &str = include_str!("node_shim.cjs");

const SHIM_FILE: &str = "loopexec_node_report.cjs";
const JEST_REPORT: &str = "jest.json";

pub(super) fn inject(request: &InjectRequest<'_>, report: &'static str) -> Injection {
    if request.light {
        return Injection::default();
    }
    let shim = format!("{}/{SHIM_FILE}", request.support_dir)
        .replace('\\', r"\\")
        .replace('"', r#"\""#);
    Injection {
        env: vec![(
            "LOOPEXEC_NODE_REPORT".to_string(),
            format!("{}/{report}", request.reports_dir),
        )],
        env_words: vec![("NODE_OPTIONS".to_string(), format!("--require \"{shim}\""))],
        support_files: vec![(SHIM_FILE, NODE_SHIM)],
        report: ReportPlan::File(report),
        ..Injection::default()
    }
}

pub(super) fn collect(name: &'static str, file: &str, artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let stdout;
    let bytes = match artefact.file(file).or(artefact.report) {
        Some(bytes) => bytes,
        None => {
            stdout = plain::text(artefact.stdout);
            let printed = stdout
                .lines()
                .find(|line| line.starts_with('{') && line.contains("\"testResults\""));
            printed
                .ok_or(CollectError::Absent {
                    collector: name,
                    what: "JSON report",
                })?
                .as_bytes()
        }
    };
    let text = String::from_utf8_lossy(bytes);
    let root: Value = serde_json::from_str(text.trim()).map_err(|error| CollectError::json(name, &error))?;
    let Some(results) = root.get("testResults").and_then(Value::as_array) else {
        return Err(CollectError::Malformed {
            collector: name,
            what: "there is no list testResults".into(),
            line: None,
        });
    };
    let mut measured = Measured::unfinished(name);
    for result in results {
        take_file(result, artefact, &mut measured);
    }
    let tests = measured.members.iter().filter(|member| !member.container).count() as u64;
    measured.concluded = Some(tests);
    measured.announced = root.get("numTotalTests").and_then(Value::as_u64);
    measured.finished = root.get("wasInterrupted").and_then(Value::as_bool) != Some(true);
    compare(&root, &mut measured);
    Ok(measured.settled())
}

fn take_file(result: &Value, artefact: &Artefact<'_>, measured: &mut Measured) {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
    let file = artefact.relative(&text(result, "name"));
    let cases = result
        .get("assertionResults")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut explained = false;
    for case in cases {
        let strings = |key: &str| {
            let list = case
                .get(key)
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            list.iter()
                .filter_map(Value::as_str)
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        let mut path = vec![file.clone()];
        path.extend(strings("ancestorTitles"));
        let suite = path.join(" > ");
        path.push(text(case, "title"));
        let failures = strings("failureMessages");
        let retried = case.get("invocations").and_then(Value::as_u64).unwrap_or(1) > 1;
        let expected = case.get("failing").and_then(Value::as_bool) == Some(true);
        let status = match text(case, "status").as_str() {
            "passed" if expected => Status::Xfail,
            // vitest has no count of attempts, but keeps the failures of the earlier ones.
            "passed" if retried || !failures.is_empty() => Status::FlakyPassed,
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            "todo" => Status::Todo,
            "disabled" => Status::Ignored,
            "pending" | "skipped" => Status::Skipped,
            _ => Status::Error,
        };
        explained |= status.is_failing();
        measured.retried += u64::from(retried || status == Status::FlakyPassed);
        let mut member = Member::new(path.join(" > "), status)
            .saying(&failures.join("\n"))
            .of_suite(suite);
        member.file = Some(file.clone());
        let line = case
            .get("location")
            .and_then(|location| location.get("line"))
            .and_then(Value::as_u64);
        member.line = line.and_then(|line| u32::try_from(line).ok());
        measured.members.push(member);
    }
    if text(result, "status") == "failed" && !explained {
        let member = Member::new(file.clone(), Status::Error).saying(&text(result, "message"));
        measured.members.push(member.in_file(file).as_container());
    }
}

/// The root's totals against the cases.
fn compare(root: &Value, measured: &mut Measured) {
    let number = |key: &str| root.get(key).and_then(Value::as_u64);
    let failed = measured
        .members
        .iter()
        .filter(|member| !member.container && member.status.is_failing())
        .count() as u64;
    if let Some(stated) = number("numFailedTests")
        && stated != failed
    {
        measured
            .contradictions
            .push(format!("the report states {stated} failed tests and lists {failed}"));
    }
    if root.get("success").and_then(Value::as_bool) == Some(true) && measured.failing().next().is_some() {
        measured
            .contradictions
            .push("the report states success and lists a failure".to_string());
    }
    let open = root
        .get("numRuntimeErrorTestSuites")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    if open > 0 && !measured.members.iter().any(|member| member.container) {
        measured
            .contradictions
            .push(format!("the report states {open} broken test files and lists none"));
    }
}
