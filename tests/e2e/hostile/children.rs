//! Commands that leave something behind, wait for somebody, or never end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::{executed, worked};
use crate::support::{Project, Sleeper};

/// Seconds that a command which waits for the wrong thing would take.
const FOREVER: &str = "600";

fn left_behind(work: &str) {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    project.script("work.sh", &work.replace("SLEEPER", sleeper.command()));
    project.script("check.sh", "test -e done.txt");
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "./work.sh"]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    assert!(!sleeper.is_up());
    let survivors = executed(&project)["survivors"].as_array().unwrap().clone();
    assert!(!survivors.is_empty(), "nothing is said about what was ended");
    assert!(
        survivors.iter().all(|survivor| survivor["ended"] == true),
        "{survivors:?}"
    );
}

#[test]
fn a_grandchild_in_the_background_is_ended_and_recorded() {
    left_behind("touch done.txt; ( ( SLEEPER >/dev/null 2>&1 & ) & )");
}

#[test]
fn a_background_child_that_holds_the_output_does_not_hold_the_loop() {
    left_behind("touch done.txt; SLEEPER & exit 0");
}

#[test]
fn a_daemon_that_holds_the_output_does_not_hold_the_loop() {
    left_behind("touch done.txt; setsid SLEEPER & exit 0");
}

#[test]
fn a_helper_is_gone_when_the_cap_halts() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    let answer = worked(&project, &format!("setsid {} & exit 0", sleeper.command()), &[]);
    assert_eq!(answer.exit, Some(12));
    assert!(!sleeper.is_up());
}

#[test]
fn a_delayed_writer_is_dead_before_the_check_looks() {
    let project = Project::new();
    project.script(
        "work.sh",
        "echo good > answer; ( sleep 0.5; echo bad > answer ) & exit 0",
    );
    project.script("check.sh", "sleep 1; grep -q good answer");
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "./work.sh"]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    assert_eq!(project.read("answer"), "good\n");
}

#[test]
fn work_that_reads_its_input_gets_the_end_of_it_at_once() {
    let project = Project::new();
    let answer = worked(
        &project,
        "cat > $OUT/input; tty > $OUT/tty; true",
        &["--command-timeout", "60s"],
    );
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(executed(&project)["stop"], "none");
    assert_eq!(project.told("input"), "");
    assert_eq!(project.told("tty"), "not a tty\n");
}

#[test]
fn a_check_that_would_watch_at_a_terminal_or_without_ci_ends() {
    let project = Project::new().with_env("CI", "false");
    project.script(
        "check.sh",
        &format!("[ ! -t 0 ] && [ ! -t 1 ] && [ \"$CI\" = true ] || sleep {FOREVER}"),
    );
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--check-timeout", "60s"]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
}

#[test]
fn a_check_that_runs_out_of_time_is_not_red() {
    let project = Project::new();
    project.script("check.sh", &format!("sleep {FOREVER}"));
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--check-timeout", "300ms"]);
    assert_eq!(
        (answer.exit, answer.text("halt_reason")),
        (Some(40), "execution_failure"),
        "{answer:?}"
    );
    assert_eq!(answer.text("failure_cause"), "check_deadline_exceeded");
}

#[test]
fn work_that_answers_and_never_exits_is_ended_and_the_check_decides() {
    let project = Project::new();
    project.script("work.sh", &format!("touch done.txt; echo finished; sleep {FOREVER}"));
    project.script("check.sh", "test -e done.txt");
    let args = [
        "run",
        "--check",
        "./check.sh",
        "--exec",
        "./work.sh",
        "--idle-timeout",
        "500ms",
    ];
    let answer = project.loopexec(&args);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    assert_eq!(executed(&project)["stop"], "idle");
}

#[test]
fn work_that_hangs_before_its_first_word_is_ended_for_that_reason() {
    let project = Project::new();
    let more = ["--first-output-timeout", "500ms"];
    let answer = worked(&project, &format!("sleep {FOREVER}"), &more);
    assert_eq!(executed(&project)["stop"], "first_output", "{answer:?}");
}

#[test]
fn a_program_that_is_not_there_is_named_before_the_first_iteration() {
    let project = Project::new();
    for (check, exec) in [("true", "no-such-agent --go"), ("no-such-runner", "true")] {
        let missing = if check == "true" { "no-such-agent" } else { check };
        let check = if check == "true" { "exit 1" } else { check };
        let answer = project.loopexec(&["run", "--check", check, "--exec", exec]);
        assert_eq!(
            (answer.exit, &answer.json["iteration"]),
            (Some(40), &0.into()),
            "{answer:?}"
        );
        assert!(answer.errors().contains(missing), "{answer:?}");
        assert!(project.events_named("execute_began").is_empty());
    }
}

#[test]
fn no_kill_program_is_ever_called_and_bystanders_live() {
    let (project, bystander, sleeper) = (Project::new(), Sleeper::new(), Sleeper::new());
    let bin = project.outside.join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["kill", "pkill", "killall", "ps", "pgrep"] {
        let path = bin.join(name);
        fs::write(
            &path,
            format!("#!/bin/sh\ntouch {}/called\n", project.outside.display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let project = project.with_env("PATH", &path);
    let words: Vec<&str> = bystander.command().split(' ').collect();
    let mut child = Command::new(words[0])
        .arg(words[1])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();

    let more = ["--command-timeout", "300ms", "--terminate-grace", "100ms"];
    let answer = worked(
        &project,
        &format!("trap '' TERM; setsid {} & sleep {FOREVER}", sleeper.command()),
        &more,
    );
    let lives = bystander.is_up();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert!(lives, "a process of somebody else was ended");
    assert!(
        !project.outside.join("called").exists(),
        "an outside program was asked to kill"
    );
    assert!(!sleeper.is_up());
}

#[test]
fn a_command_over_the_artefact_that_hangs_or_leaves_something_is_ended_and_said() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    let args = ["run", "--check", "exit 1", "--exec", "true", "--once", "--failures-cmd"];
    let hangs = [&args[..], &[sleeper.command(), "--command-timeout", "300ms"]].concat();
    let answer = project.loopexec(&hangs);
    assert_eq!(
        (answer.exit, answer.text("failure_cause")),
        (Some(13), "failures_cmd"),
        "{answer:?}"
    );
    assert!(!sleeper.is_up());
    let project = Project::new();
    let leaves = format!("{} >/dev/null 2>&1 & echo open", sleeper.command());
    let answer = project.loopexec(&[&args[..], &[&leaves]].concat());
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert!(!sleeper.is_up());
    let survivors = &project.events_named("check_ended")[0]["run"]["survivors"];
    assert!(survivors.to_string().contains(sleeper.command()), "{survivors}");
}
