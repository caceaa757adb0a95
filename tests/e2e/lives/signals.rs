//! Asked to stop: commands dead, the stop recorded, the run ready to go on.

use rustix::process::Signal;

use super::Loop;
use crate::support::{Project, Sleeper, wait_until};

fn stopped_by(signal: Signal, exit: i32) {
    let scene = Loop::new();
    let running = scene.started_up_to("work-2", &[]);
    running.signal(signal);
    let answer = running.end();
    assert_eq!(
        (answer.exit, answer.text("status")),
        (Some(exit), "interrupted"),
        "{answer:?}"
    );
    assert!(answer.json.get("halt_reason").is_none(), "{answer:?}");
    assert!(!scene.sleeper.is_up(), "the work outlived the run");
    let last = scene.project.events().pop().unwrap();
    assert_eq!(
        (&last["event"], &last["code"]),
        (&"suspended".into(), &(exit - 128).into())
    );
    scene.project.verified();

    scene.release("work-2");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, answer.text("run_id"));
}

#[test]
fn sigint_ends_the_work_exits_130_and_the_run_goes_on_later() {
    stopped_by(Signal::INT, 130);
}

#[test]
fn sigterm_ends_the_work_exits_143_and_the_run_goes_on_later() {
    stopped_by(Signal::TERM, 143);
}

#[test]
fn sighup_ends_the_work_exits_129_and_the_run_goes_on_later() {
    stopped_by(Signal::HUP, 129);
}

#[test]
fn a_run_started_with_nohup_outlives_its_terminal() {
    let project = Project::new();
    let wait = "touch $OUT/up; while [ ! -e $OUT/go ]; do sleep 0.05; done; touch done.txt";
    let args = ["run", "--check", "test -e done.txt", "--exec", wait];
    let running = project.start_under(&["nohup"], &args);
    project.wait_told("up");
    running.signal(Signal::HUP);
    running.signal(Signal::HUP);
    std::fs::write(project.outside.join("go"), "").unwrap();
    let answer = running.end();
    assert_eq!(answer.exit, Some(10), "{answer:?}");
}

#[test]
fn a_signal_during_the_check_leaves_no_verdict_behind() {
    let scene = Loop::new();
    let running = scene.started_up_to("check-2", &[]);
    running.signal(Signal::INT);
    let answer = running.end();
    assert_eq!(answer.exit, Some(130));
    assert_eq!(
        scene.project.closed_iterations(),
        [0],
        "an interrupted check closed its iteration"
    );
    scene.release("check-2");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, answer.text("run_id"));
}

/// Starts work that says when it is up, interrupts it, and gives the exit code.
fn interrupted(project: &Project, work: &str, grace: &str) -> Option<i32> {
    project.script("work.sh", work);
    let args = [
        "run",
        "--check",
        "false",
        "--exec",
        "./work.sh",
        "--terminate-grace",
        grace,
    ];
    let running = project.start(&args);
    project.wait_told("up");
    running.signal(Signal::INT);
    running.end().exit
}

#[test]
fn work_that_traps_the_signal_has_the_grace_to_clean_up() {
    let project = Project::new();
    let work = "trap 'echo kept > $OUT/marker; exit 0' TERM\ntouch $OUT/up\nwhile :; do sleep 0.05; done";
    assert_eq!(interrupted(&project, work, "60s"), Some(130));
    assert_eq!(project.told("marker"), "kept\n");
}

#[test]
fn work_that_is_deaf_to_signals_is_ended_after_the_grace() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    let work = format!(
        "trap '' INT TERM HUP\n{} &\ntouch $OUT/up\nwhile :; do sleep 0.05; done",
        sleeper.command()
    );
    assert_eq!(interrupted(&project, &work, "300ms"), Some(130));
    assert!(!sleeper.is_up());
    project.verified();
}

#[test]
fn a_second_signal_ends_the_grace() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    let work = format!(
        "trap '' INT\ntrap 'touch $OUT/asked' TERM\ntouch $OUT/up\nwhile :; do {} & wait $!; done",
        sleeper.command()
    );
    project.script("work.sh", &work);
    // Longer than this test waits for anything.
    let args = [
        "run",
        "--check",
        "false",
        "--exec",
        "./work.sh",
        "--terminate-grace",
        "1h",
    ];
    let mut running = project.start(&args);
    project.wait_told("up");
    running.signal(Signal::INT);
    project.wait_told("asked");
    assert!(!running.has_ended());
    running.signal(Signal::INT);
    let answer = running.end();
    assert_eq!(
        (answer.exit, answer.text("status")),
        (Some(130), "interrupted"),
        "{answer:?}"
    );
    wait_until("the deaf work is gone", || !sleeper.is_up());
    project.verified();
}

#[test]
fn an_interrupt_deletes_no_work() {
    let project = Project::git(&[("mine.txt", "committed\n")]);
    project.write("mine.txt", "edited by the user\n");
    project.write("new.txt", "untracked\n");
    let work = "echo half > agent.txt\ntouch $OUT/up\nwhile :; do sleep 0.05; done";
    assert_eq!(interrupted(&project, work, "1s"), Some(130));
    assert_eq!(project.read("mine.txt"), "edited by the user\n");
    assert_eq!(project.read("new.txt"), "untracked\n");
    assert_eq!(project.read("agent.txt"), "half\n");
}

#[test]
fn a_stop_while_a_command_reads_the_artefact_leaves_no_verdict_behind() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    // Waits the first time it is asked after the baseline, and answers every other time.
    project.script(
        "failures.sh",
        &format!(
            "echo >> $OUT/asked; test $(wc -l < $OUT/asked) -ne 2 || {}; test -e done || echo open",
            sleeper.command()
        ),
    );
    let args = [
        "run",
        "--check",
        "test -e done",
        "--exec",
        "touch done",
        "--failures-cmd",
        "./failures.sh",
    ];
    let running = project.start(&args);
    wait_until("the failures are asked for", || sleeper.is_up());
    running.signal(Signal::INT);
    let answer = running.end();
    assert_eq!(
        (answer.exit, answer.text("status")),
        (Some(130), "interrupted"),
        "{answer:?}"
    );
    assert!(!sleeper.is_up());
    let resumed = project.loopexec(&["resume"]);
    assert_eq!(resumed.exit, Some(10), "{resumed:?}");
    project.verified();
}
