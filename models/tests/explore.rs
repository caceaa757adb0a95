//! Small worlds, walked to exhaustion. The counts are pinned: a change of the engine that moves one says
//! so in the same commit, with a reason.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use engine::event::halt::HaltReason;
use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::policy::{Command, OnExecFailure, OnViolation, Policy};
use models::act::{Edit, End, Look, Repair, Slice, Turn, Walk};
use models::explore::{Explored, Menu, explore};
use models::project::Tree;
use models::reference;
use models::script::transcript;
use models::world::{Runner, World};

const MAX: usize = 2_000_000;

fn policy(max_iterations: u32, bend: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    policy.bounds.max_iterations = max_iterations;
    bend(&mut policy);
    policy
}

fn menu(policy: Policy, start: Tree) -> Menu {
    Menu {
        policy,
        world: World::new(start),
        turns: vec![Turn::does(Edit::Fix(2)), Turn::does(Edit::Nothing)],
        first_looks: vec![Look::Honest],
        looks: vec![Look::Honest],
        walks: vec![Walk::Fine],
        repairs: vec![Repair::Fine],
        slices: vec![Slice::Fine],
        interruptions: 0,
        meddling: Vec::new(),
        raise: 0,
    }
}

/// Honest and clumsy agents, honest and flaky checks, failing restores, two interruptions.
fn clumsy() -> Menu {
    Menu {
        turns: vec![
            Turn::does(Edit::Fix(2)),
            Turn::does(Edit::Break(0)),
            Turn::does(Edit::Nothing),
            Turn::does(Edit::Trade {
                fix: 2,
                breaks: 0,
                salt: 1,
            }),
        ],
        looks: vec![Look::Honest, Look::Flip(0), Look::Crash],
        repairs: vec![Repair::Fine, Repair::Fails],
        interruptions: 1,
        raise: 1,
        ..menu(policy(2, |_| {}), Tree::passing(3))
    }
}

/// Agents that cheat in every way, with restores, and a workdir that is meddled with between lives.
fn cheating(on_violation: OnViolation, start: u8) -> Menu {
    let bend = |p: &mut Policy| p.guards.on_violation = on_violation;
    let mut turns: Vec<Turn> = [
        Edit::Fix(2),
        Edit::Skip(2),
        Edit::Delete(2),
        Edit::Add,
        Edit::Cheat(SurfaceClass::Blocked),
        Edit::Cheat(SurfaceClass::Protected),
        Edit::MoveRef,
        Edit::TouchState,
    ]
    .into_iter()
    .map(Turn::does)
    .collect();
    turns.push(Turn {
        edit: Edit::Fix(2),
        end: End::Survivor { ended: false },
    });
    Menu {
        turns,
        looks: vec![Look::Honest, Look::Crash, Look::WritesSurface],
        walks: vec![Walk::Fine],
        interruptions: 1,
        meddling: vec![Edit::Cheat(SurfaceClass::Blocked), Edit::Fix(2)],
        ..menu(policy(2, bend), Tree::passing(start))
    }
}

/// Agents that hide tests behind a collection crash, from a start at which nothing passes.
fn hiding() -> Menu {
    let all = |skipped, gone| {
        Turn::does(Edit::Set(Tree {
            skipped,
            gone,
            ..Tree::default()
        }))
    };
    Menu {
        turns: vec![
            all(7, 0),
            all(0, 7),
            Turn::does(Edit::Nothing),
            Turn::does(Edit::Fix(0)),
        ],
        looks: vec![Look::Honest, Look::Crash, Look::ZeroTests(1)],
        interruptions: 1,
        ..menu(policy(3, |_| {}), Tree::passing(0))
    }
}

