//! Runs as people and schedulers start them: codes, objects, lines, streams, signals.

use rustix::process::Signal;

use crate::support::cli::{Live, Project, Said, fifo, wait_until};
use crate::support::schema;

#[test]
fn a_converged_run_says_why_with_which_evidence_and_what_to_type_next() {
    let project = Project::counting();
    let words = [
        "run",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
        "--exec",
        "sh fix.sh",
        "--run-id",
        "r1",
    ];
    let said = project.run(&words).exits(10);
    assert!(said.out.starts_with("success_condition_met: "), "{said:?}");
    for part in [
        "iterations  3 of at most 10",
        "█▆▄▁ 3 -> 0",
        "guards ",
        " active",
        "receipt.jsonl",
        "next: loopexec replay r1\n",
    ] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines.len(), 5, "{said:?}");
    assert!(lines[1].starts_with("t0 red 3 failing "), "{said:?}");
    assert!(lines[2].starts_with("iter 1 red 2 failing (-1) kept "), "{said:?}");
    assert!(lines[4].starts_with("iter 3 green 0 failing (-1) kept "), "{said:?}");
}

#[test]
fn the_object_of_a_converged_run_holds_what_a_program_needs() {
    let project = Project::counting();
    let said = project.converged("r1");
    let object = said.json();
    assert_eq!(said.err, "");
    assert_eq!(object["schema"], "loopexec.run/1");
    assert_eq!(object["status"], "halted");
    assert_eq!(object["run_id"], "r1");
    assert_eq!(object["iteration"], 3);
    assert_eq!(object["halt_reason"], "success_condition_met");
    assert_eq!(object["check_exit"], 0);
    assert_eq!(object["trend"], serde_json::json!([3, 2, 1, 0]));
    assert_eq!(object["advice"]["verdict"], "done");
    assert!(object["guards"]["active"].as_array().unwrap().len() > 5, "{object}");
    assert!(std::path::Path::new(object["receipt"].as_str().unwrap()).is_file());
}

#[test]
fn only_the_code_of_success_can_be_changed() {
    let green = Project::new();
    green.run(&["run", "--check", "true", "--success-exit", "0"]).exits(0);
    let by_variable = green
        .command(&["run", "--check", "true"])
        .env("LOOPEXEC_SUCCESS_EXIT", "0")
        .output()
        .unwrap();
    assert_eq!(by_variable.status.code(), Some(0));
    let wrong = green
        .command(&["run", "--check", "true", "--json"])
        .env("LOOPEXEC_SUCCESS_EXIT", "3")
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(30));
    Project::new()
        .run(&[
            "run",
            "--check",
            "false",
            "--max-iterations",
            "2",
            "--success-exit",
            "0",
        ])
        .exits(12);
}

#[test]
fn a_green_baseline_converges_at_iteration_zero_and_says_so_as_a_number() {
    let object = Project::new()
        .run(&["run", "--json", "--check", "true"])
        .exits(10)
        .json();
    assert_eq!(object["iteration"], 0);
}

#[test]
fn the_cap_has_a_code_and_a_reason_of_its_own() {
    let object = Project::new()
        .run(&["run", "--json", "--check", "false", "--max-iterations", "2"])
        .exits(12)
        .json();
    assert_eq!(
        (&object["halt_reason"], &object["iteration"]),
        (&"max_iterations_reached".into(), &2.into())
    );
    assert_eq!(object["status"], "halted");
}

#[test]
fn a_halt_is_a_result_and_never_an_error_line() {
    let said = Project::new()
        .run(&["run", "--check", "false", "--exec", "exit 3"])
        .exits(40);
    assert!(said.out.starts_with("execution_failure: "), "{said:?}");
    assert!(!said.err.contains("error:"), "{said:?}");
    let object = Project::new()
        .run(&["run", "--json", "--check", "false", "--exec", "exit 3"])
        .exits(40)
        .json();
    assert_eq!(
        (&object["status"], object["errors"].as_array().unwrap().len()),
        (&"error".into(), 1)
    );
}

#[test]
fn once_is_one_iteration_whatever_else_is_said_and_step_is_the_same() {
    for words in [
        &["run", "--json", "--check", "false", "--once", "--max-iterations", "9"][..],
        &["step", "--json", "--check", "false", "--max-iterations", "9"],
    ] {
        let object = Project::new().run(words).exits(12).json();
        assert_eq!(object["iteration"], 1, "{words:?}");
        assert_eq!(object["schema"], format!("loopexec.{}/1", words[0]));
    }
}

/// The counting project, run to green with one more flag.
fn counted(flag: &str) -> Said {
    let words = [
        "run",
        flag,
        "--check",
        "sh check.sh",
        "--exec",
        "sh fix.sh",
        "--collector",
        "tap",
    ];
    Project::counting().run(&words).exits(10)
}

#[test]
fn quiet_says_nothing_before_the_end() {
    let said = counted("-q");
    assert_eq!(said.err, "");
    assert!(said.out.contains("success_condition_met"));
}

#[test]
fn the_event_stream_begins_with_its_version_and_ends_with_the_object() {
    let said = counted("--events");
    assert_eq!(said.err, "");
    let lines = schema::stream(&said.out);
    assert_eq!(lines[0]["schema"], "loopexec.events/1");
    let (last, events) = lines[1..].split_last().unwrap();
    assert_eq!(last["schema"], "loopexec.run/1");
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["event"], "run_opened");
    assert_eq!(events.last().unwrap()["event"], "halted");
    assert_eq!(last["events"], numbers.len());
}

