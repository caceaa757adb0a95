//! Commits that are not waited for: the disk sees what it sees of the others, and nothing counts before
//! its own sync has returned.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::event::id::Digest;
use journal::store::{CrashPlan, Fault, Hold, Op};
use journal::{
    Durable, Error, FaultyStore, Journal, Keys, MemoryStore, OpenOptions, ReceiptWriter, Recovery, Store,
    VerifyOptions, Writer, receipt, verify,
};
use support::{SMALL, contents, event, events, large, reader};

/// A disk on which the sync of a segment returns when it is told to, with what it is told.
struct Slow {
    disk: FaultyStore,
    begun: Sender<()>,
    outcome: Mutex<Receiver<io::Result<()>>>,
}

impl Store for Slow {
    fn sync(&self, name: &str) -> io::Result<()> {
        if name.ends_with(".seg") {
            self.begun.send(()).unwrap();
            self.outcome.lock().unwrap().recv().unwrap()?;
        }
        self.disk.sync(name)
    }
    fn create(&self, name: &str) -> io::Result<()> {
        self.disk.create(name)
    }
    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.disk.read_at(name, offset, into)
    }
    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(name, offset, bytes)
    }
    fn len(&self, name: &str) -> io::Result<u64> {
        self.disk.len(name)
    }
    fn set_len(&self, name: &str, len: u64) -> io::Result<()> {
        self.disk.set_len(name, len)
    }
    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        self.disk.sync_dir(folder)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn unlink(&self, name: &str) -> io::Result<()> {
        self.disk.unlink(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn lock(&self) -> io::Result<Option<Hold>> {
        self.disk.lock()
    }
    fn place(&self) -> String {
        self.disk.place()
    }
}

/// A journal on a slow disk, the disk itself, what begins to be synced, and how that ends.
fn slow() -> (Writer, FaultyStore, Receiver<()>, Sender<io::Result<()>>) {
    let disk = FaultyStore::default();
    let (begun, beginnings) = channel();
    let (outcomes, outcome) = channel();
    let store = Slow {
        disk: disk.clone(),
        begun,
        outcome: Mutex::new(outcome),
    };
    let writer = Journal::create_in(Arc::new(store), "run-1", SMALL).unwrap();
    (writer, disk, beginnings, outcomes)
}

/// How many batches the disk was given.
fn batches(disk: &FaultyStore) -> usize {
    let written = |op: &Op| matches!(op, Op::Write { name, .. } if name.ends_with(".seg"));
    disk.ops().iter().filter(|op| written(op)).count()
}

/// Waits for the next sync, and not for ever for one that never comes.
fn comes(begun: &Receiver<()>) {
    begun.recv_timeout(Duration::from_secs(60)).unwrap();
}

fn put(writer: &mut Writer, i: u64) -> journal::Result<Durable> {
    writer.append(&event(i))?;
    writer.commit_behind()
}

#[test]
fn the_next_batch_is_gathered_during_a_sync_and_written_after_it() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("receipt.jsonl");
    let (mut writer, disk, begun, outcome) = slow();
    writer.attach_receipt(ReceiptWriter::create(&path).unwrap());
    let nothing = writer.head();
    assert_eq!(put(&mut writer, 0).unwrap().seq, None);
    comes(&begun);
    let root = writer.root();
    assert_eq!(put(&mut writer, 1).unwrap().seq, None);
    writer.append(&event(2)).unwrap();
    // The sync of the first batch has not returned: the second is not with the disk, and nothing counts.
    assert_eq!((batches(&disk), writer.head(), writer.root()), (1, nothing, root));
    assert_eq!(writer.tip().size, 3);
    assert_eq!(fs::read_to_string(&path).unwrap(), "");

    outcome.send(Ok(())).unwrap();
    comes(&begun);
    let seen = writer.commit_behind().unwrap();
    assert_eq!((seen.seq, seen.head), (Some(0), writer.head().leaf));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    outcome.send(Ok(())).unwrap();
    outcome.send(Ok(())).unwrap();
    assert_eq!(writer.commit().unwrap().seq, Some(2));
    assert_eq!((batches(&disk), writer.head()), (3, writer.tip()));
    receipt::check(&reader(&disk).unwrap(), &path).unwrap();
}

#[test]
fn after_a_sync_that_failed_nothing_is_written_and_nothing_acknowledged() {
    let (mut writer, disk, begun, outcome) = slow();
    outcome.send(Ok(())).unwrap();
    put(&mut writer, 0).unwrap();
    let first = writer.commit().unwrap();
    put(&mut writer, 1).unwrap();
    comes(&begun);
    comes(&begun);
    put(&mut writer, 2).unwrap();
    writer.append(&event(3)).unwrap();
    outcome.send(Err(io::Error::from_raw_os_error(5))).unwrap();
    assert!(matches!(writer.commit(), Err(Error::Io { action: "sync", .. })));
    for _ in 0..2 {
        assert!(matches!(writer.commit(), Err(Error::Poisoned { .. })));
        assert!(matches!(writer.commit_behind(), Err(Error::Poisoned { .. })));
        assert!(matches!(writer.append(&event(4)), Err(Error::Poisoned { .. })));
        assert!(writer.seal(Digest::ZERO, None).is_err());
    }
    assert_eq!(Durable::from(writer.head()), first);
    drop((outcome, writer));
    // The batch that failed, and not the one that waited behind it.
    assert_eq!(batches(&disk), 2);
    assert!(begun.try_recv().is_err());
}

