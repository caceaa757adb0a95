//! Checkpoint: the iteration is summed up and durable; then the run ends or goes on.
//!
//! [`Converged`] lives here. It can only be built from a cleared guard report and a green check of the
//! same iteration and tree, and without it no success can be recorded or replayed.

use alloc::string::String;

use super::build_context::BuildContext;
use super::check::GreenCheck;
use super::{Illegal, Phase, Room, halt};
use crate::effect::Next;
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, PhaseName};
use crate::event::iteration::Checkpointed;
use crate::facts::Facts;
use crate::guard::GuardsCleared;

/// Proof of success: guards cleared and a green check, of one iteration and one tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Converged {
    iteration: u32,
    tree: Digest,
    shown_to_fail: bool,
}

impl Converged {
    /// The proof, when both halves speak of the same iteration and tree.
    pub fn new(cleared: GuardsCleared, green: GreenCheck) -> Option<Self> {
        let same = cleared.iteration() == green.iteration() && cleared.tree() == green.tree();
        same.then(|| Self {
            iteration: green.iteration(),
            tree: green.tree(),
            shown_to_fail: cleared.shown_to_fail(),
        })
    }

    pub fn tree(&self) -> Digest {
        self.tree
    }
}

/// How the run must end after this checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    Converged(Converged),
    Alarm {
        reason: HaltReason,
        cause: String,
        detail: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint {
    iteration: u32,
    written: bool,
    ending: Option<Ending>,
}

impl Checkpoint {
    pub(crate) fn new(iteration: u32, ending: Option<Ending>) -> Self {
        Self {
            iteration,
            written: false,
            ending,
        }
    }

    /// The proof of success, once the checkpoint is written.
    pub(crate) fn converged(&self) -> Option<&Converged> {
        match &self.ending {
            Some(Ending::Converged(proof)) if self.written => Some(proof),
            _ => None,
        }
    }
}

impl Room for Checkpoint {
    const NAME: PhaseName = PhaseName::Checkpoint;

    fn next(&self, facts: &Facts) -> Next {
        if !self.written {
            return Next::Record(
                Checkpointed {
                    at: facts.now,
                    iteration: self.iteration,
                    tree: facts.tree,
                    accepted: facts.accepted.as_ref().map(|accepted| accepted.tree),
                    check_exit: facts.check_exit(),
                    failing: facts
                        .accepted
                        .as_ref()
                        .map_or(0, |a| u64::try_from(a.failing.len()).unwrap_or(u64::MAX)),
                    spend_microusd: facts.spend.microusd,
                    unread: facts.people.unread,
                }
                .into(),
            );
        }
        match &self.ending {
            Some(Ending::Converged(proof)) => {
                let detail = match proof.iteration {
                    0 => "before any work".into(),
                    n if proof.shown_to_fail => alloc::format!("iteration {n}"),
                    n => alloc::format!("iteration {n}, and no guard could show that the check can fail"),
                };
                halt(facts, HaltReason::SuccessConditionMet, "check_passed", &detail)
            }
            Some(Ending::Alarm { reason, cause, detail }) => halt(facts, *reason, cause, detail),
            None => Next::Await,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "whatever this room does not name does not belong here"
    )]
    fn apply(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        match event {
            Event::Checkpointed(done) if !self.written && done.iteration == self.iteration => {
                facts.checkpointed = Some(done.iteration);
                if self.ending.is_none() {
                    return Ok(Phase::BuildContext(BuildContext));
                }
                self.written = true;
                Ok(Phase::Checkpoint(self))
            }
            _ => Err(Self::illegal(event, "an iteration is summed up once")),
        }
    }
}
