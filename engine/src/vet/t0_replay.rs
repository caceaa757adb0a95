//! T0 replay: what the candidate's product is worth under the tests of the start.
//!
//! A fresh copy has none of the caches, build products and leftovers among which the candidate was green, and, where
//! tests may grow, none of the tests that were written since.

use alloc::vec::Vec;

use super::{Case, Experiment, Plan, Vet};
use crate::event::candidate::Trial;
use crate::event::finding::{Finding, GuardRun, GuardState};
use crate::event::halt::HaltReason;
use crate::event::measurement::{MemberChange, MemberStatus, Place};
use crate::guard::{Outcome, collected_set};

pub static VET: Vet = Vet {
    name: "t0_replay",
    catches: "a candidate that is green only with its own tests, stale build products or leftovers beside it",
    reason: HaltReason::MetricIntegrityViolation,
    plan,
    judge,
};

/// The run under the tests of the start.
pub(crate) const SUBJECT: &str = "t0 surface";

fn plan(case: &Case<'_>) -> Plan {
    let seen = case.turn.after_exec.as_deref();
    let moved =
        seen.is_some_and(|seen| seen.surface_more > 0 || seen.surface.iter().any(|change| change.place == Place::Tree));
    Plan::Run(Experiment::T0Surface { moved })
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let mut outcome = weigh(case, trials);
    if case.facts.check_names_workdir() {
        outcome.note = "the check names the workdir by its absolute path, which led into the copies".into();
    }
    outcome
}

fn weigh(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    if is_red_at_start(case) {
        return Outcome::unavailable(
            "the tree is the one that was red at the start: what made the check green does not lie in it".into(),
        );
    }
    let Some(trial) = trials.first() else {
        // The surface is the one of t0: the control was the replay.
        return Outcome::active(not_given_back(case, &[]));
    };
    let success = case.facts.policy().oracle.success_exit;
    let Some(exit) = trial.exited() else {
        return Outcome::unavailable(alloc::format!("with the tests of the start, {}", trial.ended()));
    };
    let lost = trial.changes.iter().filter(|change| {
        let passes = |status: MemberStatus| status.passes();
        let id = &change.id;
        case.facts.t0_members.contains(id)
            && case.facts.members.status(id).is_some_and(passes)
            && !passes(change.status)
    });
    let mut findings: Vec<Finding> = lost
        .map(|change| {
            let detail = alloc::format!(
                "it passes in the candidate and is {} with the tests of the start",
                change.status
            );
            VET.violation(change.id.clone(), detail)
        })
        .collect();
    findings.extend(not_given_back(case, &trial.changes));
    if findings.is_empty() && exit != success {
        let detail =
            alloc::format!("it passes in the candidate and ends with status {exit} with the tests of the start");
        findings.push(VET.violation("check", detail));
    }
    Outcome::active(findings)
}

/// The work left the very tree that the check of t0 failed on: no verdict on it is owed to the work.
fn is_red_at_start(case: &Case<'_>) -> bool {
    let worked = case.turn.iteration > 0 && case.facts.policy().oracle.baseline;
    worked && case.facts.t0 == Some(case.turn.tree)
}

/// Members of t0 that were lost with tests that may be renamed and moved, and that do not pass with the tests of t0
/// either: it was no change of those tests that took them away.
fn not_given_back(case: &Case<'_>, replayed: &[MemberChange]) -> Vec<Finding> {
    let left = |run: &&GuardRun| run.guard == collected_set::GUARD.name && run.state == GuardState::Deferred;
    if !case.report.guards.iter().any(|run| left(&run)) {
        return Vec::new();
    }
    let lost = case.facts.t0_members.iter();
    let lost = lost.filter(|id| case.facts.members.status(id).is_none());
    let shown = lost.map(|id| {
        let change = replayed.iter().find(|change| change.id == *id);
        (id, change.map_or(MemberStatus::Absent, |change| change.status))
    });
    shown
        .filter(|(_, status)| !status.passes())
        .map(|(id, status)| {
            let detail = alloc::format!("it is no longer collected, and is {status} with the tests of the start");
            VET.violation(id.as_str(), detail)
        })
        .collect()
}
