//! Ratchet: take the turn, or put the accepted tree back.
//!
//! A turn is accepted iff no guard objected and everything that passed in the accepted line still passes.
//! A red turn that breaks nothing is kept, so that a fix of several steps can accumulate. Before a turn is
//! rejected for a regression, one more run at the same tree must agree.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::check::Check;
use super::progress::Progress;
use super::{CheckVerdict, Illegal, Judged, Objection, Phase, Resample, Room, halt};
use crate::determinism::distrust;
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, PhaseName};
use crate::event::iteration::{
    CandidateAccepted, CandidateRejected, CheckPurpose, RejectCause, TreeObserved, TreePurpose,
};
use crate::event::measurement::ReportState;
use crate::event::policy::OnViolation;
use crate::facts::{Accepted, Facts};
use crate::guard::{GuardsCleared, state_interference};
use crate::members::{IdSet, Members, is_pseudo};
use crate::state::FAILURES_CMD;
use crate::words::counted;

/// Members named in a rejection; the rest is counted.
const SUBJECTS_MAX: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Decide,
    /// One more run at the same tree before a regression is believed.
    Recheck(Resample),
    Restore {
        attempt: u32,
        to: Digest,
    },
    Restoring {
        attempt: u32,
        to: Digest,
    },
    /// Put back; to be walked.
    Walk {
        attempt: u32,
        to: Digest,
    },
    /// The restore failed; only a halt is left to record.
    Broken {
        attempt: u32,
        to: Digest,
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ratchet {
    judged: Box<Judged>,
    stage: Stage,
    rechecked: bool,
    rejected: bool,
}

impl Ratchet {
    pub(crate) fn new(judged: Box<Judged>) -> Self {
        Self {
            judged,
            stage: Stage::Decide,
            rechecked: false,
            rejected: false,
        }
    }

    /// The turn is another one now: its check begins anew.
    pub(crate) fn check_again(self, seen: &Arc<TreeObserved>) -> Check {
        Check::once_more(self.judged.turn, &self.judged.check, seen)
    }

    /// This turn with its restore to be made once more, when a halt came before the accepted tree was back.
    pub(crate) fn unrestored(self) -> Option<Self> {
        let (attempt, to) = match self.stage {
            Stage::Restore { attempt, to } => (attempt, to),
            Stage::Restoring { attempt, to } | Stage::Walk { attempt, to } | Stage::Broken { attempt, to, .. } => {
                (attempt + 1, to)
            }
            Stage::Decide | Stage::Recheck(_) => return None,
        };
        let stage = Stage::Restore { attempt, to };
        Some(Self { stage, ..self })
    }

    fn decide(&self, facts: &Facts) -> Next {
        let judged = &self.judged;
        let measurement = &judged.check.measurement;
        if measurement.collector == FAILURES_CMD && measurement.report == ReportState::Malformed {
            let detail = format!("the failures command's answer is unusable: {}", measurement.note);
            return halt(facts, HaltReason::ObjectiveUnverified, "failures_cmd", &detail);
        }
        if let Some(Objection { reason, cause, detail }) = &judged.violation {
            let guards = &facts.policy().guards;
            let give_up = guards.on_violation == OnViolation::Halt
                || facts.violations >= guards.violations_max
                || judged.turn.iteration == 0
                || state_interference::reached_journal(&judged.turn.interference)
                || state_interference::reached_journal(&judged.check.interference);
            if give_up {
                let detail = if facts.violations > 1 {
                    format!(
                        "{detail}; violation {} (violations_max = {})",
                        facts.violations, guards.violations_max
                    )
                } else {
                    detail.clone()
                };
                return halt(facts, *reason, cause, &detail);
            }
            return self.reject(facts, RejectCause::Violation, [detail.clone()].into());
        }
        if judged.green.is_some() && judged.cleared.is_none() {
            let why = judged
                .unavailable
                .as_deref()
                .unwrap_or("more findings than could be listed");
            return halt(facts, HaltReason::ObjectiveUnverified, "guard_unavailable", why);
        }
        if let Some(halt) = distrust(facts) {
            return halt;
        }
        if !judged.broke.is_empty() {
            if self.rechecked {
                return self.reject(facts, RejectCause::Regressed, judged.broke.clone());
            }
            return Resample::new(CheckPurpose::Recheck, judged.turn.read).ask(facts);
        }
        // What a check wrote beside the sources makes another tree and no change that a person must read.
        let read = facts.accepted.as_ref().is_none_or(|accepted| {
            let same_line = accepted.iteration + 1 == judged.turn.iteration;
            accepted.tree == judged.turn.tree || (judged.turn.no_op && same_line)
        });
        Next::Record(
            CandidateAccepted {
                iteration: judged.turn.iteration,
                tree: judged.turn.tree,
                passing: count(&judged.passing),
                failing: count(&judged.failing),
                changed: !read,
            }
            .into(),
        )
    }

    fn reject(&self, facts: &Facts, cause: RejectCause, mut subjects: Vec<String>) -> Next {
        let Some(restore_to) = facts.accepted.as_ref().map(|accepted| accepted.tree).or(facts.t0) else {
            return halt(
                facts,
                HaltReason::InternalError,
                "no_accepted_tree",
                "there is no tree to put back",
            );
        };
        let subjects_total = u64::try_from(subjects.len()).unwrap_or(u64::MAX);
        subjects.truncate(SUBJECTS_MAX);
        Next::Record(
            CandidateRejected {
                iteration: self.judged.turn.iteration,
                tree: self.judged.turn.tree,
                restore_to,
                cause,
                subjects,
                subjects_total,
            }
            .into(),
        )
    }

    fn accept(self, facts: &mut Facts, accepted: &CandidateAccepted) -> Phase {
        if accepted.changed {
            facts.people.unread += 1;
            facts.people.unread_iterations.push(accepted.iteration);
        }
        if self.judged.cleared.as_ref().is_some_and(GuardsCleared::suites_compared) {
            facts.universe = IdSet::default();
            facts.unnamed = None;
        }
        let seen = &self.judged.check.measurement;
        if !seen.complete {
            facts.unnamed = facts.unnamed.max(seen.concluded);
        }
        // A container counts while it fails; its absence means nothing.
        facts
            .universe
            .extend(facts.members.iter().map(|(id, _)| id).filter(|id| !is_pseudo(id)));
        if let Some(set) = &self.judged.check.measurement.integrity {
            facts.integrity.extend(set.added.iter());
        }
        facts.accepted = Some(Rc::new(Accepted {
            iteration: accepted.iteration,
            tree: accepted.tree,
            read: self.judged.turn.read,
            left: facts.tree,
            verdict: Some(CheckVerdict::of(&self.judged.check)),
            passing: self.judged.passing.clone(),
            failing: self.judged.failing.clone(),
            statuses: remembered(facts),
        }));
        facts.revisit.accepted();
        facts.told = String::new();
        Phase::Progress(Progress::new(self.judged, false, self.rechecked))
    }

    fn put_back(mut self, facts: &mut Facts, rejected: &CandidateRejected) -> Phase {
        let named = rejected.subjects.join(", ");
        facts.told = match rejected.cause {
            RejectCause::Regressed => format!(
                "Your last change was undone: it broke {} that had passed: {named}.",
                counted(rejected.subjects_total, "test")
            ),
            RejectCause::Violation => {
                format!("Your last change was undone: it touched what is out of bounds: {named}.")
            }
            RejectCause::Score => format!("Your last change was undone: {named}."),
        };
        self.rejected = true;
        self.stage = Stage::Restore {
            attempt: 1,
            to: rejected.restore_to,
        };
        Phase::Ratchet(self)
    }
}

/// The accepted statuses. A member that a red run did not name keeps the one it had: a collection crash
/// must not make anybody forget that a test once counted.
fn remembered(facts: &Facts) -> Members {
    let before = facts.accepted.as_ref().map(|accepted| accepted.statuses.clone());
    let mut statuses = before.unwrap_or_default();
    statuses.cover(&facts.members);
    statuses
}

fn count(set: &IdSet) -> u64 {
    u64::try_from(set.len()).unwrap_or(u64::MAX)
}

impl Room for Ratchet {
    const NAME: PhaseName = PhaseName::Ratchet;

    fn next(&self, facts: &Facts) -> Next {
        let iteration = self.judged.turn.iteration;
        match &self.stage {
            Stage::Decide => self.decide(facts),
            Stage::Recheck(sample) => sample.next(facts).unwrap_or_else(|| self.decide(facts)),
            Stage::Restore { attempt, to } => Next::Perform(Effect::Restore {
                iteration,
                attempt: *attempt,
                to: *to,
            }),
            Stage::Restoring { .. } => Next::Await,
            Stage::Walk { .. } => Next::Perform(Effect::ObserveTree {
                iteration,
                purpose: TreePurpose::AfterRestore,
                base: facts.surface,
            }),
            Stage::Broken { why, .. } => halt(facts, HaltReason::ExecutionFailure, "restoration_failed", why),
        }
    }

    fn apply(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let here = (self.judged.turn.iteration, self.judged.turn.tree);
        match (&mut self.stage, event) {
            (Stage::Decide, Event::CandidateAccepted(accepted)) if (accepted.iteration, accepted.tree) == here => {
                if self.judged.violation.is_some() {
                    return Err(Self::illegal(event, "a turn with a violation is never accepted"));
                }
                return Ok(self.accept(facts, accepted));
            }
            // The disagreement of a flaky check must not cost the agent its work.
            (Stage::Decide, Event::CheckBegan(_)) if !self.rechecked => {
                let mut sample = Resample::new(CheckPurpose::Recheck, self.judged.turn.read);
                sample.apply(facts, CheckVerdict::of(&self.judged.check), event)?;
                self.stage = Stage::Recheck(sample);
            }
            (Stage::Recheck(sample), _) if !sample.settled() => {
                sample.apply(facts, CheckVerdict::of(&self.judged.check), event)?;
                self.rechecked |= sample.settled();
                if sample.settled() {
                    self.stage = Stage::Decide;
                }
            }
            (Stage::Decide, Event::CandidateRejected(rejected)) if (rejected.iteration, rejected.tree) == here => {
                return Ok(self.put_back(facts, rejected));
            }
            (Stage::Restore { attempt, to }, Event::RestoreBegan(began))
                if (began.attempt, began.to) == (*attempt, *to) =>
            {
                self.stage = Stage::Restoring {
                    attempt: *attempt,
                    to: *to,
                };
            }
            (Stage::Restoring { attempt, to }, Event::RestoreEnded(ended))
                if (ended.attempt, ended.to) == (*attempt, *to) =>
            {
                let (attempt, to) = (*attempt, *to);
                self.stage = if ended.error.is_empty() {
                    Stage::Walk { attempt, to }
                } else {
                    let why = ended.error.clone();
                    Stage::Broken { attempt, to, why }
                };
            }
            // Restoring is idempotent: a half-made one is completed.
            (Stage::Restoring { attempt, to }, Event::Interrupted(interrupted)) if interrupted.attempt == *attempt => {
                self.stage = Stage::Restore {
                    attempt: *attempt + 1,
                    to: *to,
                };
            }
            (Stage::Walk { .. }, Event::TreeObserved(seen)) if seen.purpose == TreePurpose::AfterRestore => {
                return Ok(Phase::Progress(Progress::new(self.judged, true, self.rechecked)));
            }
            _ => return Err(Self::illegal(event, "not the next step of this decision")),
        }
        Ok(Phase::Ratchet(self))
    }

    fn awaiting(&self) -> Option<u32> {
        match &self.stage {
            Stage::Restoring { attempt, .. } => Some(*attempt),
            Stage::Recheck(sample) => sample.awaiting(),
            Stage::Decide | Stage::Restore { .. } | Stage::Walk { .. } | Stage::Broken { .. } => None,
        }
    }
}
