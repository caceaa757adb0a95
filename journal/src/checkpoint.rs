//! Signed checkpoints: one sentence about a journal at one size, in the shape of a signed note.
//!
//! ```text
//! loopexec-checkpoint/v1
//! <run id>+<journal id, hex>
//! <size>
//! <Merkle root, base64>
//! <chain head, base64>
//! <state digest, base64>
//! next <public key, base64>        only when the key hands over
//!
//! — loopexec <base64 of 4 bytes key id and 64 bytes ed25519 signature over the lines above>
//! ```
//!
//! `checkpoints.note` holds them one after the other, a blank line between.

use ed25519_dalek::{Signature, VerifyingKey};
use engine::event::id::Digest;

use crate::chain::Use;
use crate::error::{Error, Result};
use crate::store::{Store, about, read_whole};
use crate::text::{array_from_base64, from_base64, to_base64};

/// The file of the notes, in the journal's directory.
pub const FILE: &str = "checkpoints.note";

const TITLE: &str = "loopexec-checkpoint/v1";
const SIGNATURE: &str = "— loopexec ";

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// See [`crate::Identity::line`].
    pub origin: String,
    /// Number of events.
    pub size: u64,
    pub root: Digest,
    pub head: Digest,
    /// The caller's digest of what the events fold to.
    pub state: Digest,
    /// The key that alone may sign after this one.
    pub next: Option<[u8; 32]>,
}

/// A checkpoint with its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub checkpoint: Checkpoint,
    pub key_id: [u8; 4],
    pub signature: [u8; 64],
}

/// The short name of a public key.
pub fn key_id(public: &[u8; 32]) -> [u8; 4] {
    let digest = Use::Key.digest(public).0;
    [digest[0], digest[1], digest[2], digest[3]]
}

impl Checkpoint {
    /// The lines that are signed, each ended.
    pub fn body(&self) -> String {
        let mut body = format!(
            "{TITLE}\n{}\n{}\n{}\n{}\n{}\n",
            self.origin,
            self.size,
            to_base64(&self.root.0),
            to_base64(&self.head.0),
            to_base64(&self.state.0)
        );
        if let Some(next) = &self.next {
            body.push_str(&format!("next {}\n", to_base64(next)));
        }
        body
    }

    fn parse(body: &str) -> Option<Self> {
        let mut lines = body.lines();
        if lines.next()? != TITLE {
            return None;
        }
        let checkpoint = Self {
            origin: lines.next()?.to_owned(),
            size: lines.next()?.parse().ok()?,
            root: Digest(array_from_base64(lines.next()?)?),
            head: Digest(array_from_base64(lines.next()?)?),
            state: Digest(array_from_base64(lines.next()?)?),
            next: match lines.next() {
                None => None,
                Some(line) => Some(array_from_base64(line.strip_prefix("next ")?)?),
            },
        };
        // One checkpoint has one text.
        (checkpoint.body() == body).then_some(checkpoint)
    }
}

impl Note {
    /// The whole note.
    pub fn text(&self) -> String {
        let signed = [self.key_id.as_slice(), self.signature.as_slice()].concat();
        format!("{}\n{SIGNATURE}{}\n", self.checkpoint.body(), to_base64(&signed))
    }

    /// Reads one note; `None` when it is not exactly what [`Note::text`] gives.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, signature) = text.split_once("\n\n")?;
        let signed = from_base64(signature.strip_prefix(SIGNATURE)?.strip_suffix('\n')?)?;
        let (id, signature) = signed.split_at_checked(4)?;
        Some(Self {
            checkpoint: Checkpoint::parse(&format!("{body}\n"))?,
            key_id: id.try_into().ok()?,
            signature: signature.try_into().ok()?,
        })
    }

    /// Whether the holder of this key signed exactly this.
    pub fn is_signed_by(&self, public: &[u8; 32]) -> bool {
        let Ok(key) = VerifyingKey::from_bytes(public) else {
            return false;
        };
        let signature = Signature::from_bytes(&self.signature);
        self.key_id == key_id(public) && key.verify_strict(self.checkpoint.body().as_bytes(), &signature).is_ok()
    }
}

/// The notes of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    pub notes: Vec<Note>,
    /// Bytes behind the last whole note: what a crash left of an append.
    pub torn_bytes: u64,
}

impl Notes {
    /// Reads all notes; a malformed one before the end is an error.
    pub fn read(store: &dyn Store) -> Result<Self> {
        let names = about(store, store.list(), "list", "")?;
        if !names.iter().any(|name| name == FILE) {
            return Ok(Self::default());
        }
        let mut bytes = Vec::new();
        read_whole(store, FILE, &mut bytes)?;
        Self::parse(&bytes)
    }

