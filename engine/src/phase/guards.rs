//! Guards: the judgement over one turn, recorded before anything may count.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;

use super::check::green;
use super::ratchet::Ratchet;
use super::{Illegal, Judged, Objection, Phase, Room, Turn, Walked};
use crate::effect::Next;
use crate::event::Event;
use crate::event::finding::{GuardReport, GuardState};
use crate::event::id::PhaseName;
use crate::event::iteration::{CheckEnded, GuardsJudged};
use crate::event::measurement::TreeSeen;
use crate::facts::Facts;
use crate::guard::{self, Evidence};
use crate::members::Members;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guards {
    pub(crate) turn: Turn,
    pub(crate) check: Arc<CheckEnded>,
    pub(crate) after_check: Walked,
}

/// The gravest violation of a report, in words.
pub(crate) fn objection(report: &GuardReport) -> Option<Objection> {
    guard::gravest(report).map(Objection::from)
}

/// What every guard says of one run of the check and of the walk behind it.
pub(crate) fn judge(facts: &Facts, turn: &Turn, check: &CheckEnded, after_check: &TreeSeen) -> GuardsJudged {
    let nothing = Members::default();
    let evidence = Evidence {
        policy: facts.policy(),
        iteration: turn.iteration,
        exec_survivors: &turn.exec_survivors,
        check_survivors: &check.run.survivors,
        exec_interference: &turn.interference,
        check_interference: &check.interference,
        after_exec: turn.after_exec.as_deref(),
        after_check,
        check: &check.run,
        measurement: &check.measurement,
        members: &facts.members,
        universe: &facts.universe,
        accepted: facts.accepted.as_ref().map_or(&nothing, |accepted| &accepted.statuses),
        active_at_t0: &facts.active_guards,
    };
    GuardsJudged {
        iteration: turn.iteration,
        tree: turn.tree,
        report: guard::judge(&evidence),
    }
}

impl Room for Guards {
    const NAME: PhaseName = PhaseName::Guards;

    fn next(&self, facts: &Facts) -> Next {
        Next::Record(judge(facts, &self.turn, &self.check, &self.after_check).into())
    }

    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let Event::GuardsJudged(judged) = event else {
            return Err(Self::illegal(event, "guards speak before anything else"));
        };
        if (judged.iteration, judged.tree) != (self.turn.iteration, self.turn.tree) {
            return Err(Self::illegal(event, "guards judge the turn at hand"));
        }
        let violation = objection(&judged.report);
        if violation.is_some() {
            facts.violations += 1;
        }
        if judged.iteration == 0 {
            let active = judged
                .report
                .guards
                .iter()
                .filter(|run| run.state == GuardState::Active);
            facts.active_guards = active.map(|run| run.guard.clone()).collect();
        }
        let accepted = facts.accepted.as_ref().map(|accepted| &accepted.passing);
        let passing = facts.members.passing(accepted);
        let (broke, fixed) = match &facts.accepted {
            Some(accepted) => (
                accepted.passing.minus(&passing),
                accepted
                    .failing
                    .iter()
                    .filter(|id| passing.contains(id))
                    .cloned()
                    .collect(),
            ),
            None => Default::default(),
        };
        Ok(Phase::Ratchet(Ratchet::new(Box::new(Judged {
            failing: facts.failing(),
            passing,
            broke,
            fixed,
            green: green(&self.check, &self.turn, facts.policy().oracle.success_exit),
            cleared: guard::clear(&judged.report, judged.iteration, judged.tree),
            unavailable: guard::unavailable(&judged.report).map(|run| format!("{}: {}", run.guard, run.note)),
            violation,
            turn: self.turn,
            check: self.check,
        }))))
    }
}
