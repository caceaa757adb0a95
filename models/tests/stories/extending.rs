//! Tests that may change: what is left to the comparison of suites, and what that is worth.

use engine::event::Event;
use engine::event::finding::GuardState;
use engine::event::halt::HaltReason as R;
use engine::event::policy::{Policy, Surface};
use models::act::{Edit, Look};
use models::project::Tree;
use models::script::{Script, transcript};

use super::{RED, ends, policy, project, run, told};

fn extend(policy: &mut Policy) {
    policy.guards.surface = Surface::Extend;
}

/// The last test gets another name, and then everything is right.
fn renamed() -> Script {
    Script::edits(&[Edit::Rename, Edit::Fix(2)])
}

#[test]
fn a_renamed_test_is_left_to_the_comparison_and_converges() {
    let run = run(policy(extend), project(3), renamed());
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards accept progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
    let compared = run.journal.iter().find_map(|event| match event {
        Event::Vetted(vetted) if vetted.guard == "kill_set" => Some((vetted.state, vetted.note.clone())),
        _ => None,
    });
    let note = "3 changes of the product: 3 noticed".to_owned();
    assert_eq!(compared, Some((GuardState::Active, note)));
    // What is gone was accounted for: it fails no longer.
    let failing = run.journal.iter().rev().find_map(|event| match event {
        Event::CandidateAccepted(accepted) => Some(accepted.failing),
        _ => None,
    });
    assert_eq!(failing, Some(0));
}

#[test]
fn a_passing_test_that_is_renamed_on_a_green_turn_breaks_nothing_and_on_a_red_one_is_put_back() {
    let everything = Edit::Set(Tree {
        watched: models::project::RENAMED,
        ..Tree::passing(7)
    });
    let green = run(policy(extend), project(6), Script::edits(&[everything]));
    ends(&green, R::SuccessConditionMet, "check_passed", "");

    let rename_only = |p: &mut Policy| {
        extend(p);
        p.bounds.max_iterations = 1;
    };
    let red = run(policy(rename_only), project(6), Script::edits(&[Edit::Rename]));
    assert!(
        transcript(&red.journal).contains("reject:regressed"),
        "{}",
        transcript(&red.journal)
    );
}

#[test]
fn a_gutted_test_is_found_by_what_the_tests_of_the_start_notice() {
    let everything = Edit::Set(Tree {
        watched: models::project::GUTTED,
        ..Tree::passing(7)
    });
    let run = run(policy(extend), project(3), Script::edits(&[everything]));
    ends(
        &run,
        R::MetricIntegrityViolation,
        "kill_set",
        "product:3: the tests pass with a wrong product (right -> wrong), and at the start c failed",
    );
}

#[test]
fn what_was_left_to_a_comparison_that_is_off_is_not_green() {
    let off = |p: &mut Policy| {
        extend(p);
        p.guards.off = ["kill_set".into()].into();
    };
    let run = run(policy(off), project(3), renamed());
    ends(
        &run,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "kill_set: switched off by the contract; ",
    );
}

#[test]
fn what_was_left_to_it_without_a_replay_of_the_start_is_not_green() {
    let off = |p: &mut Policy| {
        extend(p);
        p.guards.off = ["t0_replay".into()].into();
    };
    let run = run(policy(off), project(3), renamed());
    ends(
        &run,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "kill_set: there is no run with the tests of the start",
    );
}

#[test]
fn a_test_that_the_tests_of_the_start_do_not_give_back_is_lost() {
    // Not a change of a test file took it away.
    let gone = Edit::Set(Tree {
        gone: 4,
        ..Tree::passing(7)
    });
    let run = run(policy(extend), project(3), Script::edits(&[gone]));
    ends(
        &run,
        R::MetricIntegrityViolation,
        "t0_replay",
        "c: it is no longer collected, and is absent with the tests of the start",
    );
}

#[test]
fn where_nothing_of_the_tests_changed_nothing_is_compared() {
    let run = run(policy(extend), project(3), Script::edits(&[Edit::Fix(2)]));
    ends(&run, R::SuccessConditionMet, "check_passed", "");
    let compared = |event: &Event| matches!(event, Event::Vetted(vetted) if vetted.guard == "kill_set" && !vetted.trials.is_empty());
    assert!(!run.journal.iter().any(compared));
}

#[test]
fn a_confirmation_that_loses_a_test_is_not_covered_by_a_comparison_that_was_not_made() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Honest, Look::Partial]);
    let run = run(policy(extend), project(3), script);
    assert_ne!(
        run.journal.iter().find_map(|event| match event {
            Event::Halted(halted) => Some(halted.reason),
            _ => None,
        }),
        Some(R::SuccessConditionMet)
    );
}
