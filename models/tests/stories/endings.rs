//! How runs end when nobody cheats and nothing breaks.

use engine::event::halt::HaltReason as R;
use engine::event::policy::Command;
use models::act::{Edit, Look, Turn};
use models::project::Tree;
use models::script::{Script, halt};
use models::world::{Runner, World};

use super::{RED, ends, policy, project, run, told};

#[test]
fn a_green_baseline_converges_at_iteration_0_without_the_agent() {
    let run = run(policy(|_| {}), project(7), Script::default());
    told(
        &run,
        "open walk:baseline baseline#1 ->0 walk:after_check guards vet accept:same confirmation#1 ->0 walk:after_check guards progress checkpoint
         halt success_condition_met check_passed",
    );
    ends(&run, R::SuccessConditionMet, "check_passed", "before any work");
}

#[test]
fn a_red_start_turns_green_once_the_agent_has_fixed_what_was_wrong() {
    let run = run(policy(|_| {}), project(3), Script::edits(&[Edit::Fix(2)]));
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 1");
}

#[test]
fn a_slow_agent_accumulates_red_turns_that_break_nothing() {
    let script = Script::edits(&[Edit::Fix(0), Edit::Salt(1), Edit::Fix(1), Edit::Fix(2)]);
    let run = run(policy(|_| {}), project(0), script);
    let turn = |n| {
        format!(
            "{n} context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards accept progress checkpoint\n"
        )
    };
    told(
        &run,
        &format!(
            "{RED}\n{}{}{}
             4 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed",
            turn(1),
            turn(2),
            turn(3)
        ),
    );
}

#[test]
fn without_confirmation_one_green_run_is_enough() {
    let run = run(
        policy(|p| p.guards.confirm = false),
        project(3),
        Script::edits(&[Edit::Fix(2)]),
    );
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn a_green_baseline_is_inadequate_when_the_contract_wants_a_red_start() {
    let run = run(policy(|p| p.oracle.require_red = true), project(7), Script::default());
    told(
        &run,
        "open walk:baseline baseline#1 ->0 walk:after_check guards vet accept:same
         halt check_inadequate green_baseline",
    );
}

#[test]
fn without_a_baseline_the_first_turn_comes_first() {
    let run = run(
        policy(|p| p.oracle.baseline = false),
        project(3),
        Script::edits(&[Edit::Fix(2)]),
    );
    told(
        &run,
        "open walk:baseline
         1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
         halt success_condition_met check_passed",
    );
}

#[test]
fn a_run_without_an_agent_only_checks() {
    let run = run(policy(|p| p.exec = Command::default()), project(3), Script::default());
    let turn = |n, progress| {
        format!(
            "{n} context walk:after_exec iteration#1 ->1 walk:after_check guards accept:same {progress} checkpoint\n"
        )
    };
    told(
        &run,
        &format!(
            "{RED}\n{}{}{}halt no_progress_detected tree_unchanged",
            turn(1, "progress"),
            turn(2, "progress"),
            turn(3, "progress!no_progress_detected")
        ),
    );
}

#[test]
fn turns_that_change_nothing_are_no_progress_at_k_and_are_named() {
    let run = run(policy(|_| {}), project(3), Script::edits(&[Edit::Nothing]));
    ends(
        &run,
        R::NoProgressDetected,
        "tree_unchanged",
        "the last 3 turns changed nothing",
    );
    assert_eq!(halt(&run.journal).unwrap().iteration, 3);
}

#[test]
fn turns_that_change_nothing_are_counted_without_members_too() {
    let world = World {
        runner: Runner::Unknown,
        ..project(3)
    };
    let run = run(policy(|_| {}), world, Script::edits(&[Edit::Salt(1), Edit::Nothing]));
    ends(
        &run,
        R::NoProgressDetected,
        "tree_unchanged",
        "3 turns in a row changed nothing",
    );
    assert_eq!(halt(&run.journal).unwrap().iteration, 4);
}

#[test]
fn an_unknown_runner_still_converges_on_its_exit_status() {
    let world = World {
        runner: Runner::Unknown,
        ..project(3)
    };
    let run = run(
        policy(|_| {}),
        world,
        Script::edits(&[Edit::Salt(1), Edit::Salt(2), Edit::Fix(2)]),
    );
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 3");
}

#[test]
fn a_failures_command_names_what_fails_and_the_rest_passes() {
    let world = World {
        runner: Runner::FailuresCmd,
        ..project(0)
    };
    let run = run(
        policy(|_| {}),
        world,
        Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]),
    );
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 3");
}

