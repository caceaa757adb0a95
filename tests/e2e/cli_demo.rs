//! The demo: the first thing that somebody sees.

use std::fs;

use crate::support::cli::{Project, Said};

#[test]
fn the_demo_goes_from_red_to_green_verifies_and_replays() {
    let project = Project::new();
    let said = project.run(&["demo", "--json"]).exits(0);
    let object = said.json();
    assert_eq!(
        (&object["status"], &object["verified"]),
        (&"verified".into(), &true.into())
    );
    assert_eq!(object["halt_reason"], "success_condition_met");
    assert_eq!(object["demo"]["trend"], serde_json::json!([3, 2, 1, 0]));
    assert_eq!(object["demo"]["replay"], "verified_green");
    let workdir = object["demo"]["workdir"].as_str().unwrap();
    project.run(&["verify", "--workdir", workdir]).exits(0);
    project.run(&["report", "--workdir", workdir]).exits(0);
}

#[test]
fn the_demo_takes_a_directory_with_other_files_and_refuses_a_second_time() {
    let project = Project::new();
    project.file("mine.txt", "kept");
    let said = project.say("demo --workdir .").exits(0);
    assert!(said.out.contains("now look at"), "{said:?}");
    assert_eq!(project.text("mine.txt"), "kept");
    let receipt = || fs::read(project.at(".loopexec/runs/demo/receipt.jsonl")).unwrap();
    let before = receipt();
    project.say("demo --workdir .").exits(30);
    assert_eq!(receipt(), before);
}

#[test]
fn a_refused_demo_leaves_nothing_behind() {
    for taken in ["lib.sh", "check.sh", "agent.sh", ".loopexec"] {
        let project = Project::new();
        project.file(taken, "mine");
        project.say("demo --workdir .").exits(30);
        assert_eq!(fs::read_dir(project.path()).unwrap().count(), 1, "{taken}");
        assert_eq!(project.text(taken), "mine");
    }
}

#[test]
fn settings_of_the_surroundings_do_not_change_the_demo() {
    let project = Project::new();
    let said = project
        .command(&["demo"])
        .env("LOOPEXEC_MAX_ITERATIONS", "1")
        .env("LOOPEXEC_CHECK", "false")
        .output()
        .unwrap();
    Said::of(&said).exits(0);
}
