//! Commands that fail, hang or ask.

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::measurement::StopCause;
use engine::event::policy::{Command, OnCheckTimeout, OnExecFailure, OnExecTimeout, Policy};
use models::act::{Edit, End, Look, Slice, Turn};
use models::script::Script;

use super::{RED, ends, policy, project, run, told};

fn turns(turns: &[Turn]) -> Script {
    Script {
        turns: turns.to_vec(),
        ..Script::default()
    }
}

#[test]
fn a_failing_agent_halts_by_default_after_its_tree_was_kept() {
    let run = run(policy(|_| {}), project(3), turns(&[Turn::ends(End::Exit(3))]));
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->3 walk:after_exec
             halt execution_failure work_command_failed"
        ),
    );
    ends(&run, R::ExecutionFailure, "work_command_failed", "exited with status 3");
}

#[test]
fn a_failing_agent_may_go_on_and_the_check_decides() {
    let bend = |p: &mut Policy| p.failures.on_exec_failure = OnExecFailure::Continue;
    let fixes = Turn {
        edit: Edit::Fix(2),
        end: End::Exit(3),
    };
    ends(
        &run(policy(bend), project(3), turns(&[fixes])),
        R::SuccessConditionMet,
        "check_passed",
        "iteration 1",
    );
}

#[test]
fn retries_are_bounded_and_backed_off() {
    let bend = |p: &mut Policy| p.failures.on_exec_failure = OnExecFailure::Retry;
    let run = run(policy(bend), project(3), turns(&[Turn::ends(End::Exit(1))]));
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->1 retry:1000ms waited exec#2 ->1 retry:2000ms waited exec#3 ->1 retry:4000ms waited exec#4 ->1 walk:after_exec
             halt execution_failure retries_exhausted"
        ),
    );
}

#[test]
fn a_retry_that_works_goes_on_to_the_check() {
    let bend = |p: &mut Policy| p.failures.on_exec_failure = OnExecFailure::Retry;
    let script = turns(&[Turn::ends(End::Signal(11)), Turn::does(Edit::Fix(2))]);
    let run = run(policy(bend), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->signal:11 retry:1000ms waited exec#2 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn a_backoff_never_exceeds_a_minute() {
    let bend = |p: &mut Policy| {
        p.failures.on_exec_failure = OnExecFailure::Retry;
        p.failures.exec_retries_max = 40;
    };
    let run = run(policy(bend), project(3), turns(&[Turn::ends(End::Exit(1))]));
    let delays: Vec<u64> = run
        .journal
        .iter()
        .filter_map(|event| match event {
            Event::RetryScheduled(retry) => Some(retry.delay_ms),
            _ => None,
        })
        .collect();
    assert_eq!(delays.len(), 40);
    assert_eq!(
        &delays[..8],
        [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    );
    assert!(delays.iter().all(|delay| *delay <= 60_000));
}

#[test]
fn instant_failures_in_a_row_halt_whatever_the_policy() {
    let bend = |p: &mut Policy| p.failures.on_exec_failure = OnExecFailure::Continue;
    let script = turns(&[Turn::ends(End::Instant(1))]);
    let run = run(policy(bend), project(3), script);
    ends(
        &run,
        R::ExecutionFailure,
        "instant_failures",
        "instant_failures_max = 3",
    );
}

#[test]
fn a_command_that_is_not_there_halts_whatever_the_policy() {
    let bend = |p: &mut Policy| p.failures.on_exec_failure = OnExecFailure::Retry;
    for (end, cause) in [
        (End::NotFound, "exec_not_found"),
        (End::Exit(127), "exec_not_found"),
        (End::Exit(126), "exec_not_executable"),
    ] {
        ends(
            &run(policy(bend), project(3), turns(&[Turn::ends(end)])),
            R::ExecutionFailure,
            cause,
            "the work command",
        );
    }
}

#[test]
fn a_turn_that_ran_out_of_time_is_killed_and_the_check_still_decides() {
    for stop in [
        StopCause::Deadline,
        StopCause::Idle,
        StopCause::FirstOutput,
        StopCause::OutputCap,
    ] {
        let slow = Turn {
            edit: Edit::Fix(2),
            end: End::Stop(stop),
        };
        ends(
            &run(policy(|_| {}), project(3), turns(&[slow])),
            R::SuccessConditionMet,
            "check_passed",
            "iteration 1",
        );
        let halting = policy(|p| p.failures.on_exec_timeout = OnExecTimeout::Halt);
        ends(
            &run(halting, project(3), turns(&[slow])),
            R::ExecutionFailure,
            &format!("{stop}_exceeded"),
            "stopped",
        );
    }
}

#[test]
fn an_oracle_failure_halts_at_once_and_is_never_red() {
    for (look, cause) in [
        (Look::Code(127), "check_not_found"),
        (Look::Code(126), "check_not_executable"),
        (Look::Code(137), "check_killed"),
        (Look::Signal(9), "check_killed"),
        (Look::Stop(StopCause::Deadline), "check_deadline_exceeded"),
        (Look::Stop(StopCause::Idle), "check_idle_exceeded"),
        (Look::Stop(StopCause::FirstOutput), "check_first_output_exceeded"),
        (Look::Stop(StopCause::OutputCap), "check_output_cap_exceeded"),
    ] {
        let at_start = run(policy(|_| {}), project(3), Script::default().looks(&[look]));
        ends(&at_start, R::ExecutionFailure, cause, "the check");
        let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, look]);
        ends(
            &run(policy(|_| {}), project(3), script),
            R::ExecutionFailure,
            cause,
            "the check",
        );
        let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Honest, Look::Honest, look]);
        ends(
            &run(policy(|_| {}), project(3), script),
            R::ExecutionFailure,
            cause,
            "the check",
        );
    }
}

