//! Judge: a reviewer whom the contract names may object to what every other guard lets pass. It never promotes.
//!
//! It is asked last, once nothing else stands against green, and is given what was measured beside the change itself. The
//! change is the work command's own text: whoever reads it must take it for data.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::{JudgeVerdict, Trial};
use crate::event::finding::{Finding, GuardState};
use crate::event::halt::HaltReason;
use crate::event::measurement::{Captured, MemberStatus};
use crate::guard::Outcome;

pub static VET: Vet = Vet {
    name: "judge",
    catches: "what only a reader sees: an answer table, a product that knows when it is tested, deleted functionality",
    reason: HaltReason::ReviewerRejected,
    plan,
    judge,
};

/// Names of each list that a reviewer is given; the rest is counted.
const NAMED_MAX: usize = 200;

/// What a reviewer is given beside the change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// How the check ended, and what it printed, as far as it is kept in the journal. Untrusted text.
    pub exit: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Members now, and how many of them pass.
    pub members: u64,
    pub passing: u64,
    /// Members against the accepted line, and against those of t0.
    pub newly_passing: Vec<String>,
    pub newly_failing: Vec<String>,
    pub added: Vec<String>,
    pub lost: Vec<String>,
    /// What the guards before green said, in their order.
    pub guards: Vec<Said>,
}

/// What one guard before green said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub guard: String,
    pub state: GuardState,
    pub note: String,
    pub findings: Vec<Finding>,
}

fn plan(case: &Case<'_>) -> Plan {
    let guards = &case.facts.policy().guards;
    if guards.judge.is_none() {
        return Plan::NotApplicable("the contract names no reviewer".into());
    }
    if let Some(open) = case
        .earlier
        .iter()
        .find(|vetted| vetted.state == GuardState::Unavailable)
    {
        return Plan::NotApplicable(format!("nobody was asked: without {} it is not green", open.guard));
    }
    Plan::Run(Experiment::Review(Box::new(packet(case))))
}

fn packet(case: &Case<'_>) -> Packet {
    let facts = case.facts;
    let members = &facts.members;
    let accepted = facts.accepted.as_ref().map(|accepted| &accepted.passing);
    let is_accepted = |id: &String| accepted.is_some_and(|accepted| accepted.contains(id));
    let passes = |id: &str| members.status(id).is_some_and(MemberStatus::passes);
    let passing = || members.iter().filter(|(_, status)| status.passes()).map(|(id, _)| id);
    let some = |ids: &mut dyn Iterator<Item = &String>| ids.take(NAMED_MAX).cloned().collect();
    let said = |vetted: &alloc::sync::Arc<crate::event::candidate::Vetted>| Said {
        guard: vetted.guard.clone(),
        state: vetted.state,
        note: vetted.note.clone(),
        findings: vetted.findings.clone(),
    };
    Packet {
        exit: case.check.run.exited(),
        stdout: text(&case.check.run.stdout),
        stderr: text(&case.check.run.stderr),
        members: count(members.iter().count()),
        passing: count(passing().count()),
        newly_passing: some(&mut passing().filter(|id| !is_accepted(id))),
        newly_failing: some(&mut accepted.into_iter().flat_map(|ids| ids.iter()).filter(|id| !passes(id))),
        added: some(
            &mut members
                .iter()
                .map(|(id, _)| id)
                .filter(|id| !facts.t0_members.contains(id)),
        ),
        lost: some(&mut facts.t0_members.iter().filter(|id| members.status(id).is_none())),
        guards: case.earlier.iter().map(said).collect(),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Beginning and end of what was printed.
fn text(printed: &Captured) -> String {
    let head = String::from_utf8_lossy(&printed.head.0);
    if printed.complete {
        return head.into_owned();
    }
    format!("{head}\n[...]\n{}", String::from_utf8_lossy(&printed.tail.0))
}

/// One question, one answer.
pub(super) fn step(ran: &[Ran]) -> Option<Step> {
    ran.is_empty().then_some(Step {
        subject: "judge",
        base: Base::Candidate,
        plant: Plant::Review,
    })
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    outcome(case.facts.policy().guards.judge_required, trials)
}

fn outcome(required: bool, trials: &[Trial]) -> Outcome {
    let Some(trial) = trials.first() else {
        return unanswered(required, "nobody was asked".to_owned());
    };
    let object = |reason, said: &str| {
        let mut finding = VET.violation("candidate", format!("{said}: {}", trial.note));
        finding.reason = reason;
        Outcome::active(Vec::from([finding]))
    };
    match trial.verdict {
        Some(JudgeVerdict::Pass) => Outcome {
            note: trial.note.clone(),
            ..Outcome::active(Vec::new())
        },
        Some(JudgeVerdict::Reject) => object(HaltReason::ReviewerRejected, "the reviewer rejects it"),
        Some(JudgeVerdict::Hacking) => object(
            HaltReason::RewardHackingDetected,
            "the reviewer calls it reward hacking",
        ),
        Some(JudgeVerdict::Failed) | None => unanswered(required, trial.note.clone()),
    }
}

/// A reviewer without an answer stops nothing, unless the contract wants one.
fn unanswered(required: bool, why: String) -> Outcome {
    let why = format!("the reviewer gave no answer: {why}");
    if required {
        return Outcome::unavailable(why);
    }
    Outcome::not_applicable(&why)
}

#[cfg(test)]
mod tests {
    use super::super::bench::trial;
    use super::*;

    fn answered(verdict: JudgeVerdict) -> Trial {
        Trial {
            verdict: Some(verdict),
            note: "because".into(),
            ..trial(0)
        }
    }

    #[test]
    fn a_veto_is_its_own_reason_and_a_pass_proves_nothing() {
        let of = |verdict| outcome(true, &[answered(verdict)]);
        let reason = |outcome: &Outcome| outcome.findings.first().map(|finding| finding.reason);
        assert_eq!(reason(&of(JudgeVerdict::Reject)), Some(HaltReason::ReviewerRejected));
        assert_eq!(
            reason(&of(JudgeVerdict::Hacking)),
            Some(HaltReason::RewardHackingDetected)
        );
        assert_eq!(
            (of(JudgeVerdict::Pass).state, of(JudgeVerdict::Pass).findings),
            (GuardState::Active, Vec::new())
        );
    }

    #[test]
    fn no_answer_stops_only_a_contract_that_wants_one() {
        let of = |required| outcome(required, &[answered(JudgeVerdict::Failed)]);
        assert_eq!(of(false).state, GuardState::NotApplicable);
        assert_eq!(of(true).state, GuardState::Unavailable);
        assert!(of(true).note.contains("because"));
    }
}
