//! Rederive: were these decisions what the facts before them called for?
//!
//! `verify` and `replay` use it on a journal whose bytes are already proven intact. Every recorded
//! decision must be exactly what [`State::next`] answers on the prefix before it, and every effect must be
//! the one that was due. Only meaningful with the engine version that wrote the journal: a later engine
//! may judge differently, and is right to.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::id::PhaseName;
use crate::event::run::Halted;
use crate::phase::Illegal;
use crate::state::State;

/// The first event that is not what the facts before it call for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// It does not belong there at all, or there is no event (`index` is then the length).
    Illegal { index: usize, illegal: Illegal },
    /// Another decision, or another effect, was due.
    Differs {
        index: usize,
        recorded: &'static str,
        due: Box<Next>,
    },
}

impl Divergence {
    /// Where the journal stops being what this engine would have written.
    pub const fn index(&self) -> usize {
        match self {
            Self::Illegal { index, .. } | Self::Differs { index, .. } => *index,
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Illegal { index, illegal } => write!(f, "event {index}: {illegal}"),
            Self::Differs { index, recorded, due } => {
                write!(f, "event {index}: {recorded} was recorded, and {} was due", words(due))
            }
        }
    }
}

impl core::error::Error for Divergence {}

fn words(due: &Next) -> String {
    match due {
        Next::Record(Event::Halted(halted)) => format!("halted ({}, {})", halted.reason, halted.cause),
        Next::Record(event) => format!("{} with other contents or at all", event.name()),
        Next::Perform(effect) => format!("the effect {effect:?}"),
        Next::Await => "the answer to a begun effect".into(),
        Next::Stop => "nothing".into(),
    }
}

/// A journal on its way through: takes one event at a time and keeps none of them.
#[derive(Debug, Default)]
pub struct Rederivation {
    state: Option<State>,
    taken: usize,
    differs: Option<Divergence>,
}

impl Rederivation {
    /// Takes the next event. One that belongs there and was not what was due is remembered, the first of them only.
    ///
    /// # Errors
    /// The event does not belong there; nothing after it can be taken.
    pub fn take(&mut self, event: &Event) -> Result<(), Illegal> {
        let index = self.taken;
        self.taken += 1;
        let Some(state) = self.state.take() else {
            if index > 0 {
                let (phase, event, why) = (PhaseName::Open, event.name(), "an event before it was refused");
                return Err(Illegal { phase, event, why });
            }
            self.state = Some(State::first(event)?);
            return Ok(());
        };
        let due = self.differs.is_none().then(|| state.next());
        let follows = due.is_none() || state.phase.follows(&state.facts, event);
        let state = state.apply(event)?;
        if let Some(due) = due.filter(|due| !follows || !called_for(due, event)) {
            let (recorded, due) = (event.name(), Box::new(due));
            self.differs = Some(Divergence::Differs { index, recorded, due });
        }
        self.state = Some(state);
        Ok(())
    }

    /// The fold of what was taken; `None` before the first event and after one that was refused.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The first event that was not what was due.
    pub fn differs(&self) -> Option<&Divergence> {
        self.differs.as_ref()
    }
}

/// Folds a journal and re-derives every decision in it; the final state when all of them hold.
pub fn rederive<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<State, Divergence> {
    let mut journal = Rederivation::default();
    for (index, event) in events.into_iter().enumerate() {
        let taken = journal.take(event);
        taken.map_err(|illegal| Divergence::Illegal { index, illegal })?;
        if let Some(divergence) = journal.differs.take() {
            return Err(divergence);
        }
    }
    let index = journal.taken;
    match journal.state {
        Some(state) => Ok(state),
        None => State::fold([]).map_err(|(_, illegal)| Divergence::Illegal { index, illegal }),
    }
}

/// Whether a recorded event is what was due. Facts that nobody decides (an answer, a signal, a person, a
/// ledger entry) are always in order here; the rooms say whether they belong.
fn called_for(due: &Next, event: &Event) -> bool {
    match event {
        Event::Halted(halted) if observed(halted) => matches!(due, Next::Perform(_) | Next::Await),
        Event::Halted(_)
        | Event::GuardsJudged(_)
        | Event::CandidateAccepted(_)
        | Event::CandidateRejected(_)
        | Event::RetryScheduled(_)
        | Event::ProgressJudged(_)
        | Event::Checkpointed(_) => matches!(due, Next::Record(decided) if decided == event),
        Event::TreeObserved(_)
        | Event::ContextBuilt(_)
        | Event::ExecuteBegan(_)
        | Event::RetryWaited(_)
        | Event::CheckBegan(_)
        | Event::RestoreBegan(_) => matches!(due, Next::Perform(effect) if answers(effect, event)),
        Event::Vetted(_) => match due {
            Next::Record(decided) => decided == event,
            Next::Perform(effect) => answers(effect, event),
            Next::Await | Next::Stop => false,
        },
        Event::RunOpened(_)
        | Event::Resumed(_)
        | Event::Amended(_)
        | Event::Interrupted(_)
        | Event::Suspended(_)
        | Event::ExecuteEnded(_)
        | Event::CheckEnded(_)
        | Event::RestoreEnded(_)
        | Event::Reserved(_)
        | Event::Settled(_)
        | Event::Scored(_)
        | Event::Judged(_)
        | Event::Probed(_)
        | Event::Escalated(_)
        | Event::Delivered(_)
        | Event::Acked(_)
        | Event::TaskSelected(_)
        | Event::TaskClosed(_)
        | Event::Credential(_) => true,
    }
}

/// A halt that an answer of the world amounts to, and not a decision.
fn observed(halted: &Halted) -> bool {
    matches!(halted.cause.as_str(), "workdir_lost" | "foreign_answer")
}

/// Whether this event begins, or without a beginning answers, that effect.
fn answers(effect: &Effect, event: &Event) -> bool {
    match (effect, event) {
        (Effect::ObserveTree { iteration, purpose, .. }, Event::TreeObserved(seen)) => {
            (*iteration, *purpose) == (seen.iteration, seen.purpose)
        }
        (Effect::BuildContext(request), Event::ContextBuilt(built)) => request.iteration == built.iteration,
        (Effect::Execute { iteration, attempt, .. }, Event::ExecuteBegan(began)) => {
            (*iteration, *attempt) == (began.iteration, began.attempt)
        }
        (Effect::Wait { iteration, attempt, .. }, Event::RetryWaited(waited)) => {
            (*iteration, *attempt) == (waited.iteration, waited.attempt)
        }
        (
            Effect::Check {
                iteration,
                attempt,
                purpose,
                copy_of,
                ..
            },
            Event::CheckBegan(began),
        ) => {
            (*iteration, *attempt, *purpose, *copy_of) == (began.iteration, began.attempt, began.purpose, began.copy_of)
        }
        (Effect::Vet(request), Event::Vetted(vetted)) => {
            (request.guard, request.iteration, request.attempt, request.candidate)
                == (vetted.guard.as_str(), vetted.iteration, vetted.attempt, vetted.tree)
        }
        (Effect::Restore { iteration, attempt, to }, Event::RestoreBegan(began)) => {
            (*iteration, *attempt, *to) == (began.iteration, began.attempt, began.to)
        }
        _ => false,
    }
}
