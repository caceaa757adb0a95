//! Small worlds, walked to exhaustion. The counts are pinned: a change of the engine that moves one says
//! so in the same commit, with a reason.

mod menus;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use engine::event::halt::HaltReason;
use engine::event::policy::OnViolation;
use models::explore::{Explored, Menu, explore};
use models::reference;
use models::script::transcript;

/// More than any of the worlds holds.
const MAX: usize = 12_000_000;

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
        ("patient", menus::patient()),
        ("unread", menus::unread()),
        ("indebted", menus::indebted()),
    ]
}

/// Every world, walked once for all tests of this file, on every core.
fn walks() -> &'static [(&'static str, Explored)] {
    static WALKS: OnceLock<Vec<(&'static str, Explored)>> = OnceLock::new();
    WALKS.get_or_init(|| {
        let only = std::env::var("ONLY").unwrap_or_default();
        let worlds: Vec<_> = worlds().into_iter().filter(|w| only.is_empty() || w.0 == only).collect();
        let (turn, walked) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some((name, menu)) = worlds.get(turn.fetch_add(1, Ordering::Relaxed)) {
                let t = std::time::Instant::now();
                let walk = explore(menu, MAX, 4_999).unwrap_or_else(|broken| panic!("{name}: {broken}"));
                println!("{name} {:?} {} {}", t.elapsed(), walk.states, walk.transitions);
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

#[test]
fn measure() {
    for (name, walk) in walks() {
        println!("{name}: {} states {} transitions, depth {}; {:?} {:?}", walk.states, walk.transitions, walk.depth, walk.reasons, walk.lost);
    }
}
#[test]
fn every_run_of_the_small_worlds_holds_every_property_and_their_number_is_known() {
    let counts: Vec<(&str, usize)> = walks().iter().map(|(name, walk)| (*name, walk.states)).collect();
    let known = [
        ("clumsy", 32_533),
        ("cheating", 28_988),
        ("cheating, put back", 137_376),
        ("cheating from nothing", 26_071),
        ("hiding", 49_005),
        ("lying", 34_428),
        ("failing", 14_441),
        ("patient", 1_034),
        ("unread", 37_778),
        ("indebted", 930),
    ];
    assert_eq!(counts, known);
}

#[test]
fn every_halt_that_the_engine_can_raise_is_reached() {
    let reached: BTreeSet<HaltReason> = walks().iter().flat_map(|(_, walk)| walk.reasons.clone()).collect();
    use HaltReason as R;
    for reason in [
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
        R::WorkspaceInvalid,
        R::ExecutionFailure,
    ] {
        assert!(reached.contains(&reason), "{reason} was never reached");
    }
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
    assert!(shown > 300, "{shown} paths were shown");
}
