//! Real commands under a clock that is set, and on a machine that slept.
//!
//! The driver and the world are the product's own; only what tells the time is the test's.

mod asleep;

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::{Digest, Stamp};
use engine::event::policy::{Command, Policy};
use engine::event::run::RunOpened;
use engine::report::Report;
use engine::{Effect, State};
use shell::clock::Clock;
use shell::driver::{self, Record};
use shell::paths::{RunId, StateDir};
use shell::process::{Supervisor, SupervisorOptions, wishes};
use shell::tree::{Options, Tree};
use shell::world::{RealWorld, StopRequests};

use crate::support::Project;

const HOUR_MS: u64 = 3_600_000;
/// When the test begins, on the wall.
const BEGAN_MS: u64 = 1_000 * HOUR_MS;
/// What passes on the monotonic clock between two looks at it.
const TICK_MS: u64 = 7;

/// A clock that shows what the test decides, given how often it was looked at.
fn clock(shows: fn(u64) -> Stamp) -> Clock {
    let looks = AtomicU64::new(0);
    Clock::new(move || shows(looks.fetch_add(1, Ordering::SeqCst)))
}

fn undisturbed(look: u64) -> Stamp {
    Stamp {
        wall_ms: BEGAN_MS + look * TICK_MS,
        mono_ms: look * TICK_MS,
    }
}

#[derive(Default)]
struct Memory(Vec<Event>);

impl Record for Memory {
    type Error = std::convert::Infallible;

    fn append(&mut self, event: &Event) -> Result<(), Self::Error> {
        self.0.push(event.clone());
        Ok(())
    }

    fn sync(&mut self, _: &State) -> Result<(), Self::Error> {
        Ok(())
    }

    fn announce(&mut self, _: &Effect) {}
}

/// Three red iterations within a minute of working time, as this clock tells it.
fn ran_by(clock: Clock) -> (State, Vec<Event>) {
    let project = Project::new();
    let state_dir = StateDir::create(&project.root).unwrap();
    let run = state_dir.create_run(RunId::parse("clocks").unwrap()).unwrap();
    let mut policy = Policy {
        exec: Command::shell("echo >> work"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("exit 1");
    policy.bounds.max_iterations = 3;
    policy.bounds.timeout_ms = Some(60_000);
    policy.thresholds.no_progress_k = 0;
    let opened = Event::from(RunOpened {
        at: clock.stamp(),
        run_id: "clocks".into(),
        engine: engine::VERSION.into(),
        workdir: "/".into(),
        boot_id: String::new(),
        policy_digest: Digest::ZERO,
        programs: Vec::new(),
        probe: None,
        zones: Vec::new(),
        policy,
        origins: Vec::new(),
    });
    let state = State::first(&opened).unwrap();
    let env = [(OsString::from("PATH"), std::env::var_os("PATH").unwrap())];
    let options = SupervisorOptions {
        runtime_dir: Some(run.path().to_path_buf()),
        env: env.to_vec(),
    };
    let supervisor = Supervisor::start(Path::new(env!("CARGO_BIN_EXE_loopexec")), options).unwrap();
    let (_nobody_asks, wishes) = wishes().unwrap();
    let stop = StopRequests {
        first: Arc::new(AtomicI32::new(0)),
        wishes,
    };
    let tree = Tree::open(&project.root, state_dir.path(), Options::default()).unwrap();
    let mut world = RealWorld::new(&state, clock, run, &env, supervisor, stop, tree);
    let mut record = Memory(vec![opened]);
    let state = driver::drive(state, &mut world, &mut record).unwrap();
    world.shutdown();
    (state, record.0)
}

/// The run came to its cap, its working time is that of the monotonic clock alone, and the report counts the jumps.
#[track_caller]
fn assert_untouched(shows: fn(u64) -> Stamp, jumps: RangeInclusive<u32>) {
    let (state, events) = ran_by(clock(shows));
    let halted = state.facts.halted.as_ref().unwrap();
    assert_eq!(halted.reason, HaltReason::MaxIterationsReached, "{}", halted.sentence);
    let (steady, steady_events) = ran_by(clock(undisturbed));
    assert_eq!(state.facts.elapsed_ms, steady.facts.elapsed_ms);
    let [seen, none] = [&events, &steady_events].map(Report::of);
    assert_eq!(none.totals.clock_jumps, 0);
    assert!(jumps.contains(&seen.totals.clock_jumps), "{}", seen.totals.clock_jumps);
    // A negative duration would show as one of centuries.
    let commands = seen.rows.iter().flat_map(|row| &row.commands);
    assert!(commands.map(|command| command.duration_ms).all(|ms| ms < HOUR_MS));
    engine::rederive(&events).unwrap();
}

fn late(look: u64) -> bool {
    look >= 9
}

#[test]
fn a_wall_clock_set_hours_ahead_or_a_machine_that_slept_ends_nothing() {
    // To the run both look alike: the monotonic clock stands still while the machine sleeps.
    let ahead = |look| Stamp {
        wall_ms: undisturbed(look).wall_ms + if late(look) { 5 * HOUR_MS } else { 0 },
        ..undisturbed(look)
    };
    assert_untouched(ahead, 1..=1);
}

#[test]
fn a_wall_clock_set_hours_back_ends_nothing() {
    let back = |look| Stamp {
        wall_ms: undisturbed(look).wall_ms - if late(look) { 5 * HOUR_MS } else { 0 },
        ..undisturbed(look)
    };
    assert_untouched(back, 1..=1);
    let before_its_beginning = |look| Stamp {
        wall_ms: if late(look) { 0 } else { undisturbed(look).wall_ms },
        ..undisturbed(look)
    };
    assert_untouched(before_its_beginning, 1..=1);
}

#[test]
fn a_wall_clock_that_jumps_to_and_fro_ends_nothing() {
    let to_and_fro = |look| Stamp {
        wall_ms: undisturbed(look).wall_ms + (look % 2) * 9 * HOUR_MS,
        ..undisturbed(look)
    };
    assert_untouched(to_and_fro, 2..=u32::MAX);
}

#[test]
fn working_time_that_passed_on_the_monotonic_clock_ends_the_run() {
    let (state, _) = ran_by(clock(|look| Stamp {
        mono_ms: undisturbed(look).mono_ms + if late(look) { 61_000 } else { 0 },
        ..undisturbed(look)
    }));
    let halted = state.facts.halted.unwrap();
    assert_eq!(
        (halted.reason, halted.cause.as_str()),
        (HaltReason::BudgetExceeded, "run_deadline")
    );
}
