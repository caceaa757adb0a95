//! The governor dies without a word; the next life finds everything.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::Loop;
use crate::support::{Project, wait_until};

fn killed_and_resumed(gate: &str) -> Loop {
    let scene = Loop::new();
    scene.killed_at(gate);
    let run_id = scene.run_id();
    let status = scene.project.loopexec(&["status"]);
    assert_eq!((status.exit, status.text("status")), (Some(0), "stale"), "{status:?}");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
    scene
}

#[test]
fn a_run_killed_in_the_baseline_goes_on() {
    killed_and_resumed("check-1");
}

#[test]
fn a_run_killed_in_the_work_goes_on_and_the_attempt_is_spent() {
    let scene = killed_and_resumed("work-2");
    // The work of iteration 2 died before it wrote.
    assert_eq!(scene.project.read("log.txt"), "1\n3\n4\n");
    let interrupted = scene.project.events_named("interrupted");
    assert_eq!(interrupted.len(), 1);
    assert_eq!(interrupted[0]["iteration"], 2);
}

#[test]
fn a_run_killed_in_the_check_goes_on_with_that_check() {
    let scene = killed_and_resumed("check-3");
    assert_eq!(scene.project.read("log.txt"), "1\n2\n3\n");
}

#[test]
fn a_run_killed_in_the_confirmation_is_green_only_after_another_one() {
    let scene = killed_and_resumed("check-5");
    let ended = scene.project.events_named("check_ended");
    assert!(
        ended.iter().any(|event| event["purpose"] == "confirmation"),
        "{ended:?}"
    );
}

#[test]
fn totals_cover_both_lives() {
    let scene = Loop::new();
    scene.killed_at("work-3");
    let before = scene.project.loopexec(&["status"]).json["state"]["elapsed_ms"]
        .as_u64()
        .unwrap();
    scene.resume(&[]);
    let after = scene.project.loopexec(&["status"]).json["state"]["elapsed_ms"]
        .as_u64()
        .unwrap();
    assert!(before > 0 && after > before, "{before} then {after}");
    assert_eq!(scene.project.verified()["journal"]["writers"], 2);
}

#[test]
fn what_outlived_governor_and_supervisor_is_ended_by_the_next_life() {
    let scene = Loop::new();
    {
        let _alone = crate::e2e::process::alone();
        let running = scene.started_up_to("work-1", &[]);
        let supervisor = supervisor_of(running.pid());
        // Stopped first, so that it cannot end anything when the governor goes.
        kill_process(supervisor, Signal::STOP).unwrap();
        running.kill();
        kill_process(supervisor, Signal::KILL).unwrap();
        assert!(scene.sleeper.is_up(), "there is nothing left to find");
        scene.release("work-1");
    }
    let run_id = scene.run_id();
    let named = scene.project.loopexec(&["status"]);
    let left = named.json["state"]["left_running"].as_array().unwrap();
    assert!(
        left.iter()
            .any(|process| process["command"].as_str().unwrap().contains("sleep")),
        "{named:?}"
    );
    let examined = scene.project.loopexec(&["doctor", "--check", "true"]);
    let left = examined.json["doctor"]["left_running"].as_array().unwrap();
    let named = |process: &serde_json::Value| process["command"].as_str().unwrap().contains("sleep");
    assert!(
        left.iter()
            .any(|process| named(process) && process["run_id"] == run_id.as_str()),
        "{examined:?}"
    );
    assert_eq!(
        (examined.exit, &examined.json["failure_cause"]),
        (Some(13), &"leftover_processes".into())
    );
    assert!(scene.sleeper.is_up(), "to name it is not to end it");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
    let after = scene.project.loopexec(&["status"]);
    assert_eq!(after.json["state"]["left_running"], serde_json::json!([]), "{after:?}");
    let told = &scene.project.events_named("resumed")[0];
    assert!(told["leftovers"].as_u64().unwrap() > 0, "{told}");
}

/// The one child of the governor.
fn supervisor_of(governor: u32) -> Pid {
    let found = || {
        // Any of its threads may have started it.
        let tasks = fs::read_dir(format!("/proc/{governor}/task")).unwrap().flatten();
        tasks
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .find_map(|line| line.split_whitespace().next()?.parse().ok())
            .and_then(Pid::from_raw)
    };
    wait_until("the governor has a supervisor", || found().is_some());
    found().unwrap()
}

/// Turns 1 and 3 break what passed and are taken back.
const MOODY: &str = "case $LOOPEXEC_ITERATION in
1) echo bad > a.txt; echo x > added.txt;;
2) echo right > b.txt;;
3) echo bad > b.txt; rm a.txt;;
*) echo right > b.txt; echo right > c.txt;;
esac";

