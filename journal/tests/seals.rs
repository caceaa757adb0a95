//! The quick examination: what it shares with the thorough one, and where it ends.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::event::id::Digest;
use journal::batch::{self, BLOCK};
use journal::{Code, Journal, Keys, MemoryStore, OpenOptions, Verdict, VerifyOptions, segment, verify, verify_seals};
use support::{SMALL, event, reader};

type Files = BTreeMap<String, Vec<u8>>;

const SEALED: &str = "00000001.seg";
const LAST: &str = "00000003.seg";

fn keys() -> Keys {
    Keys::from_seed(&[1; 32])
}

fn options() -> VerifyOptions {
    VerifyOptions {
        key: Some(keys().public()),
        expect_head: None,
    }
}

/// Four segments, batches of two events, signed within the second segment and at the end.
fn journal() -> MemoryStore {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    let mut i = 0;
    while !store.files().contains_key(LAST) {
        writer.append(&event(i)).unwrap();
        // Every third batch has two blocks, so that segments end with one that was never used.
        let other = if i % 6 == 4 {
            support::large(5_000)
        } else {
            event(i + 1)
        };
        writer.append(&other).unwrap();
        writer.commit().unwrap();
        i += 2;
        if i == 10 {
            writer.seal(Digest([1; 32]), Some(&keys())).unwrap();
        }
    }
    writer.seal(Digest([2; 32]), Some(&keys())).unwrap();
    drop(writer);
    store
}

fn seals(files: &Files, options: &VerifyOptions) -> Verdict {
    verify_seals(&MemoryStore::of(files.clone()), options).unwrap()
}

fn all(files: &Files, options: &VerifyOptions) -> Verdict {
    verify(&MemoryStore::of(files.clone()), options, None).unwrap()
}

fn header(files: &Files, name: &str) -> segment::Header {
    segment::Header::parse(&files[name]).unwrap()
}

#[test]
fn both_say_the_same_of_an_intact_journal() {
    let files = journal().files();
    let quick = seals(&files, &options());
    assert!(quick.is_intact(), "{:?}", quick.defect);
    assert_eq!((quick.checkpoints, quick.segments), (2, 4));
    assert!(header(&files, SEALED).head.size < 10 && 10 < header(&files, "00000002.seg").head.size);
    assert_eq!(quick, all(&files, &options()));
    let fresh = MemoryStore::default();
    drop(Journal::create_in(Arc::new(fresh.clone()), "run-1", SMALL).unwrap());
    assert_eq!(seals(&fresh.files(), &options()), all(&fresh.files(), &options()));
}

#[test]
fn no_flipped_byte_is_silent() {
    let files = journal().files();
    for (name, bytes) in &files {
        if !name.ends_with(".seg") {
            continue;
        }
        let last = name == LAST;
        // Every live byte would take long; those of one batch and its neighbours stand for the others.
        for at in (0..bytes.len()).filter(|at| at % BLOCK < 160 || at % 211 == 0) {
            let mut flipped = files.clone();
            flipped.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let (quick, thorough) = (seals(&flipped, &options()), all(&flipped, &options()));
            // What follows the end of the last segment may be a torn write, and both say so.
            let seen = !quick.is_intact() || (last && quick.torn_bytes > 0);
            assert!(seen, "{name} byte {at}");
            assert_eq!(quick.is_intact(), thorough.is_intact(), "{name} byte {at}");
        }
    }
}

#[test]
fn a_head_is_found_after_a_batch_and_within_one_and_an_unknown_one_is_a_roll_back() {
    let store = journal();
    let files = store.files();
    for (seq, leaf) in reader(&store).unwrap().leaves().unwrap().into_iter().enumerate() {
        let options = VerifyOptions {
            expect_head: Some(leaf),
            ..options()
        };
        assert!(seals(&files, &options).is_intact(), "event {seq}");
    }
    let options = VerifyOptions {
        expect_head: Some(Digest([7; 32])),
        ..options()
    };
    assert_eq!(seals(&files, &options).defect.unwrap().code, Code::RolledBack);
}

