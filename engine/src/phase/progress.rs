//! Progress: is the work going anywhere, and is a green turn really the end?
//!
//! A green turn with cleared guards is confirmed by one more run on the same tree, and the guards speak
//! once more after it: the last run before green must not have changed what it measured. Otherwise the
//! detectors look at the history; one that a flaky check could have fooled is rechecked first.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::check::Check;
use super::checkpoint::{Checkpoint, Converged, Ending};
use super::{CheckVerdict, Illegal, Judged, Phase, Resample, Room, Walked, guards, halt};
use crate::determinism::distrust;
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::PhaseName;
use crate::event::iteration::{CheckEnded, CheckPurpose, GuardsJudged, ProgressJudged, TreeObserved, TreePurpose};
use crate::facts::Facts;
use crate::guard::{self, GuardsCleared};
use crate::progress::{self, Alarm, Best, Candidate, History, repeat, trend};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Progress {
    judged: Box<Judged>,
    /// The ratchet put the accepted tree back.
    restored: bool,
    rechecked: bool,
    confirmation: Confirmation,
    sample: Option<Resample>,
}

/// How far the confirmation of a green turn is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Confirmation {
    None,
    /// The confirming run agreed; the tree behind it has not been walked.
    Walk(Arc<CheckEnded>),
    /// The guards have not spoken on it.
    Judge(Arc<CheckEnded>, Walked),
    Held,
    /// Another run at the same tree disagreed, which the contract tolerates: the turn is not green.
    Refuted,
    /// The guards object; only a halt is left to record.
    Failed {
        reason: HaltReason,
        cause: String,
        detail: String,
    },
}

impl Progress {
    pub(crate) fn new(judged: Box<Judged>, restored: bool, rechecked: bool) -> Self {
        Self {
            judged,
            restored,
            rechecked,
            confirmation: Confirmation::None,
            sample: None,
        }
    }

    /// The turn is another one now: its check begins anew.
    pub(crate) fn check_again(self, seen: &Arc<TreeObserved>) -> Check {
        Check::once_more(self.judged.turn, &self.judged.check, seen)
    }

    /// The history with this turn in it, and what the detectors say of it.
    fn judge(&self, facts: &Facts) -> (History, Option<Alarm>) {
        let mut history = facts.history.clone();
        note(&mut history, self.candidate(), self.restored);
        let refuted = self.confirmation == Confirmation::Refuted;
        let stands = self.judged.green.is_some() && !self.restored && !refuted;
        let alarm = if stands || self.judged.turn.iteration == 0 {
            None
        } else {
            progress::alarm(&history, &facts.policy().thresholds)
        };
        // What a recheck had to confirm and did not is no alarm.
        (history, alarm.filter(|alarm| !(refuted && alarm.recheck)))
    }

    fn candidate(&self) -> Candidate {
        let judged = &self.judged;
        let measurement = &judged.check.measurement;
        Candidate {
            iteration: judged.turn.iteration,
            tree: judged.turn.tree,
            no_op: judged.turn.no_op,
            failing: judged.failing.clone(),
            passing: judged.passing.clone(),
            messages: measurement.messages_digest,
            measured: !measurement.collector.is_empty() && measurement.members_total > 0,
            broke: judged.broke.clone(),
            fixed: judged.fixed.clone(),
        }
    }

    /// The sample that is due before this turn may be judged, if any.
    fn due(&self, facts: &Facts, alarm: Option<&Alarm>) -> Option<CheckPurpose> {
        let converging = self.judged.green.is_some() && self.judged.cleared.is_some() && !self.restored;
        if converging && facts.policy().guards.confirm && self.confirmation == Confirmation::None {
            return Some(CheckPurpose::Confirmation);
        }
        let doubtful = facts.determinism.in_doubt() || alarm.is_some_and(|alarm| alarm.recheck);
        (doubtful && !self.rechecked && !self.restored).then_some(CheckPurpose::Recheck)
    }

