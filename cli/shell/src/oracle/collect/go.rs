//! `go test -json`: one event a line, of tests and of packages.
//!
//! A package that fails without a failing test is a build failure, a panic or an exit. A verdict that
//! was glued to output without a newline is looked for in that output. Plain output is read as far as
//! it goes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Artefact, CollectError, Collector, InjectRequest, Injection, go_text};
use crate::oracle::{MESSAGE_LIMIT_BYTES, Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "go",
    doc: "go test: -json events on stdout (injected where no other go command is run), or its text",
    detect: |detection| detection.find(|run| run.is("go", &["test"]) || run.program() == "gotestsum"),
    inject,
    collect,
};

/// `GOFLAGS` reaches every go command of the check, and `-json` changes what several of them print:
/// it is only set where nothing but `go test` is seen.
fn inject(request: &InjectRequest<'_>) -> Injection {
    let runs = request.detection.invocations();
    let go: Vec<_> = runs.iter().filter(|run| run.program() == "go").collect();
    let direct = !go.is_empty() && go.iter().all(|run| run.is("go", &["test"]) && !run.wrapped);
    let mut flags = Vec::new();
    if direct && !request.detection.command.contains("$(") && !request.detection.command.contains('|') {
        if !go.iter().any(|run| run.has("-json")) {
            flags.push("-json");
        }
        if !go.iter().any(|run| run.has("-count")) {
            flags.push("-count=1");
        }
    }
    let env_words = if flags.is_empty() {
        Vec::new()
    } else {
        vec![("GOFLAGS".to_string(), flags.join(" "))]
    };
    Injection {
        env_words,
        ..Injection::default()
    }
}

#[derive(Default)]
struct Package {
    tests: BTreeMap<String, Test>,
    output: String,
    end: Option<Status>,
    build_failed: bool,
}

#[derive(Default)]
struct Test {
    status: Option<Status>,
    output: String,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let text = plain::text(artefact.report.unwrap_or(artefact.stdout));
    let packages = read(&text);
    if packages.is_empty() {
        let measured = go_text::read(&text);
        return measured.map(Measured::settled).ok_or(CollectError::Absent {
            collector: "go",
            what: "go test output",
        });
    }
    Ok(sum(packages).settled())
}

fn read(text: &str) -> BTreeMap<String, Package> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let action = text("Action");
        let import = text("ImportPath").split(' ').next().unwrap_or_default();
        let name = if text("Package").is_empty() {
            import
        } else {
            text("Package")
        };
        if name.is_empty() || action.is_empty() {
            continue;
        }
        let package = packages.entry(name.to_string()).or_default();
        package.build_failed |= !text("FailedBuild").is_empty() || action == "build-fail";
        let end = match action {
            "pass" => Some(Status::Passed),
            "fail" => Some(Status::Failed),
            "skip" => Some(Status::Skipped),
            _ => None,
        };
        match text("Test") {
            "" if action == "build-output" || action == "output" => keep(&mut package.output, text("Output")),
            "" => package.end = end.or(package.end),
            test => {
                let test = package.tests.entry(test.to_string()).or_default();
                test.status = end.or(test.status);
                if action == "output" {
                    keep(&mut test.output, text("Output"));
                }
            }
        }
    }
    packages
}

/// Keeps the beginning and, because verdicts come last, the latest line.
fn keep(output: &mut String, more: &str) {
    if output.len() < MESSAGE_LIMIT_BYTES * 2 || more.contains("--- ") && output.len() < MESSAGE_LIMIT_BYTES * 64 {
        output.push_str(more);
    }
}

fn sum(packages: BTreeMap<String, Package>) -> Measured {
    let mut measured = Measured::unfinished("go");
    let (mut announced, mut concluded, mut cached) = (0u64, 0u64, 0u64);
    measured.finished = true;
    for (name, package) in packages {
        cached += u64::from(package.output.contains("(cached)"));
        measured.finished &= package.end.is_some() || package.build_failed;
        let mut explained = false;
        let glued = glued(package.tests.values().map(|seen| seen.output.as_str()));
        let mut tests = package.tests;
        // A subtest whose beginning stood behind such output as well was announced to nobody.
        for test in glued.keys() {
            let parent = test.split('/').next().unwrap_or_default();
            if parent != test && tests.contains_key(parent) {
                tests.entry(test.clone()).or_default();
            }
        }
        for (test, seen) in tests {
            announced += 1;
            let status = seen.status.or_else(|| glued.get(&test).copied());
            concluded += u64::from(status.is_some());
            let message = match status {
                None => "started, and never came to a verdict".to_string() + "\n" + &seen.output,
                Some(Status::Passed) => String::new(),
                Some(_) => said(&seen.output),
            };
            let status = status.unwrap_or(Status::Error);
            explained |= status.is_failing();
            measured.members.push(
                Member::new(format!("{name} {test}"), status)
                    .saying(&message)
                    .of_suite(&name),
            );
        }
        if package.build_failed || (package.end == Some(Status::Failed) && !explained) {
            measured.members.push(
                Member::new(name.clone(), Status::Error)
                    .saying(&package.output)
                    .as_container(),
            );
        }
        if package.end == Some(Status::Passed) && explained {
            measured
                .contradictions
                .push(format!("package {name} passed and one of its tests did not"));
        }
    }
    if cached > 0 {
        measured
            .notes
            .push(format!("{cached} packages were answered from go's test cache"));
    }
    measured.announced = Some(announced);
    measured.concluded = Some(concluded);
    measured
}

/// Verdicts behind output that did not end its line: `hello--- PASS: TestX (0.00s)`. That of a test stands in the output
/// of its last subtest, when it was the subtest that printed.
fn glued<'a>(outputs: impl Iterator<Item = &'a str>) -> BTreeMap<String, Status> {
    let behind = |line: &'a str| {
        let at = line.rfind("--- ").filter(|at| *at > 0)?;
        go_text::verdict(&line[at..]).map(|(name, status)| (name.to_owned(), status))
    };
    outputs.flat_map(str::lines).filter_map(behind).collect()
}

/// The test's own words, without go's frame around them.
fn said(output: &str) -> String {
    let framed = |line: &&str| !line.starts_with("=== ") && !line.trim_start().starts_with("--- ");
    output.lines().filter(framed).collect::<Vec<_>>().join("\n")
}
