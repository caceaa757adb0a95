//! Damage: every flipped bit is noticed, every failing call ends the writer, nothing acknowledged is
//! lost by either.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use journal::batch::{self, BLOCK};
use journal::store::{CrashPlan, Fault};
use journal::{
    Error, FaultyStore, Journal, Keys, Layout, MemoryStore, OpenOptions, Recovery, Store, VerifyOptions, verify,
};
use support::{SMALL, contents, event, events, figure};

/// Three segments of two batches each.
fn tiny() -> MemoryStore {
    let store = MemoryStore::default();
    let layout = Layout {
        first_bytes: 12 << 10,
        max_bytes: 12 << 10,
        background: false,
    };
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", layout).unwrap();
    for i in 0..6 {
        writer.append(&event(i)).unwrap();
        writer.commit().unwrap();
    }
    writer.close().unwrap();
    assert_eq!(store.list().unwrap().len(), 4, "three segments and the lock");
    store
}

/// Whether a byte is part of a batch header or an event.
fn is_live(bytes: &[u8], at: usize) -> bool {
    let block = at / BLOCK * BLOCK;
    let header = batch::Header::parse(&bytes[block..]);
    block > 0 && header.is_some_and(|header| at - block < header.live_bytes as usize)
}

#[test]
fn no_flipped_bit_is_silent_and_the_defect_names_the_segment() {
    let store = tiny();
    let original = store.files();
    let (mut flips, mut bytes_in_all) = (0, 0);
    for (name, bytes) in original.iter().filter(|(name, _)| name.ends_with(".seg")) {
        bytes_in_all += bytes.len();
        let number: u32 = name[..8].parse().unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                store.edit(name, |bytes| bytes[at] ^= 1 << bit);
                let verdict = verify(&store, &VerifyOptions::default(), None).unwrap();
                match &verdict.defect {
                    Some(defect) => assert!(
                        defect.segment == number || defect.segment + 1 == number,
                        "{name} byte {at} bit {bit}: {defect}"
                    ),
                    None => assert!(verdict.torn_bytes > 0, "{name} byte {at} bit {bit} is silent"),
                }
                store.edit(name, |bytes| bytes[at] ^= 1 << bit);
                flips += 1;
            }
        }
    }
    assert_eq!(store.files(), original);
    figure(&format!("{flips} bits flipped, all of three segments: 0 silent"));
    assert_eq!((flips, flips > 290_000), (8 * bytes_in_all, true));
}

#[test]
fn opening_for_writing_refuses_every_flipped_live_byte_and_changes_nothing() {
    let store = tiny();
    let original = store.files();
    let mut flips = 0;
    for (name, bytes) in original.iter().filter(|(name, _)| name.ends_with(".seg")) {
        for at in (0..bytes.len()).filter(|at| is_live(bytes, *at)) {
            store.edit(name, |bytes| bytes[at] ^= 1 << (at % 8));
            let opened = Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default());
            let error = opened.map(|(_, recovery)| recovery).unwrap_err();
            assert!(matches!(error, Error::Corrupt(_)), "{name} byte {at}: {error}");
            store.edit(name, |bytes| bytes[at] ^= 1 << (at % 8));
            flips += 1;
        }
    }
    assert_eq!(store.files(), original);
    figure(&format!("{flips} live bytes flipped under a writer: 0 opened"));
    assert!(flips > 1_000, "{flips}");
}

#[test]
fn a_damaged_event_is_named_by_number_kind_and_place() {
    let store = tiny();
    // Well inside the payload of the first event of the second segment.
    let name = "00000001.seg";
    store.edit(name, |bytes| {
        bytes[BLOCK + batch::HEADER_BYTES + journal::frame::HEADER_BYTES + 2] ^= 1;
    });
    for read_only in [true, false] {
        let error = match read_only {
            true => contents(&store).map(|_| ()).unwrap_err(),
            false => Journal::open_write_in(Arc::new(store.clone()), &OpenOptions::default())
                .map(|_| ())
                .unwrap_err(),
        };
        let Error::Corrupt(defect) = error else {
            panic!("{error}");
        };
        assert_eq!((defect.seq, defect.segment, defect.offset), (2, 1, BLOCK as u64));
        assert_eq!(defect.kind, Some(event(2).name()));
    }
}

