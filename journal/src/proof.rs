//! A proof that one event is in a journal: a small JSON file that explains itself and needs nothing
//! else to be checked.
//!
//! It holds the event, what else went into its leaf, the audit path (RFC 6962, bottom up) to the Merkle
//! root, and the signed checkpoint that says the root and the size when there is one. Without a
//! checkpoint both are only claimed: one path can fit trees of neighbouring sizes. Nothing stands in it
//! twice and digests are base64, so that it fits into a message.

use engine::event::Event;
use engine::event::id::Digest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::chain::{Link, json_digest};
use crate::checkpoint::{Note, Notes};
use crate::codec::Encoder;
use crate::error::{Error, Result};
use crate::merkle::{audit_path, root, root_along};
use crate::read::Reader;
use crate::text::{array_from_base64, from_base64, to_base64};

const FORMAT: &str = "loopexec-proof/v1";

/// A self-contained proof. Its JSON is at most 1.4 KiB longer than its event for any journal of up to
/// 1,000,000 events.
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
    /// Digest of the payload, base64.
    pub payload: String,
    /// The leaf before, base64.
    pub previous: String,
    /// Siblings from the leaf to the root, one after the other, base64.
    pub path: String,
    /// The signed checkpoint that says how many events are under which root.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<String>,
    /// The same without a signature, when no checkpoint covers the event.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsigned: Option<Unsigned>,
}

/// What a proof claims about the tree when nobody signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsigned {
    /// Number of events under the root.
    pub size: u64,
    /// Merkle root, base64.
    pub root: String,
    /// The chain value of the last event, base64.
    pub head: String,
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
    let path = audit_path(leaves, usize::try_from(seq).unwrap_or_default());
    let path: Vec<u8> = path.iter().flat_map(|digest| digest.0).collect();
    let json = String::from_utf8(encoder.json).map_err(|error| Error::Proof { why: error.to_string() })?;
    let unsigned = Unsigned {
        size,
        root: to_base64(&root(leaves).0),
        head: to_base64(&leaves.last().copied().unwrap_or_default().0),
    };
    Ok(Proof {
        format: FORMAT.to_owned(),
        seq,
        event: RawValue::from_string(json).map_err(|error| Error::Proof { why: error.to_string() })?,
        kind: link.kind,
        v: link.version,
        flags: link.flags,
        payload: to_base64(&link.payload.0),
        previous: to_base64(&previous.0),
        path: to_base64(&path),
        unsigned: note.is_none().then_some(unsigned),
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
    let digest = |text: &str| array_from_base64(text).map(Digest);
    let (Some(payload), Some(previous)) = (digest(&proof.payload), digest(&proof.previous)) else {
        return Err(bad("one of its digests is malformed"));
    };
    let link = Link {
        seq: proof.seq,
        kind: proof.kind,
        version: proof.v,
        flags: proof.flags,
        payload,
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
    let note = match &proof.checkpoint {
        None if key.is_some() => return Err(bad("no signed checkpoint covers it")),
        None => None,
        Some(text) => Some(Note::parse(text).ok_or_else(|| bad("its checkpoint is malformed"))?),
    };
    let (size, root) = match (&note, &proof.unsigned) {
        (Some(note), None) => (note.checkpoint.size, note.checkpoint.root),
        (None, Some(claim)) if digest(&claim.head).is_some() => {
            let root = digest(&claim.root).ok_or_else(|| bad("one of its digests is malformed"))?;
            (claim.size, root)
        }
        _ => return Err(bad("one checkpoint or one unsigned claim must say the root")),
    };
    let path = from_base64(&proof.path).ok_or_else(|| bad("its path is malformed"))?;
    let (path, rest) = path.as_chunks::<32>();
    let path: Vec<Digest> = path.iter().copied().map(Digest).collect();
    if !rest.is_empty() || root_along(link.leaf(&previous), proof.seq, size, &path) != Some(root) {
        return Err(bad("the path does not lead from the event to the root"));
    }
    let signed = match (&note, key) {
        (Some(note), Some(key)) if !note.is_signed_by(key) => {
            return Err(bad("its checkpoint is not signed by the given key"));
        }
        (_, key) => key.is_some(),
    };
    Ok(Proven {
        seq: proof.seq,
        event,
        root,
        size,
        checkpoint: note.map(|note| (note, signed)),
    })
}
