//! What the evidence of a run does not cover, and why: a receipt that is silent about it would promise too much.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Report;
use crate::event::finding::{GuardRun, GuardState};
use crate::event::policy::{Metering, ModelPin};
use crate::state::State;
use crate::vet;

/// One thing that nobody looked at, or that nothing holds up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The guard, or what else is missing.
    pub what: String,
    /// One clause.
    pub why: String,
}

fn gap(what: &str, why: impl Into<String>) -> Gap {
    Gap {
        what: what.into(),
        why: why.into(),
    }
}

/// Everything that is not covered, guards first.
pub fn gaps(state: &State, report: &Report) -> Vec<Gap> {
    let mut gaps = guards(report);
    let (facts, policy) = (&state.facts, state.facts.policy());
    if !policy.oracle.baseline {
        gaps.push(gap("baseline", "the check did not run before the work"));
    }
    if !policy.guards.confirm {
        gaps.push(gap("confirmation", "a green check was not run once more"));
    }
    let checked = report.rows.iter().rev().find(|row| row.check().is_some());
    if checked.is_some_and(|row| row.collector.is_empty()) {
        gaps.push(gap(
            "tests",
            "nothing could read which tests there are; the exit status is all that is known",
        ));
    }
    if let Some(held) = facts.degraded() {
        gaps.push(gap("isolation", held));
    } else if !policy.isolation.zones {
        gaps.push(gap("isolation", "work and check ran with the rights of the user"));
    }
    let undeclared = undeclared(&policy.pins.model);
    if !undeclared.is_empty() {
        gaps.push(gap("model", format!("undeclared: {}", undeclared.join(", "))));
    }
    match policy.money.metering {
        Metering::Unmetered => gaps.push(gap("cost", "nothing measured what the work cost")),
        Metering::Observed | Metering::Strict if facts.spend.unknown => {
            gaps.push(gap("cost", "some call had no known price"));
        }
        Metering::Observed | Metering::Strict => {}
    }
    gaps
}

/// Guards of the newest judgement that did not look, and those that never spoke.
fn guards(report: &Report) -> Vec<Gap> {
    let Some(judged) = report.rows.iter().rev().find(|row| !row.guards.is_empty()) else {
        return [gap("guards", "no iteration came to be judged")].into();
    };
    let silent = judged.guards.iter().filter(|run| run.state != GuardState::Active);
    let mut gaps: Vec<Gap> = silent.map(|run| gap(&run.guard, reason(run))).collect();
    let spoke = |name: &str| judged.guards.iter().any(|run| run.guard == name);
    let asked = |vet: &vet::Vet| {
        let mut own = judged.guards.iter().filter(|run| run.guard == vet.name);
        own.any(|run| run.state == GuardState::Active)
    };
    if vet::ASKING.iter().all(|vet| spoke(vet.name)) && !vet::ASKING.iter().copied().any(asked) {
        let why = "nothing that must fail could be put to the check when the work was done: that it can still be red is not shown";
        gaps.push(gap("failing", why));
    }
    let missing: Vec<&str> = vet::ALL
        .iter()
        .map(|vet| vet.name)
        .filter(|name| !spoke(name))
        .collect();
    if !missing.is_empty() {
        let why = "it is a guard before green, and none was due when guards judged last";
        gaps.extend(missing.into_iter().map(|name| gap(name, why)));
    }
    gaps
}

fn reason(run: &GuardRun) -> String {
    let state = match run.state {
        GuardState::Active => "active",
        GuardState::Unavailable => "it could not run",
        GuardState::NotApplicable => "it does not apply",
        GuardState::Off => "it is off",
        GuardState::Deferred => "it left what it saw to kill_set",
    };
    if run.note.is_empty() {
        state.into()
    } else {
        format!("{state}: {}", run.note)
    }
}

fn undeclared(model: &ModelPin) -> Vec<&'static str> {
    let pins = [
        ("provider", model.provider.is_none()),
        ("id", model.id.is_none()),
        ("version", model.version.is_none()),
        ("quantization", model.quantization.is_none()),
        ("runtime", model.runtime.is_none()),
        ("endpoint", model.endpoint.is_none()),
    ];
    pins.into_iter()
        .filter(|(_, missing)| *missing)
        .map(|(name, _)| name)
        .collect()
}
