//! Two builds and one journal: what a newer one wrote, and what an older one left.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::sync::Arc;

use engine::event::id::Digest;
use journal::batch::{self, BLOCK};
use journal::codec::{CRITICAL, Row};
use journal::{Code, Error, Journal, MemoryStore, OpenOptions, VerifyOptions, frame, segment, verify};
use support::{SMALL, contents, event, events, reader};

const FIRST: &str = "00000000.seg";

/// Two events, the first of which is made one of kind 999 as a newer build would have written it.
fn newer(flags: u32) -> MemoryStore {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    let first = writer.last().unwrap().link;
    writer.append(&event(1)).unwrap();
    let second = writer.last().unwrap().link;
    writer.commit().unwrap();
    drop(writer);
    let changed = journal::chain::Link {
        kind: 999,
        flags,
        ..first
    };
    let head = second.leaf(&changed.leaf(&Digest::ZERO));
    store.edit(FIRST, |bytes| {
        let mut header = segment::Header::parse(bytes).unwrap();
        header.table.push(Row {
            kind: 999,
            version: 1,
            fingerprint: Digest([9; 32]),
        });
        bytes[..BLOCK].copy_from_slice(&header.encode().unwrap());
        let at = BLOCK + batch::HEADER_BYTES;
        assert!(frame::Frame::parse(&bytes[at..]).is_some());
        bytes[at + 4..at + 6].copy_from_slice(&999_u16.to_le_bytes());
        bytes[at + 8..at + 12].copy_from_slice(&flags.to_le_bytes());
        let mut header = batch::Header::parse(&bytes[BLOCK..]).unwrap();
        header.head = head;
        bytes[BLOCK..BLOCK + batch::HEADER_BYTES].copy_from_slice(&header.encode());
    });
    store
}

#[test]
fn an_unknown_kind_that_is_not_critical_is_chained_and_left_out() {
    let store = newer(0);
    let items: Vec<_> = reader(&store).unwrap().events().map(|item| item.unwrap()).collect();
    assert_eq!(items, [(1, event(1))]);
    let verdict = verify(&store, &VerifyOptions::default(), None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
    assert_eq!(verdict.head.size, 2);
}

#[test]
fn an_unknown_kind_that_is_critical_is_refused_by_name() {
    let store = newer(CRITICAL);
    match contents(&store) {
        Err(Error::Corrupt(defect)) => {
            assert_eq!((defect.code, defect.seq), (Code::Payload, 0));
            assert!(defect.why.contains("a newer loopexec wrote it"), "{defect}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!verify(&store, &VerifyOptions::default(), None).unwrap().is_intact());
}

#[test]
fn a_journal_whose_table_lacks_a_kind_goes_on_in_a_segment_that_declares_it() {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let missing = event(1).kind();
    store.edit(FIRST, |bytes| {
        let mut header = segment::Header::parse(bytes).unwrap();
        header.table.retain(|row| row.kind != missing);
        bytes[..BLOCK].copy_from_slice(&header.encode().unwrap());
    });
    let options = OpenOptions {
        layout: SMALL,
        expect_head: None,
    };
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &options).unwrap();
    writer.append(&event(1)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(contents(&store).unwrap(), events(2));
    assert!(store.files().contains_key("00000001.seg"));
    let verdict = verify(&store, &VerifyOptions::default(), None).unwrap();
    assert!(verdict.is_intact(), "{:?}", verdict.defect);
}
