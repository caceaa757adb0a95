//! Small worlds, walked to exhaustion. The counts are pinned: a change of the engine that moves one says
//! so in the same commit, with a reason.

mod menus;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use engine::event::halt::HaltReason;
use engine::event::policy::OnViolation;
use models::explore::{Claim, Explored, Menu, against, explore};
use models::reference;
use models::script::transcript;

/// More than any of the worlds holds.
const MAX: usize = 12_000_000;
/// Prime, so that samples do not fall into step with the walk.
const SAMPLE_EVERY: usize = 9_973;

/// Every world, the largest first.
fn worlds() -> Vec<(&'static str, Menu)> {
    vec![
        ("clumsy", menus::clumsy()),
        ("cheating", menus::cheating(OnViolation::Halt, 3)),
        ("cheating, put back", menus::cheating(OnViolation::Restore, 3)),
        ("cheating from nothing", menus::cheating(OnViolation::Halt, 0)),
        ("hiding", menus::hiding()),
        ("lying", menus::lying()),
        ("failing", menus::failing()),
        ("paid", menus::paid()),
        ("unfit", menus::unfit()),
        ("patient", menus::patient()),
        ("unread", menus::unread()),
        ("indebted", menus::indebted()),
    ]
}

/// Every world, walked once for all tests of this file, on every core.
fn walks() -> &'static [(&'static str, Explored)] {
    static WALKS: OnceLock<Vec<(&'static str, Explored)>> = OnceLock::new();
    WALKS.get_or_init(|| {
        let worlds = worlds();
        let (turn, walked) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((name, menu)) = worlds.get(turn.fetch_add(1, Ordering::Relaxed)) {
                let walk = explore(menu, MAX, SAMPLE_EVERY).unwrap_or_else(|broken| {
                    turn.store(worlds.len(), Ordering::Relaxed);
                    panic!("{name}: {broken}")
                });
                walked.lock().expect("no walk panics").push((*name, walk));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(work);
            }
        });
        walked.into_inner().expect("no walk panics")
    })
}

/// How many states each world has.
const STATES: [(&str, usize); 12] = [
    ("cheating", 1_412_163),
    ("cheating from nothing", 953_290),
    ("cheating, put back", 6_367_289),
    ("clumsy", 4_192_349),
    ("failing", 385_451),
    ("hiding", 1_143_256),
    ("indebted", 498_804),
    ("lying", 1_516_502),
    ("paid", 2_188_836),
    ("patient", 934_252),
    ("unfit", 2),
    ("unread", 819_986),
];

#[test]
fn every_run_of_the_small_worlds_holds_every_property_and_their_number_is_known() {
    let mut counts: Vec<(&str, usize)> = walks().iter().map(|(name, walk)| (*name, walk.states)).collect();
    counts.sort_unstable();
    let total: usize = counts.iter().map(|(_, states)| states).sum();
    let steps: usize = walks().iter().map(|(_, walk)| walk.transitions).sum();
    println!("{total} distinct states, {steps} steps");
    assert_eq!(counts, STATES);
    assert!(total >= 10_000_000, "{total} states are too few");
}

#[test]
fn every_halt_that_the_engine_can_raise_is_reached_and_no_other() {
    use HaltReason as R;
    let reached: BTreeSet<HaltReason> = walks().iter().flat_map(|(_, walk)| walk.reasons.clone()).collect();
    // `internal_error` takes a world that answers another question than it was asked; the rest is not built yet.
    let known = [
        R::SuccessConditionMet,
        R::HumanRequired,
        R::MaxIterationsReached,
        R::BlockedPathModified,
        R::MetricIntegrityViolation,
        R::ObjectiveUnverified,
        R::CheckFlaky,
        R::CheckInadequate,
        R::NoProgressDetected,
        R::SameFailureRepeated,
        R::OscillationDetected,
        R::SameTestRegressed,
        R::InfeasibleSuspected,
        R::BudgetExceeded,
        R::ComprehensionDebtExceeded,
        R::InvariantFailed,
        R::WorkspaceInvalid,
        R::ExecutionFailure,
    ];
    assert_eq!(reached, BTreeSet::from(known));
}

/// Facts that only stand at the end of a synced batch, so that no death takes them back.
const NEVER_LOST: [&str; 7] = [
    "check_began",
    "execute_began",
    "halted",
    "reserved",
    "restore_began",
    "run_opened",
    "suspended",
];

#[test]
fn a_death_takes_back_every_kind_of_fact_that_waits_to_be_synced() {
    let all = |pick: fn(&Explored) -> &BTreeSet<&'static str>| -> BTreeSet<&str> {
        walks()
            .iter()
            .flat_map(|(_, walk)| pick(walk).iter().copied())
            .collect()
    };
    let (written, lost) = (all(|walk| &walk.kinds), all(|walk| &walk.lost));
    let kept: BTreeSet<&str> = NEVER_LOST.into_iter().filter(|kind| *kind != "run_opened").collect();
    assert_eq!(written.difference(&lost).copied().collect::<BTreeSet<_>>(), kept);
    assert!(written.len() >= 22, "{written:?}");
}

#[test]
fn the_second_opinion_accepts_every_path_it_is_shown() {
    let mut shown = 0;
    for (name, walk) in walks() {
        for journal in &walk.samples {
            let lines: Vec<serde_json::Value> = journal
                .iter()
                .map(|e| serde_json::to_value(e).expect("an event has a JSON form"))
                .collect();
            if let Err(refusal) = reference::accept(&lines) {
                panic!("{name}: {refusal}\n{}", transcript(journal));
            }
            shown += 1;
        }
    }
    assert!(shown > 500, "{shown} paths were shown");
}

#[test]
fn what_breaks_is_told_as_the_shortest_story() {
    let claim = Claim {
        name: "what is done is known",
        holds: |node| !node.down || node.truth.worked <= (node.durable.state.facts.iteration, 0),
    };
    let told = against(&menus::clumsy(), claim).expect("a death behind the work refutes it");
    let story = "broken: what is done is known
in 12 steps
  the world answers Walk(Fine)
  the world answers Look(Honest)
  the world answers Walk(Fine)
  the world answers Slice(Fine)
  the world answers Turn(Turn { edit: Fix(2), end: Exit(0) })
  the governor dies, 1 facts that were not synced survive
the journal:
open walk:baseline baseline#1 ->1 walk:after_check guards accept:same progress checkpoint
1 context exec#1 ->0";
    assert_eq!(told.to_string(), story);
}
