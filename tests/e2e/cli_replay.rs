//! A verdict, once more, on the tree it was about.

use std::fs;

use crate::support::cli::Project;

#[test]
fn a_green_and_a_red_verdict_are_replayed_as_what_they_were() {
    let project = Project::counting();
    project.converged("green");
    project
        .run(&["run", "--run-id", "red", "--check", "exit 7", "--max-iterations", "1"])
        .exits(12);
    let green = project.say("replay green --json").exits(0).json();
    assert_eq!(
        (&green["status"], &green["verified"]),
        (&"verified".into(), &true.into())
    );
    assert_eq!(green["replay"]["outcome"], "verified_green");
    assert_eq!(green["replay"]["output"]["agrees"], true);
    let red = project.say("replay red --json").exits(0).json();
    assert_eq!(
        (&red["replay"]["outcome"], &red["check_exit"]),
        (&"verified_red".into(), &7.into())
    );
}

#[test]
fn a_run_of_a_baseline_alone_can_be_replayed() {
    let project = Project::new();
    project
        .file("present", "x")
        .run(&["run", "--run-id", "r", "--check", "test -e present"])
        .exits(10);
    project.say("replay").exits(0);
}

#[test]
fn the_recorded_tree_counts_and_not_what_lies_in_the_workdir_now() {
    let project = Project::new();
    project
        .file("present", "x")
        .run(&["run", "--check", "test -e present"])
        .exits(10);
    fs::remove_file(project.at("present")).unwrap();
    project.say("replay").exits(0);
    assert!(!project.at("present").exists(), "nothing is put back");
}

#[test]
fn a_verdict_that_depends_on_something_outside_the_tree_is_not_verified() {
    let project = Project::new();
    let outside = project.beside("outside");
    fs::write(&outside, "x").unwrap();
    project
        .run(&["run", "--check", &format!("echo looked; test -e {}", outside.display())])
        .exits(10);
    fs::remove_file(&outside).unwrap();
    let said = project.say("replay --json").exits(13);
    let object = said.json();
    assert_eq!(
        (&object["verified"], &object["failure_cause"]),
        (&false.into(), &"verdict_not_reproduced".into())
    );
    assert_eq!(object["replay"]["exit"]["recorded"], 0);
    assert_eq!(object["replay"]["exit"]["replayed"], 1);
}

#[test]
fn other_output_with_the_same_verdict_is_said_and_does_not_count() {
    let project = Project::new();
    let outside = project.beside("outside");
    fs::write(&outside, "one word").unwrap();
    project
        .run(&["run", "--check", &format!("cat {}", outside.display())])
        .exits(10);
    fs::write(&outside, "quite another").unwrap();
    let object = project.say("replay --json").exits(0).json();
    assert_eq!(object["replay"]["output"]["agrees"], false);
    assert!(
        project
            .say("replay")
            .exits(0)
            .out
            .contains("does not touch the verdict")
    );
}

#[test]
fn the_check_runs_in_a_copy_that_is_gone_afterwards() {
    let project = Project::new();
    let log = project.beside("log");
    project.run(&[
        "run",
        "--check",
        &format!("pwd >> {}; touch made-by-check", log.display()),
    ]);
    let before = fs::read_to_string(&log).unwrap().lines().count();
    project.say("replay");
    let text = fs::read_to_string(&log).unwrap();
    let place = text.lines().nth(before).expect("the check ran once more");
    assert_ne!(place, project.path().to_str().unwrap());
    assert!(!std::path::Path::new(place).exists());
}

#[test]
fn nothing_is_executed_for_a_journal_that_does_not_verify() {
    let project = Project::new();
    let log = project.beside("log");
    project
        .run(&[
            "run",
            "--run-id",
            "r",
            "--check",
            &format!("echo ran >> {}", log.display()),
        ])
        .exits(10);
    let before = fs::read_to_string(&log).unwrap();
    let segment = project.journal("r").join("00000000.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4096 + 96 + 48 + 300] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let object = project.say("replay --json").exits(13).json();
    assert_eq!(object["failure_cause"], "journal_not_verified");
    assert_eq!(fs::read_to_string(&log).unwrap(), before);
}

#[test]
fn a_run_without_a_verdict_has_nothing_to_replay() {
    let project = Project::new();
    project.run(&["run", "--check", "kill -9 $$"]).exits(40);
    project.say("replay").exits(13);
}