#[test]
fn text_of_the_check_cannot_drive_the_terminal() {
    let project = Project::new();
    project.file("check.sh", "printf '1..1\\nnot ok 1 - \\033[2Jgone\\n'; exit 1\n");
    let words = [
        "run",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
        "--max-iterations",
        "1",
        "--run-id",
        "r",
    ];
    let run = project.run(&words);
    for said in [
        run,
        project.say("report r"),
        project.say("status r"),
        project.say("explain-halt r"),
        project.say("report r --format markdown"),
    ] {
        assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn an_interrupted_run_exits_with_the_signal_and_resume_goes_on() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = Project::counting();
        fifo(&project.beside("gate"));
        // The work of the second iteration waits for a writer that never comes, until it is told not to.
        project.file(
            "work.sh",
            "if [ \"$LOOPEXEC_ITERATION\" = 2 ] && [ ! -e open ]; then read line < ../gate; fi\nsh fix.sh\n",
        );
        let words = [
            "run",
            "--events",
            "--run-id",
            "r",
            "--check",
            "sh check.sh",
            "--collector",
            "tap",
            "--exec",
            "sh work.sh",
        ];
        let mut live = Live::start(project.command(&words));
        live.until("\"iteration\":2,\"attempt\":1");
        live.signal(signal);
        let said = live.end();
        assert_eq!(said.code, code, "{said:?}");
        let records = schema::rest_of_stream(&said.out);
        let last = records.last().unwrap();
        assert_eq!(last["status"], "interrupted");
        assert!(last["halt_reason"].is_null(), "{last}");
        assert_eq!(last["advice"]["next"], "loopexec resume r");
        project.say("verify r").exits(0);
        assert_eq!(project.say("status r --json").exits(0).json()["status"], "interrupted");
        project.file("open", "");
        let object = project.say("resume r --json").exits(10).json();
        assert_eq!(object["halt_reason"], "success_condition_met");
        project.say("verify r").exits(0);
    }
}

#[test]
fn a_cap_can_be_raised_on_resume_and_what_is_over_is_not_continued() {
    let project = Project::counting();
    let words = [
        "run",
        "--json",
        "--run-id",
        "r",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
        "--exec",
        "sh fix.sh",
        "--max-iterations",
        "1",
    ];
    let object = project.run(&words).exits(12).json();
    let next = object["advice"]["next"].as_str().unwrap().to_owned();
    assert_eq!(object["advice"]["verdict"], "raise-the-limit");
    assert!(next.starts_with("loopexec resume r --max-iterations "), "{next}");
    let words: Vec<&str> = next.split(' ').skip(1).collect();
    project.run(&words).exits(10);
    let again = project.say("resume r --json").exits(10);
    assert!(
        again.json()["warnings"][0].as_str().unwrap().contains("not continued"),
        "{again:?}"
    );
    assert_eq!(project.say("resume r --success-exit 0").exits(0).code, 0);
    let report = project.say("report r --json").exits(0).json();
    assert_eq!(report["report"]["totals"]["amendments"], 1);
}

#[test]
fn a_second_run_in_the_same_workdir_is_refused_and_names_the_holder() {
    let project = Project::new();
    fifo(&project.beside("gate"));
    let mut live =
        Live::start(project.command(&["run", "--events", "--run-id", "first", "--check", "read line < ../gate"]));
    live.until("check_began");
    let said = project
        .run(&["run", "--json", "--run-id", "second", "--check", "true"])
        .exits(30);
    let object = said.json();
    assert_eq!(object["failure_cause"], "locked");
    assert!(object["errors"][0].as_str().unwrap().contains("first"), "{object}");
    live.signal(Signal::TERM);
    schema::rest_of_stream(&live.end().exits(143).out);
}

#[test]
fn a_run_can_be_watched_from_outside_while_it_is_at_work() {
    let project = Project::counting();
    fifo(&project.beside("gate"));
    project.file(
        "work.sh",
        "if [ \"$LOOPEXEC_ITERATION\" = 2 ]; then read line < ../gate; fi\nsh fix.sh\n",
    );
    let words = [
        "run",
        "--quiet",
        "--run-id",
        "r",
        "--check",
        "sh check.sh",
        "--collector",
        "tap",
        "--exec",
        "sh work.sh",
    ];
    let run = Live::start(project.command(&words));
    wait_until("iteration 2 is at work", || {
        let said = project.say("status --json");
        said.code == 0 && said.json()["iteration"] == 2
    });
    let object = project.say("status --json").exits(0).json();
    assert_eq!(
        (&object["status"], &object["state"]["alive"]),
        (&"alive".into(), &true.into())
    );
    assert_eq!(object["state"]["pid"], run.child.id());
    assert_eq!(project.say("report r --json").exits(0).json()["status"], "alive");
    project.say("verify r").exits(0);
    let mut follow = Live::start(project.command(&["status", "--follow", "r"]));
    follow.until("iter 1 red 2 failing (-1) kept");
    std::fs::write(project.beside("gate"), "go\n").unwrap();
    follow.until("iter 3 green 0 failing (-1) kept");
    let said = follow.end().exits(0);
    assert!(said.out.contains("halted, success_condition_met"), "{said:?}");
    run.end().exits(10);
}
