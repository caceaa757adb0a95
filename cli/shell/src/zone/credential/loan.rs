//! A key outside of any run: for one pair of zones, or to see that the two programs do what they say.
//!
//! Word of it lies in the state directory itself, and whoever has the lock of that sweeps it up like those of runs.

use std::path::Path;

use engine::event::policy::IsolationPolicy;

use super::{Desk, Held, Key, refusal, sweep};
use crate::clock;
use crate::lock::{self, StateLock};
use crate::paths::{RunId, StateDir};
use crate::zone::{Refusal, RefusalCause};

/// Answers for one key until it is given back. Dropping it leaves that to the reaper.
#[derive(Debug)]
pub(crate) struct Loan {
    held: Held,
    /// Nobody else takes it for a key that a dead run left.
    _lock: StateLock,
}

impl Loan {
    /// Makes a key, after whatever earlier ones are worthless.
    ///
    /// # Errors
    /// Why there is none. Then none is good, or the refusal says so.
    pub(crate) fn take(desk: Desk, state: &StateDir, isolation: &IsolationPolicy) -> Result<(Self, Key), Refusal> {
        let unready = |why: String| refusal(RefusalCause::ProbeFailed, &why);
        let id = RunId::fresh(clock::stamp().wall_ms).map_err(|error| unready(error.to_string()))?;
        let lock = lock::acquire(state, &id).map_err(|error| unready(error.to_string()))?;
        if let Some((key, why)) = sweep(state, &desk)
            .into_iter()
            .find_map(|left| Some((left.key, left.failed?)))
        {
            let why =
                format!("the key {key} of an earlier life may still be good ({why}), and another would be beside it");
            return Err(refusal(RefusalCause::CredentialNotRevocable, &why));
        }
        let mut held = Held::prepare(desk, state.path(), id.as_str(), 0, isolation)?;
        match held.mint(isolation) {
            Ok(key) => Ok((Self { held, _lock: lock }, key)),
            Err(failed) => match held.revoke() {
                Ok(()) => Err(failed),
                Err(why) => {
                    let why = format!("{}; and it could not be revoked: {why}", failed.message);
                    Err(refusal(RefusalCause::CredentialNotRevocable, &why))
                }
            },
        }
    }

    /// What the key goes by.
    pub(crate) fn label(&self) -> String {
        self.held.label()
    }

    /// Makes the key worthless.
    ///
    /// # Errors
    /// Why that is not known; the reaper goes on trying.
    pub(crate) fn give_back(self) -> Result<(), String> {
        self.held.revoke()
    }
}

/// Whether a contract has a key made.
pub(crate) fn is_asked_for(isolation: &IsolationPolicy) -> bool {
    isolation.mint.as_ref().is_some_and(|command| !command.is_empty())
}

/// The state directory of a workdir, made where there is none.
///
/// # Errors
/// Why word of a key could not be kept there.
pub(crate) fn state_of(workdir: &Path) -> Result<StateDir, Refusal> {
    StateDir::create(workdir).map_err(|error| refusal(RefusalCause::ProbeFailed, &error.to_string()))
}
