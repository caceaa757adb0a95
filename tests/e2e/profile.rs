//! `state.json`: a projection with every fact of the contract, written anew whatever became of it (SPEC 13.5).

use std::fs;

use serde_json::Value;

use crate::support::Project;
use crate::support::vocabulary::{clause, quoted};

/// Red for ever; each turn keeps what it found of the profile.
fn watched() -> Project {
    let project = Project::git(&[("a.txt", "a\n")]);
    project.script(
        "agent.sh",
        "echo $LOOPEXEC_ITERATION > a.txt; cp .loopexec/state.json \"$OUT/seen-$LOOPEXEC_ITERATION\"",
    );
    project
}

fn run(project: &Project, most: &str) -> crate::support::Answer {
    let bounds = [
        "--max-iterations",
        most,
        "--no-progress-k",
        "off",
        "--same-failure-r",
        "off",
    ];
    let check = "echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1";
    let command = ["run", "--exec", "./agent.sh", "--check", check, "--collector", "tap"];
    project.loopexec(&[&command[..], &bounds].concat())
}

fn profile(project: &Project) -> Value {
    serde_json::from_str(&project.read(".loopexec/state.json")).unwrap()
}

#[test]
fn the_profile_has_every_member_of_the_contract() {
    let project = watched();
    let answer = run(&project, "2");
    let profile = profile(&project);
    let clause = clause("13.5.1");
    let (_, members) = clause.split_once("Members at least:").unwrap();
    let members: Vec<_> = quoted(members).collect();
    assert!(members.len() > 15, "{members:?}");
    for member in members {
        assert!(profile.get(member).is_some(), "no {member}: {profile:#}");
    }
    for (member, same) in [
        ("run_id", "run_id"),
        ("iteration", "iteration"),
        ("status", "status"),
        ("halt_reason", "halt_reason"),
        ("failure_cause", "failure_cause"),
        ("head", "head"),
    ] {
        assert_eq!(profile[member], answer.json[same], "{member}");
    }
    assert_eq!(profile["open_failures"], serde_json::json!(["b"]));
    assert_eq!(
        (&profile["baseline"]["failing"], &profile["baseline"]["best"]),
        (&1.into(), &1.into())
    );
    assert_eq!(profile["cost_known"], false, "nothing measured it");
    let link = fs::read_link(project.root.join(".loopexec/state.json")).unwrap();
    let linked = project.root.join(".loopexec").join(link);
    assert_eq!(linked, project.run_dir().join("state.json"));
}

#[test]
fn the_profile_is_written_before_a_turn_or_while_it_lasts_and_says_where_the_run_is() {
    let project = watched();
    // The first finds it; behind a short turn it may come later, and whoever waits sees it.
    let wait = "until grep -q '\"iteration\": '$LOOPEXEC_ITERATION, .loopexec/state.json; do sleep 0.05; done";
    let keep = "cp .loopexec/state.json \"$OUT/seen-$LOOPEXEC_ITERATION\"";
    let turn = format!("echo $LOOPEXEC_ITERATION > a.txt; test $LOOPEXEC_ITERATION = 1 || {wait}; {keep}");
    project.script("agent.sh", &turn);
    let answer = run(&project, "3");
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    for iteration in [1, 2, 3] {
        let seen: Value = serde_json::from_str(&project.told(&format!("seen-{iteration}"))).unwrap();
        assert_eq!(
            (&seen["iteration"], &seen["status"]),
            (&iteration.into(), &"running".into())
        );
        assert_eq!(seen["phase"], "execute", "{seen:#}");
    }
}

#[test]
fn a_profile_that_was_removed_comes_back_before_the_next_turn() {
    let project = watched();
    run(&project, "1");
    let before = profile(&project);
    fs::remove_file(project.root.join(".loopexec/state.json")).unwrap();
    fs::remove_file(project.run_dir().join("state.json")).unwrap();
    let resumed = project.loopexec(&["resume", "--max-iterations", "2"]);
    assert_eq!(resumed.exit, Some(12), "{resumed:?}");
    assert!(!project.told("seen-2").is_empty(), "not there when the work began");
    let after = profile(&project);
    assert_eq!((&after["run_id"], &after["iteration"]), (&before["run_id"], &2.into()));
    let checked = project.loopexec(&["check"]);
    assert_eq!(checked.exit, Some(0), "{checked:?}");
}