#[test]
fn a_checkpoint_is_held_to_the_history_wherever_it_ends() {
    let files = journal().files();
    let notes = &files["checkpoints.note"];
    let with = |change: &dyn Fn(&mut journal::Checkpoint)| {
        let parsed = journal::Notes::parse(notes).unwrap();
        let mut checkpoint = parsed.notes[0].checkpoint.clone();
        change(&mut checkpoint);
        let mut files = files.clone();
        files.insert(
            "checkpoints.note".to_owned(),
            keys().sign(&checkpoint).text().into_bytes(),
        );
        seals(&files, &options())
    };
    assert!(with(&|_| ()).is_intact());
    let code = |verdict: Verdict| verdict.defect.unwrap().code;
    assert_eq!(code(with(&|said| said.root = Digest([9; 32]))), Code::Forked);
    assert_eq!(code(with(&|said| said.head = Digest([9; 32]))), Code::Forked);
    assert_eq!(code(with(&|said| said.size += 1)), Code::Forked);
    assert_eq!(code(with(&|said| said.size = 1_000)), Code::Truncated);
    let stranger = VerifyOptions {
        key: Some(Keys::from_seed(&[2; 32]).public()),
        expect_head: None,
    };
    assert_eq!(seals(&files, &stranger).defect.unwrap().code, Code::WrongKey);
}

/// Makes the digests of all segments from `number` on fit again, as somebody can who has no key.
fn reseal(files: &mut Files, from: u32) {
    for number in from.. {
        let name = |number: u32| format!("{number:08}.seg");
        let Some(bytes) = files.get_mut(&name(number)) else {
            return;
        };
        let mut digest = blake3::Hasher::new_derive_key("loopexec journal/1 segment");
        digest.update(&bytes[..BLOCK]);
        let mut at = BLOCK;
        while let Some(mut header) = bytes.get(at..).and_then(batch::Header::parse) {
            if header.count == 0 {
                header.before = Digest(*digest.finalize().as_bytes());
                bytes[at..at + batch::HEADER_BYTES].copy_from_slice(&header.encode());
            }
            let live = header.live_bytes as usize;
            digest.update(&bytes[at..at + live]);
            at += live.div_ceil(BLOCK) * BLOCK;
        }
        let previous = Digest(*digest.finalize().as_bytes());
        if let Some(next) = files.get_mut(&name(number + 1)) {
            let mut header = segment::Header::parse(next).unwrap();
            header.previous = previous;
            next[..BLOCK].copy_from_slice(&header.encode().unwrap());
        }
    }
}

/// The limit that SPEC 12.7.8 states, and why the thorough examination is the one that decides.
#[test]
fn an_event_edited_under_seals_made_anew_is_found_by_the_thorough_one_alone() {
    let mut files = journal().files();
    let at = BLOCK + batch::HEADER_BYTES + journal::frame::HEADER_BYTES;
    let edit = |files: &mut Files, name: &str| files.get_mut(name).unwrap()[at] ^= 1;
    // In the first segment no checkpoint ends.
    edit(&mut files, "00000000.seg");
    assert!(!seals(&files, &options()).is_intact(), "the seal is broken");
    reseal(&mut files, 0);
    assert!(seals(&files, &options()).is_intact());
    let defect = all(&files, &options()).defect.unwrap();
    assert_eq!((defect.code, defect.seq, defect.segment), (Code::Edited, 0, 0));

    // In the second one does, so it is walked, and in the last one everything is.
    for name in [SEALED, LAST] {
        let mut files = journal().files();
        edit(&mut files, name);
        reseal(&mut files, 0);
        assert_eq!(seals(&files, &options()).defect.unwrap().code, Code::Edited, "{name}");
    }
}

/// Structure that contradicts itself under a right digest: nobody's damage, and still named.
#[test]
fn a_batch_that_cannot_stand_there_is_found_under_seals_made_anew() {
    let change = |change: &dyn Fn(&mut batch::Header)| {
        let mut files = journal().files();
        let bytes = files.get_mut("00000000.seg").unwrap();
        let mut header = batch::Header::parse(&bytes[2 * BLOCK..]).unwrap();
        change(&mut header);
        bytes[2 * BLOCK..][..batch::HEADER_BYTES].copy_from_slice(&header.encode());
        reseal(&mut files, 0);
        seals(&files, &options()).defect.map(|defect| defect.code)
    };
    assert_eq!(change(&|_| ()), None);
    assert_eq!(change(&|header| header.ordinal += 1), Some(Code::Deleted));
    assert_eq!(change(&|header| header.first_seq -= 1), Some(Code::Inserted));
    assert_eq!(change(&|header| header.epoch += 1), Some(Code::Forked));
    assert_eq!(change(&|header| header.origin[0] ^= 1), Some(Code::Grafted));
    assert!(change(&|header| header.count -= 1).is_some());
    assert!(change(&|header| header.count += 1).is_some());
}

#[test]
fn a_torn_tail_is_reported_by_both() {
    let store = journal();
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default()).unwrap();
    writer.append(&support::large(3_000)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let mut files = store.files();
    let bytes = files.get_mut(LAST).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    bytes[end - 512..end].fill(0);
    let quick = seals(&files, &options());
    assert!(quick.is_intact() && quick.torn_bytes > 0);
    assert_eq!(quick, all(&files, &options()));
}
