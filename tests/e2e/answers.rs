//! What `--json` prints is what the JSON Schemas say (SPEC 2.2.5).
//!
//! Every test of this binary that asks for JSON holds the answer to its schema; here each command is asked on purpose.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::cli::Project;
use crate::support::schema;
use crate::support::zones::zones;

/// After a converged run called `a`, what each command answers when it does what it is asked.
const ASKED: &[&str] = &[
    "init",
    "demo --workdir demo",
    "run --dry-run --check true --exec true",
    "run --check false --exec true --max-iterations 1 --no-progress-k off --run-id b",
    "resume b --max-iterations 2",
    "step --check true --exec true",
    "step --dry-run --check true --exec true",
    "status a",
    "report a",
    "report a --format json",
    "report b --format markdown",
    "report --receipt .loopexec/runs/a/receipt.jsonl",
    "replay a",
    "verify a",
    "verify a --prove 1 --out proof",
    "verify a --prove-extends 1 --out proof",
    "explain-halt a",
    "explain-halt 17",
    "explain-halt 2",
    "explain-halt human_required",
    "probe-check --check true --runs 1 --side-effect-runs 1",
    "doctor --check true",
    ISOLATE,
    "check",
    "ratchet a",
    "ratchet export a --patch patch",
    "ack a --reviewer Ada",
    "export a --format jsonl",
    "export a --format junit --out junit.xml",
    "export a --format markdown",
    "completions zsh",
    "version",
    "--version",
    "help",
    "status --help",
];

/// Only a machine that has zones shows them.
const ISOLATE: &str = "isolate --check true --exec true --zone-uid 64646";

#[test]
fn every_command_answers_as_its_schema_says() {
    let project = Project::counting();
    project.converged("a");
    let mut seen = BTreeSet::new();
    let left_out = |line: &str| line == ISOLATE && zones().is_none();
    for line in ASKED.iter().filter(|line| !left_out(line)) {
        // Standard output is JSON already where a format says so.
        let flag: &[&str] = if line.ends_with("--format json") {
            &[]
        } else {
            &["--json"]
        };
        let words: Vec<&str> = line.split_whitespace().chain(flag.iter().copied()).collect();
        let said = project.run(&words).json();
        assert_ne!(said["status"], "error", "{line}: {said}");
        seen.insert(said["schema"].as_str().unwrap().to_owned());
    }
    for command in cli::COMMANDS
        .iter()
        .filter(|command| command.name != "isolate" || zones().is_some())
    {
        assert!(
            seen.contains(&format!("loopexec.{}/1", command.name)),
            "{}",
            command.name
        );
    }
}

#[test]
fn every_command_is_refused_as_its_schema_says() {
    let project = Project::new();
    for command in cli::COMMANDS {
        let said = project.run(&[command.name, "--no-such-flag", "--json"]).exits(2).json();
        assert_eq!(said["schema"], format!("loopexec.{}/1", command.name));
        assert_eq!(said["status"], "error");
    }
}

#[test]
fn a_schema_refuses_what_it_does_not_describe() {
    let project = Project::counting();
    let sound = project.converged("a").json();
    let schema = schema::named(&sound);
    let refused = |what: &str, change: &dyn Fn(&mut Value)| {
        let mut answer = sound.clone();
        change(&mut answer);
        assert!(!schema::faults(&schema, &answer).is_empty(), "{what}");
    };
    refused("a member that nothing describes", &|answer| {
        answer["colour"] = json!("red")
    });
    refused("one that is deep inside", &|answer| {
        answer["guards"]["colour"] = json!("red")
    });
    refused("a member that is missing", &|answer| {
        answer.as_object_mut().unwrap().remove("errors");
    });
    refused("an object of the command that is missing", &|answer| {
        answer.as_object_mut().unwrap().remove("guards");
    });
    refused("another type", &|answer| answer["iteration"] = json!("3"));
    refused("a negative count", &|answer| answer["events"] = json!(-1));
    refused("a reason that nobody knows", &|answer| {
        answer["halt_reason"] = json!("bored")
    });
    refused("the name of another schema", &|answer| {
        answer["schema"] = json!("loopexec.run/2")
    });
}
