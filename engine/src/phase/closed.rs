//! Closed: the run has halted. Final, unless a person resumes it and the reason allows that.

use alloc::boxed::Box;

use super::build_context::BuildContext;
use super::open::Open;
use super::ratchet::Ratchet;
use super::{Illegal, Phase, Room};
use crate::effect::Next;
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::PhaseName;
use crate::facts::Facts;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    pub reason: HaltReason,
    /// A rejected turn whose accepted tree is not back: what a resumed run finishes first.
    unrestored: Option<Box<Ratchet>>,
}

impl Closed {
    pub(crate) fn new(reason: HaltReason, halted_in: Phase) -> Self {
        let ratchet = if let Phase::Ratchet(room) = halted_in {
            room.unrestored()
        } else {
            None
        };
        Self {
            reason,
            unrestored: ratchet.map(Box::new),
        }
    }
}

/// Whether a run that halted for this reason may be continued (SPEC 3.6).
///
/// A converged run is done, and one whose evidence is in doubt must start anew.
pub const fn resumable(reason: HaltReason) -> bool {
    !matches!(reason.exit_code(), 10 | 13 | 20 | 50)
}

impl Room for Closed {
    const NAME: PhaseName = PhaseName::Closed;

    fn next(&self, _: &Facts) -> Next {
        Next::Stop
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever this room does not name does not belong here"
    )]
    fn apply(self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        match event {
            Event::Resumed(_) if facts.t0.is_some() && resumable(self.reason) => {
                facts.halted = None;
                facts.instant_failures = 0;
                facts.history.forgive();
                if facts.policy().oracle.baseline && facts.checkpointed.is_none() {
                    // Nothing was accepted yet: the check may have been mended, so t0 is what is there now.
                    facts.revalidate = false;
                    return Ok(Phase::Open(Open));
                }
                // No turn begins on a tree that is neither the accepted one nor anybody's work.
                Ok(self
                    .unrestored
                    .map_or(Phase::BuildContext(BuildContext), |room| Phase::Ratchet(*room)))
            }
            _ => Err(Self::illegal(event, "the run is over")),
        }
    }
}
