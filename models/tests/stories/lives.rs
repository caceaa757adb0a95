//! Deaths, stops, resumes and amendments.

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::id::Stamp;
use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::policy::{OnExecTimeout, OnViolation, Policy, Surface};
use models::act::{Edit, End, Look, Turn};
use models::drive::{Ended, Point, Run};
use models::project::Tree;
use models::script::{Script, halt, reason};

use super::{RED, ends, go_on, policy, project, run, told};

#[test]
fn an_interrupted_turn_is_consumed_and_the_check_decides() {
    for point in [Point::AfterBegan, Point::AfterEffect] {
        let script = Script::edits(&[Edit::Fix(2)]).crash(point, "execute_began");
        let run = run(policy(|_| {}), project(3), script);
        let first = format!(
            "{RED}
             1 context exec#1 interrupted:execute#1
             resume walk:after_exec iteration#1"
        );
        let green = "walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint";
        match point {
            // The work was done: only its end went unseen.
            Point::AfterEffect => told(
                &run,
                &format!("{first} ->0 {green}\nhalt success_condition_met check_passed"),
            ),
            _ => told(
                &run,
                &format!(
                    "{first} ->1 walk:after_check guards accept:same progress checkpoint
                     2 context exec#1 ->0 walk:after_exec iteration#1 ->0 {green}
                     halt success_condition_met check_passed"
                ),
            ),
        }
    }
}

#[test]
fn an_interrupted_check_is_asked_again_on_the_tree_that_is_there() {
    let mut script = Script::edits(&[Edit::Fix(2)]);
    let mut crashing = Run::new(policy(|_| {}), project(3));
    // The second check of the run, the one of iteration 1, dies half-way.
    let mut deaths = 0;
    struct Dies<'a>(&'a mut Script, &'a mut u32);
    impl models::drive::Fate for Dies<'_> {
        fn act(&mut self, effect: &engine::Effect) -> models::act::Act {
            self.0.act(effect)
        }
        fn crash(&mut self, point: Point, journal: &[Event]) -> bool {
            let in_check = matches!(journal.last(), Some(Event::CheckBegan(began)) if began.iteration == 1);
            let dies = in_check && point == Point::AfterEffect && *self.1 == 0;
            *self.1 += u32::from(dies);
            dies
        }
    }
    let died = crashing.live(&mut Dies(&mut script, &mut deaths)).unwrap();
    assert_eq!(died, Ended::Crashed);
    go_on(&mut crashing, &mut script);
    told(
        &crashing,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 interrupted:check#1
             resume walk:resume iteration#2 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn what_somebody_changed_between_two_lives_is_what_the_check_is_said_to_have_judged() {
    let mut script = Script::edits(&[Edit::Salt(1)]).stop("execute_ended");
    let mut run = Run::new(policy(|p| p.guards.confirm = false), project(3));
    run.live(&mut script).unwrap();
    script.stops = vec!["tree_observed"];
    run.live(&mut script).unwrap();
    assert!(run.state().unwrap().facts.suspended.is_some());
    run.world.tree = Tree::passing(7);
    go_on(&mut run, &mut script);
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
    let accepted = run.state().unwrap().facts.accepted.unwrap();
    assert_eq!(
        Tree::of(accepted.tree),
        Some(Tree::passing(7)),
        "not the red tree that the agent had left"
    );
}

#[test]
fn a_confirmation_on_another_tree_confirms_nothing() {
    let mut script = Script::edits(&[Edit::Fix(2)]);
    script.stops = vec!["checkpointed", "candidate_accepted"];
    let mut run = Run::new(policy(|_| {}), project(3));
    run.live(&mut script).unwrap();
    run.live(&mut script).unwrap();
    run.world.tree.salt = 7;
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             suspend
             resume walk:resume resume#1 ->1 walk:after_check
             1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept
             suspend
             resume walk:resume iteration#2 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
    let accepted = run.state().unwrap().facts.accepted.unwrap();
    assert_eq!(Tree::of(accepted.tree), Some(run.world.tree));
}