    fn verdict(&self, facts: &Facts, history: &History, alarm: Option<Alarm>) -> Next {
        let thresholds = &facts.policy().thresholds;
        let trend = trend::trend(history, thresholds, self.judged.turn.iteration);
        let best = history.best.unwrap_or(Best {
            failing: 0,
            iteration: 0,
        });
        let verdict = alarm.as_ref().map(|alarm| alarm.reason);
        let cause = alarm.as_ref().map_or("", |alarm| alarm.cause).into();
        let detail = alarm.map(|alarm| alarm.detail).unwrap_or_default();
        Next::Record(
            ProgressJudged {
                iteration: self.judged.turn.iteration,
                failing: u64::try_from(self.judged.failing.len()).unwrap_or(u64::MAX),
                best: best.failing,
                best_iteration: best.iteration,
                stalled: history.stalled,
                no_op: self.judged.turn.no_op,
                same_failure: repeat::streak(history),
                improving: trend.improving,
                slope_milli: trend.slope_milli,
                verdict,
                cause,
                detail,
            }
            .into(),
        )
    }

    fn ending(&self, facts: &Facts, judged: &ProgressJudged) -> Option<Ending> {
        let confirmed = match self.confirmation {
            Confirmation::Held => true,
            Confirmation::None => !facts.policy().guards.confirm,
            Confirmation::Refuted | Confirmation::Walk(_) | Confirmation::Judge(..) | Confirmation::Failed { .. } => {
                false
            }
        };
        if let (Some(green), Some(cleared), true, false) =
            (&self.judged.green, &self.judged.cleared, confirmed, self.restored)
        {
            return Converged::new(cleared.clone(), green.clone()).map(Ending::Converged);
        }
        judged.verdict.map(|reason| Ending::Alarm {
            reason,
            cause: judged.cause.clone(),
            detail: judged.detail.clone(),
        })
    }
}

/// Folds one turn into the history.
fn note(history: &mut History, candidate: Candidate, restored: bool) {
    let failing = u64::try_from(candidate.failing.len()).unwrap_or(u64::MAX);
    let now = Best {
        failing,
        iteration: candidate.iteration,
    };
    let first = candidate.iteration == 0;
    match (history.best, candidate.measured) {
        // The first set that has a size starts the count; one that was put back has no say.
        (None, true) if !restored => {
            history.first = Some(now);
            history.best = Some(now);
            history.stalled = 0;
        }
        (None, _) => {
            history.stalled = if candidate.no_op && !first {
                history.stalled + 1
            } else {
                0
            }
        }
        (Some(best), measured) if measured && !restored && failing < best.failing => {
            history.best = Some(now);
            history.stalled = 0;
        }
        (Some(_), _) => history.stalled += 1,
    }
    // The baseline is no candidate: nobody proposed it.
    if !first {
        history.push(candidate);
    }
}

impl Room for Progress {
    const NAME: PhaseName = PhaseName::Progress;

    fn next(&self, facts: &Facts) -> Next {
        let iteration = self.judged.turn.iteration;
        if let Some(next) = self.sample.as_ref().and_then(|sample| sample.next(facts)) {
            return next;
        }
        match &self.confirmation {
            Confirmation::Walk(_) => {
                return Next::Perform(Effect::ObserveTree {
                    iteration,
                    purpose: TreePurpose::AfterCheck,
                    base: facts.surface,
                });
            }
            Confirmation::Judge(check, seen) => {
                return Next::Record(guards::judge(facts, &self.judged.turn, check, seen).into());
            }
            Confirmation::Failed { reason, cause, detail } => return halt(facts, *reason, cause, detail),
            Confirmation::None | Confirmation::Held | Confirmation::Refuted => {}
        }
        if let Some(halt) = distrust(facts) {
            return halt;
        }
        if iteration == 0 && self.judged.green.is_some() && facts.policy().oracle.require_red {
            let detail = "the check is green before any work, and the contract requires a red start";
            return halt(facts, HaltReason::CheckInadequate, "green_baseline", detail);
        }
        let (history, alarm) = self.judge(facts);
        match self.due(facts, alarm.as_ref()) {
            Some(purpose) => Resample::new(purpose, self.judged.turn.read).ask(facts),
            None => self.verdict(facts, &history, alarm),
        }
    }

