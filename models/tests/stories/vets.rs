//! What happens between a green check and the verdict: experiments in copies.

use engine::event::Event;
use engine::event::finding::GuardState;
use engine::event::halt::HaltReason as R;
use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::policy::{OnViolation, Policy};
use models::act::{Edit, Lab};
use models::drive::Point;
use models::script::{Script, transcript};

use super::{RED, ends, last_told, policy, project, run, told};

fn labs(script: Script, labs: &[Lab]) -> Script {
    Script {
        labs: labs.to_vec(),
        ..script
    }
}

fn fixed(with: &[Lab]) -> Script {
    labs(Script::edits(&[Edit::Fix(2)]), with)
}

/// A contract under which an edited test is seen by nobody but the replay.
fn unwatched(policy: &mut Policy) {
    policy.guards.off = ["protected_manifest".into()].into();
}

#[test]
fn a_green_turn_is_tried_in_a_copy_before_it_is_accepted_and_confirmed() {
    let run = run(policy(|_| {}), project(3), fixed(&[]));
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0
             walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        )
        .replace(
            "\n             walk:after_check guards progress",
            " walk:after_check guards progress",
        ),
    );
}

#[test]
fn a_red_turn_is_not_tried_in_a_copy() {
    let run = run(
        policy(|p| p.bounds.max_iterations = 1),
        project(3),
        Script::edits(&[Edit::Salt(1)]),
    );
    assert!(!transcript(&run.journal).contains("vet"));
}

#[test]
fn what_passes_only_beside_leftovers_is_not_verified() {
    let run = run(policy(|_| {}), project(3), Script::edits(&[Edit::Prop(2)]));
    ends(
        &run,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "t0_replay: an unchanged copy of the candidate, without its caches and build products, does not give the verdict again: \
         the check ended with status 1 in the copy; c is failed there",
    );
}

#[test]
fn a_copy_that_cannot_be_made_is_said_and_is_not_green() {
    let run = run(policy(|_| {}), project(3), fixed(&[Lab::Fails]));
    ends(
        &run,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "t0_replay: no space left",
    );
}

#[test]
fn a_run_in_a_copy_that_is_cut_short_is_asked_for_again() {
    let run = run(policy(|_| {}), project(3), fixed(&[Lab::Stop(StopCause::Cancelled)]));
    assert!(
        transcript(&run.journal).contains("guards vet?t0_replay vet accept"),
        "{}",
        transcript(&run.journal)
    );
    ends(&run, R::SuccessConditionMet, "check_passed", "");
}

#[test]
fn a_life_that_ends_in_an_experiment_is_followed_by_one_that_makes_it_again() {
    for point in [Point::BeforeEffect, Point::AfterEffect] {
        let run = run(policy(|_| {}), project(3), fixed(&[]).crash(point, "guards_judged"));
        assert_eq!(transcript(&run.journal).matches("vet").count(), 1);
        ends(&run, R::SuccessConditionMet, "check_passed", "");
    }
    let stopped = run(policy(|_| {}), project(3), fixed(&[]).stop("guards_judged"));
    ends(&stopped, R::SuccessConditionMet, "check_passed", "");
}

#[test]
fn working_time_that_ends_in_an_experiment_ends_the_run() {
    let limit = |p: &mut Policy| p.bounds.timeout_ms = Some(1_000_000);
    let run = run(policy(limit), project(3), fixed(&[Lab::Stop(StopCause::RunDeadline)]));
    ends(&run, R::BudgetExceeded, "run_deadline", "");
}

#[test]
fn a_guard_before_green_that_is_off_runs_nothing_and_is_said() {
    let off = |p: &mut Policy| p.guards.off = ["t0_replay", "sentinel_pair", "code_mutation"].map(Into::into).into();
    let run = run(policy(off), project(3), fixed(&[Lab::Fails]));
    ends(&run, R::SuccessConditionMet, "check_passed", "");
    let state = run.journal.iter().find_map(|event| match event {
        Event::Vetted(vetted) => Some((vetted.state, vetted.trials.len())),
        _ => None,
    });
    assert_eq!(state, Some((GuardState::Off, 0)));
}

#[test]
fn a_report_of_coverage_that_the_contract_names_and_nobody_writes_leaves_the_run_unverified() {
    let named = |p: &mut Policy| p.oracle.coverage = Some("cov.json".into());
    let run = run(policy(named), project(3), fixed(&[]));
    let why = "coverage: the check wrote no coverage report there";
    ends(&run, R::ObjectiveUnverified, "guard_unavailable", why);
    let trials = run.journal.iter().find_map(|event| match event {
        Event::Vetted(vetted) if vetted.guard == "coverage" => Some(vetted.trials.len()),
        _ => None,
    });
    assert_eq!(trials, Some(2), "t0, and the candidate whatever t0 gave");
}

#[test]
fn a_test_that_was_bent_to_pass_fails_under_the_surface_of_the_start() {
    let cheat = || Script::edits(&[Edit::Cheat(SurfaceClass::Protected)]);
    let run = run(policy(unwatched), project(3), cheat());
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet!t0_replay vet?sentinel_pair vet?code_mutation
             halt metric_integrity_violation t0_replay"
        ),
    );
    ends(
        &run,
        R::MetricIntegrityViolation,
        "t0_replay",
        "c: it passes in the candidate and is failed with the tests of the start",
    );
}

#[test]
fn such_a_violation_is_put_back_like_every_other_one() {
    let restoring = |p: &mut Policy| {
        unwatched(p);
        p.guards.on_violation = OnViolation::Restore;
    };
    let script = Script::edits(&[Edit::Cheat(SurfaceClass::Protected)]);
    let run = run(policy(restoring), project(3), script);
    assert!(
        transcript(&run.journal)
            .contains("vet!t0_replay vet?sentinel_pair vet?code_mutation reject:violation restore#1")
    );
    assert!(last_told(&run).contains("t0_replay"), "{}", last_told(&run));
    ends(&run, R::MetricIntegrityViolation, "t0_replay", "violation 2");
}

#[test]
fn a_judgement_that_does_not_follow_from_what_was_seen_is_found() {
    let run = run(policy(|_| {}), project(3), Script::edits(&[Edit::Prop(2)]));
    for bend in [
        (|vetted| vetted.state = GuardState::Active) as fn(&mut engine::event::candidate::Vetted),
        |vetted| vetted.note.clear(),
        |vetted| vetted.trials.clear(),
        |vetted| vetted.trials[0].code = 0,
    ] {
        let mut journal = run.journal.clone();
        let ran = |event: &Event| matches!(event, Event::Vetted(vetted) if !vetted.trials.is_empty());
        let at = journal.iter().position(ran).unwrap();
        journal.truncate(at + 1);
        let Some(Event::Vetted(vetted)) = journal.last_mut() else {
            panic!("something was run in a copy")
        };
        bend(std::sync::Arc::make_mut(vetted));
        let index = journal.len() - 1;
        let found = engine::rederive(&journal).expect_err("it does not follow");
        assert_eq!(found.index(), index, "{found}");
    }
}
