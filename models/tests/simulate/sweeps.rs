//! Many seeds.
//!
//! `SIMULATE_BASE` fixes where the fresh seeds begin, `SIMULATE_SEEDS` how many of them there are.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::time::Instant;

use crate::run::{Asked, How, Kept, Simulated, simulate_as};

const FIXED: u64 = 200_000;
const FRESH: u64 = 100_000;

#[derive(Default)]
struct Tally {
    reasons: BTreeMap<&'static str, u32>,
    runs: u32,
    lives: u32,
    betrayed: u32,
    events: usize,
}

impl Tally {
    fn take(&mut self, simulated: &Simulated) {
        let reason = simulated.reason.map_or("none", |reason| reason.label());
        *self.reasons.entry(reason).or_default() += 1;
        self.runs += 1;
        self.lives += simulated.lives;
        self.betrayed += u32::from(simulated.betrayed);
        self.events += simulated.journal.len();
    }

    fn add(&mut self, part: Self) {
        for (reason, count) in part.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self.runs += part.runs;
        self.lives += part.lives;
        self.betrayed += part.betrayed;
        self.events += part.events;
    }
}

/// One seed in four is a liveness seed, one in 32 has a disk, one in 256 a lying one.
fn fresh(seed: u64) -> How {
    let kept = match seed % 256 {
        128 => Kept::LyingDisk,
        n if n % 32 == 0 => Kept::Disk,
        _ => Kept::Memory,
    };
    let asked = match (seed / 256 + seed) % 4 {
        3 if kept != Kept::LyingDisk => Asked::Liveness,
        _ => Asked::Safety,
    };
    let opinion = true;
    How { kept, asked, opinion }
}

/// The same; the second opinion, which takes as long as the run itself, reads every fourth journal.
fn fixed(seed: u64) -> How {
    How {
        opinion: seed.is_multiple_of(4),
        ..fresh(seed)
    }
}

fn tally(seeds: Range<u64>, how: fn(u64) -> How) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        match simulate_as(seed, how(seed)) {
            Ok(simulated) => tally.take(&simulated),
            Err(fault) => panic!("seed {seed}, {:?}: {fault}", how(seed)),
        }
    }
    tally
}

/// On two threads; a run knows nothing of them.
fn sweep(seeds: &Range<u64>, how: fn(u64) -> How) -> Tally {
    let half = seeds.start + (seeds.end - seeds.start) / 2;
    let mut total = Tally::default();
    std::thread::scope(|scope| {
        let halves = [seeds.start..half, half..seeds.end].map(|seeds| scope.spawn(move || tally(seeds, how)));
        for part in halves.map(|half| half.join().unwrap_or_else(|why| std::panic::resume_unwind(why))) {
            total.add(part);
        }
    });
    println!(
        "seeds {seeds:?}: {} runs, {} lives, {} events, {} betrayed, {:?}",
        total.runs, total.lives, total.events, total.betrayed, total.reasons
    );
    total
}

#[test]
fn the_fixed_seeds_hold_and_reach_every_common_end() {
    let total = sweep(&(0..FIXED), fixed);
    for reason in [
        "success_condition_met",
        "blocked_path_modified",
        "check_flaky",
        "max_iterations_reached",
        "no_progress_detected",
        "execution_failure",
        "human_required",
        "objective_unverified",
        "metric_integrity_violation",
        "budget_exceeded",
        "workspace_invalid",
    ] {
        let reached = total.reasons.get(reason).copied().unwrap_or_default();
        assert!(
            u64::from(reached) > FIXED / 1_000,
            "{reason} is rare: {:?}",
            total.reasons
        );
    }
    assert!(
        total.lives > total.runs * 3 / 2,
        "governors die often enough: {} lives",
        total.lives
    );
    assert!(total.betrayed > 0, "a lying disk is noticed");
}

#[test]
fn fresh_seeds_hold() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let base = number("SIMULATE_BASE").unwrap_or_else(|| RandomState::new().hash_one(0) >> 1);
    println!("SIMULATE_BASE={base} repeats the fresh seeds");
    let seeds = number("SIMULATE_SEEDS").unwrap_or(FRESH);
    sweep(&(base..base + seeds), fresh);
}

#[test]
fn a_seed_is_one_run() {
    for seed in 0..200 {
        let twice = [(); 2].map(|()| simulate_as(seed, fresh(seed)).unwrap().journal);
        assert_eq!(twice[0], twice[1], "seed {seed}");
    }
}

#[test]
fn a_lying_disk_is_noticed_by_whoever_remembers_the_head() {
    let total = sweep(&(0..300), |_| How {
        kept: Kept::LyingDisk,
        asked: Asked::Safety,
        opinion: true,
    });
    assert!(total.betrayed > 30, "{} of {}", total.betrayed, total.runs);
}

/// How fast it is without the second opinion: the driver, the world, every property, and every decision derived again.
#[test]
#[ignore = "measures; it proves nothing"]
fn how_many_runs_a_second() {
    const RUNS: u64 = 60_000;
    let began = Instant::now();
    sweep(&(0..RUNS), |_| How {
        kept: Kept::Memory,
        asked: Asked::Safety,
        opinion: false,
    });
    println!(
        "{} runs a second",
        RUNS * 1_000 / u64::try_from(began.elapsed().as_millis()).unwrap()
    );
}
