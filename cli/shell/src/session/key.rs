//! The key of a life: each step recorded before the next, and revoked on every end.

use std::path::Path;

use engine::event::Event;
use engine::event::people::{Credential, CredentialStep};
use engine::event::policy::IsolationPolicy;
use engine::{Next, State};

use super::{Ledger, Life, RunError};
use crate::clock;
use crate::driver::{Broken, commit};
use crate::zone::Refusal;
use crate::zone::credential::{Desk, Held, Key, revoke_by_label};

/// Who answers for the key, and the key; or why the work gets none.
type Taken = (State, Option<Held>, Result<Option<Key>, Refusal>);

impl Life {
    /// Makes the key that the contract asks for, when there will be work. Nothing is made before the intention is on
    /// the disk.
    pub(super) fn mint_key(&self, state: State, workdir: &Path, ledger: &mut Ledger<'_>) -> Result<Taken, RunError> {
        if !wants_a_key(&state) {
            return Ok((state, None, Ok(None)));
        }
        let isolation = state.facts.policy().isolation.clone();
        let desk = Desk::new(&self.exe, &self.env, workdir);
        let life = state.facts.resumes + 1;
        let prepared = Held::prepare(desk, self.run.path(), self.run.id().as_str(), life, &isolation);
        let mut held = match prepared {
            Ok(held) => held,
            Err(refusal) => return Ok((state, None, Err(refusal))),
        };
        let step = |step| event(&held.label(), step, &isolation);
        let (intended, minted) = (step(CredentialStep::Intended), step(CredentialStep::Minted));
        let state = ledger.commit(state, &intended)?;
        ledger.publish(&state)?;
        match held.mint(&isolation) {
            Ok(key) => {
                let state = ledger.commit(state, &minted)?;
                ledger.publish(&state)?;
                Ok((state, Some(held), Ok(Some(key))))
            }
            // A command that failed may have made one all the same.
            Err(refusal) => match revoke(Ok(state), Some(held), ledger) {
                Ok(state) => Ok((state, None, Err(refusal))),
                Err(Broken::Record(error)) => Err(error),
                Err(Broken::Illegal(illegal)) => Err(RunError::illegal(ledger.events(), &illegal)),
            },
        }
    }

    /// Revokes what earlier lives of this run made and did not record as revoked.
    ///
    /// # Errors
    /// One of them may still be good: another would only be added to it.
    pub(super) fn settle_keys(
        &self,
        mut state: State,
        reader: &journal::Reader,
        ledger: &mut Ledger<'_>,
    ) -> Result<State, RunError> {
        let isolation = state.facts.policy().isolation.clone();
        let desk = Desk::new(&self.exe, &self.env, &self.workdir(&state));
        for open in unrevoked(reader)? {
            let revoked = revoke_by_label(&desk, &isolation, &open.label);
            let step = match revoked {
                Ok(()) => CredentialStep::Revoked,
                Err(_) => CredentialStep::RevokeFailed,
            };
            state = ledger.commit(state, &event(&open.label, step, &isolation))?;
            let Err(why) = revoked else { continue };
            ledger.publish(&state)?;
            let label = open.label;
            if clock::stamp().wall_ms <= open.at.wall_ms.saturating_add(open.ttl_ms) {
                return Err(RunError::KeyNotRevoked { label, why });
            }
            ledger.warn(format!(
                "the key {label} of an earlier life could not be revoked ({why}); its time to live is over"
            ));
        }
        Ok(state)
    }
}

/// Revokes the key of a life that is over, with all its zones: in every outcome, and recorded where there still is a
/// record.
pub(super) fn revoke(
    outcome: Result<State, Broken<RunError>>,
    held: Option<Held>,
    ledger: &mut Ledger<'_>,
) -> Result<State, Broken<RunError>> {
    let Some(held) = held else { return outcome };
    let label = held.label();
    let step = match held.revoke() {
        Ok(()) => CredentialStep::Revoked,
        Err(why) => {
            ledger.warn(format!(
                "the key {label} could not be revoked and may still be good: {why}; loopexec goes on trying for some \
                 minutes, and the next run, resume or doctor tries again"
            ));
            CredentialStep::RevokeFailed
        }
    };
    let state = outcome?;
    let event = event(&label, step, &state.facts.policy().isolation);
    let state = commit(state, &event, ledger)?;
    ledger.publish(&state).map_err(Broken::Record)?;
    Ok(state)
}

/// Not for a run that only says why it halts, nor for one without work.
fn wants_a_key(state: &State) -> bool {
    let policy = state.facts.policy();
    let mint = policy.isolation.mint.as_ref();
    let asked = policy.isolation.zones && mint.is_some_and(|command| !command.is_empty());
    let over = matches!(state.next(), Next::Record(Event::Halted(_)) | Next::Await | Next::Stop);
    asked && !policy.exec.is_empty() && !over
}

fn event(label: &str, step: CredentialStep, isolation: &IsolationPolicy) -> Event {
    Credential {
        at: clock::stamp(),
        label: label.to_owned(),
        step,
        ttl_ms: isolation.key_ttl_ms.unwrap_or_default(),
        cap_microusd: isolation.key_cap_microusd.unwrap_or_default(),
    }
    .into()
}

/// The latest step of every key that is not recorded as revoked, the times of its making kept.
fn unrevoked(reader: &journal::Reader) -> Result<Vec<Credential>, RunError> {
    let mut open: Vec<Credential> = Vec::new();
    for item in reader.events() {
        let (_, Event::Credential(step)) = item? else { continue };
        match step.step {
            CredentialStep::Intended => open.push((*step).clone()),
            CredentialStep::Revoked => open.retain(|known| known.label != step.label),
            CredentialStep::Minted => {
                let made = open.iter_mut().find(|known| known.label == step.label);
                made.into_iter().for_each(|made| made.at = step.at);
            }
            CredentialStep::RevokeFailed => {}
        }
    }
    Ok(open)
}
