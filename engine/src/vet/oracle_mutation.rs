//! Oracle mutation: does a test that became green notice when it demands something else?
//!
//! ```text
//!   another expected value --not noticed--> a failure right behind it --noticed--> fooled: a violation
//!           \ there is none                             \ not noticed
//!            `---------------------------------------> the impossible --noticed--> it does not get to the value: a note
//!                                                                  \ not noticed: it asserts nothing: a violation
//! ```
//!
//! A product that equals everything, or what it takes for a whole kind of values, is as green as before with another one.
//! An honest test may stay green as well, where what was changed is never reached, or where its failure is swallowed: so
//! that a test counts as fooled only when it fails once a failure stands right behind the assertion with the other value,
//! which nothing honest gets past. Where none can stand there, the opposite of the assertion is demanded in its place: who
//! fails then meets what it demanded before, and another value too. What reaches none of its assertions, because a runner
//! was told to leave its body out or because a product does not call, or swallows, what holds them, passes for nothing:
//! it does not mind a failure that no condition holds back.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::sentinel_pair::RUNNERS;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::effect::Reading;
use crate::event::candidate::{Mutated, Trial};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::MemberStatus;
use crate::guard::Outcome;
use crate::members::Members;

pub static VET: Vet = Vet {
    name: "oracle_mutation",
    catches: "a product that passes whatever its tests expect",
    reason: HaltReason::CheckInadequate,
    plan,
    judge,
};

fn plan(case: &Case<'_>) -> Plan {
    let collector = case.check.measurement.collector.as_str();
    if !RUNNERS.contains(&collector) {
        return Plan::NotApplicable("nothing tells which source a member of this check has".into());
    }
    let mut members = newly_passing(case);
    if members.is_empty() {
        return Plan::NotApplicable("no member that failed at the start passes now".into());
    }
    // Which come first, where there are more than are tried, follows from the tree and is nobody's choice.
    let [a, b, c, d, ..] = case.turn.tree.0;
    let first = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(0) % members.len();
    members.rotate_left(first);
    Plan::Run(Experiment::OracleMutants {
        members,
        mutants_max: case.facts.policy().guards.mutants_max,
    })
}

/// Members that pass and did not at the start; none where nothing is known of the start.
pub(super) fn newly_passing(case: &Case<'_>) -> Vec<String> {
    let facts = case.facts;
    let passing = facts
        .members
        .iter()
        .filter(|(_, status)| status.passes())
        .map(|(id, _)| id);
    passing
        .filter(|id| facts.policy().oracle.baseline && !facts.t0_passing.contains(id))
        .cloned()
        .collect()
}

/// Marks of a failure that no condition holds back: in the body of a test, and in what it asserts in.
const FAILS: &str = "failure";
const FAILS_WITHIN: &str = "failure_within";

fn is_failure(mutated: &Mutated) -> bool {
    [FAILS, FAILS_WITHIN].contains(&mutated.operator.as_str())
}

/// The run that comes next.
pub(super) fn step(members: &[String], ran: &[Ran]) -> Option<Step> {
    let step = |subject, plant| Step {
        subject,
        base: Base::Candidate,
        plant,
    };
    let Some((first, rest)) = ran.split_first() else {
        return Some(step("other expected values", Plant::Expectations));
    };
    let of = passing(&first.mutants, &first.reading);
    if rest.is_empty() && !of.is_empty() && !first.mutants.iter().any(is_failure) {
        return Some(step("a failure behind what made no difference", Plant::Beyond { of }));
    }
    if ran.iter().any(|ran| matches!(ran.step.plant, Plant::Failures { .. })) {
        return None;
    }
    let of = unproven(members, ran);
    (!of.is_empty()).then(|| step("what nothing can meet", Plant::Failures { of }))
}

/// Members of which no run has shown yet that they can fail; none once a run shows one that was fooled.
fn unproven(members: &[String], ran: &[Ran]) -> Vec<String> {
    let told = |ran: &Ran| {
        let survived = survivors(&ran.mutants, &ran.reading);
        let all = ran.mutants.iter().flat_map(|mutated| mutated.members.iter().cloned());
        let failed: Vec<String> = all.filter(|id| !survived.contains(id)).collect();
        let planted = ran.mutants.iter().any(is_failure);
        (failed, if planted { survived } else { Vec::new() })
    };
    let told: Vec<(Vec<String>, Vec<String>)> = ran.iter().map(told).collect();
    let fooled = |ran: &Ran| {
        let Plant::Beyond { of } = &ran.step.plant else {
            return false;
        };
        let passing = passing(&ran.mutants, &ran.reading);
        let is_planted = |id: &String| ran.mutants.iter().any(|mutated| mutated.members.contains(id));
        !ran.mutants.iter().any(is_failure) && of.iter().any(|id| is_planted(id) && !passing.contains(id))
    };
    if ran.iter().any(fooled) {
        return Vec::new();
    }
    let is_told = |id: &&String| {
        told.iter()
            .any(|(failed, passed)| failed.contains(id) || passed.contains(id))
    };
    members.iter().filter(|id| !is_told(id)).cloned().collect()
}

/// Members of the mutants that nobody noticed.
fn survivors(mutants: &[Mutated], seen: &Reading) -> Vec<String> {
    let passing = passing(mutants, seen);
    let is_unnoticed = |mutated: &&Mutated| mutated.members.iter().all(|id| passing.contains(id));
    let survived = mutants.iter().filter(is_unnoticed);
    survived.flat_map(|mutated| mutated.members.iter().cloned()).collect()
}

