//! A journal that was cut, altered or put back.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Loop;
use crate::support::{Project, last_batch};

/// Zeroes the second half of the last write, as a power cut would leave it. The receipt gets its lines only after the
/// write is durable, so they are not there either.
fn cut_half_of_the_last_batch(project: &Project) {
    let segment = project.segment();
    let (start, live) = last_batch(&segment);
    let mut bytes = fs::read(&segment).unwrap();
    let sector = 512;
    let kept = start + (live / 2 / sector).max(1) * sector;
    assert!(kept < start + live, "the batch is too small to be cut");
    bytes[kept..].fill(0);
    let first_lost = u64::from_le_bytes(bytes[start + 32..start + 40].try_into().unwrap());
    fs::write(&segment, bytes).unwrap();
    let receipt = project.run_dir().join("receipt.jsonl");
    let text = fs::read_to_string(&receipt).unwrap();
    let lines: Vec<&str> = text.lines().take(first_lost as usize).collect();
    fs::write(&receipt, lines.join("\n") + "\n").unwrap();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x01;
    fs::write(path, bytes).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_torn_tail_is_named_as_such_and_the_run_goes_on() {
    let scene = Loop::new();
    scene.killed_at("work-2");
    let run_id = scene.run_id();
    cut_half_of_the_last_batch(&scene.project);
    let verdict = scene.project.loopexec(&["verify"]);
    assert_eq!(verdict.exit, Some(0), "{verdict:?}");
    assert!(
        verdict.json["journal"]["torn_bytes"].as_u64().unwrap() > 0,
        "{verdict:?}"
    );
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
    assert!(scene.project.run_dir().join("journal/quarantine").is_dir());
}

#[test]
fn half_a_line_at_the_end_of_the_receipt_is_no_obstacle() {
    let scene = Loop::new();
    scene.killed_at("work-2");
    let receipt = scene.project.run_dir().join("receipt.jsonl");
    let text = fs::read(&receipt).unwrap();
    fs::write(&receipt, &text[..text.len() - 40]).unwrap();
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &scene.run_id());
}

#[test]
fn a_flipped_bit_in_the_middle_is_named_and_nothing_goes_on() {
    let scene = Loop::new();
    scene.killed_at("work-2");
    let segment = scene.project.segment();
    // Behind the header of the first batch: inside of its first event.
    flip(&segment, 4096 + 144 + 200);
    let verdict = scene.project.loopexec(&["verify"]);
    assert_eq!(
        (verdict.exit, verdict.text("halt_reason")),
        (Some(13), "objective_unverified")
    );
    let defect = &verdict.json["journal"]["defect"];
    assert_eq!(
        (&defect["segment"], &defect["seq"]),
        (&0.into(), &0.into()),
        "{verdict:?}"
    );

    let before = fs::read(&segment).unwrap();
    let log = scene.project.read("log.txt");
    let refused = scene.resume(&[]);
    assert_eq!(refused.exit, Some(13), "{refused:?}");
    assert_eq!(scene.project.read("log.txt"), log, "work was run on a damaged record");
    assert_eq!(fs::read(&segment).unwrap(), before, "a damaged record was written to");
}

#[test]
fn a_run_that_died_before_its_first_event_is_in_nobodys_way() {
    let scene = Loop::new();
    scene.killed_at("work-1");
    let run_id = scene.run_id();
    let dead = scene.project.root.join(".loopexec/runs/zz-dead");
    copy(&scene.project.run_dir(), &dead);
    fs::remove_file(dead.join("receipt.jsonl")).unwrap();
    let segment = dead.join("journal/00000000.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4096..].fill(0);
    fs::write(&segment, bytes).unwrap();
    fs::create_dir(dead.with_file_name("zz-deader")).unwrap();

    for id in ["zz-dead", "zz-deader"] {
        let refused = scene.resume(&["--run-id", id]);
        assert_eq!(
            (refused.exit, refused.text("halt_reason")),
            (Some(30), "workspace_invalid"),
            "{refused:?}"
        );
        assert!(refused.errors().contains("before its first event"), "{refused:?}");
    }
    let resumed = scene.resume(&[]);
    assert_eq!(
        (resumed.exit, resumed.text("run_id")),
        (Some(10), run_id.as_str()),
        "{resumed:?}"
    );
}

#[test]
fn a_damaged_run_does_not_hide_behind_an_older_one() {
    let scene = Loop::new();
    assert_eq!(
        scene
            .start(&["--max-iterations", "1", "--run-id", "zz-older"])
            .end()
            .exit,
        Some(12)
    );
    assert_eq!(
        scene
            .start(&["--max-iterations", "1", "--run-id", "aa-newer"])
            .end()
            .exit,
        Some(12)
    );
    let newer = scene.project.root.join(".loopexec/runs/aa-newer/journal/00000000.seg");
    flip(&newer, 4096 + 144 + 200);
    for command in [&["verify"][..], &["resume", "--max-iterations", "9"]] {
        let answer = scene.project.loopexec(command);
        assert_eq!(answer.exit, Some(13), "{answer:?}");
    }
}

#[test]
fn an_older_copy_of_the_journal_is_refused_with_the_head_that_was_written_down() {
    let scene = Loop::new();
    scene.killed_at("work-1");
    let (run, aside) = (scene.project.run_dir(), scene.project.outside.join("aside"));
    copy(&run, &aside);
    assert_eq!(scene.resume(&["--max-iterations", "1"]).exit, Some(12));
    let head = scene.project.loopexec(&["status"]).json["state"]["head"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        scene.project.loopexec(&["verify", "--expect-head", &head]).exit,
        Some(0)
    );

    fs::remove_dir_all(&run).unwrap();
    copy(&aside, &run);
    assert_eq!(
        scene.project.loopexec(&["verify"]).exit,
        Some(0),
        "it is intact in itself"
    );
    let verdict = scene.project.loopexec(&["verify", "--expect-head", &head]);
    assert_eq!(
        (verdict.exit, verdict.text("halt_reason")),
        (Some(13), "objective_unverified")
    );
    let refused = scene.resume(&["--expect-head", &head]);
    assert_eq!(refused.exit, Some(13), "{refused:?}");
    assert_eq!(scene.project.read("log.txt"), "", "work was run on an older record");
}

#[test]
fn events_cut_off_the_end_show_against_the_head_and_the_checkpoint() {
    let scene = Loop::new();
    let answer = scene.start(&["--max-iterations", "1"]).end();
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let head = answer.text("head").to_owned();
    let segment = scene.project.segment();
    // The mark of the end, and the batch before it that holds the last events.
    for _ in 0..2 {
        let (start, _) = last_batch(&segment);
        let mut bytes = fs::read(&segment).unwrap();
        bytes[start..].fill(0);
        fs::write(&segment, bytes).unwrap();
    }
    let verdict = scene.project.loopexec(&["verify", "--expect-head", &head]);
    assert_eq!(verdict.exit, Some(13), "{verdict:?}");
    // The run was sealed: the signed checkpoint knows how long it was.
    assert_eq!(scene.project.loopexec(&["verify"]).exit, Some(13));
    assert_eq!(scene.resume(&["--max-iterations", "5"]).exit, Some(13));
}
