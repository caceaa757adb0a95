//! Guards: the judgement over one turn, recorded before anything may count.
//!
//! ```text
//!   guards judge --red, or something stands against it----------------------> ratchet
//!               \--green and clean--> vet, one after the other, in copies -->
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::build_context::out_of_time;
use super::check::green;
use super::ratchet::Ratchet;
use super::{Illegal, Judged, Objection, Phase, Room, Turn, Walked};
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::candidate::Vetted;
use crate::event::finding::{GuardReport, GuardState, Severity};
use crate::event::id::PhaseName;
use crate::event::iteration::{CheckEnded, GuardsJudged};
use crate::event::measurement::{StopCause, TreeSeen};
use crate::facts::Facts;
use crate::guard::{self, Evidence, GuardsCleared};
use crate::members::{IdSet, Members, is_pseudo};
use crate::vet::{self, Case, Due, Request, Seen};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guards {
    turn: Turn,
    check: Arc<CheckEnded>,
    after_check: Walked,
    vetting: Option<Vetting>,
}

/// The gravest violation of a report, in words.
pub(crate) fn objection(report: &GuardReport) -> Option<Objection> {
    guard::gravest(report, &[]).map(Objection::from)
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
        unnamed: facts.unnamed,
        accepted: facts.accepted.as_ref().map_or(&nothing, |accepted| &accepted.statuses),
        active_at_t0: &facts.active_guards,
    };
    GuardsJudged {
        iteration: turn.iteration,
        tree: turn.tree,
        report: guard::judge(&evidence),
    }
}

/// The guards have spoken on a green turn and nothing stands against it: what comes before green is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Vetting {
    report: GuardReport,
    /// In the order of [`vet::ALL`].
    vetted: Vec<Arc<Vetted>>,
    /// Of the vet that is due.
    attempt: u32,
    /// The working time was spent in one of them; only a halt is left to record.
    out_of_time: bool,
}

impl Guards {
    pub(crate) fn new(turn: Turn, check: Arc<CheckEnded>, after_check: Walked) -> Self {
        Self {
            turn,
            check,
            after_check,
            vetting: None,
        }
    }

