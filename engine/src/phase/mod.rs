//! The rooms of a run. Each holds only what is known there, asks for one thing at a time, and hands its
//! turn to the next room.
//!
//! ```text
//!  Open -> [ BuildContext -> Execute ] -> Check -> Guards -> Ratchet -> Progress -> Checkpoint -> Closed
//!    \______________________________________/                                        |
//!          (iteration 0, the baseline)          ^------------------ next iteration --/
//! ```
//!
//! `next` judges; `apply` only keeps order, so that old journals stay legal when guards get smarter.

pub mod build_context;
pub mod check;
pub mod checkpoint;
pub mod closed;
mod container;
mod credential;
mod degraded;
mod drift;
pub mod execute;
mod gateway;
pub mod guards;
pub mod open;
pub mod progress;
pub mod ratchet;
mod resample;
pub(crate) mod revisit;
mod turn;
mod zones;

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

pub(crate) use drift::drift;
pub use resample::{CheckVerdict, Resample};
pub use revisit::Revisit;
pub use turn::{Judged, Objection, Turn, Walked};

use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::candidate::Vetted;
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, PhaseName};
use crate::event::iteration::TreeObserved;
use crate::event::run::Halted;
use crate::facts::Facts;
use crate::vet::{Request, Seen};

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Open(open::Open),
    BuildContext(build_context::BuildContext),
    Execute(execute::Execute),
    Check(check::Check),
    Guards(guards::Guards),
    Ratchet(ratchet::Ratchet),
    Progress(progress::Progress),
    Checkpoint(checkpoint::Checkpoint),
    Closed(closed::Closed),
}

/// One room.
pub(crate) trait Room: Sized {
    const NAME: PhaseName;

    /// What to do next: a pure function of the facts and of this room.
    fn next(&self, facts: &Facts) -> Next;

    /// Takes a fact and hands over to the next room, or says that it does not belong here.
    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal>;

    /// An effect of this room was begun and not answered.
    fn awaiting(&self) -> Option<u32> {
        None
    }

    fn illegal(event: &Event, why: &'static str) -> Illegal {
        Illegal {
            phase: Self::NAME,
            event: event.name(),
            why,
        }
    }
}

macro_rules! dispatch {
    ($phase:expr, $room:ident => $body:expr) => {
        match $phase {
            Phase::Open($room) => $body,
            Phase::BuildContext($room) => $body,
            Phase::Execute($room) => $body,
            Phase::Check($room) => $body,
            Phase::Guards($room) => $body,
            Phase::Ratchet($room) => $body,
            Phase::Progress($room) => $body,
            Phase::Checkpoint($room) => $body,
            Phase::Closed($room) => $body,
        }
    };
}

impl Phase {
    pub fn name(&self) -> PhaseName {
        fn name<R: Room>(_: &R) -> PhaseName {
            R::NAME
        }
        dispatch!(self, room => name(room))
    }

    pub(crate) fn next(&self, facts: &Facts) -> Next {
        dispatch!(self, room => room.next(facts))
    }

    pub(crate) fn apply(self, facts: &mut Facts, event: &Event) -> Result<Self, Illegal> {
        dispatch!(self, room => room.apply(facts, event))
    }

    /// The agent has not been called in this turn yet.
    pub(crate) fn before_work(&self) -> bool {
        match self {
            Self::BuildContext(_) => true,
            Self::Execute(room) => room.before_work(),
            Self::Open(_)
            | Self::Check(_)
            | Self::Guards(_)
            | Self::Ratchet(_)
            | Self::Progress(_)
            | Self::Checkpoint(_)
            | Self::Closed(_) => false,
        }
    }

    /// An agent's turn is about to be judged, for the first time or once more.
    pub(crate) fn before_check(&self, facts: &Facts) -> bool {
        match self {
            Self::Check(room) => room.before_check(),
            Self::Ratchet(_) | Self::Progress(_) => matches!(self.next(facts), Next::Perform(Effect::Check { .. })),
            Self::Open(_)
            | Self::BuildContext(_)
            | Self::Execute(_)
            | Self::Guards(_)
            | Self::Checkpoint(_)
            | Self::Closed(_) => false,
        }
    }

    /// What a resumed run makes of the tree that it finds before a check. A sample repeats a run on the
    /// same tree: on another one the turn, or t0, is checked anew.
    pub(crate) fn found(self, facts: &Facts, before: Digest, seen: &Arc<TreeObserved>) -> Self {
        match self {
            Self::Check(room) => Self::Check(room.seen_again(seen)),
            Self::Ratchet(_) | Self::Progress(_) if seen.seen.tree == before => self,
            Self::Ratchet(_) | Self::Progress(_) if facts.iteration == 0 => Self::Open(open::Open),
            Self::Ratchet(room) => Self::Check(room.check_again(seen)),
            Self::Progress(room) => Self::Check(room.check_again(seen)),
            other @ (Self::Open(_)
            | Self::BuildContext(_)
            | Self::Execute(_)
            | Self::Guards(_)
            | Self::Checkpoint(_)
            | Self::Closed(_)) => other,
        }
    }

    /// What the world saw for a vet, judged; `None` where no vet is due.
    pub(crate) fn vetted(&self, facts: &Facts, request: &Request, seen: Seen) -> Option<Vetted> {
        match self {
            Self::Guards(room) => room.vetted(facts, request, seen),
            Self::Open(_)
            | Self::BuildContext(_)
            | Self::Execute(_)
            | Self::Check(_)
            | Self::Ratchet(_)
            | Self::Progress(_)
            | Self::Checkpoint(_)
            | Self::Closed(_) => None,
        }
    }

    /// A fact that holds what was seen and what it comes to holds nothing else. Other facts hold one of the two.
    pub(crate) fn follows(&self, facts: &Facts, event: &Event) -> bool {
        match (self, event) {
            (Self::Guards(room), Event::Vetted(vetted)) => room.follows(facts, vetted),
            _ => true,
        }
    }

    /// The attempt whose effect was begun and not answered, if any.
    pub fn awaiting(&self) -> Option<u32> {
        dispatch!(self, room => room.awaiting())
    }
}

/// A fact that does not belong where it stands: a bug when live, corruption on replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Illegal {
    pub phase: PhaseName,
    pub event: &'static str,
    pub why: &'static str,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} does not belong into phase {}: {}",
            self.event, self.phase, self.why
        )
    }
}

impl core::error::Error for Illegal {}

/// The halt that a room records.
pub(crate) fn halt(facts: &Facts, reason: HaltReason, cause: &str, detail: &str) -> Next {
    let mut sentence = String::from(reason.row().sentence);
    if !detail.is_empty() {
        sentence.pop();
        sentence.push_str(": ");
        sentence.push_str(detail);
        if !sentence.ends_with('.') {
            sentence.push('.');
        }
    }
    let trend = crate::progress::trend::trend(&facts.history, &facts.policy().thresholds, facts.iteration);
    Next::Record(
        Halted {
            iteration: facts.iteration,
            reason,
            cause: cause.into(),
            sentence,
            tree: facts.tree,
            accepted: facts.accepted.as_ref().map(|accepted| accepted.tree),
            improving: trend.improving,
        }
        .into(),
    )
}