#[test]
fn a_lost_sector_of_the_last_batch_is_torn_and_of_an_acknowledged_one_is_damage() {
    for (watermark, corrupt) in [(false, false), (true, true)] {
        let store = MemoryStore::default();
        let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
        writer.append(&event(0)).unwrap();
        writer.commit().unwrap();
        writer.append_all(&events(9)).unwrap();
        writer.commit().unwrap();
        if watermark {
            writer.seal(engine::event::id::Digest::ZERO, None).unwrap();
        }
        drop(writer);
        store.edit("00000000.seg", |bytes| bytes[2 * BLOCK + 512..2 * BLOCK + 1024].fill(0));
        let recovery = Journal::inspect_in(Arc::new(store.clone()), None).unwrap();
        match recovery {
            Recovery::Corrupt(defect) => assert!(corrupt, "{defect}"),
            Recovery::TornTail { offset, .. } => {
                assert!(!corrupt);
                assert_eq!(offset, 2 * BLOCK as u64);
                assert_eq!(contents(&store).unwrap(), events(1), "read up to the torn batch");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_reader_finds_a_lost_batch_by_the_one_far_behind_it() {
    let store = MemoryStore::default();
    let layout = Layout {
        first_bytes: 256 << 10,
        max_bytes: 256 << 10,
        background: false,
    };
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", layout).unwrap();
    for event in [event(0), support::large(100 << 10), event(1)] {
        writer.append(&event).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    let name = "00000000.seg";
    let original = store.files()[name].clone();
    let large = (BLOCK..original.len()).step_by(BLOCK).find_map(|at| {
        let header = batch::Header::parse(&original[at..])?;
        (header.live_bytes > 100 << 10).then_some(at..at + header.live_bytes as usize)
    });
    let large = large.unwrap();
    store.edit(name, |bytes| bytes[large].fill(0));
    let read = support::reader(&store).unwrap().events().find_map(Result::err);
    assert!(matches!(read, Some(Error::Corrupt(_))), "{read:?}");
}

/// Writes, rotates, signs and reopens; counts what was acknowledged.
fn life(store: &FaultyStore, acked: &mut u64) -> journal::Result<()> {
    let keys = Keys::from_seed(&[1; 32]);
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL)?;
    for i in 0..5 {
        writer.append(&event(i))?;
        writer.commit()?;
        *acked = writer.head().size;
    }
    writer.seal(engine::event::id::Digest::ZERO, Some(&keys))?;
    drop(writer);
    let options = OpenOptions {
        layout: SMALL,
        expect_head: None,
    };
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &options)?;
    writer.append(&event(5))?;
    writer.commit()?;
    *acked = writer.head().size;
    writer.close()?;
    Ok(())
}

/// The process ended, the machine did not: the next life sees the same cache, acknowledges something, and
/// then the power goes.
fn survives_a_second_life(first: &FaultyStore, acked: u64, context: &str) {
    let options = OpenOptions {
        layout: SMALL,
        expect_head: None,
    };
    let store = first.clone();
    let opened = Journal::open_write_in(Arc::new(store.clone()), &options);
    let Ok((mut writer, _)) = opened else {
        assert_eq!(acked, 0, "{context}");
        return;
    };
    let believed = writer.head().size;
    assert!(believed >= acked, "{context}");
    writer.append(&event(believed)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let plan = CrashPlan::after(&BTreeMap::new(), &store.ops());
    let image = plan.image(|_| false);
    let found = contents(&image).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(found, events(believed + 1), "{context}");
}

#[test]
fn whichever_call_fails_what_was_acknowledged_survives_and_the_next_life_goes_on() {
    let plain = FaultyStore::default();
    life(&plain, &mut 0).unwrap();
    let calls = plain.calls();
    assert!(calls > 60, "{calls}");
    // EIO, ENOSPC, EROFS, EDQUOT, EINTR, and EIO behind half of what was to be written.
    let kinds = [
        (5, false),
        (28, false),
        (30, false),
        (122, false),
        (4, false),
        (5, true),
    ];
    let (mut failed, mut runs) = (0, 0);
    for call in 0..calls {
        for (lasting, (errno, short)) in [false, true]
            .into_iter()
            .flat_map(|lasting| kinds.map(|kind| (lasting, kind)))
        {
            let store = FaultyStore::default();
            store.inject(Some(Fault {
                call,
                lasting,
                errno,
                short,
            }));
            let mut acked = 0;
            failed += u64::from(life(&store, &mut acked).is_err());
            runs += 1;
            store.inject(None);
            let context = format!("call {call}, errno {errno}, lasting {lasting}, short {short}");
            let plan = CrashPlan::after(&BTreeMap::new(), &store.ops());
            let images = [
                MemoryStore::of(store.files()),
                plan.image(|_| false),
                plan.image(|_| true),
            ];
            survives_a_second_life(&store, acked, &context);
            for image in images {
                let options = OpenOptions {
                    layout: SMALL,
                    expect_head: None,
                };
                match Journal::open_write_in(Arc::new(image.clone()), &options) {
                    Err(Error::Missing { .. }) => assert_eq!(acked, 0, "{context}"),
                    Err(error) => panic!("{context}: {error}"),
                    Ok((mut writer, _)) => {
                        let found = contents(&image).unwrap();
                        assert!(found.len() as u64 >= acked, "{context}: {} of {acked}", found.len());
                        assert_eq!(found, events(found.len() as u64), "{context}");
                        writer.append(&event(found.len() as u64)).unwrap();
                        writer.commit().unwrap();
                    }
                }
            }
        }
    }
    figure(&format!(
        "{runs} lives with an error at one of {calls} calls, {failed} ended by it: 0 acknowledged events lost"
    ));
    // Only a spare segment that could not be built, and a call after the last commit, may go unnoticed.
    assert!(failed * 10 > runs * 8, "{failed} of {runs} runs noticed");
}

#[test]
fn a_spare_that_cannot_be_built_is_told_while_there_is_room_left() {
    let store = FaultyStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.spare_error(), None);
    writer.append(&event(1)).unwrap();
    // The write and the sync of the batch pass; building the spare does not.
    store.inject(Some(Fault {
        call: 2,
        lasting: true,
        errno: 28,
        short: false,
    }));
    writer.commit().unwrap();
    assert!(writer.spare_error().is_some_and(|why| why.contains("No space left")));
    store.inject(None);
    writer.append(&event(2)).unwrap();
    assert_eq!(writer.commit().unwrap().seq, Some(2), "the last word fits");
    writer.append(&event(3)).unwrap();
    writer.commit().unwrap();
    assert_eq!(
        contents(&store).unwrap(),
        events(4),
        "and with room again the run goes on"
    );
}