#[test]
fn what_is_written_counts_once_it_is_synced_and_its_lines_come_with_the_commit() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("receipt.jsonl");
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    let disk = FaultyStore::default();
    let mut writer = Journal::create_in(Arc::new(disk.clone()), "run-1", SMALL).unwrap();
    writer.attach_receipt(ReceiptWriter::create(&path).unwrap());
    let (nothing, root) = (writer.head(), writer.root());
    writer.append(&event(0)).unwrap();
    writer.write().unwrap();
    assert_eq!((batches(&disk), writer.head(), writer.root()), (1, nothing, root));
    // Nothing is written behind what is not durable.
    writer.append(&event(1)).unwrap();
    writer.write().unwrap();
    let call = |op: &Op| match op {
        Op::Write { name, .. } if name.ends_with(".seg") => Some("write"),
        Op::Sync { name } if name.ends_with(".seg") => Some("sync"),
        _ => None,
    };
    let calls: Vec<_> = disk.ops().iter().filter_map(call).collect();
    assert_eq!(calls, ["write", "sync", "write"]);
    assert_eq!((writer.head().size, lines()), (1, 0));
    writer.sync().unwrap();
    assert_eq!((writer.head(), lines()), (writer.tip(), 0));
    assert_eq!(writer.commit().unwrap().seq, Some(1));
    assert_eq!((batches(&disk), lines()), (2, 2));
    receipt::check(&reader(&disk).unwrap(), &path).unwrap();
}

/// The story of the power cuts, mostly without waiting: rotations, a seal in the middle, a close at the end.
fn play(store: Arc<dyn Store>, ack: impl Fn(u64)) -> journal::Result<()> {
    let keys = Keys::from_seed(&[1; 32]);
    let mut writer = Journal::create_in(store, "run-1", SMALL)?;
    for i in 0..14_u64 {
        writer.append(&event(i))?;
        if i % 3 == 2 {
            writer.append(&large(5_000))?;
        }
        match i % 4 {
            1 => writer.write()?,
            2 => writer.sync()?,
            _ => drop(writer.commit_behind()?),
        }
        ack(writer.head().size);
        if i == 6 {
            writer.seal(Digest([7; 32]), Some(&keys))?;
            ack(writer.head().size);
        }
    }
    writer.close()?;
    Ok(())
}

#[test]
fn it_is_the_same_journal() {
    let (waited, handed) = (MemoryStore::default(), MemoryStore::default());
    let mut one = Journal::create_in(Arc::new(waited.clone()), "run-1", SMALL).unwrap();
    let mut other = Journal::create_in(Arc::new(handed.clone()), "run-1", SMALL).unwrap();
    for i in 0..60 {
        one.append(&event(i)).unwrap();
        one.commit().unwrap();
        put(&mut other, i).unwrap();
    }
    other.commit().unwrap();
    assert_eq!((one.head(), one.root()), (other.head(), other.root()));
    drop((one, other));
    assert_eq!(contents(&handed).unwrap(), events(60));
    let [one, other] = [&waited, &handed].map(|store| verify(store, &VerifyOptions::default(), None).unwrap());
    assert!(one.is_intact() && one.segments > 3);
    assert_eq!(one, other);
}

#[test]
fn no_acknowledged_event_is_lost_at_any_power_cut() {
    let disk = FaultyStore::default();
    play(Arc::new(disk.clone()), |events| disk.ack(events)).unwrap();
    let all = contents(&disk).unwrap();
    assert_eq!(all.len(), 18);
    let mut plan = CrashPlan::after(&BTreeMap::new(), &[]);
    let (mut acked, mut count, mut torn) = (0, 0, 0);
    for (i, op) in disk.ops().iter().enumerate() {
        plan.step(op);
        if let Op::Ack { events } = op {
            acked = *events;
        }
        count += plan.images(100, i as u64 + 1, |image| {
            let options = OpenOptions {
                layout: SMALL,
                expect_head: None,
            };
            let opened = match Journal::open_write_in(Arc::new(image.clone()), &options) {
                Err(Error::Missing { .. }) if acked == 0 => return,
                opened => opened,
            };
            let (writer, recovery) = opened.unwrap_or_else(|error| panic!("after operation {i} ({op:?}): {error}"));
            drop(writer);
            torn += usize::from(matches!(recovery, Recovery::TornTail { .. }));
            let found = contents(&image).unwrap();
            assert!(found.len() as u64 >= acked, "after operation {i} ({op:?})");
            assert_eq!(found, all[..found.len()], "after operation {i} ({op:?})");
        });
    }
    assert!(count > 1_000 && torn > 100, "{count} states, {torn} torn");
}

#[test]
fn whichever_call_fails_what_was_acknowledged_survives() {
    let disk = FaultyStore::default();
    play(Arc::new(disk.clone()), |_| ()).unwrap();
    let calls = disk.calls();
    for call in 0..calls {
        let disk = FaultyStore::default();
        disk.inject(Some(Fault {
            call,
            lasting: false,
            errno: 5,
            short: true,
        }));
        let acked = Mutex::new(0);
        let _ = play(Arc::new(disk.clone()), |events| *acked.lock().unwrap() = events);
        disk.inject(None);
        let options = OpenOptions {
            layout: SMALL,
            expect_head: None,
        };
        let acked = *acked.lock().unwrap();
        match Journal::open_write_in(Arc::new(disk.clone()), &options) {
            Err(Error::Missing { .. }) if acked == 0 => {}
            opened => {
                let (writer, _) = opened.unwrap_or_else(|error| panic!("call {call}: {error}"));
                assert!(writer.head().size >= acked, "call {call}");
            }
        }
    }
    assert!(calls > 60, "{calls} calls");
}
