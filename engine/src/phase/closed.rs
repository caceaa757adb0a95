//! Closed: the run has halted. Final, unless a person resumes it and the reason allows that.

use super::build_context::BuildContext;
use super::open::Open;
use super::{Illegal, Phase, Room};
use crate::effect::Next;
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::PhaseName;
use crate::facts::Facts;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    pub reason: HaltReason,
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
                Ok(Phase::BuildContext(BuildContext))
            }
            _ => Err(Self::illegal(event, "the run is over")),
        }
    }
}
