//! Coverage: does the check run what was changed, and is anything hidden from it that it ran before?
//!
//! ```text
//!   t0, measured --> the candidate under the watched surface of t0, measured --> judge
//!                        \ tests may change, and some changed line did not run:
//!                         the candidate with its own tests, measured
//! ```
//!
//! A line that ran is not a line that anything was demanded of; one that did not run is one of which nothing was. Who
//! measures runs beside what is measured and can be deceived, so this guard only ever objects. What the two reports say
//! of the change arrives counted, and named as far as a person would read on.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::experiment::patience_ms;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet, code_mutation};
use crate::event::candidate::{Counted, Covered, Trial};
use crate::event::finding::{Finding, Severity};
use crate::event::halt::HaltReason;
use crate::event::policy::{Adequacy, Surface};
use crate::guard::Outcome;
use crate::words::counted;

pub static VET: Vet = Vet {
    name: "coverage",
    catches: "a change that the check does not run, and lines that are hidden from what measures it",
    reason: HaltReason::CheckInadequate,
    plan,
    judge,
};

/// Runners, by their collectors, that are made to measure by their environment alone.
pub static RUNNERS: &[&str] = &["node", "pytest"];

const AT_T0: &str = "coverage at t0";
const NOW: &str = "coverage";
const OWN_TESTS: &str = "coverage with the tests of now";

/// What the runs are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measuring {
    /// The contract names the report.
    pub named: bool,
    /// The candidate may have tests that t0 does not have.
    tests_may_change: bool,
    /// The limit of a run where the contract sets none.
    pub timeout_ms: Option<u64>,
}

fn plan(case: &Case<'_>) -> Plan {
    let policy = case.facts.policy();
    let named = policy.oracle.coverage.is_some();
    let collector = case.check.measurement.collector.as_str();
    if !named && !RUNNERS.contains(&collector) {
        return Plan::NotApplicable("the contract names no report of coverage that the check writes".into());
    }
    let control_ms = case.control().map_or(0, |control| control.duration_ms);
    let usual_ms = control_ms.max(case.check.run.duration_ms);
    let unlimited = case.facts.bounds.check_timeout_ms.is_none();
    Plan::Run(Experiment::Coverage(Measuring {
        named,
        tests_may_change: policy.guards.surface == Surface::Extend,
        timeout_ms: unlimited.then(|| patience_ms(usual_ms)),
    }))
}

/// The next run.
pub(super) fn step(measuring: &Measuring, ran: &[Ran]) -> Option<Step> {
    let seen: Vec<Option<&Covered>> = ran.iter().map(|ran| ran.coverage.as_ref()).collect();
    let (subject, base) = match seen.as_slice() {
        [] => (AT_T0, Base::Start),
        [t0] if measuring.named || measured(*t0).is_some() => (NOW, Base::CandidateOnStartSurface),
        [_, now] if measuring.tests_may_change && measured(*now)?.unrun.total > 0 => (OWN_TESTS, Base::Candidate),
        _ => return None,
    };
    Some(Step {
        subject,
        base,
        plant: Plant::Coverage,
    })
}

/// What was measured, if anything was.
fn measured(coverage: Option<&Covered>) -> Option<&Covered> {
    coverage.filter(|covered| covered.trouble.is_empty())
}

/// What a run said, and why it said nothing.
fn covered(trial: &Trial) -> Covered {
    trial.coverage.clone().unwrap_or_else(|| Covered {
        trouble: "the run was not measured".into(),
        ..Covered::default()
    })
}

/// What is demanded.
struct Demand {
    adequacy: Adequacy,
    min_percent: u32,
    success_exit: i32,
    /// Changed once more, the candidate turned the check red: it runs, wherever that is.
    noticed: bool,
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let policy = case.facts.policy();
    let demand = Demand {
        adequacy: policy.guards.adequacy,
        min_percent: policy.guards.min_coverage_percent,
        success_exit: policy.oracle.success_exit,
        noticed: code_mutation::noticed(case),
    };
    weigh(&demand, trials)
}

