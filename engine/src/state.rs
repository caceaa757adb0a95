//! State = facts + phase, and the five functions of the machine. A table of contents: judgement lives in
//! the rooms.

mod answers;
mod ledgers;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use crate::determinism::distrust;
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::Stamp;
use crate::event::iteration::{CheckBegan, ExecuteBegan, RestoreBegan, TreePurpose};
use crate::event::run::{Halted, InterruptCause, Interrupted, Resumed, RunOpened, SuspendCause, Suspended};
use crate::facts::Facts;
use crate::phase::{Illegal, Phase, closed, drift, open, revisit};
pub(crate) use answers::complete;
use ledgers::{ledger, stamp};

/// The fold of a journal's events.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Apart, because a state goes from hand to hand at every event and its facts stay where they are.
    pub facts: Box<Facts>,
    pub phase: Phase,
}

impl State {
    /// The state after the first event.
    pub fn open(opened: impl Into<Arc<RunOpened>>) -> Self {
        Self {
            facts: Box::new(Facts::new(opened.into())),
            phase: Phase::Open(open::Open),
        }
    }

    /// Folds a whole sequence; the error names the index of the first event that does not belong.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Self, (usize, Illegal)> {
        let mut state: Option<Self> = None;
        let mut count = 0;
        for (index, event) in events.into_iter().enumerate() {
            count = index + 1;
            state = Some(match state.take() {
                None => Self::first(event).map_err(|illegal| (index, illegal))?,
                Some(state) => state.apply(event).map_err(|illegal| (index, illegal))?,
            });
        }
        state.ok_or((
            count,
            Illegal {
                phase: crate::event::id::PhaseName::Open,
                event: "none",
                why: "an empty journal has no run",
            },
        ))
    }

    /// The state after the first event of a journal.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "nothing else opens a journal, now or later"
    )]
    pub fn first(event: &Event) -> Result<Self, Illegal> {
        match event {
            Event::RunOpened(opened) => Ok(Self::open(Arc::clone(opened))),
            other => Err(Illegal {
                phase: crate::event::id::PhaseName::Open,
                event: other.name(),
                why: "a journal begins with run_opened",
            }),
        }
    }

    /// What to do next. Pure: asking twice gives the same answer.
    pub fn next(&self) -> Next {
        if self.facts.suspended.is_some() {
            return Next::Stop;
        }
        // A resumed run looks at t0 again before it pays for another turn (SPEC 3.6), and at the turn at
        // hand before the check judges it.
        if let Some((reason, detail)) = self.facts.drift.as_ref().filter(|_| self.phase.before_work()) {
            return crate::phase::halt(&self.facts, *reason, "surface_drift", detail);
        }
        // What was recorded of the check is not taken back by another life.
        if let Some(halt) = distrust(&self.facts).filter(|_| self.phase.before_work()) {
            return halt;
        }
        if let Some(next) = revisit::next(&self.facts, &self.phase) {
            return next;
        }
        if self.facts.revalidate && (self.phase.before_work() || self.phase.before_check(&self.facts)) {
            let (iteration, base) = (self.facts.iteration, self.facts.surface);
            return Next::Perform(Effect::ObserveTree {
                iteration,
                purpose: TreePurpose::Resume,
                base,
            });
        }
        self.phase.next(&self.facts)
    }

    /// The fact that an effect is about to happen, for effects that the world could notice.
    pub fn began(&self, effect: &Effect, at: Stamp) -> Option<Event> {
        match *effect {
            Effect::Execute { iteration, attempt, .. } => Some(ExecuteBegan { at, iteration, attempt }.into()),
            Effect::Check {
                iteration,
                attempt,
                purpose,
                copy_of,
                ..
            } => Some(
                CheckBegan {
                    at,
                    iteration,
                    attempt,
                    purpose,
                    copy_of,
                }
                .into(),
            ),
            Effect::Restore { iteration, attempt, to } => Some(
                RestoreBegan {
                    at,
                    iteration,
                    attempt,
                    to,
                }
                .into(),
            ),
            Effect::ObserveTree { .. } | Effect::BuildContext(_) | Effect::Wait { .. } | Effect::Vet(_) => None,
        }
    }

    /// The fact that a begun effect has no end, after a crash. `None` when nothing is unanswered.
    pub fn recover(&self, at: Stamp) -> Option<Event> {
        let attempt = self.facts.revisit.awaiting().or_else(|| self.phase.awaiting())?;
        let (iteration, phase) = (self.facts.iteration, self.phase.name());
        Some(
            Interrupted {
                at,
                iteration,
                phase,
                attempt,
                cause: InterruptCause::Crash,
            }
            .into(),
        )
    }

    /// The fact that the run stops here without a halt.
    pub fn suspend(&self, cause: SuspendCause, code: i32, detail: String, at: Stamp) -> Event {
        Suspended {
            at,
            cause,
            code,
            detail,
        }
        .into()
    }

    /// Whether the run can be continued, and why not.
    pub fn resumable(&self) -> Result<(), HaltReason> {
        match &self.facts.halted {
            Some(halted) if !closed::resumable(halted.reason) || self.facts.t0.is_none() => Err(halted.reason),
            _ => Ok(()),
        }
    }

    /// The fact that a new life of the governor took over.
    pub fn resume(&self, at: Stamp, engine: String, boot_id: String, leftovers: u32) -> Event {
        Resumed {
            at,
            engine,
            boot_id,
            leftovers,
        }
        .into()
    }

    /// Takes one fact, or says that it does not belong here. Judges order, never merit.
    pub fn apply(self, event: &Event) -> Result<Self, Illegal> {
        let Self { mut facts, phase } = self;
        at_hand(&facts, &phase, event)?;
        let walked = facts.tree;
        stamp(&mut facts, event);
        facts.revisit.note(event);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "every other fact goes to the room, which judges it"
        )]
        let phase = match event {
            Event::Halted(halted) => halt(&mut facts, phase, event, halted)?,
            Event::Suspended(suspended) => {
                open_only(&phase, event, &facts)?;
                facts.suspended = Some(Arc::clone(suspended));
                phase
            }
            Event::Resumed(_) => {
                facts.suspended = None;
                facts.revalidate = facts.surface.is_some();
                if matches!(phase, Phase::Closed(_)) {
                    phase.apply(&mut facts, event)?
                } else {
                    phase
                }
            }
            Event::TreeObserved(observed) if observed.purpose == TreePurpose::Resume => {
                open_only(&phase, event, &facts)?;
                if !facts.revalidate || !(phase.before_work() || phase.before_check(&facts)) {
                    let why = "only a resumed run looks again, and before it works or checks";
                    return Err(Illegal {
                        phase: phase.name(),
                        event: event.name(),
                        why,
                    });
                }
                facts.revalidate = false;
                if !phase.before_work() {
                    let phase = phase.found(&facts, walked, observed);
                    return Ok(Self { facts, phase });
                }
                facts.drift = drift(&observed.seen, &facts.policy().guards);
                phase
            }
            // A governor may have been stopped with a command under way: the next life answers that first.
            Event::Interrupted(_) if facts.suspended.is_some() => under_way(&mut facts, phase, event)?,
            // Money is set aside for work, and a run that is over does none.
            Event::Reserved(_) if matches!(phase, Phase::Closed(_)) => {
                return open_only(&phase, event, &facts).map(|()| Self { facts, phase });
            }
            _ if ledger(&mut facts, event) => phase,
            _ => {
                open_only(&phase, event, &facts)?;
                under_way(&mut facts, phase, event)?
            }
        };
        Ok(Self { facts, phase })
    }
}

