//! pytest, by a small plugin of our own and its JUnit XML, both injected by environment.
//!
//! The XML alone shows an unexpected pass as a pass, and does not exist at all when the process dies;
//! the plugin's record tells skip from xfail from xpass, names what was collected but never run, and
//! keeps the status the session ended with before a hook could change it. When both exist they must
//! agree on whether anything failed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    Artefact, CollectError, Collector, Detection, InjectRequest, Injection, Invocation, ReportPlan, junit,
    pytest_record,
};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "pytest",
    doc: "pytest 7 to 9, with or without xdist: an injected plugin's record, cross-checked with injected JUnit XML",
    detect: |detection| detection.find(runs_pytest),
    inject,
    collect,
};

/// Source of the injected plugin; it needs nothing but pytest itself.
pub const PLUGIN: &str = include_str!("pytest_plugin.py");

const PLUGIN_MODULE: &str = "loopexec_pytest_record";
const PLUGIN_FILE: &str = "loopexec_pytest_record.py";
const RECORD: &str = "pytest.jsonl";
const XML: &str = "pytest.xml";

/// What gives a variable to everything that a script runs behind it.
const EXPORTS: &[&str] = &["export", "declare", "readonly"];

fn runs_pytest(run: &Invocation) -> bool {
    matches!(run.program(), "pytest" | "py.test" | "pytest-3") || matches!(run.python_module(), Some("pytest"))
}

fn inject(request: &InjectRequest<'_>) -> Injection {
    let pair = |name: &str, value: String| (name.to_string(), value);
    let xml = quoted(&format!("{}/{XML}", request.reports_dir));
    let options = format!("--junitxml={xml} -o junit_family=xunit1");
    if request.light || !takes_plugins(request.detection) {
        // Without the plugin, the summary's own lines are the only trace of an unexpected pass.
        return Injection {
            env_words: vec![pair("PYTEST_ADDOPTS", format!("{options} -rfExX"))],
            report: ReportPlan::File(XML),
            ..Injection::default()
        };
    }
    Injection {
        env: vec![pair(
            "LOOPEXEC_PYTEST_RECORD",
            format!("{}/{RECORD}", request.reports_dir),
        )],
        env_words: vec![pair("PYTEST_ADDOPTS", options)],
        env_list: vec![pair("PYTEST_PLUGINS", PLUGIN_MODULE.to_string())],
        env_path: vec![pair("PYTHONPATH", request.support_dir.to_string())],
        support_files: vec![(PLUGIN_FILE, PLUGIN)],
        report: ReportPlan::File(RECORD),
    }
}

/// Whether every pytest of the command finds a plugin that is injected.
pub(crate) fn takes_plugins(detection: &Detection) -> bool {
    !detection.invocations().iter().any(hides_the_plugin)
}

/// Whether a plugin on `PYTHONPATH` would not be importable, which pytest answers by not starting.
fn hides_the_plugin(run: &Invocation) -> bool {
    let set = match EXPORTS.contains(&run.program()) {
        true => run.arguments(),
        false => &run.assignments,
    };
    let replaces_path = set
        .iter()
        .any(|word| word.starts_with("PYTHONPATH=") && !word.contains("$"));
    let isolated = run.python_module().is_some()
        && run.arguments().iter().take_while(|word| *word != "-m").any(|flag| {
            flag.starts_with('-') && !flag.starts_with("--") && flag.contains(['I', 'E']) && !flag.starts_with("-W")
        });
    replaces_path || isolated
}

