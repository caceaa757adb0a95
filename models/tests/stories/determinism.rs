//! What runs of the check on one tree are taken for (SPEC 6.5.2, 6.5.5).

use engine::event::halt::HaltReason as R;
use engine::event::policy::Policy;
use models::act::{Edit, Look};
use models::drive::Run;
use models::script::{Script, transcript};

use super::{RED, ends, policy, project, run, told};

/// Some disagreement is taken, and no detector ends the run.
fn tolerant(policy: &mut Policy) {
    policy.oracle.max_flake_ppm = 50_000;
    policy.bounds.max_iterations = 30;
    policy.thresholds.no_progress_k = 0;
    policy.thresholds.same_failure_r = 0;
    policy.thresholds.oscillation_periods = 0;
    policy.thresholds.regression_candidates = 0;
}

fn counts(run: &Run) -> (u32, u32) {
    let determinism = run.state().unwrap().facts.determinism;
    (determinism.samples, determinism.disagreements)
}

#[test]
fn a_turn_that_changes_nothing_is_a_sample_of_the_check() {
    let run = run(
        policy(|p| p.bounds.max_iterations = 2),
        project(3),
        Script::edits(&[Edit::Nothing, Edit::Nothing]),
    );
    assert_eq!(counts(&run), (2, 0), "{}", transcript(&run.journal));
}

#[test]
fn another_verdict_on_a_known_tree_is_flaky_when_one_more_run_takes_it_back() {
    let script = Script::edits(&[Edit::Nothing]).looks(&[Look::Honest, Look::Flip(1), Look::Honest]);
    let run = run(policy(|_| {}), project(1), script);
    ends(&run, R::CheckFlaky, "recheck", "b became failed");
    assert_eq!(counts(&run), (1, 1));
}

#[test]
fn another_verdict_on_a_known_tree_that_stays_is_work_beside_the_tree() {
    let script = Script::edits(&[Edit::Nothing]).looks(&[Look::Honest, Look::Flip(1), Look::Flip(1)]);
    let run = run(policy(|p| p.bounds.max_iterations = 1), project(1), script);
    assert_eq!(
        run.state().unwrap().facts.halted.as_ref().unwrap().reason,
        R::MaxIterationsReached
    );
    assert_eq!(counts(&run), (1, 0));
}

#[test]
fn a_tolerated_disagreement_of_the_confirmation_is_not_green_and_the_run_goes_on() {
    let script = Script::edits(&[Edit::Fix(2), Edit::Nothing]).looks(&[Look::Honest, Look::Honest, Look::Flip(1)]);
    let run = run(policy(tolerant), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->1 progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept:same confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
    // The control of each turn, the turn that changed nothing, and two confirmations.
    assert_eq!(counts(&run), (5, 1));
}

#[test]
fn a_green_on_a_tree_that_was_red_is_run_again_even_where_nothing_is_confirmed() {
    let script = Script::edits(&[Edit::Nothing]).looks(&[Look::Honest, Look::Flip(2), Look::Honest]);
    let bend = |p: &mut Policy| {
        tolerant(p);
        p.guards.confirm = false;
        p.guards.off = engine::vet::ALL.iter().map(|vet| vet.name.into()).collect();
        p.bounds.max_iterations = 1;
    };
    let run = run(policy(bend), project(3), script);
    assert_eq!(
        run.state().unwrap().facts.halted.as_ref().unwrap().reason,
        R::MaxIterationsReached
    );
    assert_eq!(counts(&run), (1, 1));
}

#[test]
fn disagreements_that_prove_more_than_the_contract_takes_end_the_run() {
    let flaky = [Look::Flip(0), Look::Honest, Look::Honest, Look::Honest].repeat(8);
    let looks = [&[Look::Honest][..], &flaky].concat();
    let script = Script::edits(&[Edit::Nothing; 30]).looks(&looks);
    let run = run(policy(tolerant), project(3), script);
    ends(
        &run,
        R::CheckNotDeterministic,
        "proved_flaky",
        "runs on an unchanged tree agreed",
    );
}
