//! BuildContext: may another turn start, and with what does the agent start it?
//!
//! The caps live here, because here nothing is under way: a raised limit after a resume is looked at
//! again before anything is spent.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use super::execute::Execute;
use super::{Illegal, Phase, Room, halt};
use crate::effect::{ContextRequest, Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::PhaseName;
use crate::facts::Facts;
use crate::progress::trend;
use crate::words::counted;

/// Failing members named to the agent; the rest is counted.
const FAILING_NAMED: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BuildContext;

impl Room for BuildContext {
    const NAME: PhaseName = PhaseName::BuildContext;

    fn next(&self, facts: &Facts) -> Next {
        cap(facts).unwrap_or_else(|| Next::Perform(Effect::BuildContext(Box::new(request(facts)))))
    }

    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let Event::ContextBuilt(built) = event else {
            return Err(Self::illegal(event, "the context is built first"));
        };
        if built.iteration != facts.iteration + 1 {
            return Err(Self::illegal(event, "iterations are numbered without a hole"));
        }
        facts.iteration = built.iteration;
        Ok(Phase::Execute(Execute::new(facts, built.error.clone())))
    }
}

fn request(facts: &Facts) -> ContextRequest {
    // What the workdir holds is the accepted line, also after a turn that was put back.
    let failing = facts
        .accepted
        .as_ref()
        .map(|accepted| accepted.failing.clone())
        .unwrap_or_default();
    let last = facts.last_check.as_deref();
    ContextRequest {
        iteration: facts.iteration + 1,
        iterations_left: facts.bounds.max_iterations - facts.iteration - 1,
        time_left_ms: facts.time_left_ms(),
        budget_left_microusd: facts.budget_left_microusd(),
        check_exit: facts.check_exit(),
        failing: failing.iter().take(FAILING_NAMED).cloned().collect(),
        failing_total: u64::try_from(failing.len()).unwrap_or(u64::MAX),
        told: facts.told.clone(),
        stdout: last.map(|check| check.run.stdout.clone()).unwrap_or_default(),
        stderr: last.map(|check| check.run.stderr.clone()).unwrap_or_default(),
    }
}

/// The cap that forbids another turn, in order of precedence (SPEC 4.5).
fn cap(facts: &Facts) -> Option<Next> {
    let every = facts.policy().thresholds.comprehension_every;
    if every > 0 && facts.people.unread >= every {
        let unread = counted(facts.people.unread.into(), "accepted change");
        let detail = format!("{unread} unread (comprehension_every = {every})");
        return Some(halt(
            facts,
            HaltReason::ComprehensionDebtExceeded,
            "unread_changes",
            &detail,
        ));
    }
    if let Some(halt) = spent(facts) {
        return Some(halt);
    }
    if let Some(limit) = facts.bounds.timeout_ms
        && facts.elapsed_ms >= limit
    {
        return Some(out_of_time(facts));
    }
    (facts.iteration >= facts.bounds.max_iterations).then(|| iteration_cap(facts))
}

/// The budget is spent: no attempt at the work is paid for any more, neither a first one nor a retry.
pub(crate) fn spent(facts: &Facts) -> Option<Next> {
    let limit = facts.bounds.budget_microusd?;
    let spent = facts.spend.microusd;
    (spent >= limit).then(|| halt(facts, HaltReason::BudgetExceeded, "spend", &overshoot(spent, limit)))
}

/// The working time of the whole run is spent.
pub(crate) fn out_of_time(facts: &Facts) -> Next {
    let limit = facts.bounds.timeout_ms.unwrap_or(0);
    let detail = format!(
        "{} ms of working time are used and {limit} ms were allowed",
        facts.elapsed_ms
    );
    halt(facts, HaltReason::BudgetExceeded, "run_deadline", &detail)
}

fn overshoot(spent: u64, limit: u64) -> String {
    let over = spent - limit;
    format!("{spent} micro-USD are spent of {limit}, {over} more than allowed")
}

fn iteration_cap(facts: &Facts) -> Next {
    let thresholds = &facts.policy().thresholds;
    let trend = trend::trend(&facts.history, thresholds, facts.iteration);
    let left = facts.accepted.as_ref().map_or(0, |accepted| accepted.failing.len());
    let left = counted(left as u64, "member");
    let n = counted(facts.iteration.into(), "iteration");
    let (cause, detail) = match facts.history.best {
        Some(best) if trend.improving => (
            "still_improving",
            format!(
                "{n} used with {left} still failing; still improving, {}.{:03} fewer an iteration, best {} at \
                 iteration {}",
                trend.slope_milli / 1_000,
                trend.slope_milli % 1_000,
                best.failing,
                best.iteration
            ),
        ),
        Some(best) => (
            "stalled",
            format!(
                "{n} used with {left} still failing; stalled at {} since iteration {}",
                best.failing, best.iteration
            ),
        ),
        None => ("unmeasured", format!("{n} used and the check is still red")),
    };
    halt(facts, HaltReason::MaxIterationsReached, cause, &detail)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::event::id::Stamp;
    use crate::event::policy::Policy;
    use crate::event::run::RunOpened;

    /// Every cap is reached at once.
    fn exhausted() -> Facts {
        let mut policy = Policy::default();
        policy.thresholds.comprehension_every = 2;
        policy.bounds.max_iterations = 3;
        policy.bounds.timeout_ms = Some(10);
        policy.bounds.budget_microusd = Some(100);
        let opened = RunOpened {
            at: Stamp::default(),
            run_id: "r".into(),
            engine: String::new(),
            workdir: "/w".into(),
            boot_id: String::new(),
            policy_digest: crate::event::id::Digest::ZERO,
            policy,
            origins: [].into(),
            programs: [].into(),
            probe: None,
            zones: [].into(),
        };
        let mut facts = crate::State::open(opened).facts;
        facts.people.unread = 2;
        facts.spend.microusd = 100;
        facts.elapsed_ms = 10;
        facts.iteration = 3;
        *facts
    }

    #[test]
    fn caps_are_judged_in_the_order_of_the_contract() {
        let mut facts = exhausted();
        let mut causes = Vec::new();
        while let Some(Next::Record(Event::Halted(halted))) = cap(&facts) {
            causes.push((halted.reason, halted.cause.clone()));
            match causes.len() {
                1 => facts.people.unread = 1,
                2 => facts.bounds.budget_microusd = Some(101),
                3 => facts.bounds.timeout_ms = Some(11),
                _ => facts.bounds.max_iterations = 4,
            }
        }
        let expected = [
            (HaltReason::ComprehensionDebtExceeded, "unread_changes"),
            (HaltReason::BudgetExceeded, "spend"),
            (HaltReason::BudgetExceeded, "run_deadline"),
            (HaltReason::MaxIterationsReached, "unmeasured"),
        ];
        assert_eq!(causes, expected.map(|(reason, cause)| (reason, cause.into())));
    }
}
