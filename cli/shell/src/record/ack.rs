//! An acknowledgement: a person signs that they have read what was accepted so far.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ed25519_dalek::{Signature, VerifyingKey};
use engine::State;
use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::Digest;
use engine::event::people::Acked;
use engine::phase::Illegal;
use journal::{Journal, Keys, Notes, ReceiptWriter, Writer};

use super::{Place, Record, RecordError};
use crate::clock;
use crate::lock::{self, LockError};
use crate::paths::RunDir;
use crate::session::Profile;

/// First line of what is signed, so that it can be taken for nothing else.
const TITLE: &str = "loopexec-ack/v1";

/// Who acknowledges, and with which key.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledge<'a> {
    pub reviewer: &'a str,
    pub note: &'a str,
    pub key: &'a Path,
}

/// Why nothing was acknowledged.
#[derive(Debug)]
pub enum AckError {
    Record(RecordError),
    Lock(LockError),
    Journal(journal::Error),
    /// The run's events do not fold.
    Unsound {
        seq: u64,
        illegal: Illegal,
    },
    /// There is nothing to read yet.
    Empty,
}

impl AckError {
    /// The halt reason whose class the exit code takes.
    pub const fn reason(&self) -> HaltReason {
        match self {
            Self::Record(error) => error.reason(),
            Self::Journal(journal::Error::Corrupt(_)) | Self::Unsound { .. } => HaltReason::ObjectiveUnverified,
            Self::Lock(_) | Self::Journal(_) | Self::Empty => HaltReason::WorkspaceInvalid,
        }
    }
}

impl fmt::Display for AckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Unsound { seq, illegal } => write!(
                f,
                "event {seq} of the journal is not lawful ({illegal}), so nothing is added to it; `loopexec verify` says more"
            ),
            Self::Empty => f.write_str("the run has recorded nothing yet, so there is nothing to acknowledge"),
        }
    }
}

impl std::error::Error for AckError {}

impl From<RecordError> for AckError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<LockError> for AckError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<journal::Error> for AckError {
    fn from(error: journal::Error) -> Self {
        Self::Journal(error)
    }
}

/// Appends a signed acknowledgement to a run that nobody is at work on. The key is made when there is none; it may
/// not lie in the workdir.
///
/// # Errors
/// The run is at work, its journal is damaged, or the key cannot be used.
pub fn acknowledge(place: &Place, wanted: &Acknowledge<'_>) -> Result<Acked, AckError> {
    let _held = lock::acquire(&place.state, place.run.id())?;
    let keys = Keys::load_or_create(wanted.key, &[&place.workdir])?;
    let (mut writer, _) = Journal::open_write(&place.run.journal())?;
    let record = Record::read(place.run.clone())?;
    if let Some((seq, illegal)) = record.fold.illegal {
        return Err(AckError::Unsound { seq, illegal });
    }
    let state = record.fold.state.ok_or(AckError::Empty)?;
    let mut acked = Acked {
        at: clock::stamp(),
        reviewer: wanted.reviewer.to_owned(),
        through_iteration: state.facts.iteration,
        key: super::audit::hex(&keys.public()),
        signature: String::new(),
        note: wanted.note.to_owned(),
    };
    let text = signed_text(place.run.id().as_str(), &acked, writer.head().leaf);
    acked.signature = super::audit::hex(&keys.sign_bytes(text.as_bytes()));
    let event = Event::from(acked.clone());
    let seq = record.fold.events;
    let state = state
        .apply(&event)
        .map_err(|illegal| AckError::Unsound { seq, illegal })?;
    let reader = Journal::open_read(&place.run.journal())?;
    writer.attach_receipt(ReceiptWriter::resume(&reader, &place.run.receipt())?);
    writer.append(&event)?;
    // A checkpoint by another key than the run's own would be taken for a forgery.
    let last = Notes::read(writer.store().as_ref())?.notes.pop();
    let own = last.is_some_and(|note| note.key_id == journal::checkpoint::key_id(&keys.public()));
    writer.seal(profile_digest(&state), own.then_some(&keys))?;
    refresh(&place.run, &state, &writer);
    writer.close()?;
    Ok(acked)
}

/// What the events fold to, as a signed checkpoint names it.
fn profile_digest(state: &State) -> Digest {
    let bytes = serde_json::to_vec(&Profile::of(state, 0, Digest::ZERO)).unwrap_or_default();
    Digest(*blake3::hash(&bytes).as_bytes())
}

/// Brings the projection up to date. Best effort: the journal is the truth, and the next life rewrites it.
fn refresh(run: &RunDir, state: &State, writer: &Writer) {
    let head = writer.head();
    let Ok(mut bytes) = serde_json::to_vec_pretty(&Profile::of(state, head.size, head.leaf)) else {
        return;
    };
    bytes.push(b'\n');
    let temporary = run.state_file().with_extension("json.new");
    let _kept_old = fs::write(&temporary, &bytes).and_then(|()| fs::rename(&temporary, run.state_file()));
}

/// What an acknowledgement signs; `head` is the chain value before it.
pub(super) fn signed_text(run_id: &str, acked: &Acked, head: Digest) -> String {
    format!(
        "{TITLE}\n{run_id}\n{}\n{head}\n{}\n{}\n",
        acked.through_iteration, acked.reviewer, acked.note
    )
}

/// Every acknowledgement of a run with the chain value before it.
pub(super) fn recorded(run: &RunDir) -> Result<Vec<(u64, Arc<Acked>, Digest)>, RecordError> {
    let reader = Journal::open_read(&run.journal())?;
    let mut found = Vec::new();
    reader.chained(|event| {
        let frame = &event.frame;
        if let Ok(Event::Acked(acked)) = Event::decode(frame.kind, frame.version, frame.payload) {
            found.push((event.link.seq, acked, event.previous));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether the named key signed exactly this at this place of the chain.
pub(super) fn is_signed(run_id: &str, acked: &Acked, head: Digest) -> bool {
    let parts = || {
        let key = VerifyingKey::from_bytes(&from_hex(&acked.key)?).ok()?;
        let signature = Signature::from_bytes(&from_hex(&acked.signature)?);
        Some((key, signature))
    };
    let text = signed_text(run_id, acked, head);
    parts().is_some_and(|(key, signature)| key.verify_strict(text.as_bytes(), &signature).is_ok())
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (slot, at) in out.iter_mut().zip((0..).step_by(2)) {
        *slot = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(out)
}
