//! The journal beside SQLite, redb and fjall in one run: durable appends of 1 and of 64 events a commit, and
//! reading everything back as owned events.
//!
//! All take turns, block by block, with a floor that writes the bytes of the journal's batch to a zero-filled file
//! and syncs it; a row is the median block. Only the journal hashes: chain, Merkle leaf and JSON digest at each
//! append, and a digest over everything when it is read. `BENCH_DIR` chooses the file system, `BENCH_EVENTS` how much
//! is read back.

mod stores;

use std::path::{Path, PathBuf};
use std::time::Instant;

use engine::event::Event;
use engine::event::id::{Digest, PhaseName, Stamp};
use engine::event::iteration::{RestoreEnded, RetryScheduled};
use engine::event::run::{InterruptCause, Interrupted};
use stores::{Chain, Fjall, Floor, Lite, Redb, Store};

type Failure = Box<dyn std::error::Error>;

/// The events of the journal's own bench.
fn event(i: u64) -> Event {
    let iteration = (i % 1_000_000) as u32;
    let at = Stamp { wall_ms: i, mono_ms: i };
    match i % 3 {
        0 => RetryScheduled {
            iteration,
            attempt: 1,
            delay_ms: i,
        }
        .into(),
        1 => Interrupted {
            at,
            iteration,
            phase: PhaseName::Execute,
            attempt: 1,
            cause: InterruptCause::Crash,
        }
        .into(),
        _ => RestoreEnded {
            at,
            iteration,
            attempt: 1,
            to: Digest([1; 32]),
            written: i,
            removed: 0,
            saved: Digest([2; 32]),
            error: String::new(),
        }
        .into(),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn seconds(action: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    action()?;
    Ok(start.elapsed().as_secs_f64())
}

fn stores(dir: &Path, per_commit: usize) -> Result<Vec<Box<dyn Store>>, Failure> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    std::fs::create_dir_all(dir)?;
    let batch: Vec<Event> = (0..per_commit as u64).map(event).collect();
    Ok(vec![
        Box::new(Floor::new(&dir.join("floor"), &batch)?),
        Box::new(Chain::new(&dir.join("waited.journal"), false)?),
        Box::new(Chain::new(&dir.join("handed.journal"), true)?),
        Box::new(Lite::new(&dir.join("sqlite.db"))?),
        Box::new(Redb::new(&dir.join("redb"))?),
        Box::new(Fjall::new(&dir.join("fjall"))?),
    ])
}

fn append(dir: &Path, per_commit: usize, rounds: usize) -> Result<(), Failure> {
    const BLOCK: usize = 20;
    let mut stores = stores(dir, per_commit)?;
    let mut times = vec![Vec::new(); stores.len()];
    let mut seq = 0;
    for round in 0..rounds + 5 {
        let mut batches = Vec::with_capacity(BLOCK);
        for _ in 0..BLOCK {
            batches.push((seq..seq + per_commit as u64).map(event).collect::<Vec<Event>>());
            seq += per_commit as u64;
        }
        for (store, times) in stores.iter_mut().zip(&mut times) {
            let taken = seconds(|| {
                batches.iter().try_for_each(|batch| store.commit(batch))?;
                store.settle()
            })?;
            // The first rounds warm files and caches.
            if round >= 5 {
                times.push(taken);
            }
        }
    }
    let medians: Vec<f64> = times.into_iter().map(median).collect();
    println!("durable append, {per_commit} a commit");
    for (store, median) in stores.iter().zip(&medians) {
        let rate = (BLOCK * per_commit) as f64 / median;
        println!(
            "  {:<22} {rate:>10.0} events/s   {:>5.2} of the floor",
            store.name(),
            medians[0] / median
        );
    }
    Ok(())
}

fn read(dir: &Path, count: u64) -> Result<(), Failure> {
    const BATCH: u64 = 4_096;
    let mut stores = stores(dir, 1)?;
    // The floor keeps nothing, and both journals are the same to a reader.
    stores.remove(0);
    stores.remove(1);
    for from in (0..count).step_by(BATCH as usize) {
        let batch: Vec<Event> = (from..count.min(from + BATCH)).map(event).collect();
        stores.iter_mut().try_for_each(|store| store.commit(&batch))?;
    }
    println!("reading {count} events back, each decoded");
    for store in &mut stores {
        let mut times = Vec::new();
        for _ in 0..5 {
            let mut seen = 0;
            times.push(seconds(|| {
                seen = store.read()?;
                Ok(())
            })?);
            assert_eq!(seen, count, "{}", store.name());
        }
        println!(
            "  {:<22} {:>10.2} M events/s",
            store.name(),
            count as f64 / median(times) / 1e6
        );
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let dir = std::env::var_os("BENCH_DIR").map_or_else(usual, PathBuf::from);
    let dir = dir.join("compare.stores");
    let count = std::env::var("BENCH_EVENTS").ok().and_then(|text| text.parse().ok());
    append(&dir, 1, 40)?;
    append(&dir, 64, 40)?;
    read(&dir, count.unwrap_or(300_000))?;
    std::fs::remove_dir_all(dir)?;
    Ok(())
}