/// Checks that lie in every way.
fn lying() -> Menu {
    Menu {
        turns: vec![
            Turn::does(Edit::Fix(2)),
            Turn::does(Edit::Delete(2)),
            Turn::does(Edit::Nothing),
        ],
        looks: vec![
            Look::Honest,
            Look::Flip(1),
            Look::ExitZero,
            Look::ZeroTests(0),
            Look::ZeroTests(1),
            Look::Code(137),
            Look::Stop(StopCause::Deadline),
            Look::Stale,
            Look::NoReport,
            Look::Unreadable,
            Look::Partial,
            Look::Unfinished,
            Look::Survivor,
            Look::WritesSurface,
        ],
        first_looks: vec![Look::Honest, Look::ZeroTests(0), Look::ExitZero, Look::Code(126)],
        walks: vec![Walk::Fine, Walk::GitUnreadable, Walk::Restless, Walk::Lost],
        interruptions: 0,
        ..menu(policy(2, |_| {}), Tree::passing(3))
    }
}

/// Commands that fail, hang and ask, with retries, resumed and raised.
fn failing() -> Menu {
    let bend = |p: &mut Policy| {
        p.failures.on_exec_failure = OnExecFailure::Retry;
        p.failures.exec_retries_max = 1;
        p.failures.instant_failures_max = 2;
        p.thresholds.comprehension_every = 2;
    };
    Menu {
        turns: vec![
            Turn::does(Edit::Fix(2)),
            Turn::ends(End::Exit(1)),
            Turn::ends(End::Instant(1)),
            Turn::ends(End::Ask),
            Turn::ends(End::NotFound),
            Turn::ends(End::Stop(StopCause::Deadline)),
            Turn::ends(End::Stop(StopCause::RunDeadline)),
            Turn::ends(End::Stop(StopCause::Cancelled)),
        ],
        looks: vec![Look::Honest, Look::Stop(StopCause::RunDeadline)],
        slices: vec![Slice::Fine, Slice::Fails],
        interruptions: 2,
        raise: 1,
        ..menu(policy(2, bend), Tree::passing(3))
    }
}

/// Long runs of few kinds of turn, for the detectors.
fn patient() -> Menu {
    Menu {
        turns: vec![
            Turn::does(Edit::Salt(1)),
            Turn::does(Edit::Salt(2)),
            Turn::does(Edit::Nothing),
            Turn::does(Edit::Fix(2)),
            Turn::does(Edit::Break(0)),
        ],
        interruptions: 0,
        ..menu(policy(6, |p| p.thresholds.comprehension_every = 5), Tree::passing(3))
    }
}

/// Nobody reads the runner.
fn unread() -> Menu {
    let mut menu = Menu {
        interruptions: 1,
        meddling: vec![Edit::Fix(2)],
        ..patient()
    };
    menu.policy.bounds.max_iterations = 4;
    menu.world.runner = Runner::Unknown;
    menu
}

/// Accepted changes pile up unread.
fn indebted() -> Menu {
    let mut menu = patient();
    menu.policy.thresholds.comprehension_every = 2;
    menu
}

/// Every world, walked once for all tests of this file.
fn walks() -> &'static [(&'static str, Explored)] {
    static WALKS: OnceLock<Vec<(&'static str, Explored)>> = OnceLock::new();
    WALKS.get_or_init(|| {
        let menus = [
            ("clumsy", clumsy()),
            ("cheating", cheating(OnViolation::Halt, 3)),
            ("cheating, put back", cheating(OnViolation::Restore, 3)),
            ("cheating from nothing", cheating(OnViolation::Halt, 0)),
            ("hiding", hiding()),
            ("lying", lying()),
            ("failing", failing()),
            ("patient", patient()),
            ("unread", unread()),
            ("indebted", indebted()),
        ];
        let walked = |(name, menu): (&'static str, Menu)| match explore(&menu, MAX, 499) {
            Ok(walk) => (name, walk),
            Err(counterexample) => panic!("{name}: {counterexample}"),
        };
        std::thread::scope(|scope| {
            let walks = menus.map(|menu| scope.spawn(move || walked(menu)));
            let walks = walks.map(|walk| walk.join().unwrap_or_else(|why| std::panic::resume_unwind(why)));
            walks.into_iter().collect()
        })
    })
}

#[test]
fn every_run_of_the_small_worlds_holds_every_property_and_their_number_is_known() {
    let counts: Vec<(&str, usize)> = walks().iter().map(|(name, walk)| (*name, walk.states)).collect();
    let known = [
        ("clumsy", 32_533),
        ("cheating", 28_988),
        ("cheating, put back", 125_079),
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
