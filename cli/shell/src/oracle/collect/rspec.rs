//! RSpec's JSON report, asked for by `SPEC_OPTS`.
//!
//! A member is its file and its full description. An example that is expected to fail and passes is a failure to
//! RSpec and told apart by the class of its exception; one that fails as expected is only called pending.

use serde_json::Value;

use super::{Artefact, CollectError, Collector, InjectRequest, Injection, ReportPlan};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "rspec",
    doc: "RSpec: its JSON report (injected by SPEC_OPTS), or the same JSON on stdout",
    detect: |detection| detection.find(|run| run.program() == "rspec"),
    inject,
    collect,
};

const NAME: &str = "rspec";
const REPORT: &str = "rspec.json";
const FIXED: &str = "RSpec::Core::Pending::PendingExampleFixedError";

/// A formatter in `SPEC_OPTS` takes the place of those on the command line, so the usual one is named along with it.
fn inject(request: &InjectRequest<'_>) -> Injection {
    if request.light {
        return Injection::default();
    }
    let path = format!("{}/{REPORT}", request.reports_dir).replace('\'', r"'\''");
    Injection {
        env_words: vec![(
            "SPEC_OPTS".to_string(),
            format!("--format progress --format json --out '{path}'"),
        )],
        report: ReportPlan::File(REPORT),
        ..Injection::default()
    }
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let stdout = plain::text(artefact.stdout);
    let printed = || {
        stdout
            .lines()
            .find(|line| line.starts_with('{') && line.contains("\"examples\""))
    };
    let text = match artefact.file(REPORT).or(artefact.report) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => printed()
            .ok_or(CollectError::Absent {
                collector: NAME,
                what: "JSON report",
            })?
            .to_string(),
    };
    let root: Value = serde_json::from_str(text.trim()).map_err(|error| CollectError::json(NAME, &error))?;
    let Some(examples) = root.get("examples").and_then(Value::as_array) else {
        return Err(CollectError::Malformed {
            collector: NAME,
            what: "there is no list examples".into(),
            line: None,
        });
    };
    let mut measured = Measured::unfinished(NAME);
    measured.members = examples.iter().map(|example| member(example, artefact)).collect();
    measured.concluded = Some(examples.len() as u64);
    if let Some(summary) = root.get("summary") {
        measured.finished = true;
        compare(&root, summary, &mut measured);
    }
    Ok(measured.settled())
}

fn member(example: &Value, artefact: &Artefact<'_>) -> Member {
    let text = |key: &str| example.get(key).and_then(Value::as_str).unwrap_or_default();
    let said = |key: &str| {
        let exception = example.get("exception").and_then(|exception| exception.get(key));
        exception.and_then(Value::as_str).unwrap_or_default()
    };
    let status = match text("status") {
        "passed" => Status::Passed,
        "failed" if said("class") == FIXED => Status::Xpass,
        "failed" => Status::Failed,
        "pending" => Status::Skipped,
        _ => Status::Error,
    };
    let path = text("file_path");
    let file = artefact.relative(path.strip_prefix("./").unwrap_or(path));
    let message = if said("message").is_empty() {
        text("pending_message")
    } else {
        said("message")
    };
    let mut member = Member::new(format!("{file} > {}", text("full_description")), status).saying(message);
    member.line = example
        .get("line_number")
        .and_then(Value::as_u64)
        .and_then(|line| u32::try_from(line).ok());
    member.in_file(file)
}

/// The totals against the examples, and what went wrong outside of any.
fn compare(root: &Value, summary: &Value, measured: &mut Measured) {
    let number = |key: &str| summary.get(key).and_then(Value::as_u64);
    measured.announced = number("example_count");
    let failed = measured
        .members
        .iter()
        .filter(|member| matches!(member.status, Status::Failed | Status::Xpass))
        .count() as u64;
    if let Some(stated) = number("failure_count").filter(|stated| *stated != failed) {
        measured
            .contradictions
            .push(format!("the report states {stated} failed examples and lists {failed}"));
    }
    let outside = number("errors_outside_of_examples_count").unwrap_or(0);
    if outside > 0 {
        let messages = root.get("messages").and_then(Value::as_array);
        let said: Vec<&str> = messages.into_iter().flatten().filter_map(Value::as_str).collect();
        let error = Member::new("errors outside of examples", Status::Error).saying(&said.join("\n"));
        measured.members.push(error.as_container());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Detection;
    use super::*;

    #[test]
    fn the_users_own_options_stand_behind_the_injected_ones() {
        let request = InjectRequest {
            detection: &Detection::default(),
            reports_dir: "/it's here",
            support_dir: "",
            light: false,
        };
        let set = inject(&request).environment(|_| Some("--order rand".to_string()));
        let expected = r"--format progress --format json --out '/it'\''s here/rspec.json' --order rand";
        assert_eq!(set, [("SPEC_OPTS".to_string(), expected.to_string())]);
        assert_eq!(inject(&InjectRequest { light: true, ..request }), Injection::default());
    }
}
