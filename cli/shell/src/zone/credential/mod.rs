//! The one key of a life of a run: made for it, handed to the work alone, and worthless afterwards, whatever dies
//! (SPEC 14.5).
//!
//! ```text
//!   marker on disk -> reaper stands by -> intended -> mint -> minted -> work ... -> revoke -> revoked, marker gone
//!
//!   governor killed, or it could not revoke          the reaper sees its pipe end and revokes
//!   reaper killed too                                 the next run, resume or doctor finds the marker
//!   none of them                                      the key's own end
//! ```
//!
//! Mint and revoke are programs of the user, run outside of any zone, far from the tree that the work changes. The
//! marker is there before a key can be, so whoever finds one revokes by its label and need not know whether there ever
//! was a key. To revoke twice does no harm; to believe in it without having seen it succeed would.

mod command;
pub(crate) mod loan;
mod marker;
mod reaper;
mod sweep;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use engine::event::policy::IsolationPolicy;

use super::{Refusal, RefusalCause};
use crate::process::Aside;
use crate::world::secret_forms;
pub(crate) use command::Desk;
use command::{Asked, Minted};
use marker::Marker;
pub use reaper::reap;
pub(crate) use sweep::{Left, Swept, sweep};

/// The hidden first argument that turns the binary into the reaper of one key.
pub const REAP: &str = "__reap";

/// Attempts of a governor before it leaves the rest to the reaper.
const ATTEMPTS: u32 = 3;
/// Between the first two; it doubles up to the second.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A request of a mint command that was ended may still be on its way.
const SETTLE: Duration = Duration::from_secs(2);

/// What the work is handed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) secret: String,
}

impl Key {
    /// All the forms in which programs print it.
    pub(crate) fn spellings(&self) -> Vec<Vec<u8>> {
        secret_forms(self.secret.as_bytes())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.name)
    }
}

/// Answers for one key, before it is made until it is worthless. Dropping it leaves that to the reaper.
#[derive(Debug)]
pub(crate) struct Held {
    desk: Desk,
    place: PathBuf,
    marker: Marker,
    reaper: Aside,
}

impl Held {
    /// Whatever must be there before a key may be: its marker on disk, and the reaper.
    ///
    /// # Errors
    /// Why none may be made. Then nothing is left behind.
    pub(crate) fn prepare(
        desk: Desk,
        run: &Path,
        run_id: &str,
        life: u32,
        isolation: &IsolationPolicy,
    ) -> Result<Self, Refusal> {
        let asked = isolation
            .mint
            .as_ref()
            .zip(isolation.revoke.as_ref())
            .ok_or_else(|| refusal(RefusalCause::CredentialNotRevocable, "nothing revokes it"))?;
        for (what, words) in [("mint", asked.0), ("revoke", asked.1)] {
            let cause = match what {
                "mint" => RefusalCause::ProbeFailed,
                _ => RefusalCause::CredentialNotRevocable,
            };
            desk.objection(what, words)
                .map_or(Ok(()), |why| Err(refusal(cause, &why)))?;
        }
        let unready = |why: String| refusal(RefusalCause::ProbeFailed, &why);
        let (place, marker) = Marker::make(run, run_id, life, asked.1).map_err(unready)?;
        match reaper::start(&desk, &place) {
            Ok(reaper) => Ok(Self {
                desk,
                place,
                marker,
                reaper,
            }),
            Err(error) => {
                marker::remove(&place);
                let why = format!("nothing would revoke it after a kill: the reaper did not start: {error}");
                Err(refusal(RefusalCause::CredentialNotRevocable, &why))
            }
        }
    }

    /// What the key goes by.
    pub(crate) fn label(&self) -> String {
        self.marker.label.clone()
    }

    /// Makes the key.
    ///
    /// # Errors
    /// Why there is none that may be used. Whatever there is must be revoked all the same.
    pub(crate) fn mint(&mut self, isolation: &IsolationPolicy) -> Result<Key, Refusal> {
        let Some(mint) = &isolation.mint else {
            return Err(refusal(RefusalCause::ProbeFailed, "nothing makes one"));
        };
        let asked = Asked {
            run: &self.marker.run_id,
            label: &self.marker.label,
            ttl_ms: isolation.key_ttl_ms.unwrap_or_default(),
            cap_microusd: isolation.key_cap_microusd.unwrap_or_default(),
        };
        let Minted { id, secret } = self.desk.mint(mint, &asked, &self.place)?;
        self.marker.id = Some(id);
        self.marker
            .write(&self.place)
            .map_err(|why| refusal(RefusalCause::ProbeFailed, &why))?;
        Ok(Key {
            name: isolation.key_env.clone(),
            secret,
        })
    }

    /// Makes the key worthless and waits for the word that it is.
    ///
    /// # Errors
    /// Why that is not known. The reaper goes on trying, and after it the next start.
    pub(crate) fn revoke(self) -> Result<(), String> {
        put_out(&self.desk, &self.place, &self.marker, ATTEMPTS)?;
        self.reaper.release();
        Ok(())
    }
}

/// Revokes the key of a marker and removes the marker.
fn put_out(desk: &Desk, place: &Path, marker: &Marker, attempts: u32) -> Result<(), String> {
    again(attempts, |_| put_out_once(desk, place, marker))
}

/// Up to so many attempts, further and further apart.
fn again(attempts: u32, mut attempt: impl FnMut(u32) -> Result<(), String>) -> Result<(), String> {
    let mut pause = PAUSE;
    for number in 1..attempts {
        if attempt(number).is_ok() {
            return Ok(());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    attempt(attempts)
}

/// One attempt. Nothing that still makes the key is left running before, and where nobody saw it made, it is revoked
/// again a little later.
fn put_out_once(desk: &Desk, place: &Path, marker: &Marker) -> Result<(), String> {
    command::end_mint(place)?;
    desk.revoke(&marker.revoke, &marker.label, marker.id.as_deref())?;
    if marker.id.is_none() {
        thread::sleep(SETTLE);
        desk.revoke(&marker.revoke, &marker.label, None)?;
    }
    marker::remove(place);
    Ok(())
}

/// Revokes by label alone, for a key whose marker is gone.
pub(crate) fn revoke_by_label(desk: &Desk, isolation: &IsolationPolicy, label: &str) -> Result<(), String> {
    let revoke = isolation
        .revoke
        .as_ref()
        .ok_or("the contract names nothing that revokes it")?;
    desk.revoke(revoke, label, None)
}

fn refusal(cause: RefusalCause, why: &str) -> Refusal {
    Refusal {
        cause,
        message: format!("the work gets no key: {why}"),
    }
}

/// The words that start the reaper.
fn reaper_words(place: &Path) -> [OsString; 2] {
    [REAP.into(), place.into()]
}