fn quoted(path: &str) -> String {
    if path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c)) {
        return path.to_string();
    }
    format!("'{}'", path.replace('\'', r#"'"'"'"#))
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let record = artefact
        .file(RECORD)
        .or(artefact.report.filter(|bytes| bytes.starts_with(b"{")));
    let xml = artefact
        .file(XML)
        .or(artefact.report.filter(|bytes| !bytes.starts_with(b"{")));
    let record = record.and_then(pytest_record::read);
    let mut measured = match (record, xml) {
        (Some(summary), xml) => from_record(summary, xml, artefact),
        (None, Some(xml)) => from_xml(xml, artefact)?,
        (None, None) => return Err(without_a_report(artefact)),
    };
    measured.contradictions.dedup();
    Ok(measured.settled())
}

fn from_record(summary: pytest_record::Summary, xml: Option<&[u8]>, artefact: &Artefact<'_>) -> Measured {
    let mut measured = summary.measured;
    for status in &summary.endings {
        match (status, artefact.exit) {
            (1..=4, Some(0)) => measured.contradictions.push(format!(
                "pytest ended its session with status {status} and the check exited with 0"
            )),
            (5, _) => measured.notes.push("pytest collected no test".to_string()),
            _ => {}
        }
    }
    if !measured.finished {
        measured
            .notes
            .push("pytest did not come to the end of its session".to_string());
    }
    if let Some(bytes) = xml
        && summary.sessions == 1
        && let Ok(report) = junit::read("pytest", bytes)
    {
        let red = report.cases.iter().any(|case| case.status.is_failing());
        let recorded = measured.failing().next().is_some();
        if red && !recorded {
            measured
                .contradictions
                .push("the JUnit XML lists a failure and the record of the session none".to_string());
        }
        let concluded_red = measured.failing().any(|member| !member.message.ends_with("never run"));
        if concluded_red && !red && measured.finished {
            measured
                .contradictions
                .push("the record of the session lists a failure and the JUnit XML none".to_string());
        }
    }
    measured
}

/// Without the plugin: cases from the XML, unexpected passes from the summary lines on stdout.
fn from_xml(xml: &[u8], artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let report = junit::read("pytest", xml)?;
    let mut measured = Measured::unfinished("pytest");
    measured
        .notes
        .push("read from JUnit XML alone: what was collected but not run is not known".to_string());
    let text = plain::text(artefact.stdout);
    let surprises: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("XPASS ")).collect();
    let mut listed: BTreeMap<(String, bool), Member> = BTreeMap::new();
    for case in report.cases {
        let (id, container) = node_id(&case);
        let surprise = |id: &str| {
            let line = surprises.range(id..).next().and_then(|line| line.strip_prefix(id));
            line.is_some_and(|rest| rest.is_empty() || rest.starts_with(" - "))
        };
        let status = if case.status == Status::Passed && surprise(&id) {
            Status::Xpass
        } else {
            case.status
        };
        let mut member = Member::new(id, status).saying(&case.message);
        member.file = case.file;
        member.line = case.line.map(|line| line + 1);
        member.container = container;
        // A test that failed and then failed to tear down is listed twice.
        match listed.entry((member.id.clone(), container)) {
            Entry::Vacant(entry) => drop(entry.insert(member)),
            Entry::Occupied(mut entry) if status.is_failing() && !entry.get().status.is_failing() => {
                drop(entry.insert(member))
            }
            Entry::Occupied(_) => {}
        }
    }
    measured.members = listed.into_values().collect();
    measured.concluded = Some(measured.members.iter().filter(|member| !member.container).count() as u64);
    measured.finished = true;
    Ok(measured)
}

/// The node id the plugin would have given, rebuilt from the xunit1 attributes.
fn node_id(case: &junit::Case) -> (String, bool) {
    let Some(file) = &case.file else {
        return if case.class.is_empty() {
            (case.name.clone(), true)
        } else {
            (format!("{}::{}", case.class, case.name), false)
        };
    };
    let module = file.trim_end_matches(".py").replace('/', ".");
    let classes = case
        .class
        .strip_prefix(&module)
        .unwrap_or("")
        .trim_start_matches('.')
        .replace('.', "::");
    if case.class.is_empty() {
        return (file.clone(), true);
    }
    let id = if classes.is_empty() {
        format!("{file}::{}", case.name)
    } else {
        format!("{file}::{classes}::{}", case.name)
    };
    (id, false)
}

fn without_a_report(artefact: &Artefact<'_>) -> CollectError {
    let text = plain::text(artefact.stderr) + &plain::text(artefact.stdout);
    if text.contains(&format!("Error importing plugin \"{PLUGIN_MODULE}\""))
        || text.contains(&format!("No module named '{PLUGIN_MODULE}'"))
    {
        return CollectError::InjectionRefused {
            collector: "pytest",
            what: "the injected plugin cannot be imported, because the check replaces PYTHONPATH or ignores it",
        };
    }
    if text.contains("unrecognized arguments: --junitxml") {
        return CollectError::InjectionRefused {
            collector: "pytest",
            what: "the option --junitxml is unknown, because the check switches the junitxml plugin off",
        };
    }
    CollectError::Absent {
        collector: "pytest",
        what: "record of a pytest session",
    }
}
