//! What a command leaves behind.

use super::*;

#[test]
fn a_background_sleeper_in_nested_subshells_is_ended_and_named() {
    let sleeper = unique_sleeper();
    let run = run(&sh(&format!("( ( {sleeper} & ) & ) ; exit 0")));
    assert_eq!(run.outcome, Outcome::Exited(0));
    assert_eq!(alive(&sleeper), NOBODY);
    assert!(
        run.survivors.iter().any(|s| s.command.contains(&sleeper) && s.ended),
        "{:?}",
        run.survivors
    );
}

#[test]
fn a_setsid_grandchild_is_ended_before_the_command_is_reported() {
    let sleeper = unique_sleeper();
    let script = format!("setsid sh -c 'setsid {sleeper} & exit 0' & wait; exit 3");
    let run = run(&sh(&script));
    assert_eq!(run.outcome, Outcome::Exited(3));
    assert_eq!(alive(&sleeper), NOBODY);
    assert!(
        run.survivors.iter().any(|s| s.command.contains(&sleeper) && s.ended),
        "{:?}",
        run.survivors
    );
}

#[test]
fn a_daemon_that_scrubs_its_environment_is_ended_too() {
    let sleeper = unique_sleeper();
    let run = run(&sh(&format!(
        "env -i setsid sh -c '{sleeper} & exit 0' </dev/null >/dev/null 2>&1"
    )));
    assert_eq!((run.outcome, alive(&sleeper)), (Outcome::Exited(0), NOBODY));
}

#[test]
fn a_command_that_cleans_up_after_itself_leaves_no_survivors() {
    let run = run(&sh("sleep 0.01 & sleep 0.02 & wait; exit 5"));
    assert_eq!(
        (run.outcome, run.stop, run.survivors),
        (Outcome::Exited(5), None, Vec::new())
    );
}

#[test]
fn a_held_pipe_does_not_delay_the_end() {
    for detach in ["", "setsid "] {
        let sleeper = unique_sleeper();
        let run = run(&sh(&format!("{detach}{sleeper} & echo done")));
        assert_eq!(run.outcome, Outcome::Exited(0));
        assert_eq!(run.stdout.inline.as_deref(), Some(&b"done\n"[..]));
        assert_eq!(alive(&sleeper), NOBODY);
    }
}

#[test]
fn a_late_writer_is_dead_before_the_next_command() {
    let room = tempfile::tempdir().unwrap();
    let verdict = room.path().join("verdict");
    let mut supervisor = supervisor();
    let work = format!("echo good > {0}; (sleep 0.2; echo bad > {0}) &", verdict.display());
    supervisor.run(&sh(&work), &Wishes::never()).unwrap();
    let check = supervisor
        .run(&sh(&format!("sleep 0.5; cat {}", verdict.display())), &Wishes::never())
        .unwrap();
    assert_eq!(check.stdout.inline.as_deref(), Some(&b"good\n"[..]));
}

#[test]
fn survivors_may_be_given_time_to_end_by_themselves() {
    let room = tempfile::tempdir().unwrap();
    let mut spec = sh(&format!(
        "(sleep 0.1; echo done > {}/late) & exit 0",
        room.path().display()
    ));
    spec.deadlines.survivor_grace_ms = 60_000;
    let run = run(&spec);
    assert_eq!(run.survivors, []);
    assert!(room.path().join("late").exists());
}

#[test]
fn a_storm_of_forks_is_ended() {
    let sleeper = unique_sleeper();
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do ( for j in 1 2 3 4 5; do setsid {sleeper} & ( {sleeper} & ) & done; {sleeper} ) & done; exit 0"
    );
    let run = run(&sh(&script));
    assert!(run.survivors.iter().all(|survivor| survivor.ended));
    assert_eq!(alive(&sleeper), NOBODY);
}

#[test]
fn secrets_are_masked_in_the_command_lines_of_survivors() {
    let sleeper = unique_sleeper();
    let mut spec = sh(&format!("{sleeper} & exit 0"));
    spec.redact = vec![sleeper.clone().into_bytes()];
    let run = run(&spec);
    assert!(!run.survivors.is_empty());
    assert!(
        run.survivors
            .iter()
            .all(|survivor| !survivor.command.contains(&sleeper)),
        "{:?}",
        run.survivors
    );
}
