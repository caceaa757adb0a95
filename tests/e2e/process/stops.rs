//! Ending a command that does not end by itself.

use super::*;

#[test]
fn a_term_trap_runs_before_the_end() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh(&format!(
        "trap 'echo cleaned > {}/marker; exit 9' TERM; echo ready; while :; do sleep 0.05; done",
        room.path().display()
    ));
    spec.deadlines = idle_once_ready(60_000);
    let run = run(&spec);
    assert_eq!((run.outcome, run.stop), (Outcome::Exited(9), Some(StopCause::Idle)));
    assert!(room.path().join("marker").exists());
}

#[test]
fn a_grandchild_gets_its_grace_though_its_parent_is_gone_at_once() {
    let room = tempfile::tempdir().unwrap();
    let worker = format!(
        "trap \"sleep 0.2; echo cleaned > {}/marker; exit 0\" TERM; echo ready; while :; do sleep 0.05; done",
        room.path().display()
    );
    let mut spec = sh(&format!("setsid sh -c '{worker}' & wait"));
    spec.deadlines = idle_once_ready(60_000);
    let run = run(&spec);
    assert_eq!(run.stop, Some(StopCause::Idle));
    assert!(room.path().join("marker").exists(), "{run:?}");
    assert_eq!(run.survivors, []);
}

#[test]
fn a_tree_deaf_to_term_is_killed_after_the_grace() {
    let sleeper = unique_sleeper();
    let deaf = format!("trap '' TERM; echo ready; setsid sh -c '{sleeper}; {sleeper}' & {sleeper}; {sleeper}");
    let mut spec = sh(&deaf);
    spec.deadlines = idle_once_ready(200);
    let run = run(&spec);
    assert_eq!((run.outcome, run.stop), (Outcome::Signaled(9), Some(StopCause::Idle)));
    assert!(
        run.duration_ms >= 400,
        "the grace was cut short: {} ms",
        run.duration_ms
    );
    assert_eq!(alive(&sleeper), NOBODY);
}

#[test]
fn the_grace_is_not_waited_out_when_the_tree_is_gone_early() {
    let mut spec = sh("sleep 600 & sleep 600");
    spec.deadlines = Deadlines {
        timeout_ms: Some(100),
        grace_ms: 3_600_000,
        ..Deadlines::default()
    };
    assert_eq!(run(&spec).outcome, Outcome::Signaled(15));
}

#[test]
fn silence_and_a_missing_first_byte_have_causes_of_their_own() {
    let mut quiet = sh("echo once; sleep 600");
    quiet.deadlines.idle_ms = Some(200);
    quiet.deadlines.first_output_ms = Some(60_000);
    assert_eq!(run(&quiet).stop, Some(StopCause::Idle));

    let mut mute = sh("sleep 600");
    mute.deadlines.first_output_ms = Some(200);
    assert_eq!(run(&mute).stop, Some(StopCause::FirstOutput));
}

#[test]
fn output_on_either_stream_keeps_the_idle_deadline_away() {
    let mut spec = sh("for i in 1 2 3 4 5 6 7 8; do echo x >&2; sleep 0.1; done");
    spec.deadlines.idle_ms = Some(700);
    assert_eq!(run(&spec).outcome, Outcome::Exited(0));
}

#[test]
fn a_stopped_child_does_not_evade_its_deadline() {
    let mut spec = sh("kill -STOP $$; exit 0");
    spec.deadlines = Deadlines {
        timeout_ms: Some(200),
        grace_ms: 60_000,
        ..Deadlines::default()
    };
    let run = run(&spec);
    assert_eq!(run.stop, Some(StopCause::Deadline));
    assert_eq!(run.outcome, Outcome::Signaled(15));
}

#[test]
fn a_cancel_asks_and_a_second_one_forces() {
    let room = tempfile::tempdir().unwrap();
    let (ready, asked) = (room.path().join("ready"), room.path().join("asked"));
    let trap = format!("echo asked; touch {}", asked.display());
    let mut spec = sh(&format!(
        "trap '{trap}' TERM; touch {}; while :; do sleep 0.02; done",
        ready.display()
    ));
    spec.deadlines.grace_ms = 3_600_000;
    let (wish, cancel) = wishes().unwrap();
    let running = std::thread::spawn(move || supervisor().run(&spec, &cancel).unwrap());
    wait_until("the command runs", || ready.exists());
    wish.send(Cancel::Stop).unwrap();
    wait_until("the command was asked", || asked.exists());
    assert!(!running.is_finished());
    wish.send(Cancel::Force).unwrap();
    let run = running.join().unwrap();
    assert_eq!((run.outcome, run.stop), (Outcome::Signaled(9), Some(StopCause::Forced)));
    assert_eq!(
        run.stdout.inline.as_deref(),
        Some(&b"asked\n"[..]),
        "TERM came once, before KILL"
    );
}

#[test]
fn a_late_cancel_does_not_reach_the_next_command() {
    let mut supervisor = supervisor();
    let (wish, cancel) = wishes().unwrap();
    wish.send(Cancel::Stop).unwrap();
    let first = supervisor.run(&sh("sleep 600"), &cancel).unwrap();
    assert_eq!(first.stop, Some(StopCause::Cancelled));
    let second = supervisor.run(&sh("sleep 0.1; echo fine"), &Wishes::never()).unwrap();
    assert_eq!((second.outcome, second.stop), (Outcome::Exited(0), None));
}

#[test]
fn the_supervisor_does_not_end_of_signals_meant_for_the_governor() {
    let mut supervisor = supervisor();
    let script = "kill -INT $PPID; kill -TERM $PPID; kill -HUP $PPID; echo alive";
    let run = supervisor.run(&sh(script), &Wishes::never()).unwrap();
    assert_eq!(run.stdout.inline.as_deref(), Some(&b"alive\n"[..]));
    assert_eq!(
        supervisor.run(&sh("exit 4"), &Wishes::never()).unwrap().outcome,
        Outcome::Exited(4)
    );
}

#[test]
fn commands_start_with_no_signal_ignored_or_blocked() {
    let run = run(&sh("grep -E 'Sig(Ign|Blk)' /proc/self/status"));
    let standard = (1 << 31) - 1;
    for line in text(&run).lines() {
        let (name, mask) = line.split_once(':').unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        assert_eq!(mask & standard, 0, "{name}: {mask:x}");
    }
    assert_eq!(text(&run).lines().count(), 2);
}

#[test]
fn a_wish_made_before_the_command_ends_it_at_once() {
    let sleeper = unique_sleeper();
    let (wisher, wishes) = wishes().unwrap();
    wisher.send(Cancel::Force).unwrap();
    let run = supervisor().run(&sh(&format!("exec {sleeper}")), &wishes).unwrap();
    assert_eq!((run.outcome, run.stop), (Outcome::Signaled(9), Some(StopCause::Forced)));
}

#[test]
fn a_supervisor_that_its_command_stops_is_woken() {
    assert_eq!(run(&sh("kill -STOP $PPID; exit 6")).outcome, Outcome::Exited(6));
}

/// Ends a command some time after its first output: by then its traps are set, however slow the machine.
fn idle_once_ready(grace_ms: u64) -> Deadlines {
    Deadlines {
        first_output_ms: Some(600_000),
        idle_ms: Some(200),
        grace_ms,
        ..Deadlines::default()
    }
}
