//! Guards: the judgement over one turn, recorded before anything may count.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;

use super::check::green;
use super::ratchet::Ratchet;
use super::{Illegal, Judged, Phase, Room, Turn};
use crate::effect::Next;
use crate::event::Event;
use crate::event::id::PhaseName;
use crate::event::iteration::{CheckEnded, GuardsJudged};
use crate::event::measurement::TreeSeen;
use crate::facts::Facts;
use crate::guard::{self, Evidence};
use crate::members::Members;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guards {
    pub(crate) turn: Turn,
    pub(crate) check: Rc<CheckEnded>,
    pub(crate) after_check: Box<TreeSeen>,
}

impl Room for Guards {
    const NAME: PhaseName = PhaseName::Guards;

    fn next(&self, facts: &Facts) -> Next {
        let nothing = Members::default();
        let evidence = Evidence {
            policy: facts.policy(),
            iteration: self.turn.iteration,
            exec_survivors: &self.turn.exec_survivors,
            check_survivors: &self.check.run.survivors,
            interference: &self.turn.interference,
            after_exec: self.turn.after_exec.as_deref(),
            after_check: &self.after_check,
            check: &self.check.run,
            measurement: &self.check.measurement,
            members: &facts.members,
            universe: &facts.universe,
            accepted: facts.accepted.as_ref().map_or(&nothing, |accepted| &accepted.statuses),
        };
        let report = guard::judge(&evidence);
        Next::Record(
            GuardsJudged {
                iteration: self.turn.iteration,
                tree: self.turn.tree,
                report,
            }
            .into(),
        )
    }

    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let Event::GuardsJudged(judged) = event else {
            return Err(Self::illegal(event, "guards speak before anything else"));
        };
        if (judged.iteration, judged.tree) != (self.turn.iteration, self.turn.tree) {
            return Err(Self::illegal(event, "guards judge the turn at hand"));
        }
        let violation = guard::gravest(&judged.report).map(|finding| {
            (
                finding.reason,
                format!("{}: {} ({})", finding.subject, finding.detail, finding.guard),
            )
        });
        if violation.is_some() {
            facts.violations += 1;
        }
        let passing = facts.members.passing();
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
        Ok(Phase::Ratchet(Ratchet::new(Judged {
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
        })))
    }
}
