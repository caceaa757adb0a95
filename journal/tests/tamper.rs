//! The sixteen ways to tamper, each by somebody who repairs every check that needs no key.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;

use engine::event::id::Digest;
use journal::batch::{self, BLOCK};
use journal::{Code, Error, Journal, Keys, Layout, MemoryStore, OpenOptions, VerifyOptions, receipt, segment, verify};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::{SMALL, asked, event, events, figure, reader};

const ACTIVE: &str = "00000000.seg";
const NOTES: &str = "checkpoints.note";

/// One segment, eight one-block batches of one event, then a second life with two more.
fn journal() -> MemoryStore {
    let store = MemoryStore::default();
    let roomy = Layout {
        first_bytes: 64 << 10,
        max_bytes: 64 << 10,
        background: false,
    };
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", roomy).unwrap();
    for i in 0..8 {
        writer.append(&event(i)).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    for i in 8..10 {
        writer.append(&event(i)).unwrap();
        writer.commit().unwrap();
    }
    writer.seal(Digest::ZERO, None).unwrap();
    drop(writer);
    store
}

/// Several sealed segments.
fn long_journal() -> MemoryStore {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    for i in 0..20 {
        writer.append(&event(i)).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    assert!(store.files().contains_key("00000003.seg"));
    store
}

fn keys(seed: u8) -> Keys {
    Keys::from_seed(&[seed; 32])
}

fn signed(seed: u8) -> MemoryStore {
    let store = journal();
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.seal(Digest([1; 32]), Some(&keys(seed))).unwrap();
    drop(writer);
    store
}

#[track_caller]
fn found(store: &MemoryStore, code: Code) -> journal::Defect {
    let options = VerifyOptions {
        key: Some(keys(1).public()),
        expect_head: None,
    };
    let verdict = verify(store, &options, None).unwrap();
    let defect = verdict.defect.expect("the journal was tampered with");
    assert_eq!(defect.code, code, "{defect}");
    defect
}

fn batch_at(bytes: &[u8], at: usize) -> batch::Header {
    batch::Header::parse(&bytes[at..]).unwrap()
}

fn rehead(store: &MemoryStore, at: usize, change: impl FnOnce(&mut batch::Header)) {
    store.edit(ACTIVE, |bytes| {
        let mut header = batch_at(bytes, at);
        change(&mut header);
        bytes[at..at + batch::HEADER_BYTES].copy_from_slice(&header.encode());
    });
}

#[test]
fn the_untouched_journals_are_intact() {
    for store in [journal(), long_journal(), signed(1)] {
        let options = VerifyOptions {
            key: Some(keys(1).public()),
            expect_head: None,
        };
        let verdict = verify(&store, &options, None).unwrap();
        assert!(verdict.is_intact(), "{:?}", verdict.defect);
    }
}

#[test]
fn e01_an_edited_event() {
    let store = journal();
    let at = 4 * BLOCK + batch::HEADER_BYTES + journal::frame::HEADER_BYTES;
    store.edit(ACTIVE, |bytes| bytes[at] ^= 4);
    let defect = found(&store, Code::Edited);
    assert_eq!((defect.seq, defect.kind), (3, Some(event(3).name())));
}

#[test]
fn e02_a_deleted_batch() {
    let store = journal();
    store.edit(ACTIVE, |bytes| {
        let end = bytes.len();
        bytes.copy_within(5 * BLOCK..end, 4 * BLOCK);
    });
    assert_eq!(found(&store, Code::Deleted).seq, 3);
}

#[test]
fn e03_an_inserted_batch() {
    let store = journal();
    store.edit(ACTIVE, |bytes| {
        let end = bytes.len();
        bytes.copy_within(4 * BLOCK..end - BLOCK, 5 * BLOCK);
    });
    assert_eq!(found(&store, Code::Inserted).seq, 4);
}

#[test]
fn e04_two_batches_in_the_other_order() {
    let store = journal();
    store.edit(ACTIVE, |bytes| {
        let first = bytes[4 * BLOCK..5 * BLOCK].to_vec();
        bytes.copy_within(5 * BLOCK..6 * BLOCK, 4 * BLOCK);
        bytes[5 * BLOCK..6 * BLOCK].copy_from_slice(&first);
    });
    assert_eq!(found(&store, Code::Reordered).seq, 3);
}

#[test]
fn e05_two_segments_under_each_others_names() {
    let store = long_journal();
    let files = store.files();
    store.edit("00000001.seg", |bytes| bytes.clone_from(&files["00000002.seg"]));
    store.edit("00000002.seg", |bytes| bytes.clone_from(&files["00000001.seg"]));
    found(&store, Code::SegmentsSwapped);
}

#[test]
fn e06_a_segment_twice() {
    let store = long_journal();
    let files = store.files();
    let next = files.keys().filter(|name| name.ends_with(".seg")).count();
    store.edit(&format!("{next:08}.seg"), |bytes| {
        bytes.clone_from(&files["00000001.seg"])
    });
    found(&store, Code::SegmentDuplicated);
}

#[test]
fn e07_a_segment_left_out() {
    use journal::Store;
    let store = long_journal();
    store.unlink("00000001.seg").unwrap();
    found(&store, Code::SegmentMissing);
}

#[test]
fn e08_bytes_of_another_journal() {
    let (store, other) = (long_journal(), long_journal());
    store.edit("00000001.seg", |bytes| bytes.clone_from(&other.files()["00000001.seg"]));
    found(&store, Code::Grafted);
    let (store, other) = (journal(), journal());
    let files = other.files();
    store.edit(ACTIVE, |bytes| {
        bytes[4 * BLOCK..5 * BLOCK].copy_from_slice(&files[ACTIVE][4 * BLOCK..5 * BLOCK]);
    });
    assert_eq!(found(&store, Code::Grafted).seq, 3);
}

#[test]
fn e09_cut_below_a_signed_checkpoint() {
    let store = signed(1);
    store.edit(ACTIVE, |bytes| bytes[7 * BLOCK..].fill(0));
    found(&store, Code::Truncated);
}

#[test]
fn e10_signed_again_with_another_key() {
    found(&signed(2), Code::WrongKey);
}

#[test]
fn e11_signed_by_a_key_that_had_handed_over() {
    let store = journal();
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.rotate_key(Digest::ZERO, &keys(1), &keys(2)).unwrap();
    writer.append(&event(10)).unwrap();
    writer.seal(Digest::ZERO, Some(&keys(2))).unwrap();
    let options = VerifyOptions {
        key: Some(keys(1).public()),
        expect_head: None,
    };
    let verdict = verify(&store, &options, None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert_eq!(verdict.checkpoints, 2);
    writer.append(&event(11)).unwrap();
    writer.seal(Digest::ZERO, Some(&keys(1))).unwrap();
    found(&store, Code::RetiredKey);
}

#[test]
fn e12_two_writers_over_each_other() {
    let store = journal();
    // The batch that began the second epoch, overwritten by the writer of the first.
    let at = 9 * BLOCK;
    let stale = store.files()[ACTIVE][8 * BLOCK..9 * BLOCK].to_vec();
    store.edit(ACTIVE, |bytes| bytes[at..at + BLOCK].copy_from_slice(&stale));
    rehead(&store, at, |header| {
        header.ordinal += 1;
        header.first_seq += 1;
        header.durable_batches += 1;
        header.durable_events += 1;
    });
    // Its event follows the chain only if it is written as the old writer would have.
    let mut other = Vec::new();
    let (link, leaf) = {
        let (mut writer, _) = Journal::open_write_in(Arc::new(fresh_first_life()), &OpenOptions::default()).unwrap();
        writer.append(&event(100)).unwrap();
        let last = writer.last().unwrap();
        event(100).encode(&mut other);
        (last.link, last.leaf)
    };
    store.edit(ACTIVE, |bytes| {
        let mut body = Vec::new();
        body.extend_from_slice(&(other.len() as u32).to_le_bytes());
        body.extend_from_slice(&link.kind.to_le_bytes());
        body.extend_from_slice(&link.version.to_le_bytes());
        body.extend_from_slice(&link.flags.to_le_bytes());
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(&link.json.0);
        body.extend_from_slice(&other);
        bytes[at + batch::HEADER_BYTES..at + BLOCK].fill(0xFF);
        bytes[at + batch::HEADER_BYTES..at + batch::HEADER_BYTES + body.len()].copy_from_slice(&body);
    });
    rehead(&store, at, |header| {
        header.live_bytes = (batch::HEADER_BYTES + journal::frame::HEADER_BYTES + other.len()) as u32;
        header.head = leaf;
    });
    found(&store, Code::Forked);
}

/// What [`journal`] was before its second life.
fn fresh_first_life() -> MemoryStore {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.append_all(&events(8)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    store
}

#[test]
fn e12_a_whole_history_written_anew_under_its_signed_checkpoint() {
    let store = signed(1);
    let notes = store.files()[NOTES].clone();
    let forged = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(forged.clone()), "run-1", SMALL).unwrap();
    for i in 0..10 {
        writer.append(&event(if i == 4 { 400 } else { i })).unwrap();
    }
    let origin = writer.identity().line();
    writer.close().unwrap();
    // The forger cannot sign, so the old note must do; even the journal id can be made to fit.
    forged.edit(NOTES, |bytes| bytes.clone_from(&notes));
    found(&forged, Code::Grafted);
    let relabelled = String::from_utf8(notes).unwrap();
    let old = relabelled.lines().nth(1).unwrap().to_owned();
    forged.edit(NOTES, |bytes| *bytes = relabelled.replace(&old, &origin).into_bytes());
    found(&forged, Code::WrongKey);
    // With the key in hand: signed twice at one size, differently.
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.append(&event(10)).unwrap();
    writer.commit().unwrap();
    let lie = keys(1).sign(&journal::Checkpoint {
        origin: writer.identity().line(),
        size: 11,
        root: Digest([9; 32]),
        head: Digest([9; 32]),
        state: Digest::ZERO,
        next: None,
    });
    store.edit(NOTES, |bytes| {
        bytes.extend_from_slice(format!("\n{}", lie.text()).as_bytes())
    });
    found(&store, Code::Forked);
    assert!(matches!(
        writer.seal(Digest::ZERO, Some(&keys(1))),
        Err(Error::Checkpoint { .. })
    ));
}

#[test]
fn e13_an_edited_receipt() {
    let store = journal();
    let reader = reader(&store).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("receipt.jsonl");
    receipt::rebuild(&reader, &path).unwrap();
    receipt::check(&reader, &path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, line, why) in [
        (r#""delay_ms":21"#, r#""delay_ms":22"#, 4, "E13"),
        (r#""seq":2,"#, r#""seq":7,"#, 3, "E13"),
        (r#""v":1"#, r#""v": 1"#, 1, "E13"),
    ] {
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        match receipt::check(&reader, &path) {
            Err(Error::Receipt { line: at, why: said }) => {
                assert_eq!(at, line);
                assert!(said.starts_with(why), "{said}");
            }
            other => panic!("{other:?}"),
        }
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.pop();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert!(matches!(
        receipt::check(&reader, &path),
        Err(Error::Receipt { line: 10, .. })
    ));
    std::fs::write(&path, &text).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{}\n").unwrap();
    assert!(matches!(
        receipt::check(&reader, &path),
        Err(Error::Receipt { line: 11, .. })
    ));
}

#[test]
fn e14_edited_padding_and_written_space_that_was_never_used() {
    let store = journal();
    store.edit(ACTIVE, |bytes| bytes[5 * BLOCK - 1] = 0xFE);
    assert_eq!(found(&store, Code::Padding).seq, 3);
    let store = long_journal();
    let last = store.files()["00000000.seg"].len() - 1;
    let free = store.files()["00000000.seg"][last] == 0;
    store.edit("00000000.seg", |bytes| bytes[last] ^= 1);
    assert_eq!(found(&store, Code::Padding).segment, 0, "unused space: {free}");
}

#[test]
fn e15_an_edited_schema_table() {
    let store = journal();
    store.edit(ACTIVE, |bytes| {
        let mut header = segment::Header::parse(bytes).unwrap();
        header.table[3].fingerprint = Digest([4; 32]);
        bytes[..BLOCK].copy_from_slice(&header.encode().unwrap());
    });
    found(&store, Code::SchemaTable);
    assert!(matches!(
        Journal::open_write_in(Arc::new(store), &OpenOptions::default()).map(|_| ()),
        Err(Error::Corrupt(defect)) if defect.code == Code::SchemaTable
    ));
}

#[test]
fn e16_an_epoch_that_goes_back() {
    let store = journal();
    rehead(&store, 10 * BLOCK, |header| header.epoch = 1);
    assert_eq!(found(&store, Code::EpochRollback).seq, 8);
}

#[test]
fn a_rewritten_json_digest_with_a_repaired_chain_is_seen_by_the_payload() {
    // A journal of one event, so that repairing the chain is one hash.
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    let mut link = writer.last().unwrap().link;
    drop(writer);
    link.json = journal::chain::json_digest(b"{}");
    store.edit(ACTIVE, |bytes| {
        let json_at = BLOCK + batch::HEADER_BYTES + 16;
        bytes[json_at..json_at + 32].copy_from_slice(&link.json.0);
    });
    rehead(&store, BLOCK, |header| header.head = link.leaf(&Digest::ZERO));
    assert_eq!(found(&store, Code::JsonDigest).seq, 0);
}

#[test]
fn every_code_has_its_own_text() {
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.code()).collect();
    codes.extend(Code::ALL.iter().map(|code| code.label()));
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), count);
}

#[test]
fn any_edit_of_used_bytes_is_found() {
    let edits = asked("JOURNAL_RANDOM_EDITS", 5_000);
    let store = journal();
    let original = store.files()[ACTIVE].clone();
    let mut runner = TestRunner::new(Config::with_cases(edits as u32));
    let made = Cell::new(0);
    let edit = (BLOCK..12 * BLOCK, prop::collection::vec(any::<u8>(), 1..64));
    let outcome = runner.run(&edit, |(at, bytes)| {
        store.edit(ACTIVE, |file| {
            file.clone_from(&original);
            let end = (at + bytes.len()).min(12 * BLOCK);
            file[at..end].copy_from_slice(&bytes[..end - at]);
        });
        prop_assume!(store.files()[ACTIVE] != original);
        made.set(made.get() + 1);
        let verdict = verify(&store, &VerifyOptions::default(), None).unwrap();
        prop_assert!(!verdict.is_intact());
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    figure(&format!("{} random edits of 1 to 63 bytes: 0 silent", made.get()));
}
