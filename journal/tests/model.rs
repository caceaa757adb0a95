//! The journal against a plain `Vec`, and its parsers against bytes that nobody wrote: `JOURNAL_MODEL_CASES` of each.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;

use engine::event::id::Digest;
use journal::{
    Journal, Keys, MemoryStore, Notes, OpenOptions, Recovery, Store, VerifyOptions, Writer, batch, frame, proof,
    receipt, segment, verify,
};
use proptest::prelude::*;
use support::{SMALL, asked, contents, event, large};

#[derive(Clone, Debug)]
enum Act {
    Append(u8),
    Large(u16),
    Commit,
    Seal,
    /// The writer is gone without a word.
    Crash,
    /// As before, and the first sectors of its next batch reached the disk.
    Tear(u8),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1..6_u8).prop_map(Act::Append),
        1 => (1..20_000_u16).prop_map(Act::Large),
        4 => Just(Act::Commit),
        1 => Just(Act::Seal),
        1 => Just(Act::Crash),
        1 => (1..8_u8).prop_map(Act::Tear),
    ];
    prop::collection::vec(act, 1..40)
}

fn reopen(store: &MemoryStore) -> (Writer, Recovery) {
    let options = OpenOptions {
        layout: SMALL,
        expect_head: None,
    };
    Journal::open_write_in(Arc::new(store.clone()), &options).unwrap()
}

/// Makes the journal end in the first `sectors` sectors of a batch that was never acknowledged.
fn tear(store: &MemoryStore, writer: Writer, sectors: u8) {
    let before = store.files();
    let mut writer = writer;
    writer.append(&large(5_000)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let after = store.files();
    let (name, bytes) = after.iter().rfind(|(name, _)| name.ends_with(".seg")).unwrap();
    let old = before.get(name).cloned().unwrap_or_else(|| {
        let mut fresh = vec![0; bytes.len()];
        fresh[..batch::BLOCK].copy_from_slice(&bytes[..batch::BLOCK]);
        fresh
    });
    let at = (0..bytes.len()).find(|at| bytes[*at] != old[*at]).unwrap();
    let keep = at + usize::from(sectors) * batch::SECTOR;
    store.edit(name, |now| {
        let (end, len) = (keep.min(now.len()), now.len());
        now[end..len].copy_from_slice(&old[end..len]);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(asked("JOURNAL_MODEL_CASES", 300) as u32))]
    #[test]
    fn a_journal_is_the_list_of_what_was_committed(acts in acts()) {
        let store = MemoryStore::default();
        let keys = Keys::from_seed(&[1; 32]);
        let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
        let (mut committed, mut pending) = (Vec::new(), Vec::new());
        for (i, act) in (0..).zip(acts) {
            match act {
                Act::Append(count) => for j in 0..count {
                    let event = event(i * 10 + u64::from(j));
                    writer.append(&event).unwrap();
                    pending.push(event);
                },
                Act::Large(size) => {
                    let event = large(usize::from(size));
                    writer.append(&event).unwrap();
                    pending.push(event);
                }
                Act::Commit => {
                    writer.commit().unwrap();
                    committed.append(&mut pending);
                }
                Act::Seal => {
                    writer.seal(Digest([3; 32]), Some(&keys)).unwrap();
                    committed.append(&mut pending);
                }
                Act::Crash => {
                    pending.clear();
                    let head = writer.head();
                    drop(writer);
                    let (next, recovery) = reopen(&store);
                    prop_assert_eq!((recovery, next.head()), (Recovery::Clean, head));
                    writer = next;
                }
                Act::Tear(sectors) => {
                    writer.commit().unwrap();
                    committed.append(&mut pending);
                    let head = writer.head();
                    tear(&store, writer, sectors);
                    let (next, recovery) = reopen(&store);
                    let torn = matches!(recovery, Recovery::TornTail { .. });
                    prop_assert!(torn, "{:?}", recovery);
                    prop_assert_eq!(next.head(), head);
                    writer = next;
                }
            }
            prop_assert_eq!(writer.head().size, committed.len() as u64);
        }
        drop(writer);
        prop_assert_eq!(&contents(&store).unwrap(), &committed);
        let options = VerifyOptions { key: Some(keys.public()), expect_head: None };
        let verdict = verify(&store, &options, None).unwrap();
        prop_assert_eq!(verdict.defect, None);
        prop_assert_eq!(verdict.head.size, committed.len() as u64);
    }

    #[test]
    fn parsers_take_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..8192), text in ".{0,200}") {
        let _ = frame::Frame::parse(&bytes);
        let _ = batch::Header::parse(&bytes);
        let _ = segment::Header::parse(&bytes);
        let _ = Notes::parse(&bytes);
        let _ = receipt::Line::parse(&text);
        let _ = receipt::leaves(bytes.as_slice());
        let _ = proof::check(&text, None);
    }

    #[test]
    fn a_segment_with_true_checks_and_hostile_lengths_is_refused_and_not_believed(
        count in any::<u32>(), live in 0..20_000_u32, purpose in 0..2_u8, body in prop::collection::vec(any::<u8>(), 0..9000)
    ) {
        let store = MemoryStore::default();
        let writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
        let origin = writer.identity().origin();
        drop(writer);
        let header = batch::Header {
            purpose: if purpose == 0 { batch::Purpose::Events } else { batch::Purpose::Mark },
            origin,
            segment: 0,
            epoch: 1,
            ordinal: 0,
            first_seq: 0,
            durable_events: 0,
            durable_batches: 0,
            count: count % 64,
            live_bytes: live,
            nonzero_sectors: 1,
            head: Digest::ZERO,
            before: Digest::ZERO,
        };
        store.edit("00000000.seg", |file| {
            let at = batch::BLOCK;
            file[at..at + batch::HEADER_BYTES].copy_from_slice(&header.encode());
            let from = at + batch::HEADER_BYTES;
            let end = (from + body.len()).min(file.len());
            file[from..end].copy_from_slice(&body[..end - from]);
        });
        prop_assert!(contents(&store).is_err());
        prop_assert!(!verify(&store, &VerifyOptions::default(), None).unwrap().is_intact());
        let _ = store.list();
    }
}
