//! Power cuts on the simulated disk: at every operation, with every combination of what may be left of
//! the writes that were not synced.
//!
//! Up to `JOURNAL_CRASH_STATES` combinations a moment are tried, of `JOURNAL_CRASH_STORIES` stories; inside of
//! a recovery `JOURNAL_RECOVERY_STATES` of each. Equal disks count once.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;
use journal::store::{CrashPlan, Hold, Op};
use journal::{
    Error, FaultyStore, Journal, Keys, MemoryStore, OpenOptions, Recovery, Result, Store, VerifyOptions, verify,
};
use support::{SMALL, asked, contents, event, figure, large};

fn options() -> OpenOptions {
    OpenOptions {
        layout: SMALL,
        expect_head: None,
    }
}

/// Twelve commits of one to three blocks, rotations, a checkpoint in the middle and one at the end. Another number
/// is another order of the sizes.
fn story(number: u64) -> Vec<Vec<Event>> {
    (0..12_u64)
        .map(|i| match (i + number) * (2 * number + 1) % 4 {
            0 => vec![event(i)],
            1 => vec![event(i), event(i + 1), event(i + 2)],
            2 => vec![large(5_000 + 700 * number as usize), event(i)],
            _ => vec![event(i), large(9_000 - 600 * number as usize)],
        })
        .collect()
}

/// The disk after the first story.
fn played() -> FaultyStore {
    let disk = FaultyStore::default();
    play(&story(0), Arc::new(disk.clone()), |events| disk.ack(events)).unwrap();
    disk
}

/// Plays a story on `store`; `ack` hears of everything that was acknowledged.
fn play(story: &[Vec<Event>], store: Arc<dyn Store>, ack: impl Fn(u64)) -> Result<()> {
    let keys = Keys::from_seed(&[1; 32]);
    let mut writer = Journal::create_in(store, "run-1", SMALL)?;
    ack(0);
    for (i, batch) in story.iter().enumerate() {
        writer.append_all(batch)?;
        writer.commit()?;
        ack(writer.head().size);
        if i == 6 {
            writer.seal(Digest([7; 32]), Some(&keys))?;
        }
    }
    writer.seal(Digest([8; 32]), Some(&keys))?;
    writer.close()?;
    Ok(())
}

/// Opens what a crash left and holds it to the promise.
fn survive(image: &MemoryStore, acked: Option<u64>, all: &[Event]) -> std::result::Result<Recovery, String> {
    let opened = Journal::open_write_in(Arc::new(image.clone()), &options());
    let (mut writer, recovery) = match (opened, acked) {
        (Err(Error::Missing { .. }), None) => return Ok(Recovery::Clean),
        (Err(error), _) => return Err(format!("refused: {error}")),
        (Ok(opened), _) => opened,
    };
    let found = contents(image).map_err(|error| error.to_string())?;
    if (found.len() as u64) < acked.unwrap_or(0) {
        return Err(format!("{} events of {acked:?} acknowledged", found.len()));
    }
    if all.get(..found.len()) != Some(&found) {
        return Err("the events are not a prefix of what was written".to_owned());
    }
    writer.append(&event(99)).map_err(|error| error.to_string())?;
    writer.commit().map_err(|error| error.to_string())?;
    drop(writer);
    let again = contents(image).map_err(|error| error.to_string())?;
    match again.split_last() {
        Some((last, before)) if *last == event(99) && before == found => Ok(recovery),
        _ => Err("what was appended after the recovery is not there".to_owned()),
    }
}

