//! Cheats, and what the run says to them.

use engine::event::halt::HaltReason as R;
use engine::event::measurement::SurfaceClass;
use engine::event::policy::{OnViolation, Policy};
use models::act::{Edit, End, Look, Turn, Walk};
use models::drive::Run;
use models::project::Tree;
use models::script::{Script, halt};

use super::{RED, ends, go_on, last_told, policy, project, run, told};

fn restoring(policy: &mut Policy) {
    policy.guards.on_violation = OnViolation::Restore;
}

#[test]
fn an_edited_test_halts_although_the_check_is_green() {
    let run = run(
        policy(|_| {}),
        project(3),
        Script::edits(&[Edit::Cheat(SurfaceClass::Blocked)]),
    );
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards!blocked_paths
             halt blocked_path_modified blocked_paths"
        ),
    );
    ends(&run, R::BlockedPathModified, "blocked_paths", "tests/a.sh");
}

#[test]
fn every_cheat_halts_with_its_reason() {
    let cases = [
        (
            Edit::Cheat(SurfaceClass::Blocked),
            R::BlockedPathModified,
            "blocked_paths",
        ),
        (
            Edit::Cheat(SurfaceClass::Protected),
            R::MetricIntegrityViolation,
            "protected_manifest",
        ),
        (
            Edit::Cheat(SurfaceClass::Determinant),
            R::MetricIntegrityViolation,
            "determinant_files",
        ),
        (Edit::MoveRef, R::BlockedPathModified, "refs_moved"),
        (Edit::EditHook, R::BlockedPathModified, "refs_moved"),
        (Edit::TouchState, R::BlockedPathModified, "state_interference"),
        (Edit::Skip(2), R::MetricIntegrityViolation, "outcome_downgrades"),
        (Edit::Soften(2), R::MetricIntegrityViolation, "assertion_count"),
        (Edit::Delete(2), R::MetricIntegrityViolation, "collected_set"),
    ];
    for (edit, reason, guard) in cases {
        let run = run(policy(|_| {}), project(3), Script::edits(&[edit]));
        ends(&run, reason, guard, "");
    }
}

#[test]
fn a_violation_is_put_back_once_and_halts_the_second_time() {
    let run = run(
        policy(restoring),
        project(3),
        Script::edits(&[Edit::Cheat(SurfaceClass::Blocked)]),
    );
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards!blocked_paths reject:violation restore#1 ->ok walk:after_restore progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards!blocked_paths
             halt blocked_path_modified blocked_paths"
        ),
    );
    ends(
        &run,
        R::BlockedPathModified,
        "blocked_paths",
        "violation 2 (violations_max = 2)",
    );
    assert!(last_told(&run).contains("touched what is out of bounds"));
}

#[test]
fn after_a_violation_that_was_put_back_honest_work_converges() {
    let script = Script::edits(&[Edit::Cheat(SurfaceClass::Blocked), Edit::Fix(2)]);
    let run = run(policy(restoring), project(3), script);
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2");
    assert!(run.world.tree.really_green());
}

#[test]
fn a_cheat_that_was_put_back_does_not_set_the_best() {
    let bend = |p: &mut Policy| {
        restoring(p);
        p.oracle.baseline = false;
        p.thresholds.no_progress_k = 2;
    };
    let script = Script::edits(&[
        Edit::Cheat(SurfaceClass::Blocked),
        Edit::Fix(0),
        Edit::Fix(1),
        Edit::Fix(2),
    ]);
    let run = run(policy(bend), project(0), script);
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 4");
}

#[test]
fn a_guard_that_cannot_run_is_never_green() {
    let script = Script {
        walks: vec![Walk::Fine, Walk::Fine, Walk::GitUnreadable],
        ..Script::edits(&[Edit::Fix(2)])
    };
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards?blocked_paths
             halt objective_unverified guard_unavailable"
        ),
    );
}

#[test]
fn a_file_that_kept_changing_while_it_was_read_is_never_green() {
    let script = Script {
        walks: vec![Walk::Fine, Walk::Fine, Walk::Restless],
        ..Script::edits(&[Edit::Fix(2)])
    };
    let run = run(policy(|_| {}), project(3), script);
    ends(&run, R::ObjectiveUnverified, "guard_unavailable", "stable_tree");
}

#[test]
fn a_guard_that_cannot_run_does_not_stop_red_work() {
    let script = Script {
        walks: vec![Walk::Fine, Walk::Fine, Walk::GitUnreadable],
        ..Script::edits(&[Edit::Fix(0), Edit::Fix(1)])
    };
    let run = run(policy(|_| {}), project(4), script);
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2");
}

#[test]
fn output_that_nobody_can_read_any_more_is_never_green() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Unreadable]);
    let run = run(policy(|_| {}), project(3), script);
    ends(
        &run,
        R::ObjectiveUnverified,
        "guard_unavailable",
        "it was active at the start",
    );
}

#[test]
fn a_check_that_lies_about_its_tests_is_caught() {
    for (look, words) in [
        (Look::ExitZero, "exited green while 1 member failed"),
        (Look::ZeroTests(0), "without running a test"),
        (Look::Stale, "older than the check"),
        (Look::NoReport, "wrote no report"),
        (Look::Partial, "only 3 concluded"),
        (Look::Unfinished, "the runner"),
    ] {
        let edit = if look == Look::ExitZero {
            Edit::Salt(1)
        } else {
            Edit::Fix(2)
        };
        let script = Script::edits(&[edit]).looks(&[Look::Honest, look]);
        let run = run(policy(|_| {}), project(3), script);
        ends(&run, R::MetricIntegrityViolation, "artefact_consistency", words);
    }
}