#[test]
fn an_interrupted_restore_is_completed() {
    for point in [Point::AfterBegan, Point::AfterEffect] {
        let script = Script::edits(&[Edit::Break(0), Edit::Fix(2)]).crash(point, "restore_began");
        let run = run(policy(|_| {}), project(3), script);
        told(
            &run,
            &format!(
                "{RED}
                 1 context exec#1 ->0 walk:after_exec iteration#1 ->1 walk:after_check guards recheck#1 ->1 reject:regressed restore#1 interrupted:ratchet#1
                 resume restore#2 ->ok walk:after_restore progress checkpoint walk:resume resume#1 ->1 walk:after_check
                 2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
                 halt success_condition_met check_passed"
            ),
        );
    }
}

#[test]
fn a_death_at_any_point_loses_no_iteration_and_ends_as_without_it() {
    let edits = [Edit::Break(0), Edit::Fix(2)];
    let undisturbed = run(policy(|_| {}), project(3), Script::edits(&edits));
    for cut in 1..undisturbed.journal.len() {
        for point in [Point::BeforeRecord, Point::BeforeEffect] {
            let mut script = Script::edits(&edits);
            let mut disturbed = Run::new(policy(|_| {}), project(3));
            struct At<'a>(&'a mut Script, usize, Point);
            impl models::drive::Fate for At<'_> {
                fn act(&mut self, effect: &engine::Effect) -> models::act::Act {
                    self.0.act(effect)
                }
                fn crash(&mut self, point: Point, journal: &[Event]) -> bool {
                    journal.len() == self.1 && point == self.2
                }
            }
            let ended = disturbed.live(&mut At(&mut script, cut, point)).unwrap();
            if ended == Ended::Crashed {
                go_on(&mut disturbed, &mut script);
            }
            let halted = halt(&disturbed.journal).unwrap();
            assert_eq!(
                (halted.reason, halted.iteration),
                (R::SuccessConditionMet, 2),
                "cut at {cut}"
            );
            assert!(disturbed.world.tree.really_green());
        }
    }
}

#[test]
fn a_stop_in_every_room_is_resumable_and_has_no_halt() {
    let edits = [Edit::Break(0), Edit::Fix(2)];
    let names: Vec<&'static str> = run(policy(|_| {}), project(3), Script::edits(&edits))
        .journal
        .iter()
        .map(Event::name)
        .collect();
    // Between the two facts of an effect the driver waits for it and does not stop.
    for name in names
        .iter()
        .filter(|name| **name != "halted" && !name.ends_with("_began"))
    {
        let mut script = Script::edits(&edits).stop(name);
        let mut run = Run::new(policy(|_| {}), project(3));
        assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended, "{name}");
        let state = run.state().unwrap();
        assert!(state.facts.halted.is_none() && state.resumable().is_ok(), "{name}");
        assert_eq!(state.next(), engine::Next::Stop);
        go_on(&mut run, &mut script);
        assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet), "{name}");
    }
}

#[test]
fn a_signal_that_cut_a_turn_short_is_no_failure_after_the_resume() {
    for on_timeout in [OnExecTimeout::Check, OnExecTimeout::Halt] {
        let mut script = Script {
            turns: vec![Turn::ends(End::Stop(StopCause::Cancelled)), Turn::does(Edit::Fix(2))],
            ..Script::default()
        }
        .stop("execute_ended");
        let mut run = Run::new(policy(|p| p.failures.on_exec_timeout = on_timeout), project(3));
        assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
        go_on(&mut run, &mut script);
        ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2");
    }
}

#[test]
fn a_signal_that_cut_a_check_short_asks_it_again() {
    let cancelled = Look::Stop(StopCause::Cancelled);
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, cancelled, Look::Honest, cancelled]);
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->cancelled iteration#2 ->0 walk:after_check guards vet accept confirmation#1 ->cancelled confirmation#2 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn a_run_that_is_done_or_compromised_is_not_continued() {
    let done = run(policy(|_| {}), project(7), Script::default());
    let caught = run(
        policy(|_| {}),
        project(3),
        Script::edits(&[Edit::Cheat(SurfaceClass::Blocked)]),
    );
    for mut run in [done, caught] {
        let state = run.state().unwrap();
        assert!(state.resumable().is_err());
        let resumed = state.resume(Stamp::default(), "0".into(), String::new(), 0);
        assert!(state.apply(&resumed).is_err());
        assert!(run.live(&mut Script::default()).is_err());
    }
}