#[test]
fn the_same_failure_over_changed_trees_is_called_at_r() {
    let script = Script::edits(&[Edit::Salt(1), Edit::Salt(2), Edit::Salt(3)]);
    let run = run(policy(|_| {}), project(3), script);
    ends(&run, R::SameFailureRepeated, "identical_failure", "same_failure_r = 3");
    assert_eq!(halt(&run.journal).unwrap().iteration, 3);
}

#[test]
fn different_messages_are_not_the_same_failure_and_stall_instead() {
    let world = World {
        chatty: true,
        ..project(3)
    };
    let run = run(
        policy(|_| {}),
        world,
        Script::edits(&[Edit::Salt(1), Edit::Salt(2), Edit::Salt(3)]),
    );
    ends(
        &run,
        R::NoProgressDetected,
        "best_not_smaller",
        "below 1 since iteration 0",
    );
}

#[test]
fn a_tree_that_comes_back_is_an_oscillation_after_one_recheck() {
    let world = World {
        chatty: true,
        ..project(3)
    };
    let script = Script::edits(&[Edit::Salt(1), Edit::Salt(2), Edit::Salt(1)]);
    let run = run(policy(|p| p.thresholds.no_progress_k = 9), world, script);
    let turn = |n| format!("{n} context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards accept");
    told(
        &run,
        &format!(
            "{RED}
             {} progress checkpoint
             {} progress checkpoint
             {} recheck#1 ->1 progress!oscillation_detected checkpoint
             halt oscillation_detected tree_cycle",
            turn(1),
            turn(2),
            turn(3)
        ),
    );
}

#[test]
fn failing_sets_that_alternate_are_an_oscillation() {
    // Nothing passes in the baseline, so nothing can regress: the sets alternate over trees that never recur.
    let alternate = |right, salt| {
        Edit::Set(Tree {
            right,
            salt,
            ..Tree::default()
        })
    };
    let script = Script::edits(&[alternate(1, 1), alternate(2, 2), alternate(1, 3), alternate(2, 4)]);
    let bend = |p: &mut engine::event::policy::Policy| {
        p.thresholds.no_progress_k = 9;
        p.thresholds.regression_candidates = 0;
        p.thresholds.pair_candidates = 0;
    };
    let run = run(policy(bend), project(0), script);
    // The ratchet puts every second one back, and still the candidates alternate.
    ends(&run, R::OscillationDetected, "failing_set_cycle", "period 2");
}

#[test]
fn the_cap_says_still_improving_with_the_slope() {
    let script = Script::edits(&[Edit::Fix(0), Edit::Fix(1)]);
    let run = run(policy(|p| p.bounds.max_iterations = 2), project(0), script);
    ends(
        &run,
        R::MaxIterationsReached,
        "still_improving",
        "1.000 fewer an iteration",
    );
    assert!(halt(&run.journal).unwrap().improving);
}

#[test]
fn the_cap_says_stalled_with_the_best() {
    let script = Script::edits(&[Edit::Salt(1), Edit::Salt(2)]);
    let run = run(policy(|p| p.bounds.max_iterations = 2), project(1), script);
    ends(
        &run,
        R::MaxIterationsReached,
        "stalled",
        "stalled at 2 since iteration 0",
    );
}

#[test]
fn the_cap_says_unmeasured_when_nobody_names_tests() {
    let world = World {
        runner: Runner::Unknown,
        ..project(3)
    };
    let script = Script::edits(&[Edit::Salt(1), Edit::Salt(2)]);
    let run = run(policy(|p| p.bounds.max_iterations = 2), world, script);
    ends(&run, R::MaxIterationsReached, "unmeasured", "still red");
}

#[test]
fn a_red_check_with_red_words_never_converges() {
    // The agent says nothing, does nothing and exits 0 five times over.
    let run = run(
        policy(|p| {
            p.thresholds.no_progress_k = 0;
            p.thresholds.same_failure_r = 0;
        }),
        project(3),
        Script {
            turns: vec![Turn::does(Edit::Nothing)],
            looks: vec![Look::Honest],
            ..Script::default()
        },
    );
    ends(&run, R::MaxIterationsReached, "stalled", "5 iterations used");
}
