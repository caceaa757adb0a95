//! Open: the contract is pinned; t0 is walked before anything else happens.

use alloc::string::ToString;

use super::check::Check;
use super::{Illegal, Phase, Room, Turn, build_context, container, credential, degraded, gateway, halt, zones};
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::PhaseName;
use crate::event::iteration::{CheckPurpose, TreePurpose};
use crate::event::policy::{LoopMode, Metering, PinMode, Policy};
use crate::facts::{Accepted, Facts};
use crate::members::{IdSet, Members};
use crate::progress::History;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Open;

impl Room for Open {
    const NAME: PhaseName = PhaseName::Open;

    fn next(&self, facts: &Facts) -> Next {
        let missing = facts.opened.programs.iter().find(|program| program.digest.is_none());
        match unfit(facts.policy()) {
            Some((reason, cause, detail)) => halt(facts, reason, cause, detail),
            None if missing.is_some() => {
                let (role, path) = missing.map(|p| (p.role.as_str(), p.path.text())).unwrap_or_default();
                let cause = if role == "check" {
                    "check_not_found"
                } else {
                    "exec_not_found"
                };
                let detail = alloc::format!("the program {path} of the {role} command cannot be found or executed");
                halt(facts, HaltReason::ExecutionFailure, cause, &detail)
            }
            None => zones::missing(facts).unwrap_or(Next::Perform(Effect::ObserveTree {
                iteration: 0,
                purpose: TreePurpose::Baseline,
                base: None,
            })),
        }
    }

    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let Event::TreeObserved(observed) = event else {
            return Err(Self::illegal(event, "t0 comes first"));
        };
        if observed.purpose != TreePurpose::Baseline {
            return Err(Self::illegal(event, "t0 is walked for its own sake"));
        }
        facts.t0 = Some(observed.seen.tree);
        facts.surface = Some(observed.seen.surface_digest);
        // A baseline that begins anew knows nothing of the one that failed.
        facts.accepted = None;
        facts.universe = IdSet::default();
        facts.unnamed = None;
        facts.integrity = IdSet::default();
        facts.history = History::default();
        if facts.policy().oracle.baseline {
            let turn = Turn {
                iteration: 0,
                tree: observed.seen.tree,
                read: observed.seen.tree,
                no_op: false,
                exec_survivors: [].into(),
                interference: [].into(),
                after_exec: None,
            };
            return Ok(Phase::Check(Check::new(turn, CheckPurpose::Baseline)));
        }
        // Nothing is known to pass: the first measurement defines the universe.
        facts.accepted = Some(alloc::rc::Rc::new(Accepted {
            iteration: 0,
            tree: observed.seen.tree,
            read: observed.seen.tree,
            left: observed.seen.tree,
            verdict: None,
            passing: IdSet::default(),
            failing: IdSet::default(),
            statuses: Members::default(),
        }));
        Ok(Phase::BuildContext(build_context::BuildContext))
    }
}

/// Why a contract cannot carry a run, whatever the world looks like.
fn unfit(policy: &Policy) -> Option<(HaltReason, &'static str, &'static str)> {
    if policy.mode == LoopMode::TaskList {
        return Some((
            HaltReason::CheckInadequate,
            "task_oracle_missing",
            "a task list needs an oracle per task",
        ));
    }
    if policy.oracle.check.is_empty() {
        return Some((
            HaltReason::WorkspaceInvalid,
            "check_missing",
            "no check, no loop: name one with --check",
        ));
    }
    if policy.money.metering != Metering::Unmetered {
        // A cap that nobody measures would promise what it cannot hold.
        let detail = "nothing meters spend in this release: leave metering at unmetered";
        return Some((HaltReason::WorkspaceInvalid, "configuration_invalid", detail));
    }
    if let Some(objection) = isolation_objection(policy) {
        return Some(objection);
    }
    if policy.bounds.max_iterations == 0 {
        return Some((
            HaltReason::InvariantFailed,
            "max_iterations_zero",
            "max_iterations must be at least 1",
        ));
    }
    if policy.pins.mode == PinMode::Required && policy.pins.model.id.as_ref().is_none_or(|id| id.trim().is_empty()) {
        let detail = "pins are required and the model is undeclared: name it with --model-id";
        return Some((HaltReason::WorkspaceInvalid, "pin_missing", detail));
    }
    let unreadable = policy.pins.context_files.iter().any(|file| file.digest.is_none());
    if policy.pins.mode == PinMode::Required && unreadable {
        return Some((
            HaltReason::WorkspaceInvalid,
            "pin_missing",
            "pins are required and a context file cannot be read",
        ));
    }
    None
}

/// Reason, cause and sentence of a contract whose zones, key, gateway or containers cannot be as it says.
pub fn isolation_objection(policy: &Policy) -> Option<(HaltReason, &'static str, &'static str)> {
    let objection = degraded::objection(policy).or_else(|| credential::objection(policy));
    let objection = objection.or_else(|| gateway::objection(policy));
    objection.or_else(|| container::objection(policy))
}

/// The sentence of a contract that cannot carry a run, for people who ask before the start.
pub fn objection(policy: &Policy) -> Option<(HaltReason, alloc::string::String)> {
    unfit(policy).map(|(reason, _, detail)| (reason, detail.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::policy::Command;

    #[test]
    fn a_cap_that_nobody_measures_is_refused_before_the_start() {
        let mut policy = Policy::default();
        policy.oracle.check = Command::shell("make test");
        assert_eq!(objection(&policy), None);
        policy.money.metering = Metering::Observed;
        let (reason, why) = objection(&policy).unwrap();
        assert_eq!(reason, HaltReason::WorkspaceInvalid);
        assert!(why.contains("nothing meters spend"), "{why}");
    }
}