    fn case<'a>(&'a self, facts: &'a Facts, vetting: &'a Vetting) -> Case<'a> {
        Case {
            facts,
            turn: &self.turn,
            check: &self.check,
            report: &vetting.report,
            earlier: &vetting.vetted,
        }
    }

    /// What an answer of the world to this request comes to; `None` when nobody asked for it.
    pub(crate) fn vetted(&self, facts: &Facts, request: &Request, seen: Seen) -> Option<Vetted> {
        let vetting = self.vetting.as_ref()?;
        self.case(facts, vetting).judge(request, seen)
    }

    /// A vet's judgement follows from what it saw, now as when it was recorded.
    pub(crate) fn follows(&self, facts: &Facts, recorded: &Vetted) -> bool {
        let seen = Seen {
            at: recorded.at,
            trials: recorded.trials.clone(),
            trouble: recorded.trouble.clone(),
            cost_us: recorded.cost_us,
        };
        match self.next(facts) {
            Next::Perform(Effect::Vet(request)) => self.vetted(facts, &request, seen).as_ref() == Some(recorded),
            Next::Record(Event::Vetted(due)) => *due == *recorded,
            Next::Perform(_) | Next::Record(_) | Next::Await | Next::Stop => false,
        }
    }

    /// The guards' answer: on a green turn that nothing stands against, what comes before green is next.
    fn judged(mut self, facts: &mut Facts, judged: &GuardsJudged) -> Phase {
        if objection(&judged.report).is_some() {
            facts.violations += 1;
        }
        if judged.iteration == 0 {
            let active = judged.report.guards.iter();
            let active = active.filter(|run| run.state == GuardState::Active);
            facts.active_guards = active.map(|run| run.guard.clone()).collect();
            let own = facts.members.iter().map(|(id, _)| id).filter(|id| !is_pseudo(id));
            facts.t0_members = own.cloned().collect();
            facts.t0_passing = facts.members.passing(Some(&facts.t0_members));
        }
        let green = green(&self.check, &self.turn, facts.policy().oracle.success_exit);
        if green.is_some() && guard::passed(&judged.report) {
            self.vetting = Some(Vetting {
                report: judged.report.clone(),
                vetted: Vec::new(),
                attempt: 1,
                out_of_time: false,
            });
            return self.vetted_or_over(facts);
        }
        self.over(facts, &judged.report, &[])
    }

    fn vet(mut self, facts: &mut Facts, vetted: &Arc<Vetted>) -> Result<Phase, Illegal> {
        let Some(vetting) = &mut self.vetting else {
            return Err(Self::illegal(
                &Event::Vetted(Arc::clone(vetted)),
                "guards speak before anything else",
            ));
        };
        let due = vet::ALL.get(vetting.vetted.len()).map(|vet| vet.name);
        let here =
            (vetted.iteration, vetted.tree, vetted.attempt) == (self.turn.iteration, self.turn.tree, vetting.attempt);
        if !here || due != Some(vetted.guard.as_str()) || vetting.out_of_time {
            return Err(Self::illegal(
                &Event::Vetted(Arc::clone(vetted)),
                "one vet after the other, on the turn at hand",
            ));
        }
        match vet::cut(vetted) {
            Some(StopCause::RunDeadline) => vetting.out_of_time = true,
            Some(_) => vetting.attempt += 1,
            None => {
                let first = vetting.vetted.iter().all(|earlier| earlier.trials.is_empty());
                if let Some(control) = vet::control_of(vetted).filter(|_| first && !vet::is_lost(vetted)) {
                    facts.determinism.sample(vet::differs(&self.check, control).is_none());
                }
                vetting.attempt = 1;
                vetting.vetted.push(Arc::clone(vetted));
                if vetted
                    .findings
                    .iter()
                    .any(|finding| finding.severity == Severity::Violation)
                {
                    facts.violations += 1;
                }
            }
        }
        Ok(self.vetted_or_over(facts))
    }

    fn vetted_or_over(mut self, facts: &Facts) -> Phase {
        match self.vetting.take() {
            Some(vetting) if vetting.vetted.len() >= vet::ALL.len() => {
                self.over(facts, &vetting.report, &vetting.vetted)
            }
            vetting => Phase::Guards(Self { vetting, ..self }),
        }
    }

    fn over(self, facts: &Facts, report: &GuardReport, vetted: &[Arc<Vetted>]) -> Phase {
        let (iteration, tree) = (self.turn.iteration, self.turn.tree);
        let cleared = guard::clear(report, vetted, iteration, tree);
        let settled = cleared.as_ref().is_some_and(GuardsCleared::suites_compared);
        let accepted = facts.accepted.as_ref().map(|accepted| &accepted.passing);
        let passing = facts.members.passing(accepted);
        let (mut broke, fixed) = match &facts.accepted {
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
        let mut failing = facts.failing();
        if settled {
            // What is not collected any more was accounted for: it neither broke nor fails (SPEC 4.2.3).
            broke.retain(|id| facts.members.status(id).is_some());
            failing = facts.members.failing(&IdSet::default(), true);
        }
        Phase::Ratchet(Ratchet::new(Box::new(Judged {
            failing,
            passing,
            broke,
            fixed,
            green: green(&self.check, &self.turn, facts.policy().oracle.success_exit),
            cleared,
            unavailable: guard::open(report, vetted),
            violation: guard::gravest(report, vetted).map(Objection::from),
            turn: self.turn,
            check: self.check,
        })))
    }
}

impl Room for Guards {
    const NAME: PhaseName = PhaseName::Guards;

    fn next(&self, facts: &Facts) -> Next {
        let Some(vetting) = &self.vetting else {
            return Next::Record(judge(facts, &self.turn, &self.check, &self.after_check).into());
        };
        if vetting.out_of_time {
            return out_of_time(facts);
        }
        match self.case(facts, vetting).due(vetting.attempt) {
            Some(Due::Perform(request)) => Next::Perform(Effect::Vet(request)),
            Some(Due::Record(vetted)) => Next::Record(vetted.into()),
            None => Next::Await,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever this room does not name does not belong here"
    )]
    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        match event {
            Event::GuardsJudged(judged) if self.vetting.is_none() => {
                if (judged.iteration, judged.tree) != (self.turn.iteration, self.turn.tree) {
                    return Err(Self::illegal(event, "guards judge the turn at hand"));
                }
                Ok(self.judged(facts, judged))
            }
            Event::Vetted(vetted) => self.vet(facts, vetted),
            _ => Err(Self::illegal(event, "guards speak before anything else")),
        }
    }
}