#[test]
fn a_check_timeout_can_count_as_red_and_regresses_everything() {
    let bend = |p: &mut Policy| p.failures.on_check_timeout = OnCheckTimeout::Red;
    let stop = Look::Stop(StopCause::Deadline);
    let script = Script::edits(&[Edit::Salt(1), Edit::Fix(2)]).looks(&[Look::Honest, stop, stop]);
    let run = run(policy(bend), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec iteration#1 ->deadline walk:after_check guards recheck#1 ->deadline reject:regressed restore#1 ->ok walk:after_restore progress checkpoint
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

/// No member was ever named, so nothing but the lack of an exit status speaks against it.
#[test]
fn a_check_that_never_ends_in_time_is_never_green() {
    let bend = |p: &mut Policy| {
        p.failures.on_check_timeout = OnCheckTimeout::Red;
        p.bounds.max_iterations = 2;
    };
    let script = Script::edits(&[Edit::Fix(2)]).looks(&[Look::Stop(StopCause::Deadline); 20]);
    let run = run(policy(bend), project(3), script);
    ends(&run, R::MaxIterationsReached, "unmeasured", "2 iterations");
}

#[test]
fn an_agent_that_asks_for_a_person_halts_with_its_words_quoted() {
    let run = run(policy(|_| {}), project(3), turns(&[Turn::ends(End::Ask)]));
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec
             halt human_required asked"
        ),
    );
    ends(&run, R::HumanRequired, "asked", "\"which port?\"");
}

#[test]
fn a_slice_that_cannot_be_written_halts() {
    let script = Script {
        slices: vec![Slice::Fails],
        ..Script::default()
    };
    let run = run(policy(|_| {}), project(3), script);
    told(
        &run,
        &format!(
            "{RED}
             1 context! walk:after_exec
             halt execution_failure context_not_written"
        ),
    );
}

#[test]
fn the_run_deadline_ends_a_turn_a_check_and_the_wait_for_another() {
    let bend = |p: &mut Policy| p.bounds.timeout_ms = Some(4_000);
    let cut = turns(&[Turn::ends(End::Stop(StopCause::RunDeadline))]);
    ends(
        &run(policy(bend), project(3), cut),
        R::BudgetExceeded,
        "run_deadline",
        "4000 ms were allowed",
    );
    let script = Script::default().looks(&[Look::Stop(StopCause::RunDeadline)]);
    ends(
        &run(policy(bend), project(3), script),
        R::BudgetExceeded,
        "run_deadline",
        "4000 ms",
    );
    // A turn of five seconds overruns four: no second turn is started.
    let run = run(policy(bend), project(3), Script::edits(&[Edit::Salt(1)]));
    ends(&run, R::BudgetExceeded, "run_deadline", "working time are used");
    assert_eq!(run.journal.iter().filter(|e| e.name() == "execute_began").count(), 1);
}

#[test]
fn an_unfit_contract_halts_before_anything_is_asked_of_the_world() {
    let run = run(
        policy(|p| p.oracle.check = Command::default()),
        project(3),
        Script::default(),
    );
    told(&run, "open\nhalt workspace_invalid check_missing");
    assert!(run.state().unwrap().resumable().is_err());
}

#[test]
fn an_answer_to_another_question_is_an_internal_error() {
    let run = models::drive::Run::new(policy(|_| {}), project(3));
    let state = run.state().unwrap();
    let engine::Next::Perform(effect) = state.next() else {
        panic!("t0 is asked for")
    };
    let answer = engine::Observation::Waited {
        at: engine::event::id::Stamp::default(),
    };
    let event = state.observe(&effect, answer);
    let state = state.apply(&event).unwrap();
    let halted = state.facts.halted.clone().unwrap();
    assert_eq!(
        (halted.reason, halted.cause.as_str()),
        (R::InternalError, "foreign_answer")
    );
    assert!(state.resumable().is_err());
}