/// What stands before the turn takes its own facts; every other one goes to the room.
fn under_way(facts: &mut Facts, phase: Phase, event: &Event) -> Result<Phase, Illegal> {
    if revisit::apply(facts, &phase, event)? {
        Ok(phase)
    } else {
        phase.apply(facts, event)
    }
}

/// The collector that stands for the operator's own failures command.
pub const FAILURES_CMD: &str = "failures_cmd";

/// Work events need a run that is neither suspended nor over.
fn open_only(phase: &Phase, event: &Event, facts: &Facts) -> Result<(), Illegal> {
    let why = if facts.suspended.is_some() {
        "the run is suspended; it must be resumed first"
    } else if matches!(phase, Phase::Closed(_)) {
        "the run is over"
    } else {
        return Ok(());
    };
    Err(Illegal {
        phase: phase.name(),
        event: event.name(),
        why,
    })
}

/// A walk, an interruption and a restore speak of the iteration that is under way.
fn at_hand(facts: &Facts, phase: &Phase, event: &Event) -> Result<(), Illegal> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other facts name no iteration, or their room checks it"
    )]
    let fits = match event {
        Event::TreeObserved(observed) => observed.iteration == facts.iteration,
        Event::Interrupted(interrupted) => {
            (interrupted.iteration, interrupted.phase) == (facts.iteration, phase.name())
        }
        Event::RestoreBegan(began) => began.iteration == facts.iteration,
        Event::RestoreEnded(ended) => ended.iteration == facts.iteration,
        Event::Halted(halted) => halted.iteration == facts.iteration,
        _ => true,
    };
    let illegal = |why| Illegal {
        phase: phase.name(),
        event: event.name(),
        why,
    };
    fits.then_some(())
        .ok_or_else(|| illegal("it speaks of another iteration or room than the one under way"))
}

/// A halt closes any open room; success closes only one that holds its proof.
fn halt(facts: &mut Facts, phase: Phase, event: &Event, halted: &Arc<Halted>) -> Result<Phase, Illegal> {
    open_only(&phase, event, facts)?;
    if halted.reason == HaltReason::SuccessConditionMet {
        let proof = if let Phase::Checkpoint(room) = &phase {
            room.converged()
        } else {
            None
        };
        if proof.is_none() {
            let why = "success needs cleared guards and a green check of the same iteration and tree";
            return Err(Illegal {
                phase: phase.name(),
                event: event.name(),
                why,
            });
        }
    }
    facts.halted = Some(Arc::clone(halted));
    Ok(Phase::Closed(closed::Closed::new(halted.reason, phase)))
}
