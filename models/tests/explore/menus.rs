//! The small worlds: what agents, checks, walks, restores and people may do in each.

use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::policy::{Command, OnExecFailure, OnViolation, Policy};
use models::act::{Edit, End, Lab, Look, Repair, Slice, Turn, Walk};
use models::explore::{Menu, USED};
use models::project::Tree;
use models::world::{Runner, World};

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
        labs: vec![Lab::Honest],
        interruptions: 0,
        meddling: Vec::new(),
        raise: 0,
        metered: false,
        claims: Vec::new(),
    }
}

/// Honest and clumsy agents, honest and flaky checks, failing restores, two interruptions.
pub(super) fn clumsy() -> Menu {
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
        repairs: vec![Repair::Fine, Repair::Fails, Repair::Complains],
        interruptions: 2,
        raise: 1,
        ..menu(policy(3, |_| {}), Tree::passing(3))
    }
}

/// Agents that cheat in every way, with restores, and a workdir that is meddled with between lives.
pub(super) fn cheating(on_violation: OnViolation, start: u8) -> Menu {
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
        Edit::Prop(2),
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
        looks: vec![Look::Honest, Look::Crash, Look::WritesSurface, Look::TouchesState],
        interruptions: 2,
        labs: vec![Lab::Honest, Lab::Fails],
        meddling: vec![Edit::Cheat(SurfaceClass::Blocked), Edit::Fix(2)],
        ..menu(policy(2, bend), Tree::passing(start))
    }
}

/// Agents that hide tests behind a collection crash, from a start at which nothing passes.
pub(super) fn hiding() -> Menu {
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
        interruptions: 2,
        ..menu(policy(3, |_| {}), Tree::passing(0))
    }
}

/// Checks that lie in every way.
pub(super) fn lying() -> Menu {
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
        labs: vec![
            Lab::Honest,
            Lab::Flip(1),
            Lab::Fails,
            Lab::Stop(StopCause::Deadline),
            Lab::Stop(StopCause::RunDeadline),
        ],
        interruptions: 1,
        ..menu(policy(2, |_| {}), Tree::passing(3))
    }
}

/// Commands that fail, hang and ask, with retries, resumed and raised.
pub(super) fn failing() -> Menu {
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
            Turn {
                edit: Edit::Fix(2),
                end: End::Stop(StopCause::Deadline),
            },
            Turn::ends(End::Stop(StopCause::RunDeadline)),
            Turn::ends(End::Stop(StopCause::Cancelled)),
        ],
        looks: vec![Look::Honest, Look::Stop(StopCause::RunDeadline)],
        slices: vec![Slice::Fine, Slice::Fails],
        interruptions: 3,
        raise: 1,
        ..menu(policy(2, bend), Tree::passing(3))
    }
}

/// Work that is paid for, in a contract whose budget is two work commands and a half.
pub(super) fn paid() -> Menu {
    let bend = |p: &mut Policy| {
        p.failures.on_exec_failure = OnExecFailure::Retry;
        p.failures.exec_retries_max = 1;
        p.bounds.budget_microusd = Some(USED * 5 / 2);
    };
    Menu {
        turns: vec![
            Turn::does(Edit::Fix(2)),
            Turn::does(Edit::Break(0)),
            // Said to have failed, and happened.
            Turn {
                edit: Edit::Fix(2),
                end: End::Exit(1),
            },
        ],
        looks: vec![Look::Honest, Look::Flip(0)],
        interruptions: 3,
        raise: 1,
        metered: true,
        ..menu(policy(3, bend), Tree::passing(3))
    }
}

/// A contract that cannot carry a run.
pub(super) fn unfit() -> Menu {
    menu(policy(0, |_| {}), Tree::passing(3))
}

/// Long runs of few kinds of turn, for the detectors.
pub(super) fn patient() -> Menu {
    Menu {
        turns: vec![
            Turn::does(Edit::Salt(1)),
            Turn::does(Edit::Salt(2)),
            Turn::does(Edit::Nothing),
            Turn::does(Edit::Fix(2)),
            Turn::does(Edit::Break(0)),
        ],
        interruptions: 2,
        ..menu(policy(6, |p| p.thresholds.comprehension_every = 5), Tree::passing(3))
    }
}

/// Nobody reads the runner.
pub(super) fn unread() -> Menu {
    let mut menu = Menu {
        meddling: vec![Edit::Fix(2)],
        ..patient()
    };
    menu.policy.bounds.max_iterations = 4;
    menu.world.runner = Runner::Unknown;
    menu
}

/// Accepted changes pile up unread.
pub(super) fn indebted() -> Menu {
    let mut menu = patient();
    menu.policy.thresholds.comprehension_every = 2;
    menu
}