#[test]
fn a_suite_that_never_had_a_test_is_inadequate() {
    let script = Script::default().looks(&[Look::ZeroTests(0)]);
    let run = run(policy(|_| {}), project(7), script);
    ends(
        &run,
        R::CheckInadequate,
        "artefact_consistency",
        "without running a test",
    );
}

#[test]
fn a_check_that_rewrites_the_surface_is_caught() {
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::WritesSurface]);
    let run = run(policy(|_| {}), project(3), script);
    ends(
        &run,
        R::MetricIntegrityViolation,
        "check_mutation",
        "while the check ran",
    );
}

#[test]
fn a_process_that_cannot_be_ended_makes_the_verdict_unverified() {
    let survives = |ended| Turn {
        edit: Edit::Fix(2),
        end: End::Survivor { ended },
    };
    let script = |ended| Script {
        turns: vec![survives(ended)],
        ..Script::default()
    };
    ends(
        &run(policy(|_| {}), project(3), script(false)),
        R::ObjectiveUnverified,
        "leftover_processes",
        "could not be ended",
    );
    ends(
        &run(policy(|_| {}), project(3), script(true)),
        R::SuccessConditionMet,
        "check_passed",
        "iteration 1",
    );
    let by_check = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Survivor]);
    ends(
        &run(policy(|_| {}), project(3), by_check),
        R::ObjectiveUnverified,
        "leftover_processes",
        "left behind by the check",
    );
}

#[test]
fn the_guards_speak_once_more_after_the_confirming_run() {
    for (look, reason, guard, words) in [
        (
            Look::WritesSurface,
            R::MetricIntegrityViolation,
            "check_mutation",
            "while the check ran",
        ),
        (
            Look::Survivor,
            R::ObjectiveUnverified,
            "leftover_processes",
            "left behind by the check",
        ),
        (
            Look::TouchesState,
            R::BlockedPathModified,
            "state_interference",
            "while the check ran",
        ),
        (
            Look::Stale,
            R::MetricIntegrityViolation,
            "artefact_consistency",
            "older than the check",
        ),
    ] {
        let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Honest, look]);
        let run = run(policy(|_| {}), project(3), script);
        told(
            &run,
            &format!(
                "{RED}
                 1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards!{guard}
                 halt {reason} {guard}"
            ),
        );
        ends(&run, reason, guard, words);
    }
}

#[test]
fn a_check_that_writes_into_the_record_halts_in_the_baseline_and_later() {
    for looks in [&[Look::TouchesState][..], &[Look::Honest, Look::TouchesState]] {
        let run = run(policy(|_| {}), project(3), Script::edits(&[Edit::Fix(2)]).looks(looks));
        ends(
            &run,
            R::BlockedPathModified,
            "state_interference",
            "while the check ran",
        );
    }
}

#[test]
fn what_a_recheck_did_beside_measuring_halts_though_no_guard_follows_it() {
    for (look, reason, guard) in [
        (Look::TouchesState, R::BlockedPathModified, "state_interference"),
        (Look::Survivor, R::ObjectiveUnverified, "leftover_processes"),
    ] {
        let script = Script::edits(&[Edit::Break(0)]).looks(&[Look::Honest, Look::Honest, look]);
        let run = run(policy(|_| {}), project(3), script);
        told(
            &run,
            &format!(
                "{RED}
                 1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1
                 halt {reason} {guard}"
            ),
        );
    }
}

#[test]
fn a_test_hidden_behind_a_collection_crash_is_still_missed() {
    // Nothing passes at the start, so that the crash breaks nothing and is accepted.
    let hide = Edit::Set(Tree {
        skipped: 3,
        right: 4,
        ..Tree::default()
    });
    let script = Script::edits(&[hide, Edit::Nothing]).looks(&[Look::Honest, Look::Crash]);
    let run = run(policy(|_| {}), project(0), script);
    ends(
        &run,
        R::MetricIntegrityViolation,
        "outcome_downgrades",
        "was failed, is skipped",
    );
}

#[test]
fn a_lost_workdir_halts_as_such() {
    let script = Script {
        walks: vec![Walk::Fine, Walk::Fine, Walk::Lost],
        ..Script::edits(&[Edit::Set(Tree::default())])
    };
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0
             halt workspace_invalid workdir_lost"
        ),
    );
}

#[test]
fn what_cannot_be_put_back_halts_under_restore_too() {
    let baseline = Script::default().looks(&[Look::ExitZero]);
    let confirming = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Honest, Look::WritesSurface]);
    let recorded = Script::edits(&[Edit::TouchState]);
    let cases = [
        ("the baseline", baseline, R::CheckInadequate, "artefact_consistency", 0),
        (
            "the confirming run",
            confirming,
            R::MetricIntegrityViolation,
            "check_mutation",
            1,
        ),
        ("the journal", recorded, R::BlockedPathModified, "state_interference", 1),
    ];
    for (what, script, reason, guard, iteration) in cases {
        let run = run(policy(restoring), project(3), script);
        ends(&run, reason, guard, "");
        assert_eq!(halt(&run.journal).unwrap().iteration, iteration, "{what}");
        let restored = run.journal.iter().filter(|event| event.name() == "restore_began");
        assert_eq!(restored.count(), 0, "{what}");
    }
}

#[test]
fn what_somebody_else_changed_between_two_lives_halts_under_restore_too() {
    let mut script = Script::edits(&[Edit::Fix(0)]).stop("checkpointed");
    let mut run = Run::new(policy(restoring), project(0));
    run.live(&mut script).unwrap();
    run.world.tree.watched = 1;
    go_on(&mut run, &mut script);
    ends(&run, R::BlockedPathModified, "surface_drift", "since t0");
    assert!(run.journal.iter().all(|event| event.name() != "restore_began"));
}
