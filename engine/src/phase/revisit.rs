//! Revisit: what a later life owes the accepted tree before its first work command (SPEC 3.5.5).
//!
//! ```text
//!   resumed -> walk (the surface, SPEC 3.5.4) -> [ check once more -> walk what it left ] -> the turn
//! ```
//!
//! It is no room of its own: it stands before the turn in `build_context` or `execute`, moves neither, and
//! is over once the check agreed with what the journal says of that tree. A life that judged and kept a
//! turn before it works has run the check already, and one that finds another tree has nothing to compare.

use super::{Illegal, Phase, Resample};
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::id::Digest;
use crate::event::iteration::{CheckPurpose, TreePurpose};
use crate::facts::Facts;

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Revisit {
    /// This life has neither worked nor seen the accepted tree judged.
    owed: bool,
    /// The verdict of the turn at hand is of this life.
    measured: bool,
    /// The iteration of the last such check, and its attempts there: a key is never used twice.
    numbered: (u32, u32),
    sample: Option<Resample>,
}

impl Revisit {
    /// A check of a turn came to a verdict.
    pub(crate) fn measured(&mut self) {
        self.measured = true;
    }

    /// The turn at hand is the accepted line now.
    pub(crate) fn accepted(&mut self) {
        self.owed &= !self.measured;
    }

    /// A fact that begins a life, begins its work, or ends the run.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other facts change nothing in what a life owes"
    )]
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Resumed(_) => {
                self.owed = true;
                self.measured = false;
                // A death between a disagreement and its halt takes nothing back.
                self.sample = self.sample.take().filter(Resample::failed);
            }
            Event::ExecuteBegan(_) => self.owed = false,
            Event::Halted(_) => self.sample = None,
            _ => {}
        }
    }

    pub(crate) fn awaiting(&self) -> Option<u32> {
        self.sample.as_ref().and_then(Resample::awaiting)
    }

    fn sample(&self, read: Digest, iteration: u32) -> Resample {
        let before = if self.numbered.0 == iteration {
            self.numbered.1
        } else {
            0
        };
        Resample::numbered(CheckPurpose::Resume, read, before + 1)
    }
}

/// What is left to do before the turn; `None` when nothing is.
pub(crate) fn next(facts: &Facts, phase: &Phase) -> Option<Next> {
    let iteration = facts.iteration;
    let Some(sample) = &facts.revisit.sample else {
        // A cap that is reached ends the run before anything is spent.
        let works = owed(facts, phase) && matches!(phase.next(facts), Next::Perform(_));
        let read = facts.accepted.as_ref().filter(|_| works)?.read;
        return Some(facts.revisit.sample(read, iteration).ask(facts));
    };
    Some(sample.next(facts).unwrap_or({
        Next::Perform(Effect::ObserveTree {
            iteration,
            purpose: TreePurpose::AfterCheck,
            base: facts.surface,
        })
    }))
}

/// The check runs once more: t0 was measured, an agent will work, and the accepted tree is in place.
fn owed(facts: &Facts, phase: &Phase) -> bool {
    let policy = facts.policy();
    let measured = policy.oracle.baseline && !policy.exec.is_empty();
    let in_place = |accepted: &crate::facts::Accepted| {
        accepted.verdict.is_some() && (accepted.tree == facts.tree || accepted.left == facts.tree)
    };
    facts.revisit.owed
        && measured
        && !facts.revalidate
        && phase.before_work()
        && facts.accepted.as_deref().is_some_and(in_place)
}

/// Takes a fact of this check. False when the fact is none of it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not named goes to the room that is under way"
)]
pub(crate) fn apply(facts: &mut Facts, phase: &Phase, event: &Event) -> Result<bool, Illegal> {
    let begins = matches!(event, Event::CheckBegan(began) if began.purpose == CheckPurpose::Resume);
    if facts.revisit.sample.is_none() {
        if !begins {
            return Ok(false);
        }
        if !owed(facts, phase) {
            return Err(illegal(
                phase,
                event,
                "only a resumed run checks the accepted tree once more",
            ));
        }
        let read = facts.accepted.as_ref().map_or(facts.tree, |accepted| accepted.read);
        facts.revisit.sample = Some(facts.revisit.sample(read, facts.iteration));
    }
    match event {
        Event::CheckBegan(_) | Event::CheckEnded(_) | Event::Interrupted(_) => sampled(facts, event)?,
        Event::TreeObserved(seen) if seen.purpose == TreePurpose::AfterCheck && settled(facts) => {
            facts.revisit.sample = None;
            facts.drift = super::drift(&seen.seen, &facts.policy().guards);
            if let Some(accepted) = &mut facts.accepted {
                alloc::rc::Rc::make_mut(accepted).left = seen.seen.tree;
            }
        }
        _ => {
            return Err(illegal(
                phase,
                event,
                "the accepted tree is checked before the turn goes on",
            ));
        }
    }
    Ok(true)
}

fn settled(facts: &Facts) -> bool {
    facts.revisit.sample.as_ref().is_some_and(Resample::settled)
}

fn sampled(facts: &mut Facts, event: &Event) -> Result<(), Illegal> {
    let reference = facts.accepted.as_ref().and_then(|accepted| accepted.verdict);
    if let (Some(mut sample), Some(reference)) = (facts.revisit.sample.take(), reference) {
        sample.apply(facts, reference, event)?;
        if sample.awaiting().is_some() {
            facts.revisit.numbered = (facts.iteration, sample.attempt());
        }
        facts.revisit.owed &= !sample.settled();
        facts.revisit.sample = Some(sample);
    }
    Ok(())
}

fn illegal(phase: &Phase, event: &Event, why: &'static str) -> Illegal {
    Illegal {
        phase: phase.name(),
        event: event.name(),
        why,
    }
}
