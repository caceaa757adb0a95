//! What a person does between two lives: an answer, an acknowledgement, a limit that is raised.

use engine::event::Event;
use engine::event::halt::HaltReason as R;
use engine::event::id::Stamp;
use engine::event::money::{CallStatus, Settled, UsedCall};
use engine::event::people::Acked;
use engine::event::run::Amended;
use models::act::{Edit, End, Turn};
use models::drive::{Ended, Run};
use models::script::{Script, halt};

use super::{RED, ends, go_on, policy, project, told};

fn amendment() -> Amended {
    Amended {
        at: Stamp::default(),
        by: "person".into(),
        max_iterations: None,
        timeout_ms: None,
        command_timeout_ms: None,
        check_timeout_ms: None,
        budget_microusd: None,
    }
}

fn ack() -> Event {
    Acked {
        at: Stamp::default(),
        reviewer: "ada".into(),
        through_iteration: 1,
        key: String::new(),
        signature: String::new(),
        note: String::new(),
    }
    .into()
}

#[test]
fn a_question_is_answered_and_the_run_continues() {
    let mut script = Script {
        turns: vec![Turn::ends(End::Ask), Turn::does(Edit::Fix(2))],
        ..Script::default()
    };
    let mut run = Run::new(policy(|_| {}), project(3));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::HumanRequired));
    run.journal.push(ack());
    go_on(&mut run, &mut script);
    told(
        &run,
        &format!(
            "{RED}
             1 context exec#1 ->0 walk:after_exec
             halt human_required asked acked
             resume walk:resume resume#1 ->1 walk:after_check
             2 context exec#1 ->0 walk:after_exec iteration#1 ->0 walk:after_check guards vet accept confirmation#1 ->0 walk:after_check guards progress checkpoint
             halt success_condition_met check_passed"
        ),
    );
}

#[test]
fn comprehension_debt_halts_until_a_person_acknowledges() {
    let mut script = Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]);
    let mut run = Run::new(policy(|p| p.thresholds.comprehension_every = 2), project(0));
    let debt = Ended::Halted(R::ComprehensionDebtExceeded);
    assert_eq!(run.live(&mut script).unwrap(), debt);
    assert_eq!(run.live(&mut script).unwrap(), debt, "a resume alone pays no debt");
    run.journal.push(ack());
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::SuccessConditionMet));
}

#[test]
fn a_spent_budget_halts_before_the_next_turn_and_can_be_raised() {
    let mut script = Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]).stop("execute_ended");
    let mut run = Run::new(policy(|p| p.bounds.budget_microusd = Some(100)), project(0));
    run.live(&mut script).unwrap();
    let call = UsedCall {
        id: "r/1/exec/1".into(),
        phase: "execute".into(),
        status: CallStatus::Actual,
        model: "m".into(),
        microusd: Some(120),
        tokens_in: None,
        tokens_out: None,
    };
    let settled = Settled {
        iteration: 1,
        source: "test".into(),
        calls: vec![call],
        error: String::new(),
    };
    run.journal.push(settled.into());
    go_on(&mut run, &mut script);
    ends(&run, R::BudgetExceeded, "spend", "20 more than allowed");
    assert_eq!(halt(&run.journal).unwrap().iteration, 1);
    let more = Amended {
        budget_microusd: Some(1_000),
        ..amendment()
    };
    run.amend(more).unwrap();
    go_on(&mut run, &mut script);
    ends(&run, R::SuccessConditionMet, "check_passed", "iteration 3");
}

#[test]
fn a_raised_cap_continues_where_the_run_stopped() {
    let mut script = Script::edits(&[Edit::Fix(0), Edit::Fix(1), Edit::Fix(2)]);
    let mut run = Run::new(policy(|p| p.bounds.max_iterations = 2), project(0));
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::MaxIterationsReached));
    assert_eq!(
        run.live(&mut script).unwrap(),
        Ended::Halted(R::MaxIterationsReached),
        "a resume alone raises nothing"
    );
    run.amend(Amended {
        max_iterations: Some(4),
        ..amendment()
    })
    .unwrap();
    assert_eq!(run.live(&mut script).unwrap(), Ended::Halted(R::SuccessConditionMet));
    assert_eq!(
        halt(&run.journal).unwrap().iteration,
        3,
        "no hole and no double in the numbers"
    );
}
