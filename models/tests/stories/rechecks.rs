//! A check that writes into its own tree is repeated on what it read, and that lies in a fresh copy (SPEC 4.4.2).

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::id::Digest;
use engine::event::iteration::CheckPurpose;
use engine::event::policy::Command;
use models::act::{Edit, Look};
use models::drive::{Ended, Run};
use models::project::Tree;
use models::script::Script;

use super::{ends, go_on, policy, project, run, told};

/// The copies that checks were repeated in.
fn copies(run: &Run) -> Vec<(CheckPurpose, Digest)> {
    let began = run.journal.iter().filter_map(|event| match event {
        Event::CheckBegan(began) => Some((began.purpose, began.copy_of?)),
        _ => None,
    });
    began.collect()
}

#[test]
fn green_is_confirmed_on_the_tree_that_was_green_and_not_on_what_the_check_made_of_it() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::WritesArtefact]);
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        "open walk:baseline baseline#1 ->1 walk:after_check guards accept:same progress checkpoint
         1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1:copy ->0 \
         walk:after_check guards progress checkpoint
         halt success_condition_met check_passed",
    );
    assert_eq!(copies(&run), [(CheckPurpose::Confirmation, Tree::passing(7).digest())]);
    let determinism = &run.state().unwrap().facts.determinism;
    assert_eq!(
        (determinism.samples, determinism.disagreements),
        (2, 0),
        "a sample like any other"
    );
}

#[test]
fn a_regression_is_rechecked_in_a_copy_and_what_differs_there_is_a_flaky_check() {
    let script = |recheck| {
        let looks = [Look::Honest, Look::WritesArtefact, recheck];
        Script::edits(&[Edit::Break(0), Edit::Fix(2)]).looks(&looks)
    };
    let agreed = run(policy(|_| {}), project(3), script(Look::Honest));
    assert_eq!(copies(&agreed), [(CheckPurpose::Recheck, Tree::passing(2).digest())]);
    ends(&agreed, R::SuccessConditionMet, "check_passed", "");
    let flaky = run(policy(|_| {}), project(3), script(Look::Flip(0)));
    let words = "status 1 first and status 1 in a fresh copy of the same tree; a became passed";
    ends(&flaky, R::CheckFlaky, "recheck", words);
}

#[test]
fn a_green_start_is_confirmed_on_what_its_check_found() {
    let script = Script::edits(&[]).looks(&[Look::WritesArtefact]);
    let run = run(policy(|_| {}), project(7), script);
    assert_eq!(copies(&run), [(CheckPurpose::Confirmation, Tree::passing(7).digest())]);
    ends(&run, R::SuccessConditionMet, "check_passed", "");
}

#[test]
fn a_later_life_repeats_the_check_on_what_it_read_before_it() {
    let looks = [Look::WritesArtefact, Look::WritesArtefact];
    let mut script = Script::edits(&[Edit::Fix(2)]).looks(&looks).stop("checkpointed");
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    go_on(&mut run, &mut script);
    assert_eq!(copies(&run), [(CheckPurpose::Resume, Tree::passing(3).digest())]);
    ends(&run, R::SuccessConditionMet, "check_passed", "");
}

#[test]
fn a_check_that_names_the_workdir_is_repeated_there_and_is_no_sample() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::WritesArtefact]);
    let named = policy(|p| p.oracle.check = Command::shell("cd /work && check"));
    let run = run(named, project(3), script);
    assert_eq!(copies(&run), []);
    ends(&run, R::SuccessConditionMet, "check_passed", "");
    // The only one is the copy that the guards before green made, into which the name was led.
    assert_eq!(run.state().unwrap().facts.determinism.samples, 1);
}

#[test]
fn a_recheck_elsewhere_than_called_for_is_no_legal_fact_for_either_opinion() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::WritesArtefact]);
    let mut run = run(policy(|_| {}), project(3), script);
    let at = run
        .journal
        .iter()
        .position(|event| matches!(event, Event::CheckBegan(began) if began.purpose == CheckPurpose::Confirmation));
    let Some(Event::CheckBegan(began)) = at.map(|at| &mut run.journal[at]) else {
        panic!("nothing was confirmed");
    };
    std::sync::Arc::make_mut(began).copy_of = None;
    let (_, illegal) = engine::State::fold(&run.journal).unwrap_err();
    assert!(
        illegal.why.contains("reads the tree that the first run read"),
        "{illegal}"
    );
    let lines: Vec<_> = run
        .journal
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    let refusal = models::reference::accept(&lines).unwrap_err();
    assert!(refusal.why.contains("on the tree that it read first"), "{refusal}");
}
