//! The journal as its users see it: real directories, real locks, more than one process's worth of
//! readers and writers.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use engine::event::id::Digest;
use journal::{Code, Error, FileStore, Journal, Keys, OpenOptions, Recovery, VerifyOptions, verify};
use support::{SMALL, contents, event, events, large};

fn scratch() -> (tempfile::TempDir, std::path::PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("run.journal");
    (scratch, dir)
}

fn create(dir: &std::path::Path, count: u64) -> journal::Head {
    let store = Arc::new(FileStore::create(dir).unwrap());
    let mut writer = Journal::create_in(store, "run-1", SMALL).unwrap();
    for i in 0..count {
        writer.append(&event(i)).unwrap();
        if i % 2 == 1 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    let head = writer.head();
    writer.close().unwrap();
    head
}

fn read(dir: &std::path::Path) -> Vec<engine::event::Event> {
    let reader = Journal::open_read(dir).unwrap();
    reader.events().map(|item| item.unwrap().1).collect()
}

#[test]
fn what_was_committed_is_read_back_over_many_segments_and_lives() {
    let (_scratch, dir) = scratch();
    let head = create(&dir, 60);
    assert_eq!(read(&dir), events(60));
    let (mut writer, recovery) = Journal::open_write(&dir).unwrap();
    assert_eq!((recovery, writer.head(), writer.epoch()), (Recovery::Clean, head, 2));
    writer.append(&event(60)).unwrap();
    assert_eq!(writer.commit().unwrap().seq, Some(60));
    writer.close().unwrap();
    assert_eq!(read(&dir), events(61));
    let verdict = Journal::verify(&dir, &VerifyOptions::default(), None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert_eq!((verdict.head.size, verdict.epoch), (61, 2));
    assert!(verdict.segments > 3);
}

#[test]
fn what_was_appended_and_not_committed_is_not_there() {
    let (_scratch, dir) = scratch();
    let mut writer = Journal::create(&dir, "run-1").unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    writer.append(&event(1)).unwrap();
    drop(writer);
    assert_eq!(read(&dir), events(1));
}

#[test]
fn a_second_writer_is_told_who_holds_the_journal() {
    let (_scratch, dir) = scratch();
    let writer = Journal::create(&dir, "run-1").unwrap();
    match Journal::open_write(&dir) {
        Err(Error::Held { pid, epoch }) => assert_eq!((pid, epoch), (std::process::id(), 1)),
        other => panic!("{:?}", other.map(|(_, recovery)| recovery)),
    }
    drop(writer);
    let (writer, _) = Journal::open_write(&dir).unwrap();
    assert_eq!(writer.epoch(), 2);
    assert_eq!(Journal::last_writer(&dir), (std::process::id(), 2));
}

#[test]
fn a_used_run_is_refused_and_nothing_is_truncated() {
    let (_scratch, dir) = scratch();
    create(&dir, 5);
    assert!(matches!(Journal::create(&dir, "run-1"), Err(Error::Exists { .. })));
    assert_eq!(read(&dir), events(5));
}

#[test]
fn a_missing_journal_is_a_typed_error_and_makes_nothing() {
    let (_scratch, dir) = scratch();
    assert!(matches!(Journal::open_read(&dir), Err(Error::Missing { .. })));
    assert!(matches!(Journal::open_write(&dir), Err(Error::Missing { .. })));
    assert!(!dir.exists());
    fs::create_dir(&dir).unwrap();
    assert!(matches!(Journal::open_read(&dir), Err(Error::Missing { .. })));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn a_live_journal_is_read_without_a_lock_and_up_to_its_last_commit() {
    let (_scratch, dir) = scratch();
    let mut writer = Journal::create(&dir, "run-1").unwrap();
    for i in 0..20 {
        writer.append(&event(i)).unwrap();
        writer.commit().unwrap();
        writer.append(&event(i + 1)).unwrap();
        writer.commit().unwrap();
        let reader = Journal::open_read(&dir).unwrap();
        assert_eq!(reader.head().unwrap(), writer.head());
        assert_eq!(reader.fold(|_, _| ()).unwrap(), 2 * (i + 1));
    }
}

#[test]
fn a_reader_beside_a_busy_writer_never_sees_damage() {
    let (_scratch, dir) = scratch();
    let mut writer = Journal::create(&dir, "run-1").unwrap();
    let seen = std::thread::scope(|scope| {
        let follow = scope.spawn(|| {
            let mut seen = 0;
            while seen < 400 {
                let reader = Journal::open_read(&dir).unwrap();
                for item in reader.events() {
                    let (seq, found) = item.unwrap();
                    assert_eq!(found, event(seq));
                    seen = seen.max(seq + 1);
                }
            }
            seen
        });
        for i in 0..400 {
            writer.append(&event(i)).unwrap();
            writer.commit().unwrap();
        }
        follow.join().unwrap()
    });
    assert_eq!(seen, 400);
}

#[test]
fn a_read_only_directory_is_read_and_left_alone() {
    let (_scratch, dir) = scratch();
    create(&dir, 30);
    let before = snapshot(&dir);
    for entry in fs::read_dir(&dir).unwrap() {
        fs::set_permissions(entry.unwrap().path(), fs::Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(read(&dir), events(30));
    assert_eq!(Journal::inspect(&dir, None).unwrap(), Recovery::Clean);
    assert!(
        Journal::verify(&dir, &VerifyOptions::default(), None)
            .unwrap()
            .is_intact()
    );
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(snapshot(&dir), before);
}

fn snapshot(dir: &std::path::Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn an_event_larger_than_a_segment_gets_a_segment_that_fits_and_one_too_large_is_refused() {
    let (_scratch, dir) = scratch();
    let store = Arc::new(FileStore::create(&dir).unwrap());
    let mut writer = Journal::create_in(store, "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    let big = large(3 << 20);
    writer.append(&big).unwrap();
    writer.commit().unwrap();
    assert!(matches!(writer.append(&large(9 << 20)), Err(Error::TooLarge { .. })));
    writer.append(&event(2)).unwrap();
    writer.commit().unwrap();
    writer.close().unwrap();
    assert_eq!(read(&dir), [event(0), big, event(2)]);
    assert!(
        Journal::verify(&dir, &VerifyOptions::default(), None)
            .unwrap()
            .is_intact()
    );
}

#[test]
fn a_known_head_proves_that_no_older_copy_was_put_back() {
    let (_scratch, dir) = scratch();
    let old = create(&dir, 10);
    let copy = snapshot(&dir);
    let (mut writer, _) = Journal::open_write(&dir).unwrap();
    writer.append(&event(10)).unwrap();
    let new = writer.commit().unwrap().head;
    writer.close().unwrap();
    assert_eq!(Journal::inspect(&dir, Some(old.leaf)).unwrap(), Recovery::Clean);
    assert_eq!(Journal::inspect(&dir, Some(new)).unwrap(), Recovery::Clean);
    for (name, bytes) in copy {
        fs::write(dir.join(name), bytes).unwrap();
    }
    let rolled_back = Recovery::RolledBack {
        have: old,
        expected: new,
    };
    assert_eq!(Journal::inspect(&dir, Some(new)).unwrap(), rolled_back);
    let options = OpenOptions {
        expect_head: Some(new),
        ..OpenOptions::default()
    };
    let refused = Journal::open_write_in(Arc::new(FileStore::open(&dir)), &options);
    assert!(matches!(refused, Err(Error::RolledBack { .. })));
    let verdict = Journal::verify(
        &dir,
        &VerifyOptions {
            expect_head: Some(new),
            key: None,
        },
        None,
    )
    .unwrap();
    assert_eq!(verdict.defect.unwrap().code, Code::RolledBack);
    assert_eq!(
        Journal::inspect(&dir, None).unwrap(),
        Recovery::Clean,
        "not seen without the head"
    );
}

#[test]
fn a_large_journal_is_examined_on_all_cores_and_its_first_defect_is_named() {
    let store = journal::MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", journal::Layout::default()).unwrap();
    for i in 0..24_000 {
        writer.append(&event(i)).unwrap();
        if i % 200 == 199 {
            writer.commit().unwrap();
        }
    }
    writer.close().unwrap();
    let mut next = 0;
    let mut in_order = |seq: u64, _: &engine::event::Event| {
        next += 1;
        if seq + 1 == next {
            Ok(())
        } else {
            Err(format!("{seq} after {next}"))
        }
    };
    let verdict = verify(&store, &VerifyOptions::default(), Some(&mut in_order)).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert!(verdict.segments > 2);
    assert_eq!(verdict.head.size, 24_000);
    for name in ["00000002.seg", "00000001.seg"] {
        store.edit(name, |bytes| bytes[20_000] ^= 1);
    }
    let defect = verify(&store, &VerifyOptions::default(), None).unwrap().defect.unwrap();
    assert_eq!((defect.code, defect.segment), (Code::Edited, 1));
}

#[test]
fn the_caller_judges_every_event_and_the_first_unlawful_one_is_named() {
    let (_scratch, dir) = scratch();
    create(&dir, 12);
    let mut seen = Vec::new();
    let mut judge = |seq: u64, event: &engine::event::Event| {
        seen.push(event.clone());
        if seq == 7 { Err("not now".to_owned()) } else { Ok(()) }
    };
    let verdict = Journal::verify(&dir, &VerifyOptions::default(), Some(&mut judge)).unwrap();
    let defect = verdict.defect.unwrap();
    assert_eq!((defect.code, defect.seq), (Code::Illegal, 7));
    assert_eq!(defect.kind, Some(event(7).name()));
    assert_eq!(seen, events(8));
}

#[test]
fn a_sealed_journal_is_signed_once_and_the_signature_covers_the_root() {
    let (_scratch, dir) = scratch();
    let keys = Keys::from_seed(&[3; 32]);
    let mut writer = Journal::create(&dir, "run-1").unwrap();
    for i in 0..9 {
        writer.append(&event(i)).unwrap();
    }
    let note = writer.seal(Digest([5; 32]), Some(&keys)).unwrap().unwrap();
    assert_eq!(writer.seal(Digest([5; 32]), Some(&keys)).unwrap().unwrap(), note);
    assert_eq!(note.checkpoint.root, writer.root());
    assert_eq!(note.checkpoint.state, Digest([5; 32]));
    writer.close().unwrap();
    let options = VerifyOptions {
        expect_head: Some(note.checkpoint.head),
        key: Some(keys.public()),
    };
    let verdict = verify(&FileStore::open(&dir), &options, None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert_eq!((verdict.checkpoints, verdict.root), (1, note.checkpoint.root));
    assert_eq!(contents_of(&dir), events(9));
}

fn contents_of(dir: &std::path::Path) -> Vec<engine::event::Event> {
    let store = journal::MemoryStore::of(snapshot(dir));
    contents(&store).unwrap()
}
