//! Receipts of other origins, read by `report --receipt`: told as far as they can be, and believed in nothing.

use std::fs;

use crate::support::cli::{Project, fifo};

#[test]
fn a_receipt_that_was_carried_elsewhere_is_told_there_and_called_unverified() {
    let project = Project::counting();
    project.converged("a");
    let there = Project::new();
    let receipt = there.at("carried.jsonl");
    fs::copy(project.at(".loopexec/runs/a/receipt.jsonl"), &receipt).unwrap();
    let said = there.say("report --receipt carried.jsonl --json").exits(0).json();
    assert_eq!((&said["verified"], &said["run_id"]), (&false.into(), &"a".into()));
    let told = &said["foreign"];
    assert_eq!(
        (&told["receipt_status"], &told["warnings"]),
        (&"readable".into(), &[""; 0].into())
    );
    assert_eq!(
        (&told["events"], &told["halt_reason"]),
        (&told["lines"], &"success_condition_met".into())
    );
    let recorded = project.say("report a --json").json();
    for member in ["check_exit", "failing", "fate"] {
        let column = |rows: &serde_json::Value| -> Vec<_> {
            let rows = rows.as_array().unwrap();
            rows.iter().map(|row| row[member].clone()).collect()
        };
        assert_eq!(
            column(&told["timeline"]),
            column(&recorded["report"]["timeline"]),
            "{member}"
        );
    }
    let text = there.say("report --receipt carried.jsonl").exits(0);
    assert!(text.out.contains("unverified") && text.err.is_empty(), "{text:?}");
    assert!(!there.at(".loopexec").exists(), "reading leaves nothing behind");
}

#[test]
fn lines_that_are_no_events_of_the_run_are_left_out_with_a_warning_and_the_others_stand() {
    let project = Project::new();
    let long = "x".repeat((4 << 20) + 1);
    // As another tool writes them, between lines that nobody should write.
    let lines = [
        r#"{"ts":1,"run_id":"old","iteration":0,"event":"run_start","detail":"max=3"}"#,
        "broken {",
        r#"{"ts":2,"run_id":"old","iteration":1,"event":"exec","exit_code":0}"#,
        "null",
        "{}",
        r#"{"ts":2,"run_id":"other","iteration":1,"event":"check","exit_code":0}"#,
        &long,
        "\u{1b}[2J",
        r#"{"ts":3,"run_id":"old","iteration":1,"event":"check","exit_code":1}"#,
        r#"{"ts":3,"run_id":"old","iteration":1,"event":"progress","exit_code":2}"#,
        r#"{"ts":4,"run_id":"old","iteration":1,"event":"halt","detail":"max_iterations_reached\u001b[2J"}"#,
    ];
    project.file("old.jsonl", &lines.join("\n"));
    let said = project.say("report --receipt old.jsonl --json").exits(0).json();
    let told = &said["foreign"];
    assert_eq!((&told["lines"], &told["events"]), (&11.into(), &5.into()), "{told}");
    assert_eq!(told["receipt_status"], "incomplete");
    let row = &told["timeline"][1];
    assert_eq!(
        (&row["exec_exit"], &row["check_exit"], &row["failing"]),
        (&0.into(), &1.into(), &2.into())
    );
    let warnings: Vec<_> = told["warnings"].as_array().unwrap().iter().collect();
    let of = [
        "line 2: it is not",
        "line 4: it is not",
        "line 5: it names no event",
        "line 6: it is about another run",
    ];
    let more = ["line 7: it is longer", "line 8: it is not"];
    assert_eq!(warnings.len(), 6, "{warnings:?}");
    for (warning, begins) in warnings.iter().zip(of.iter().chain(&more)) {
        assert!(warning.as_str().unwrap().starts_with(begins), "{warning}");
    }
    let text = project.say("report --receipt old.jsonl").exits(0);
    assert_eq!(text.err.matches("warning: line ").count(), 6, "{text:?}");
    assert!(!text.out.contains('\u{1b}'), "{text:?}");
    let other = project.say("report other --receipt old.jsonl --json").exits(0).json();
    assert_eq!(other["foreign"]["events"], 1);
}

#[test]
fn what_is_no_file_with_lines_is_refused_and_not_waited_for() {
    let project = Project::new();
    fifo(&project.at("fifo"));
    fs::create_dir(project.at("dir")).unwrap();
    for name in ["fifo", "dir", "missing", "/dev/zero"] {
        let said = project.say(&format!("report --receipt {name} --json")).exits(30).json();
        let error = said["errors"][0].as_str().unwrap();
        assert!(
            error.contains("cannot read the receipt") && error.contains(name),
            "{error}"
        );
    }
    project.file("empty", "");
    let empty = project.say("report --receipt empty --json").exits(0).json();
    assert_eq!(empty["foreign"]["receipt_status"], "incomplete");
}