/// Whether a disk is seen for the first time.
fn is_new(seen: &mut HashSet<[u8; 16]>, image: &MemoryStore, acked: Option<u64>) -> bool {
    let mut hash = blake3::Hasher::new();
    hash.update(&acked.map_or(u64::MAX, |acked| acked).to_le_bytes());
    for (name, bytes) in image.files() {
        hash.update(name.as_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    seen.insert(hash.finalize().as_bytes()[..16].try_into().unwrap())
}

/// What the power cuts of one story came to.
struct Walked {
    disks: HashSet<[u8; 16]>,
    torn: usize,
    moments: usize,
}

fn walk(number: u64, limit: usize) -> Walked {
    let disk = FaultyStore::default();
    play(&story(number), Arc::new(disk.clone()), |events| disk.ack(events)).unwrap();
    let all = story(number).concat();
    let mut plan = CrashPlan::after(&BTreeMap::new(), &[]);
    let (mut acked, mut disks, mut torn) = (None, HashSet::new(), 0);
    let ops = disk.ops();
    for (i, op) in ops.iter().enumerate() {
        plan.step(op);
        if let Op::Ack { events } = op {
            acked = Some(*events);
        }
        plan.images(limit, i as u64 + 1, |image| {
            if !is_new(&mut disks, &image, acked) {
                return;
            }
            match survive(&image, acked, &all) {
                Ok(Recovery::TornTail { .. }) => torn += 1,
                Ok(_) => {}
                Err(why) => panic!("story {number}, after operation {i} ({op:?}): {why}"),
            }
        });
    }
    let renamed = |op: &Op| matches!(op, Op::Rename { to, .. } if to == "00000002.seg");
    let noted = |op: &Op| matches!(op, Op::Write { name, .. } if name == "checkpoints.note");
    assert!(ops.iter().any(renamed) && ops.iter().any(noted), "story {number}");
    let moments = ops.len();
    Walked { disks, torn, moments }
}

#[test]
fn no_acknowledged_event_is_lost_and_no_torn_write_is_refused_at_any_power_cut() {
    let limit = asked("JOURNAL_CRASH_STATES", 9_000);
    let stories = asked("JOURNAL_CRASH_STORIES", 1) as u64;
    let (mut disks, mut torn, mut moments) = (HashSet::new(), 0, 0);
    std::thread::scope(|scope| {
        let walks: Vec<_> = (0..stories)
            .map(|number| scope.spawn(move || walk(number, limit)))
            .collect();
        for walk in walks {
            let walked = walk.join().unwrap();
            disks.extend(walked.disks);
            torn += walked.torn;
            moments += walked.moments;
        }
    });
    let states = disks.len();
    figure(&format!(
        "{states} disks after a power cut at {moments} moments: 0 acknowledged events lost, 0 of {torn} torn tails refused"
    ));
    assert!(
        states >= 50_000.min(5 * limit) && torn > limit,
        "{states} states, {torn} torn"
    );
}

#[test]
fn an_image_after_the_end_is_intact_to_the_last_byte() {
    let disk = played();
    let plan = CrashPlan::after(&BTreeMap::new(), &disk.ops());
    let mut seen = 0;
    plan.images(64, 1, |image| {
        let options = VerifyOptions {
            key: Some(Keys::from_seed(&[1; 32]).public()),
            expect_head: None,
        };
        let verdict = verify(&image, &options, None).unwrap();
        assert!(verdict.is_intact(), "{:?}", verdict.defect);
        assert_eq!((verdict.checkpoints, verdict.torn_bytes), (2, 0));
        seen += 1;
    });
    assert!(seen > 0);
}

#[test]
fn a_power_cut_during_recovery_changes_nothing_that_was_promised() {
    let disk = played();
    let all = story(0).concat();
    let each = asked("JOURNAL_RECOVERY_STATES", 6);
    let mut plan = CrashPlan::after(&BTreeMap::new(), &[]);
    let (mut acked, mut count) = (None, 0);
    for (i, op) in disk.ops().iter().enumerate() {
        plan.step(op);
        if let Op::Ack { events } = op {
            acked = Some(*events);
        }
        plan.images(each, i as u64 + 77, |image| {
            let second = FaultyStore::of(image.files());
            let Ok((_, first)) = Journal::open_write_in(Arc::new(second.clone()), &options()) else {
                return;
            };
            let mut inner = CrashPlan::after(&image.files(), &[]);
            for (j, op) in second.ops().iter().enumerate() {
                inner.step(op);
                count += inner.images(each, j as u64 + 5, |image| {
                    let found = survive(&image, acked, &all);
                    let found = found.unwrap_or_else(|why| panic!("after operations {i} and {j} ({op:?}): {why}"));
                    // Torn bytes are zeroed only once a copy of them is safe.
                    if let (Recovery::TornTail { quarantine, .. }, Recovery::Clean) = (&first, found) {
                        assert_eq!(image.files().get(quarantine), second.files().get(quarantine));
                    }
                });
            }
        });
    }
    figure(&format!(
        "{count} disks after a power cut inside of a recovery: 0 acknowledged events lost, 0 refused"
    ));
    assert!(count >= 5_000, "{count} states");
}

#[test]
fn a_second_recovery_finds_nothing_left_to_do() {
    let disk = played();
    let mut plan = CrashPlan::after(&BTreeMap::new(), &[]);
    let mut torn = 0;
    for op in disk.ops() {
        plan.step(&op);
        plan.images(6, 3, |image| {
            let image = Arc::new(image);
            let Ok((writer, first)) = Journal::open_write_in(Arc::clone(&image) as _, &options()) else {
                return;
            };
            drop(writer);
            let found = contents(image.as_ref()).unwrap();
            let (_, second) = Journal::open_write_in(Arc::clone(&image) as _, &options()).unwrap();
            assert_eq!(second, Recovery::Clean);
            assert_eq!(contents(image.as_ref()).unwrap(), found);
            if let Recovery::TornTail {
                quarantine, size_bytes, ..
            } = first
            {
                assert_eq!(image.files()[&quarantine].len() as u64, size_bytes);
                torn += 1;
            }
        });
    }
    assert!(torn > 20, "{torn}");
}

/// A disk whose sync does nothing, to prove that the test above would notice.
struct Unsynced(FaultyStore);

impl Store for Unsynced {
    fn create(&self, name: &str) -> io::Result<()> {
        self.0.create(name)
    }
    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(name, offset, into)
    }
    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(name, offset, bytes)
    }
    fn len(&self, name: &str) -> io::Result<u64> {
        self.0.len(name)
    }
    fn set_len(&self, name: &str, len: u64) -> io::Result<()> {
        self.0.set_len(name, len)
    }
    fn sync(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }
    fn sync_dir(&self, folder: &str) -> io::Result<()> {
        self.0.sync_dir(folder)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn unlink(&self, name: &str) -> io::Result<()> {
        self.0.unlink(name)
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn lock(&self) -> io::Result<Option<Hold>> {
        self.0.lock()
    }
    fn place(&self) -> String {
        self.0.place()
    }
}

#[test]
fn without_syncs_the_same_harness_sees_loss() {
    let disk = FaultyStore::default();
    play(&story(0), Arc::new(Unsynced(disk.clone())), |events| disk.ack(events)).unwrap();
    let all = story(0).concat();
    let plan = CrashPlan::after(&BTreeMap::new(), &disk.ops());
    let mut lost = 0;
    plan.images(50, 9, |image| {
        lost += usize::from(survive(&image, Some(plan.acked()), &all).is_err());
    });
    assert!(lost > 10, "{lost}");
}

#[test]
fn after_a_refused_sync_nothing_is_acknowledged_and_the_next_life_makes_good() {
    let disk = FaultyStore::default();
    let mut writer = Journal::create_in(Arc::new(disk.clone()), "run-1", SMALL).unwrap();
    writer.append(&event(0)).unwrap();
    writer.commit().unwrap();
    // The call after the write of the second batch is its sync.
    disk.inject(Some(journal::store::Fault {
        call: 1,
        lasting: false,
        errno: 5,
        short: false,
    }));
    writer.append(&event(1)).unwrap();
    assert!(matches!(writer.commit(), Err(Error::Io { action: "sync", .. })));
    assert!(matches!(writer.commit(), Err(Error::Poisoned { .. })));
    assert!(matches!(writer.append(&event(2)), Err(Error::Poisoned { .. })));
    assert_eq!(writer.head().size, 1);
    drop(writer);
    // The page cache holds the batch, the disk does not. Whatever the next life says it found must
    // survive a power cut.
    let (writer, _) = Journal::open_write_in(Arc::new(disk.clone()), &options()).unwrap();
    let believed = writer.head().size;
    assert_eq!(believed, 2);
    let image = CrashPlan::after(&BTreeMap::new(), &disk.ops()).image(|_| false);
    assert_eq!(contents(&image).unwrap().len() as u64, believed);
}