    fn apply(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        if let Some(sample) = self.sample.as_mut().filter(|sample| !sample.settled()) {
            sample.apply(facts, CheckVerdict::of(&self.judged.check), event)?;
            self.rechecked |= sample.settled();
            if let Some(check) = sample.tolerated() {
                self.confirmation = Confirmation::Refuted;
                if self.judged.green.is_some() {
                    // The next turn is told what went red.
                    facts.last_check = Some(Arc::clone(check));
                }
            } else if let Some(check) = sample.confirmation() {
                self.confirmation = Confirmation::Walk(Arc::clone(check));
            }
            return Ok(Phase::Progress(self));
        }
        let wrong = |why| Err(Self::illegal(event, why));
        self.confirmation = match (self.confirmation, event) {
            (Confirmation::Walk(check), Event::TreeObserved(seen)) if seen.purpose == TreePurpose::AfterCheck => {
                Confirmation::Judge(check, Walked::of(seen))
            }
            (Confirmation::Judge(..), Event::GuardsJudged(judged))
                if (judged.iteration, judged.tree) == (self.judged.turn.iteration, self.judged.turn.tree) =>
            {
                let compared = self.judged.cleared.as_ref().is_some_and(GuardsCleared::suites_compared);
                confirmed(judged, compared)
            }
            (Confirmation::Walk(_) | Confirmation::Judge(..), _) => {
                return wrong("the guards speak on the confirmation");
            }
            (Confirmation::Failed { .. }, _) => return wrong("the guards objected to the confirmation"),
            (settled @ (Confirmation::None | Confirmation::Held | Confirmation::Refuted), _) => {
                self.confirmation = settled;
                return self.judge_or_sample(facts, event);
            }
        };
        Ok(Phase::Progress(self))
    }

    fn awaiting(&self) -> Option<u32> {
        self.sample.as_ref().and_then(Resample::awaiting)
    }
}

/// What the guards make of the confirming run. What they leave to `kill_set` was settled by the turn, or is open.
fn confirmed(judged: &GuardsJudged, suites_compared: bool) -> Confirmation {
    let deferred = guard::deferred(&judged.report).filter(|_| !suites_compared);
    if guard::passed(&judged.report) && deferred.is_none() {
        return Confirmation::Held;
    }
    if let Some(objection) = guards::objection(&judged.report) {
        return Confirmation::Failed {
            reason: objection.reason,
            cause: objection.cause,
            detail: objection.detail,
        };
    }
    let absent = guard::unavailable(&judged.report).or(deferred);
    Confirmation::Failed {
        reason: HaltReason::ObjectiveUnverified,
        cause: "guard_unavailable".into(),
        detail: absent.map_or_else(
            || "more findings than could be listed".into(),
            |run| format!("{}: {}", run.guard, run.note),
        ),
    }
}

impl Progress {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever this room does not name does not belong here"
    )]
    fn judge_or_sample(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        match event {
            Event::CheckBegan(began)
                if matches!(began.purpose, CheckPurpose::Recheck | CheckPurpose::Confirmation) && !self.restored =>
            {
                let mut sample = Resample::new(began.purpose, self.judged.turn.read);
                sample.apply(facts, CheckVerdict::of(&self.judged.check), event)?;
                self.sample = Some(sample);
                Ok(Phase::Progress(self))
            }
            Event::ProgressJudged(judged) if judged.iteration == self.judged.turn.iteration => {
                note(&mut facts.history, self.candidate(), self.restored);
                let ending = self.ending(facts, judged);
                Ok(Phase::Checkpoint(Checkpoint::new(judged.iteration, ending)))
            }
            _ => Err(Self::illegal(event, "not the next step of this judgement")),
        }
    }
}
