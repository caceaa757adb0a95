//! Money over several lives: what one life booked counts in the next, because all of it is the fold.

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::money::{CallStatus, Reserved, ReservedCall, Settled, UsedCall};
use engine::event::policy::{OnExecFailure, Policy};
use engine::{Effect, Next};
use models::act::{Edit, End, Turn};
use models::drive::{Ended, Point, Run};
use models::script::Script;

use super::{ends, go_on, policy, project};

fn reserved(iteration: u32, id: &str, max_microusd: u64) -> Event {
    let call = ReservedCall {
        id: id.into(),
        phase: "execute".into(),
        max_microusd,
        max_tokens: 0,
    };
    Reserved {
        iteration,
        enforced: false,
        calls: vec![call],
    }
    .into()
}

fn settled(iteration: u32, id: &str, microusd: u64) -> Event {
    let call = UsedCall {
        id: id.into(),
        phase: "execute".into(),
        status: CallStatus::Actual,
        model: "m".into(),
        microusd: Some(microusd),
        tokens_in: Some(10),
        tokens_out: Some(1),
    };
    Settled {
        iteration,
        source: "test".into(),
        calls: vec![call],
        error: String::new(),
    }
    .into()
}

/// A run with a budget of 100 whose governor dies in the work of iteration 1, with 60 set aside for it.
fn died_with_a_reservation() -> (Run, Script) {
    let mut script = Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]);
    script.stops = vec!["context_built"];
    let mut run = Run::new(policy(|p| p.bounds.budget_microusd = Some(100)), project(0));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    run.journal.push(reserved(1, "r/1/exec/a", 60));
    let mut script = script.crash(Point::AfterEffect, "execute_began");
    assert_eq!(run.live(&mut script).unwrap(), Ended::Crashed);
    (run, script)
}

#[test]
fn what_was_set_aside_in_one_life_is_not_left_in_the_next() {
    let (mut run, mut script) = died_with_a_reservation();
    script.stops = vec!["checkpointed"];
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    let facts = run.state().unwrap().facts;
    assert_eq!((facts.resumes, facts.spend.reserved_microusd), (2, 60));
    assert_eq!(facts.budget_left_microusd(), Some(40));
    // Asked again under the same id it is the same reservation.
    run.journal.push(reserved(1, "r/1/exec/a", 60));
    assert_eq!(run.state().unwrap().facts.budget_left_microusd(), Some(40));
}

#[test]
fn the_agent_of_a_later_life_is_told_what_is_left_over_all_of_them() {
    let (mut run, mut script) = died_with_a_reservation();
    run.journal.push(settled(1, "r/1/exec/a", 30));
    let mut script_told = Vec::new();
    script.stops = vec!["checkpointed"];
    run.live(&mut script).unwrap();
    go_on(&mut run, &mut script);
    for end in 1..=run.journal.len() {
        if let Next::Perform(Effect::BuildContext(request)) = engine::State::fold(&run.journal[..end]).unwrap().next() {
            script_told.push(request.budget_left_microusd);
        }
    }
    assert_eq!(script_told.first(), Some(&Some(100)));
    assert_eq!(script_told.last(), Some(&Some(70)));
}

#[test]
fn usage_of_two_lives_adds_up_to_one_budget_and_a_repeat_adds_nothing() {
    let (mut run, mut script) = died_with_a_reservation();
    run.journal.push(settled(1, "r/1/exec/a", 60));
    script.stops = vec!["execute_ended"];
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    // The adapter of the second life reports the first call once more, and its own.
    run.journal.push(settled(1, "r/1/exec/a", 60));
    run.journal.push(settled(2, "r/2/exec/a", 60));
    let spend = run.state().unwrap().facts.spend;
    assert_eq!(
        (spend.microusd, spend.calls, spend.tokens, spend.reserved_microusd),
        (120, 2, 22, 0)
    );
    go_on(&mut run, &mut script);
    ends(
        &run,
        R::BudgetExceeded,
        "spend",
        "120 micro-USD are spent of 100, 20 more than allowed",
    );
}

#[test]
fn a_retry_is_not_paid_for_once_the_budget_is_spent() {
    let retried = |p: &mut Policy| {
        p.bounds.budget_microusd = Some(100);
        p.failures.on_exec_failure = OnExecFailure::Retry;
    };
    let mut script = Script {
        turns: vec![Turn::ends(End::Exit(1))],
        stops: vec!["execute_ended"],
        ..Script::default()
    };
    let mut run = Run::new(policy(retried), project(0));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Suspended);
    run.journal.push(settled(1, "r/1/exec/a", 100));
    go_on(&mut run, &mut script);
    ends(&run, R::BudgetExceeded, "spend", "100 micro-USD are spent of 100");
    let worked = run.journal.iter().filter(|event| event.name() == "execute_began");
    assert_eq!(worked.count(), 1);
}
