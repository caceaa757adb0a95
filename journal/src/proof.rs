//! A proof that one event is in a journal: a small JSON file that explains itself and needs nothing
//! else to be checked.
//!
//! It holds the event, what else went into its leaf, the audit path (RFC 6962, bottom up) to the Merkle
//! root, and the signed checkpoint that covers the root when there is one. Without the checkpoint the
//! root and the size are only claimed: one path can fit trees of neighbouring sizes.

use engine::event::Event;
use engine::event::id::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::chain::{Link, json_digest};
use crate::checkpoint::{Note, Notes};
use crate::codec::Encoder;
use crate::error::{Error, Result};
use crate::merkle::{Peaks, audit_path, root_along};
use crate::read::Reader;
use crate::text::{array_from_base64, to_base64};

const FORMAT: &str = "loopexec-proof/v1";

/// A self-contained proof. Its JSON is at most 1.5 KiB longer than its event for any journal of up to
/// 100,000 events.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// `loopexec-proof/v1`.
    pub format: String,
    pub seq: u64,
    /// Canonical JSON, byte for byte.
    pub event: Box<RawValue>,
    pub kind: u16,
    pub v: u16,
    pub flags: u32,
    /// Digest of the payload.
    pub payload: Digest,
    /// The leaf before.
    pub previous: Digest,
    /// Siblings from the leaf to the root, base64.
    pub path: Vec<String>,
    /// Number of events under the root.
    pub size: u64,
    pub root: Digest,
    /// The chain value of the last event under the root, when no checkpoint says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<Digest>,
    /// The signed checkpoint with this size and root.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<String>,
}

/// What a proof that holds says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    pub seq: u64,
    pub event: Event,
    pub root: Digest,
    pub size: u64,
    /// The checkpoint that signs the root, and whether it is signed by the key that was given.
    pub checkpoint: Option<(Note, bool)>,
}

/// Proves event `seq` under the latest checkpoint that covers it, else under the whole journal.
pub fn prove(reader: &Reader, seq: u64) -> Result<Proof> {
    let mut leaves = Vec::new();
    let mut wanted = None;
    let mut encoder = Encoder::default();
    reader.chained(|event| {
        leaves.push(event.leaf);
        if event.link.seq == seq {
            crate::scan::agrees(&event.frame, &mut encoder).map_err(|(_, why)| Error::Proof { why })?;
            wanted = Some((event.link, event.previous));
        }
        Ok(())
    })?;
    let size = leaves.len() as u64;
    let Some((link, previous)) = wanted else {
        return Err(Error::NoSuchEvent { seq, size });
    };
    let notes = Notes::read(reader.store().as_ref())?.notes;
    let covers = |note: &Note| note.checkpoint.size > seq && note.checkpoint.size <= size;
    let note = notes.into_iter().rev().find(covers);
    let under = note.as_ref().map_or(size, |note| note.checkpoint.size);
    let leaves = &leaves[..usize::try_from(under).unwrap_or(leaves.len())];
    let mut peaks = Peaks::default();
    leaves.iter().for_each(|leaf| peaks.push(*leaf));
    let path = audit_path(leaves, usize::try_from(seq).unwrap_or_default());
    let json = String::from_utf8(encoder.json).map_err(|error| Error::Proof { why: error.to_string() })?;
    Ok(Proof {
        format: FORMAT.to_owned(),
        seq,
        event: RawValue::from_string(json).map_err(|error| Error::Proof { why: error.to_string() })?,
        kind: link.kind,
        v: link.version,
        flags: link.flags,
        payload: link.payload,
        previous,
        path: path.iter().map(|digest| to_base64(&digest.0)).collect(),
        size: under,
        root: peaks.root(),
        head: note.is_none().then(|| leaves.last().copied()).flatten(),
        checkpoint: note.map(|note| note.text()),
    })
}

impl Proof {
    /// One line of JSON, ended.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string(self).map_err(|error| Error::Proof { why: error.to_string() })?;
        Ok(text + "\n")
    }
}

/// Checks a proof by itself. With `key`, a checkpoint must be there and be signed by it.
pub fn check(text: &str, key: Option<&[u8; 32]>) -> Result<Proven> {
    let bad = |why: &str| Error::Proof { why: why.to_owned() };
    let proof: Proof = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
    if proof.format != FORMAT {
        return Err(bad("its format is unknown to this build"));
    }
    let event: Event = serde_json::from_str(proof.event.get()).map_err(|error| bad(&error.to_string()))?;
    let computed = Encoder::default().encode(&event, proof.seq)?;
    let link = Link {
        seq: proof.seq,
        kind: proof.kind,
        version: proof.v,
        flags: proof.flags,
        payload: proof.payload,
        json: json_digest(proof.event.get().as_bytes()),
    };
    if computed
        != (Link {
            flags: computed.flags,
            ..link
        })
    {
        return Err(bad("the event and its recorded digests differ"));
    }
    let path: Option<Vec<Digest>> = proof
        .path
        .iter()
        .map(|text| Some(Digest(array_from_base64(text)?)))
        .collect();
    let path = path.ok_or_else(|| bad("its path is malformed"))?;
    let leaf = link.leaf(&proof.previous);
    if root_along(leaf, proof.seq, proof.size, &path) != Some(proof.root) {
        return Err(bad("the path does not lead from the event to the root"));
    }
    let checkpoint = match &proof.checkpoint {
        None if key.is_some() => return Err(bad("no signed checkpoint covers it")),
        None => None,
        Some(text) => {
            let note = Note::parse(text).ok_or_else(|| bad("its checkpoint is malformed"))?;
            let said = &note.checkpoint;
            if (said.size, said.root) != (proof.size, proof.root) || proof.head.is_some() {
                return Err(bad("its checkpoint speaks of another root"));
            }
            let signed = key.is_some_and(|key| note.is_signed_by(key));
            if key.is_some() && !signed {
                return Err(bad("its checkpoint is not signed by the given key"));
            }
            Some((note, signed))
        }
    };
    Ok(Proven {
        seq: proof.seq,
        event,
        root: proof.root,
        size: proof.size,
        checkpoint,
    })
}
