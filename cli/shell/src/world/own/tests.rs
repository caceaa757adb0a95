use std::time::{Duration, Instant};

use super::*;
use crate::paths::{RunId, StateDir};

/// The files of a run with this many segments.
fn run_of(segments: usize) -> (tempfile::TempDir, RunDir, OwnFiles) {
    let workdir = tempfile::tempdir().unwrap();
    let state = StateDir::create(workdir.path()).unwrap();
    let run = state.create_run(RunId::parse("own").unwrap()).unwrap();
    for number in 0..segments {
        fs::write(run.journal().join(format!("{number:08}.seg")), "sealed").unwrap();
    }
    fs::write(run.journal().join("LOCK"), "1").unwrap();
    fs::write(run.receipt(), "").unwrap();
    let own = OwnFiles::new(workdir.path(), &run);
    (workdir, run, own)
}

/// The governor tells of what it recorded.
fn keep_up(own: &mut OwnFiles, run: &RunDir) {
    let tell = |what| what == Meanwhile::Sync || fs::write(run.receipt(), "a line").is_ok();
    assert!(own.keep_up(&mut { tell }));
}

fn during(own: &mut OwnFiles, command: impl FnOnce()) -> Vec<String> {
    own.before();
    command();
    own.changed()
}

#[test]
fn every_file_of_the_record_is_watched_and_named() {
    let (_workdir, run, mut own) = run_of(3);
    assert_eq!(during(&mut own, || ()), [""; 0]);
    let journal = ".loopexec/runs/own/journal";
    for name in ["00000000.seg", "00000002.seg", "LOCK"] {
        let edited = during(&mut own, || fs::write(run.journal().join(name), "edited!").unwrap());
        assert_eq!(edited, [format!("{journal}/{name}")]);
    }
    let new = during(&mut own, || fs::write(run.journal().join("00000009.seg"), "").unwrap());
    assert_eq!(new, [format!("{journal}/00000009.seg")]);
    let receipt = during(&mut own, || fs::write(run.receipt(), "forged").unwrap());
    assert_eq!(receipt, [".loopexec/runs/own/receipt.jsonl"]);
    let gone = during(&mut own, || fs::remove_dir_all(run.path()).unwrap());
    assert_eq!(gone, [format!(".loopexec/runs/own/ {REMOVED}")]);
}

#[test]
fn what_the_governor_writes_between_commands_is_no_finding() {
    let (_workdir, run, mut own) = run_of(2);
    during(&mut own, || ());
    fs::write(run.journal().join("00000002.seg"), "new").unwrap();
    keep_up(&mut own, &run);
    assert_eq!(during(&mut own, || ()), [""; 0]);
}

#[test]
fn what_the_governor_derives_during_a_command_is_no_finding_and_hides_none() {
    let (_workdir, run, mut own) = run_of(2);
    fs::write(run.state_file(), "{}").unwrap();
    let derive = |own: &mut OwnFiles| own.derive(|| fs::write(run.state_file(), "{ }").unwrap());
    own.before();
    derive(&mut own);
    assert_eq!(own.changed(), [""; 0]);
    own.before();
    fs::write(run.state_file(), "forged").unwrap();
    derive(&mut own);
    assert_eq!(fs::read_to_string(run.state_file()).unwrap(), "forged");
    assert_eq!(own.changed(), [".loopexec/runs/own/state.json"]);
    own.before();
    keep_up(&mut own, &run);
    assert_eq!(own.changed(), [""; 0]);
    own.before();
    fs::write(run.receipt(), "forged").unwrap();
    keep_up(&mut own, &run);
    assert_eq!(own.changed(), [".loopexec/runs/own/receipt.jsonl"]);
    own.before();
    derive(&mut own);
    fs::write(run.receipt(), "forged").unwrap();
    assert_eq!(own.changed(), [".loopexec/runs/own/receipt.jsonl"]);
}

#[test]
fn a_name_that_leads_elsewhere_is_found_where_only_its_directory_is_looked_at() {
    let (workdir, _run, mut own) = run_of(2);
    let until = Instant::now() + Duration::from_secs(20);
    while own.seen.as_ref().is_none_or(|seen| seen.top.is_none()) && Instant::now() < until {
        assert_eq!(during(&mut own, || ()), [""; 0]);
    }
    let state = workdir.path().join(STATE_DIR);
    fs::create_dir(state.join("other")).unwrap();
    let swapped = during(&mut own, || {
        fs::rename(state.join(KEPT), state.join("gone")).unwrap();
        fs::rename(state.join("other"), state.join(KEPT)).unwrap();
    });
    assert_eq!(swapped, [".loopexec/objects"]);
}

#[test]
fn an_edited_sealed_segment_is_found_when_its_turn_comes() {
    let (_workdir, run, mut own) = run_of(12);
    during(&mut own, || ());
    let first = "00000000.seg";
    let mut edit = Some(|| fs::write(run.journal().join(first), "edited").unwrap());
    let found = (0..12).map(|_| during(&mut own, || edit.take().map_or((), |edit| edit())));
    let found: Vec<_> = found.flatten().collect();
    assert_eq!(found, [format!(".loopexec/runs/own/journal/{first}")]);
}

#[test]
fn touched_files_are_named() {
    let before = [("a".into(), 1), ("b".into(), 2)];
    let after = [("a".into(), 1), ("b".into(), 3), ("c".into(), 4)];
    assert_eq!(names_that_differ(&before, &after), ["b", "c"]);
}
