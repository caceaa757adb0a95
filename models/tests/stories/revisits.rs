//! What a later life does before it works: the check once more at the accepted tree (SPEC 3.5.5).

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::iteration::{CheckPurpose, TreePurpose};
use engine::event::measurement::StopCause;
use models::act::{Edit, Look, Repair, Walk};
use models::drive::{Ended, Point, Run};
use models::project::Tree;
use models::script::{Script, reason};

use super::{RED, ends, go_on, policy, project, told};

/// Stopped after the first checkpoint; the check then goes like this in the next life.
fn stopped_at_t0(edits: &[Edit], look: Look) -> (Run, Script) {
    let mut script = Script::edits(edits).looks(&[Look::Honest, look]).stop("checkpointed");
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    (run, script)
}

const GREEN: &str = "walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check \
                     guards progress checkpoint\nhalt success_condition_met check_passed";

fn resume_checks(run: &Run) -> usize {
    let resume = |event: &&Event| matches!(event, Event::CheckBegan(began) if began.purpose == CheckPurpose::Resume);
    run.journal.iter().filter(resume).count()
}

#[test]
fn the_same_verdict_at_the_accepted_tree_lets_the_run_go_on() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::Honest);
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->1 walk:after_check
             1 context exec#1 ->0 {GREEN}"
        ),
    );
    let determinism = &run.state().unwrap().facts.determinism;
    // The revisit, the control of the green turn and its confirmation.
    assert_eq!((determinism.samples, determinism.disagreements), (3, 0));
}

#[test]
fn another_verdict_halts_before_the_work_and_names_what_differs() {
    for (look, words) in [
        (
            Look::Flip(0),
            "status 1 first and status 1 in this life on the same tree; a became failed",
        ),
        (
            Look::Flip(2),
            "status 1 first and status 0 in this life on the same tree; c became passed",
        ),
    ] {
        let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], look);
        go_on(&mut run, &mut script);
        ends(&run, R::CheckFlaky, "resume", words);
        assert!(run.journal.iter().all(|event| event.name() != "execute_began"));
    }
}

#[test]
fn a_check_without_a_verdict_halts_for_its_own_cause() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::Code(127));
    go_on(&mut run, &mut script);
    ends(&run, R::ExecutionFailure, "check_not_found", "the check was not found");
    // It is mended, and asked again under a number of its own.
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->127
             halt execution_failure check_not_found
             resume walk:resume resume#2 ->1 walk:after_check
             1 context exec#1 ->0 {GREEN}"
        ),
    );
}

#[test]
fn a_run_killed_in_it_looks_and_checks_again() {
    for point in [Point::AfterBegan, Point::AfterEffect] {
        let (mut run, script) = stopped_at_t0(&[Edit::Fix(2)], Look::Honest);
        let mut script = script.crash(point, "check_began");
        assert_eq!(run.live(&mut script).unwrap(), Ended::Crashed);
        go_on(&mut run, &mut script);
        told(
            &run,
            &format!(
                "{RED}
                 suspend
                 resume walk:resume resume#1 interrupted:build_context#1
                 resume walk:resume resume#2 ->1 walk:after_check
                 1 context exec#1 ->0 {GREEN}"
            ),
        );
    }
}

#[test]
fn a_run_stopped_or_killed_behind_it_checks_in_every_life() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::Honest);
    script.stops = vec!["check_ended", "context_built"];
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->1
             suspend
             resume walk:resume resume#2 ->1 walk:after_check
             1 context
             suspend
             resume walk:resume resume#1 ->1 walk:after_check exec#1 ->0 {GREEN}"
        ),
    );
}

#[test]
fn a_signal_that_cut_it_short_asks_it_again() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::Stop(StopCause::Cancelled));
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->cancelled resume#2 ->1 walk:after_check
             1 context exec#1 ->0 {GREEN}"
        ),
    );
}

#[test]
fn a_life_that_judged_the_turn_at_hand_does_not_check_it_twice() {
    let mut script = Script::edits(&[Edit::Fix(1), Edit::Fix(2)]).crash(Point::AfterBegan, "execute_began");
    let mut run = Run::new(policy(|_| {}), project(1));
    go_on(&mut run, &mut script);
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
    assert_eq!(resume_checks(&run), 0);
}

#[test]
fn a_verdict_of_an_earlier_life_is_checked_although_it_was_accepted_in_this_one() {
    let mut script = Script::edits(&[Edit::Fix(1), Edit::Fix(2)]).stop("guards_judged");
    let mut run = Run::new(policy(|_| {}), project(1));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    go_on(&mut run, &mut script);
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
    assert_eq!(resume_checks(&run), 1);
}

#[test]
fn another_tree_than_the_accepted_one_is_part_of_the_next_candidate() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::Honest);
    run.world.tree.salt = 7;
    go_on(&mut run, &mut script);
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
    assert_eq!(resume_checks(&run), 0, "there was nothing to compare it with");
}

