//! From advice to a command line that can be pasted.

use std::path::Path;

use engine::Facts;
use engine::advice::{NextStep, advise};
use engine::event::halt::HaltReason;
use engine::event::run::{Halted, SuspendCause, Suspended};
use engine::progress::trend::trend;

use crate::outcome::Advice;
use crate::which::workdir_flag;

/// Iterations that are proposed when the slope says nothing.
const MORE_ITERATIONS: u32 = 5;
/// More than this is never proposed.
const MOST_ITERATIONS: u32 = 1_000;

/// What to make of a halted run.
pub(crate) fn of_halt(facts: &Facts, halted: &Halted, workdir: &Path) -> Advice {
    let advice = advise(facts, halted);
    Advice {
        verdict: advice.verdict.label(),
        why: advice.why,
        next: command(advice.next, facts, halted, workdir),
    }
}

/// What to make of a suspended one: nothing is said about its work.
pub(crate) fn of_suspension(facts: &Facts, suspended: &Suspended, workdir: &Path) -> Advice {
    let why = match suspended.cause {
        SuspendCause::Signal => format!(
            "The run was interrupted by signal {} and is not over; nothing is lost.",
            suspended.code
        ),
        SuspendCause::Storage => format!(
            "The run could not keep its record ({}) and stopped before it did anything unrecorded.",
            suspended.detail
        ),
    };
    let verdict = match suspended.cause {
        SuspendCause::Signal => "interrupted",
        SuspendCause::Storage => "fix-substrate",
    };
    Advice {
        verdict,
        why,
        next: format!("loopexec resume {}{}", facts.opened.run_id, workdir_flag(workdir)),
    }
}

fn command(step: NextStep, facts: &Facts, halted: &Halted, workdir: &Path) -> String {
    let (run, place) = (&facts.opened.run_id, workdir_flag(workdir));
    match step {
        NextStep::Replay => format!("loopexec replay {run}{place}"),
        NextStep::ResumeWithMore => format!("loopexec resume {run}{place}{}", more(facts, halted)),
        NextStep::Resume => format!("loopexec resume {run}{place}"),
        NextStep::AckThenResume => {
            format!("loopexec ack {run}{place} --reviewer \"$USER\" && loopexec resume {run}{place}")
        }
        NextStep::Report => format!("loopexec report {run}{place}"),
        NextStep::RunAnew => format!("loopexec run --dry-run{place}"),
    }
}

/// The limit that stopped the run, raised.
fn more(facts: &Facts, halted: &Halted) -> String {
    let doubled = |limit: Option<u64>| limit.unwrap_or(0).saturating_mul(2).max(1);
    match (halted.reason, halted.cause.as_str()) {
        (HaltReason::BudgetExceeded, "run_deadline") => {
            let limit = doubled(facts.bounds.timeout_ms);
            format!(" --timeout {}", shell::config::duration::show(limit))
        }
        (HaltReason::BudgetExceeded, _) if facts.bounds.budget_microusd.is_some() => {
            let limit = doubled(facts.bounds.budget_microusd);
            format!(" --budget-usd {}", shell::config::money::show(limit))
        }
        _ => format!(" --max-iterations {}", facts.iteration.saturating_add(needed(facts))),
    }
}

/// How many iterations are still needed if the slope holds (SPEC 4.3.6).
fn needed(facts: &Facts) -> u32 {
    let trend = trend(&facts.history, &facts.policy().thresholds, facts.iteration);
    let best = facts.history.best;
    match best.and_then(|best| trend.iterations_needed(best.failing)) {
        Some(needed) => u32::try_from(needed).unwrap_or(u32::MAX).clamp(1, MOST_ITERATIONS),
        None => MORE_ITERATIONS,
    }
}