    /// Reads the content of [`FILE`]. Total on hostile bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut found = Self::default();
        let mut rest = bytes;
        while let Some((note, after)) = first_note(rest) {
            let number = found.notes.len() + 1;
            let note = std::str::from_utf8(note).ok().and_then(Note::parse);
            found.notes.push(note.ok_or_else(|| Error::Checkpoint {
                why: format!("note {number} of {FILE} is malformed"),
            })?);
            rest = after;
        }
        found.torn_bytes = rest.len() as u64;
        Ok(found)
    }

    /// Appends a note durably. A checkpoint of the same size must say the same.
    pub(crate) fn append(store: &dyn Store, note: &Note) -> Result<()> {
        let known = Self::read(store)?;
        let (new, last) = (&note.checkpoint, known.notes.last());
        if let Some(last) = last.map(|last| &last.checkpoint) {
            let same = last.size == new.size && last.root == new.root && last.head == new.head;
            if last.size > new.size || (last.size == new.size && !same) {
                return Err(Error::Checkpoint {
                    why: format!(
                        "a checkpoint of {} events with root {} is signed already",
                        last.size, last.root
                    ),
                });
            }
            if same && last == new {
                return Ok(());
            }
        }
        let names = about(store, store.list(), "list", "")?;
        let fresh = !names.iter().any(|name| name == FILE);
        if fresh {
            about(store, store.create(FILE), "create", FILE)?;
        }
        let end = about(store, store.len(FILE), "measure", FILE)? - known.torn_bytes;
        let separator = if end > 0 { "\n" } else { "" };
        let text = format!("{separator}{}", note.text());
        about(store, store.write_at(FILE, end, text.as_bytes()), "write", FILE)?;
        about(store, store.sync(FILE), "sync", FILE)?;
        if fresh {
            about(store, store.sync_dir(""), "sync", "")?;
        }
        Ok(())
    }

    /// Cuts what a crash left of an append.
    pub(crate) fn mend(store: &dyn Store) -> Result<()> {
        let known = Self::read(store)?;
        if known.torn_bytes > 0 {
            let whole = about(store, store.len(FILE), "measure", FILE)? - known.torn_bytes;
            about(store, store.set_len(FILE, whole), "cut", FILE)?;
            about(store, store.sync(FILE), "sync", FILE)?;
        }
        Ok(())
    }
}

/// Splits off the first note that is all there; `None` when the rest is not one.
fn first_note(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
    let mark = format!("\n\n{SIGNATURE}");
    let at = bytes.windows(mark.len()).position(|window| window == mark.as_bytes())?;
    let line = at + mark.len();
    let end = line + bytes[line..].iter().position(|byte| *byte == b'\n')? + 1;
    Some(bytes.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;

    fn checkpoint(size: u64) -> Checkpoint {
        Checkpoint {
            origin: "r+00".to_owned(),
            size,
            root: Digest([1; 32]),
            head: Digest([2; 32]),
            state: Digest([3; 32]),
            next: None,
        }
    }

    #[test]
    fn a_note_survives_its_text_and_any_changed_character_is_refused() {
        let keys = Keys::from_seed(&[7; 32]);
        let note = keys.sign(&checkpoint(5));
        let text = note.text();
        assert_eq!(Note::parse(&text), Some(note.clone()));
        assert!(note.is_signed_by(&keys.public()));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let parsed = std::str::from_utf8(&bytes).ok().and_then(Note::parse);
            assert!(
                parsed.is_none_or(|note| !note.is_signed_by(&keys.public())),
                "byte {at}"
            );
        }
    }

    #[test]
    fn another_key_has_not_signed_it() {
        let note = Keys::from_seed(&[7; 32]).sign(&checkpoint(5));
        assert!(!note.is_signed_by(&Keys::from_seed(&[8; 32]).public()));
    }

    #[test]
    fn what_a_crash_left_of_a_note_is_counted_and_not_believed() {
        let note = Keys::from_seed(&[7; 32]).sign(&checkpoint(5)).text();
        let both = format!("{note}\n{note}");
        for cut in note.len() + 1..both.len() {
            let notes = Notes::parse(&both.as_bytes()[..cut]).unwrap();
            assert_eq!(
                (notes.notes.len(), notes.torn_bytes as usize),
                (1, cut - note.len()),
                "cut at {cut}"
            );
        }
        assert_eq!(Notes::parse(both.as_bytes()).unwrap().notes.len(), 2);
    }
}