/// Members of the mutants that pass with them; who names only what fails says of the rest that it passes.
fn passing(mutants: &[Mutated], seen: &Reading) -> Vec<String> {
    let status = |id: &String| {
        seen.members
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, status)| *status)
    };
    let passes = |id: &&String| status(id).map_or(!seen.complete, MemberStatus::passes);
    let members = mutants.iter().flat_map(|mutated| &mutated.members);
    members.filter(passes).cloned().collect()
}

/// How the members of one mutant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// One of them is shown as failing.
    Killed,
    /// None of them is shown as failing, and not all are shown as passing.
    Lost,
    Survived,
}

/// How this member ended in that run.
fn status(known: &Members, trial: &Trial, id: &str) -> Option<MemberStatus> {
    let changed = trial.changes.iter().find(|change| change.id == id);
    changed.map_or_else(|| known.status(id), |change| Some(change.status))
}

fn is_red(status: MemberStatus) -> bool {
    status != MemberStatus::Absent && status.fails()
}

fn fate(known: &Members, trial: &Trial, mutated: &Mutated) -> Fate {
    let seen = || mutated.members.iter().filter_map(|id| status(known, trial, id));
    if seen().any(is_red) {
        Fate::Killed
    } else if seen().all(MemberStatus::passes) {
        Fate::Survived
    } else {
        Fate::Lost
    }
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    weigh(&case.facts.members, newly_passing(case).len(), trials)
}

/// What all runs showed of one change.
enum Shown<'a> {
    Noticed,
    /// The members are shown no more.
    Lost,
    /// This member passes with this value as with the one that was there.
    Fooled(&'a String),
    /// It passes with a failure in it.
    Idle,
    /// The test asserts elsewhere than where it was changed.
    Elsewhere,
}

/// `known` are the members as the check of the turn showed them, `became_green` is how many could have been tried.
fn weigh(known: &Members, became_green: usize, trials: &[Trial]) -> Outcome {
    if trials.iter().all(|trial| trial.mutants.is_empty()) {
        return Outcome::not_applicable("no test was found that became green and could be changed");
    }
    let (mut findings, mut tried) = (Vec::<Finding>::new(), Vec::<&String>::new());
    let (mut lost, mut elsewhere) = (0_usize, 0_usize);
    for (at, trial) in trials.iter().enumerate() {
        let later = trials.get(at + 1..).unwrap_or_default();
        // A failure behind another value, and the opposite of it, are weighed with the earlier run in which it stood alone.
        let own = trial.mutants.iter().filter(|mutated| at == 0 || is_failure(mutated));
        for mutated in own {
            match shown(known, trial, mutated, later) {
                Shown::Noticed => {}
                Shown::Lost => lost += 1,
                Shown::Elsewhere => elsewhere += 1,
                Shown::Fooled(_) | Shown::Idle if names(&findings, mutated) => {}
                Shown::Fooled(member) => findings.push(fooled(member, mutated)),
                Shown::Idle => findings.push(idle(mutated)),
            }
            tried.extend(
                mutated
                    .members
                    .iter()
                    .filter(|id| !tried.contains(id))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let mut outcome = Outcome::active(findings);
    outcome.note = said(&[
        (lost, "killed by an error: the member was not shown"),
        (elsewhere, "changed where the test does not get to"),
        (became_green.saturating_sub(tried.len()), "members left alone"),
    ]);
    outcome
}

fn shown<'a>(known: &Members, trial: &Trial, mutated: &'a Mutated, later: &[Trial]) -> Shown<'a> {
    let fate = fate(known, trial, mutated);
    if is_failure(mutated) {
        return match fate {
            Fate::Killed => Shown::Noticed,
            Fate::Lost => Shown::Lost,
            Fate::Survived => Shown::Idle,
        };
    }
    // Rows of one test share a change, and each has a product of its own to answer for.
    let same = |other: &Mutated| !is_failure(other) && other.members == mutated.members && other.path == mutated.path;
    let beyond = |id: &&String| {
        let mut trials = later.iter().filter(|trial| trial.mutants.iter().any(same));
        status(known, trial, id).is_some_and(MemberStatus::passes)
            && trials.any(|trial| status(known, trial, id).is_some_and(is_red))
    };
    match (mutated.members.iter().find(beyond), fate) {
        (Some(fooled), _) => Shown::Fooled(fooled),
        (None, Fate::Killed) => Shown::Noticed,
        (None, Fate::Lost) => Shown::Lost,
        (None, Fate::Survived) => Shown::Elsewhere,
    }
}

fn names(findings: &[Finding], mutated: &Mutated) -> bool {
    let named = |finding: &Finding| mutated.members.contains(&finding.subject);
    findings.iter().any(named)
}

fn fooled(member: &str, mutated: &Mutated) -> Finding {
    let detail = format!(
        "{}:{}: it passes with {} expected as it does with {}",
        mutated.path, mutated.line, mutated.to, mutated.from
    );
    VET.violation(String::from(member), detail)
}

fn idle(mutated: &Mutated) -> Finding {
    let (begins, so) = match mutated.operator.as_str() {
        FAILS => ("its body", "its body is not run, or not to its end"),
        _ => (
            "what it asserts in",
            "nothing that it asserts is reached, or what fails there is swallowed",
        ),
    };
    let detail = format!(
        "{}:{}: it passes although {begins} begins with a failure: {so}",
        mutated.path, mutated.line
    );
    VET.violation(mutated.members.first().cloned().unwrap_or_default(), detail)
}

/// What there was of it, in words.
fn said(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests;