#[test]
fn a_surface_that_changed_between_two_lives_halts_before_the_next_turn() {
    let mut script = Script::edits(&[Edit::Fix(0)]).stop("checkpointed");
    let mut run = Run::new(policy(|_| {}), project(0));
    run.live(&mut script).unwrap();
    run.world.tree.watched = 1;
    go_on(&mut run, &mut script);
    ends(
        &run,
        R::BlockedPathModified,
        "surface_drift",
        "tests/a.sh was modified since t0",
    );
    assert!(run.journal.iter().all(|event| event.name() != "execute_began"));
}

#[test]
fn tests_that_the_contract_lets_grow_are_no_drift() {
    // Under `extend` a watched test that was added and accepted is part of the accepted line.
    let bend = |p: &mut Policy| {
        p.guards.surface = Surface::Extend;
        p.guards.off = vec!["protected_manifest".into()];
    };
    let mut script = Script::edits(&[Edit::Salt(1), Edit::Fix(2)]);
    script.stops = vec!["checkpointed"];
    let mut run = Run::new(policy(bend), project(3));
    run.live(&mut script).unwrap();
    run.world.tree.watched = 2;
    go_on(&mut run, &mut script);
    assert_ne!(
        halt(&run.journal).unwrap().cause,
        "surface_drift",
        "the guard of that class is off"
    );
}

#[test]
fn a_check_that_was_broken_at_the_start_is_mended_and_the_baseline_begins_anew() {
    let mut script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Code(127)]);
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::ExecutionFailure));
    // Mending the check is a person's change of the surface: t0 is what is there afterwards.
    run.world.tree.salt = 9;
    go_on(&mut run, &mut script);
    told(
        &run,
        "open walk:baseline baseline#1 ->127
         halt execution_failure check_not_found
         resume walk:baseline baseline#1 ->1 walk:after_check guards accept:same progress checkpoint
         1 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
         halt success_condition_met check_passed",
    );
}

#[test]
fn a_green_baseline_stays_inadequate_after_a_resume() {
    let mut run = Run::new(policy(|p| p.oracle.require_red = true), project(7));
    let mut script = Script::default();
    for _ in 0..2 {
        assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::CheckInadequate));
    }
    assert!(run.journal.iter().all(|event| event.name() != "execute_began"));
}

#[test]
fn working_time_is_counted_over_all_lives() {
    let mut script = Script::edits(&[Edit::Salt(1), Edit::Salt(2)]);
    script.stops = vec!["checkpointed"];
    let mut run = Run::new(policy(|p| p.bounds.timeout_ms = Some(9_000)), project(3));
    run.live(&mut script).unwrap();
    script.stops = vec!["execute_ended"];
    run.live(&mut script).unwrap();
    go_on(&mut run, &mut script);
    ends(&run, R::BudgetExceeded, "run_deadline", "9000 ms were allowed");
    assert_eq!(halt(&run.journal).unwrap().iteration, 2);
}

#[test]
fn a_cheat_that_died_with_the_governor_is_still_judged() {
    for bend in [OnViolation::Halt, OnViolation::Restore] {
        let script = Script::edits(&[Edit::Cheat(SurfaceClass::Blocked), Edit::Fix(2)])
            .crash(Point::AfterEffect, "execute_began");
        let run = run(policy(|p| p.guards.on_violation = bend), project(3), script);
        match bend {
            OnViolation::Halt => ends(&run, R::BlockedPathModified, "blocked_paths", "tests/a.sh"),
            OnViolation::Restore => ends(&run, R::SuccessConditionMet, "check_passed", "iteration 2"),
        }
    }
}

#[test]
fn a_stop_while_a_command_runs_is_answered_in_the_next_life() {
    let mut run = Run::new(policy(|_| {}), project(3));
    let mut script = Script::edits(&[Edit::Fix(2)]).crash(Point::AfterBegan, "execute_began");
    run.live(&mut script).unwrap();
    let state = run.state().unwrap();
    let suspended = state.suspend(
        engine::event::run::SuspendCause::Signal,
        15,
        String::new(),
        Stamp::default(),
    );
    run.journal.push(suspended);
    go_on(&mut run, &mut script);
    assert_eq!(reason(&run.journal), Some(R::SuccessConditionMet));
}
