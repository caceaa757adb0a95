//! Which of several reasons of one iteration names the halt (SPEC 4.5).

use engine::State;
use engine::event::halt::HaltReason as R;
use engine::event::policy::Policy;
use models::act::{Edit, Look};
use models::script::{Script, halt};
use models::world::{Runner, World};

use super::{ends, policy, project, run};

/// What it is called, what it halts with, and how a contract sets it.
type Limit<'a> = (&'a str, R, &'a dyn Fn(&mut Policy));

/// Working time of a finished run.
fn elapsed(journal: &[engine::event::Event]) -> u64 {
    State::fold(journal).unwrap().facts.elapsed_ms
}

#[test]
fn success_dominates_the_limits_that_its_iteration_reached() {
    let script = || Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]);
    let free = run(policy(|_| {}), project(0), script());
    let took = elapsed(&free.journal);
    let limits: [Limit<'_>; 3] = [
        ("iterations", R::MaxIterationsReached, &|p| p.bounds.max_iterations = 3),
        ("unread changes", R::ComprehensionDebtExceeded, &|p| {
            p.thresholds.comprehension_every = 3
        }),
        ("working time", R::BudgetExceeded, &|p| p.bounds.timeout_ms = Some(took)),
    ];
    for (what, reason, bend) in limits {
        let green = run(policy(bend), project(0), script());
        ends(&green, R::SuccessConditionMet, "check_passed", "iteration 3");
        // The same limit, with one test left to mend, is what ends the run.
        let red = run(
            policy(bend),
            project(0),
            Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Salt(1)]),
        );
        let halt = halt(&red.journal).unwrap();
        assert_eq!(halt.reason, reason, "{what}: {}", halt.sentence);
    }
}

#[test]
fn success_dominates_a_detector_that_its_iteration_would_have_called() {
    // Nobody names the tests, so a turn that changed nothing counts; the baseline was red by chance alone.
    let world = || World {
        runner: Runner::Unknown,
        ..project(7)
    };
    let bend = |p: &mut Policy| p.thresholds.no_progress_k = 1;
    let lax = |p: &mut Policy| {
        bend(p);
        p.guards.off = vec!["t0_replay".into()];
    };
    let script = || Script::edits(&[Edit::Nothing]);
    let green = run(policy(lax), world(), script().looks(&[Look::Flip(0)]));
    ends(&green, R::SuccessConditionMet, "check_passed", "iteration 1");
    // Whatever made it green does not lie in the tree, and that is no success unless the contract takes it for one.
    let unverified = run(policy(bend), world(), script().looks(&[Look::Flip(0)]));
    ends(
        &unverified,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "red at the start",
    );
    let red = run(policy(bend), world(), script().looks(&[Look::Flip(0), Look::Flip(0)]));
    ends(&red, R::NoProgressDetected, "tree_unchanged", "changed nothing");
}

#[test]
fn a_violation_dominates_success_and_the_limits() {
    let bend = |p: &mut Policy| p.bounds.max_iterations = 1;
    let cheat = Edit::Cheat(engine::event::measurement::SurfaceClass::Blocked);
    let run = run(policy(bend), project(3), Script::edits(&[cheat]));
    ends(&run, R::BlockedPathModified, "blocked_paths", "");
}