fn weigh(demand: &Demand, trials: &[Trial]) -> Outcome {
    let find = |subject: &str| trials.iter().find(|trial| trial.subject == subject);
    let Some(t0) = find(AT_T0) else {
        return Outcome::not_applicable(
            "nothing measures the coverage of this check, and the contract names no report",
        );
    };
    let Some(now) = find(NOW) else {
        return Outcome::not_applicable(&format!(
            "the tree of the start could not be measured: {}",
            covered(t0).trouble
        ));
    };
    for trial in trials.iter().filter(|trial| trial.subject != AT_T0) {
        if trial.exited() != Some(demand.success_exit) {
            return Outcome::unavailable(format!("measured, {}", trial.ended()));
        }
        if measured(trial.coverage.as_ref()).is_none() {
            return Outcome::unavailable(covered(trial).trouble);
        }
    }
    let floor = covered(t0).trouble;
    let now = covered(now);
    // Where tests were added, a line that only they run is not one that nobody runs.
    let own = find(OWN_TESTS).map_or_else(|| now.clone(), covered);
    let mut findings = hidden(demand, &now);
    findings.extend(unrun(demand, &own));
    findings.extend(below(demand, &own));
    // Only so many are kept, and none that objects may be among the others.
    findings.sort_by_key(|finding| finding.severity != Severity::Violation);
    let mut outcome = Outcome::active(findings);
    outcome.note = said(&now, &own, &floor);
    outcome
}

/// What was there to be measured at t0 and is not now.
fn hidden(demand: &Demand, now: &Covered) -> Vec<Finding> {
    let strict = demand.adequacy == Adequacy::Every;
    let kinds: [(&Counted, bool, &str); 5] = [
        (
            &now.hidden,
            true,
            "it could run at the start, is unchanged, and is marked as not to be measured",
        ),
        (
            &now.hidden_files,
            true,
            "it was measured at the start, and is marked as not to be measured",
        ),
        (
            &now.vanished,
            strict,
            "it could run at the start, is unchanged, and the report says nothing of it any more",
        ),
        (
            &now.unloaded,
            strict,
            "it was measured at the start, is still there, and is measured no more",
        ),
        (
            &now.lost,
            strict,
            "it ran at the start, is unchanged, and does not run now",
        ),
    ];
    let of = |(list, objects, why): &(&Counted, bool, &str)| {
        let finding = |subject: &String| match objects {
            true => VET.violation(subject.as_str(), *why),
            false => VET.note(subject.as_str(), *why),
        };
        list.first.iter().map(finding).collect::<Vec<_>>()
    };
    kinds.iter().flat_map(of).collect()
}

/// Changed lines that did not run.
fn unrun(demand: &Demand, own: &Covered) -> Vec<Finding> {
    let none_ran = own.changed > 0 && own.unrun.total >= own.changed;
    let objects = match demand.adequacy {
        Adequacy::Every => true,
        // The fix may be in what cannot be measured, or run in a process that nobody measures.
        Adequacy::Change => none_ran && own.beside.total == 0 && !demand.noticed,
    };
    let finding = |subject: &String| match objects {
        true => VET.violation(subject.as_str(), "it was changed, and no test runs it"),
        false => VET.note(subject.as_str(), "it was changed, and no test is seen to run it"),
    };
    own.unrun.first.iter().map(finding).collect()
}

/// Fewer lines of the product ran than the contract wants.
fn below(demand: &Demand, own: &Covered) -> Option<Finding> {
    let wanted = own.can_run.saturating_mul(demand.min_percent.into());
    let ran = own.ran.saturating_mul(100);
    (ran < wanted).then(|| {
        let detail = format!(
            "{} of {} of the product ran, and the contract wants {} percent",
            own.ran,
            counted(own.can_run, "line"),
            demand.min_percent
        );
        VET.violation("product", detail)
    })
}

/// The counts, and what was not looked at.
fn said(now: &Covered, own: &Covered, floor: &str) -> String {
    let ran = own.changed.saturating_sub(own.unrun.total);
    let mut words = format!("{ran} of {} ran", counted(own.changed, "changed line"));
    for (list, noun, what) in [
        (&now.hidden, "unchanged line", "marked as not to be measured"),
        (&now.hidden_files, "file", "marked as not to be measured"),
        (&now.vanished, "unchanged line", "in the report no more"),
        (&now.unloaded, "file", "measured no more"),
        (&now.lost, "unchanged line", "run at the start and not now"),
    ] {
        if list.total > 0 {
            words.push_str(&format!("; {} {what}", counted(list.total, noun)));
        }
    }
    if own.beside.total > 0 {
        words.push_str("; not measured: ");
        words.push_str(&own.beside.first.join(", "));
        let more = own.beside.total.saturating_sub(own.beside.first.len() as u64);
        if more > 0 {
            words.push_str(&format!(" and {more} more"));
        }
    }
    if !floor.is_empty() {
        words.push_str(&format!("; not compared with the start: {floor}"));
    }
    words
}

#[cfg(test)]
mod tests;
