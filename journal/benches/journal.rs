//! What durability, the chain and verification cost, as ratios to a floor measured in the same process.
//!
//! The floor of an append is a zero-filled file to which the same bytes are written and synced; both
//! take turns, because a shared disk changes its mind from one second to the next; what only computes is
//! measured in processor time. `BENCH_DIR` chooses
//! the file system; `BENCH_EVENTS` the size of the journal that is folded. On a busy machine a sync returns with the
//! scheduler's next tick; `chrt -f 10` before the command keeps that out of both sides.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::event::id::{Digest, PhaseName, Stamp};
use engine::event::iteration::{ArchivedRestoreEnded, ArchivedRetryScheduled, RestoreEnded, RetryScheduled};
use engine::event::run::{ArchivedInterrupted, InterruptCause, Interrupted};
use journal::{Journal, VerifyOptions, Writer};

type Failure = rkyv::rancor::Error;

fn event(i: u64) -> Event {
    let iteration = u32::try_from(i % 1_000_000).unwrap_or(0);
    match i % 3 {
        0 => RetryScheduled {
            iteration,
            attempt: 1,
            delay_ms: i,
        }
        .into(),
        1 => Interrupted {
            at: Stamp { wall_ms: i, mono_ms: i },
            iteration,
            phase: PhaseName::Execute,
            attempt: 1,
            cause: InterruptCause::Crash,
        }
        .into(),
        _ => RestoreEnded {
            at: Stamp { wall_ms: i, mono_ms: i },
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

fn dir() -> PathBuf {
    std::env::var_os("BENCH_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

struct Floor {
    file: File,
    at: u64,
    buffer: Vec<u8>,
}

const FLOOR_BYTES: u64 = 64 << 20;

impl Floor {
    fn new(path: &Path, bytes: usize) -> std::io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(path)?;
        let zeros = vec![0; 1 << 20];
        for at in (0..FLOOR_BYTES).step_by(1 << 20) {
            file.write_all_at(&zeros, at)?;
        }
        file.sync_all()?;
        Ok(Self {
            file,
            at: 0,
            buffer: vec![0xA5; bytes],
        })
    }

    fn commit(&mut self) -> std::io::Result<()> {
        if self.at + self.buffer.len() as u64 > FLOOR_BYTES {
            self.at = 0;
        }
        self.file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.file.sync_data()
    }
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn timed(mut action: impl FnMut()) -> Duration {
    let start = Instant::now();
    action();
    start.elapsed()
}

/// Processor time of this thread: what a shared machine does not blur.
fn busy(mut action: impl FnMut()) -> Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    let start = now();
    action();
    now() - start
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A new journal, the floor of its batches, and what both are called.
struct Append {
    run: PathBuf,
    path: PathBuf,
    writer: Writer,
    floor: Floor,
    per_commit: u64,
    /// Made before the clock starts.
    events: Vec<Event>,
    seq: usize,
}

impl Append {
    fn new(per_commit: u64) -> Self {
        let run = dir().join(format!("append-{per_commit}.journal"));
        let _ = std::fs::remove_dir_all(&run);
        // The journal pads to 4 KiB, so the same bytes are the batch it writes.
        let live: usize = (0..per_commit)
            .map(|i| {
                let mut payload = Vec::new();
                event(i).encode(&mut payload);
                payload.len() + journal::frame::HEADER_BYTES
            })
            .sum();
        let bytes = (live + journal::batch::HEADER_BYTES).div_ceil(4096) * 4096;
        let path = dir().join("floor.bin");
        Self {
            writer: Journal::create(&run, "bench").unwrap(),
            floor: Floor::new(&path, bytes).unwrap(),
            run,
            path,
            per_commit,
            events: (0..192).map(event).collect(),
            seq: 0,
        }
    }

    fn gather(&mut self) {
        for _ in 0..self.per_commit {
            self.writer.append(&self.events[self.seq % self.events.len()]).unwrap();
            self.seq += 1;
        }
    }

    /// Blocks of so many commits, each block beside one of the floor, and a row about the median of them:
    /// rotation and other people's disk time belong to neither.
    fn row(&mut self, name: &str, block: u32, rounds: usize, mut commits: impl FnMut(&mut Self, u32)) {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            floor.push(timed(|| (0..block).for_each(|_| self.floor.commit().unwrap())).as_secs_f64());
            ours.push(timed(|| commits(self, block)).as_secs_f64());
        }
        let events = self.per_commit as f64 * f64::from(block);
        let (ours, floor) = (median(ours), median(floor));
        println!(
            "append, {:>2} a commit, {name:<12} {:>10.0}/s   floor {:>10.0}/s   ratio {:.2}",
            self.per_commit,
            events / ours,
            events / floor,
            floor / ours
        );
    }
}

fn append(per_commit: u64, rounds: usize) {
    let mut bench = Append::new(per_commit);
    for _ in 0..200 {
        bench.gather();
        bench.writer.commit().unwrap();
        bench.floor.commit().unwrap();
    }
    bench.row("waited for", 1, rounds, |bench, _| {
        bench.gather();
        bench.writer.commit().unwrap();
    });
    // A block ends when everything in it is durable.
    bench.row("handed over", 50, rounds / 20, |bench, block| {
        for _ in 0..block {
            bench.gather();
            bench.writer.commit_behind().unwrap();
        }
        bench.writer.commit().unwrap();
    });
    let encode = busy(|| {
        for i in 0..20_000 {
            bench.writer.append(&bench.events[i % bench.events.len()]).unwrap();
        }
    });
    println!(
        "   of which processor     {:>10.0} ns/event",
        encode.as_nanos() as f64 / 20_000.0
    );
    let Append { run, path, writer, .. } = bench;
    drop(writer);
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(run);
}

fn row(name: &str, count: u64, times: Vec<f64>) {
    let best = median(times);
    println!(
        "{name:<28} {:>8.1} ms   {:>6.2} M events/s",
        best * 1e3,
        count as f64 / best / 1e6
    );
}

fn fold(count: u64) {
    let run = dir().join("fold.journal");
    let _ = std::fs::remove_dir_all(&run);
    let mut writer = Journal::create(&run, "bench").unwrap();
    let mut wanted = 0_u64;
    for i in 0..count {
        writer.append(&event(i)).unwrap();
        wanted = wanted.wrapping_add(i * u64::from(i % 3 != 1) + u64::from(i % 3 == 1));
        if i % 64 == 63 {
            // One sync for many events, or building the journal would be the benchmark.
            if i % 4096 == 4095 {
                writer.commit().unwrap();
            }
        }
    }
    writer.commit().unwrap();
    let head = writer.close().unwrap();
    let bytes: u64 = std::fs::read_dir(&run)
        .unwrap()
        .map(|e| e.unwrap().metadata().unwrap().len())
        .sum();
    println!(
        "journal of {count} events, {:.0} MiB; processor time of one core",
        bytes as f64 / (1 << 20) as f64
    );
    let rounds = 5;
    let measure = |action: &dyn Fn()| (0..rounds).map(|_| busy(action).as_secs_f64()).collect::<Vec<f64>>();

    let elapsed = |action: &dyn Fn()| (0..rounds).map(|_| timed(action).as_secs_f64()).collect::<Vec<f64>>();

    row(
        "verified raw visit",
        count,
        measure(&|| {
            let mut bytes = 0;
            let reader = Journal::open_read(&run).unwrap();
            reader.raw(|_, _, _, payload| bytes += payload.len()).unwrap();
            assert!(bytes > 0);
        }),
    );
    row(
        "verified fold, bytecheck",
        count,
        measure(&|| {
            let mut sum = 0_u64;
            let reader = Journal::open_read(&run).unwrap();
            reader
                .raw(|_, kind, _, payload| {
                    let value = match kind {
                        20 => rkyv::access::<ArchivedRetryScheduled, Failure>(payload).map(|e| e.delay_ms.to_native()),
                        4 => rkyv::access::<ArchivedInterrupted, Failure>(payload)
                            .map(|e| u64::from(e.attempt.to_native())),
                        _ => rkyv::access::<ArchivedRestoreEnded, Failure>(payload).map(|e| e.written.to_native()),
                    };
                    sum = sum.wrapping_add(value.unwrap());
                })
                .unwrap();
            assert_eq!(sum, wanted);
        }),
    );
    row(
        "verified fold, owned events",
        count,
        measure(&|| {
            let mut sum = 0_u64;
            let reader = Journal::open_read(&run).unwrap();
            let add = |_, event: &Event| {
                sum = sum.wrapping_add(match black_box(event) {
                    Event::RetryScheduled(fact) => fact.delay_ms,
                    Event::Interrupted(fact) => fact.attempt.into(),
                    Event::RestoreEnded(fact) => fact.written,
                    _ => 0,
                });
            };
            assert_eq!((reader.fold(add).unwrap(), sum), (count, wanted));
        }),
    );
    row(
        "every leaf recomputed",
        count,
        measure(&|| {
            let found = Journal::open_read(&run).unwrap().chained(|_| Ok(())).unwrap();
            assert_eq!(found.leaf, head.head);
        }),
    );
    row(
        "open and verify, seals*",
        count,
        elapsed(&|| {
            let verdict = Journal::verify_seals(&run, &VerifyOptions::default()).unwrap();
            assert!(verdict.is_intact() && verdict.head.leaf == head.head);
        }),
    );
    row(
        "open and verify, all of it*",
        count,
        elapsed(&|| {
            let verdict = Journal::verify(&run, &VerifyOptions::default(), None).unwrap();
            assert!(verdict.is_intact() && verdict.head.leaf == head.head);
        }),
    );
    row(
        "open for writing",
        count,
        measure(&|| drop(Journal::open_write(&run).unwrap())),
    );
    println!("* elapsed time on all cores, other load on the machine included");
    let _ = std::fs::remove_dir_all(run);
}

fn main() {
    // `cargo test --benches` passes `--test`; a benchmark has nothing to say there.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    std::fs::create_dir_all(dir()).unwrap();
    let count = std::env::var("BENCH_EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000_000);
    append(1, 2_000);
    append(64, 1_000);
    fold(count);
}