const THREE: &str = "echo 1..3
for t in 1:a 2:b 3:c; do [ \"$(cat ${t#*:}.txt)\" = right ] && echo \"ok ${t%:*} - ${t#*:}\" || echo \"not ok ${t%:*} - ${t#*:}\"; done
[ \"$(cat a.txt b.txt c.txt | tr -d '\\n')\" = rightrightright ]";

#[test]
fn a_run_killed_every_few_events_comes_to_the_same_end() {
    let project = Project::new();
    project.script("check.sh", THREE);
    project.script("work.sh", MOODY);
    for (name, text) in [("a.txt", "right\n"), ("b.txt", "wrong\n"), ("c.txt", "wrong\n")] {
        project.write(name, text);
    }
    let lenient = [
        "--no-progress-k",
        "off",
        "--same-failure-r",
        "9",
        "--regression-candidates",
        "9",
    ];
    let run = [
        "run",
        "--check",
        "./check.sh",
        "--collector",
        "tap",
        "--exec",
        "./work.sh",
        "--max-iterations",
        "40",
    ];
    let _alone = crate::e2e::process::alone();
    let mut running = project.start(&[&run[..], &lenient].concat());
    for kill in 1..=6 {
        let wanted = project.events().len() + 5 + kill;
        let cell = std::cell::RefCell::new(&mut running);
        wait_until("some more events", || {
            project.events().len() >= wanted || cell.borrow_mut().has_ended()
        });
        if running.has_ended() {
            break;
        }
        running.kill();
        let verdict = project.loopexec(&["verify"]);
        assert_eq!(verdict.exit, Some(0), "{verdict:?}");
        running = project.start(&["resume"]);
    }
    let answer = running.end();
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    let closed = project.closed_iterations();
    assert_eq!(
        closed,
        (0..closed.len() as u64).collect::<Vec<_>>(),
        "a hole or a double"
    );
    for name in ["a.txt", "b.txt", "c.txt"] {
        assert_eq!(project.read(name), "right\n", "{name}");
    }
    assert!(!project.root.join("added.txt").exists());
    assert_eq!(project.verified()["journal"]["receipt"], "matches");
}

#[test]
fn a_run_killed_twice_goes_on_twice() {
    let scene = Loop::new();
    scene.killed_at("work-1");
    let run_id = scene.run_id();
    {
        let _alone = crate::e2e::process::alone();
        scene.hold("work-2");
        let running = scene.project.start(&["resume"]);
        wait_until("the second life is at work", || scene.sleeper.is_up());
        running.kill();
        wait_until("nothing of it is left", || !scene.sleeper.is_up());
        scene.release("work-2");
    }
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
    assert_eq!(scene.project.events_named("resumed").len(), 2);
}

#[test]
fn a_supervisor_that_is_killed_halts_the_run_and_leaves_nothing_running() {
    let scene = Loop::new();
    let _alone = crate::e2e::process::alone();
    let running = scene.started_up_to("work-1", &[]);
    kill_process(supervisor_of(running.pid()), Signal::KILL).unwrap();
    let answer = running.end();
    assert_eq!(
        (answer.exit, answer.text("failure_cause")),
        (Some(40), "supervisor_lost"),
        "{answer:?}"
    );
    assert!(!scene.sleeper.is_up());
    scene.project.verified();
    scene.release("work-1");
    let resumed = scene.resume(&[]);
    assert_eq!(
        (resumed.exit, resumed.text("run_id")),
        (Some(10), answer.text("run_id")),
        "{resumed:?}"
    );
}

/// A container whose first process is not in a session of its own: the session belongs to a process outside, and
/// inside it is number 0.
const CONTAINER: [&str; 6] = [
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--fork",
    "--mount-proc",
];

#[test]
fn a_supervisor_that_is_killed_where_the_session_is_outside_the_container_halts_the_run_too() {
    let probe = std::process::Command::new(CONTAINER[0])
        .args(&CONTAINER[1..])
        .arg("true")
        .output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("skipped: namespaces cannot be made here (no unshare, or not allowed)");
        return;
    }
    let project = Project::new();
    let args = ["run", "--check", "false", "--exec", "kill -KILL $PPID; sleep 600"];
    let answer = project.start_under(&CONTAINER, &args).end();
    assert_eq!(
        (answer.exit, answer.text("failure_cause")),
        (Some(40), "supervisor_lost"),
        "{answer:?}"
    );
}

#[test]
fn a_project_that_was_moved_goes_on_in_its_new_place() {
    let mut scene = Loop::new();
    scene.killed_at("work-2");
    let run_id = scene.run_id();
    let moved = scene.project.root.with_file_name("moved");
    fs::rename(&scene.project.root, &moved).unwrap();
    scene.project.root = moved;
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
}
