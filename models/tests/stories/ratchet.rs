//! Regressions are put back and told; trades and repeats are named.

use engine::event::halt::HaltReason as R;
use models::act::{Edit, Look, Repair};
use models::project::{SNAPSHOT, Tree};
use models::script::{Script, halt};
use models::world::World;

use super::{RED, ends, last_told, policy, project, run, told};

const BACK: &str = "restore#1 ->ok walk:after_restore";

#[test]
fn a_regression_is_rechecked_put_back_and_told() {
    let run = run(
        policy(|_| {}),
        project(3),
        Script::edits(&[Edit::Break(0), Edit::Fix(2)]),
    );
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1 reject:regressed {BACK} progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
    assert_eq!(
        last_told(&run),
        "Your last change was undone: it broke 1 test that had passed: a."
    );
    assert!(run.world.tree.really_green());
}

#[test]
fn the_same_test_broken_by_two_different_changes_halts() {
    let breaks = |salt| {
        Edit::Set(Tree {
            salt,
            ..Tree::passing(2)
        })
    };
    let run = run(policy(|_| {}), project(3), Script::edits(&[breaks(1), breaks(2)]));
    ends(
        &run,
        R::SameTestRegressed,
        "accepted_member_broken",
        "2 different candidates broke a",
    );
    assert_eq!(run.world.tree, Tree::passing(3), "the accepted tree is back");
}

#[test]
fn the_same_change_again_is_one_candidate() {
    let run = run(
        policy(|p| p.thresholds.same_failure_r = 0),
        project(3),
        Script::edits(&[Edit::Break(0)]),
    );
    ends(&run, R::NoProgressDetected, "best_not_smaller", "no_progress_k = 3");
}

#[test]
fn two_trades_without_a_common_green_are_infeasible() {
    let trade = |salt| Edit::Trade {
        fix: 2,
        breaks: 0,
        salt,
    };
    let run = run(policy(|_| {}), project(3), Script::edits(&[trade(1), trade(2)]));
    ends(
        &run,
        R::InfeasibleSuspected,
        "contradictory_pair",
        "made c pass by breaking a",
    );
    assert_eq!(halt(&run.journal).unwrap().iteration, 2);
}

#[test]
fn a_test_that_vanishes_from_a_red_run_is_a_regression() {
    // A collection crash must not look like progress.
    let script = Script::edits(&[Edit::Salt(1), Edit::Fix(2)]).looks(&[Look::Honest, Look::Crash, Look::Crash]);
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->2 walk:after_check guards recheck#1 ->2 reject:regressed {BACK} progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn a_regression_that_the_recheck_does_not_confirm_is_a_flaky_check() {
    let script = Script::edits(&[Edit::Salt(1)]).looks(&[Look::Honest, Look::Flip(0), Look::Honest]);
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1
             halt check_flaky recheck"
        ),
    );
    assert_eq!(run.world.tree.salt, 1, "the agent's work is still there");
}

#[test]
fn a_green_that_the_confirmation_contradicts_is_a_flaky_check() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Honest, Look::Flip(1)]);
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->1
             halt check_flaky confirmation"
        ),
    );
    ends(&run, R::CheckFlaky, "confirmation", "status 0 first and status 1");
}

#[test]
fn a_restore_that_fails_halts_with_its_error() {
    let script = Script {
        repairs: vec![Repair::Fails],
        ..Script::edits(&[Edit::Break(0)])
    };
    let run = run(policy(|_| {}), project(3), script);
    ends(&run, R::ExecutionFailure, "restoration_failed", "disk full");
}

#[test]
fn an_added_test_joins_the_universe_and_cannot_leave_again() {
    let gone = Edit::Set(Tree::passing(7));
    let world = World {
        chatty: true,
        ..project(1)
    };
    let script = Script::edits(&[Edit::Add, gone]);
    let run = run(policy(|_| {}), world, script);
    ends(
        &run,
        R::MetricIntegrityViolation,
        "collected_set",
        "x0: no longer collected",
    );
}

#[test]
fn an_identity_that_only_a_rejected_turn_listed_is_not_missed() {
    let world = World {
        integrity: true,
        ..project(3)
    };
    let adds_and_breaks = Edit::Set(Tree {
        added: 1,
        ..Tree::passing(2)
    });
    let run = run(policy(|_| {}), world, Script::edits(&[adds_and_breaks, Edit::Fix(2)]));
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2");
}

#[test]
fn what_the_baseline_check_wrote_is_part_of_what_is_put_back() {
    let script = Script::edits(&[Edit::Break(0), Edit::Fix(2)]).looks(&[Look::WritesSurface]);
    let run = run(policy(|_| {}), project(3), script);
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2");
    assert_eq!(
        run.world.tree.watched, SNAPSHOT,
        "the file that the check made at t0 is still there"
    );
}

#[test]
fn a_turn_that_changed_nothing_is_no_unread_change_even_if_the_check_writes_files() {
    let script =
        Script::edits(&[Edit::Nothing]).looks(&[Look::WritesArtefact, Look::WritesArtefact, Look::WritesArtefact]);
    let run = run(policy(|p| p.thresholds.comprehension_every = 1), project(3), script);
    ends(&run, R::NoProgressDetected, "tree_unchanged", "changed nothing");
}