#[test]
fn what_a_check_writes_beside_the_accepted_tree_does_not_hide_it() {
    // Written by the check of the turn, and once more by the check of the third life.
    let looks = [Look::Honest, Look::Honest, Look::WritesArtefact, Look::WritesArtefact];
    let mut script = Script::edits(&[Edit::Fix(1), Edit::Fix(2)]).looks(&looks);
    script.stops = vec!["checkpointed", "checkpointed", "context_built"];
    let mut run = Run::new(policy(|_| {}), project(1));
    for checks in 0..3 {
        assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
        assert_eq!(resume_checks(&run), checks);
    }
    go_on(&mut run, &mut script);
    assert_eq!(resume_checks(&run), 3);
}

#[test]
fn a_life_that_has_worked_owes_nothing_any_more() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Break(0), Edit::Fix(2)], Look::Honest);
    run.world.tree.salt = 7;
    go_on(&mut run, &mut script);
    let restored = run.journal.iter().any(|event| event.name() == "restore_ended");
    assert!(restored, "the accepted tree never came back");
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
    assert_eq!(resume_checks(&run), 0);
}

#[test]
fn a_watched_file_that_it_writes_halts_before_the_work() {
    let (mut run, mut script) = stopped_at_t0(&[Edit::Fix(2)], Look::WritesSurface);
    go_on(&mut run, &mut script);
    ends(
        &run,
        R::MetricIntegrityViolation,
        "surface_drift",
        "__snapshots__/a.snap was added since t0",
    );
    assert!(run.journal.iter().all(|event| event.name() != "execute_began"));
}

#[test]
fn nothing_is_checked_without_a_measured_start_an_agent_or_room_for_a_turn() {
    let unmeasured = policy(|p| p.oracle.baseline = false);
    let agentless = policy(|p| p.exec = Default::default());
    let capped = policy(|p| p.bounds.max_iterations = 1);
    for (contract, stop) in [
        (unmeasured, "checkpointed"),
        (agentless, "checkpointed"),
        (capped, "halted"),
    ] {
        let mut script = Script::edits(&[Edit::Salt(1), Edit::Salt(2)]).stop(stop);
        let mut run = Run::new(contract, project(3));
        run.live(&mut script).unwrap();
        go_on(&mut run, &mut script);
        assert_eq!(resume_checks(&run), 0);
    }
}

#[test]
fn a_restore_that_failed_is_finished_before_anything_else() {
    let mut script = Script {
        repairs: vec![Repair::Fails],
        ..Script::edits(&[
            Edit::Trade {
                fix: 2,
                breaks: 0,
                salt: 1,
            },
            Edit::Fix(2),
        ])
    };
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::ExecutionFailure));
    let left = run.world.tree;
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1 reject:regressed restore#1 ->failed
             halt execution_failure restoration_failed
             resume restore#2 ->ok walk:after_restore progress checkpoint walk:resume resume#1 ->1 walk:after_check
             2 context exec#1 ->0 {GREEN}"
        ),
    );
    assert_ne!(left, Tree::passing(3), "the first restore stopped half-way");
    let accepted_before_work = run.journal.iter().any(|event| {
        matches!(event, Event::TreeObserved(seen) if seen.purpose == TreePurpose::AfterRestore && Tree::of(seen.seen.tree) == Some(Tree::passing(3)))
    });
    assert!(accepted_before_work);
}

#[test]
fn a_workdir_that_was_lost_behind_a_restore_is_restored_again() {
    // The fourth walk looks at what the restore left.
    let lost = [Walk::Fine, Walk::Fine, Walk::Fine, Walk::Fine, Walk::Lost];
    let mut script = Script {
        walks: lost.to_vec(),
        ..Script::edits(&[Edit::Break(0), Edit::Fix(2)])
    };
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::WorkspaceInvalid));
    // Whatever was mounted in its place.
    run.world.tree = Tree::passing(1);
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1 reject:regressed restore#1 ->ok
             halt workspace_invalid workdir_lost
             resume restore#2 ->ok walk:after_restore progress checkpoint walk:resume resume#1 ->1 walk:after_check
             2 context exec#1 ->0 {GREEN}"
        ),
    );
}

#[test]
fn a_death_between_a_disagreement_and_its_halt_takes_nothing_back() {
    let (mut run, script) = stopped_at_t0(&[Edit::Fix(2)], Look::Flip(0));
    let mut script = script.crash(Point::BeforeRecord, "check_ended");
    assert_eq!(run.live(&mut script).unwrap(), Ended::Crashed);
    // Another tree would otherwise leave nothing to compare.
    run.world.tree.salt = 7;
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->1
             resume
             halt check_flaky resume"
        ),
    );
}
