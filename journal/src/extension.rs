//! A proof that a journal only grew: that the tree of its first events is a part of the tree of more of them.
//!
//! Whoever wrote down size and root of a checkpoint holds the proof against them, and then knows the newer root as well
//! as the older one: nothing before it was changed, left out or moved. It is the consistency proof of RFC 6962 with the
//! newer checkpoint beside it, and takes nothing else to be checked.

use engine::event::id::Digest;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Note, Notes};
use crate::error::{Error, Result};
use crate::merkle::{growth_path, root, root_of_growth};
use crate::proof::Unsigned;
use crate::read::Reader;
use crate::text::{array_from_base64, from_base64, to_base64};

const FORMAT: &str = "loopexec-extension/v1";

/// A self-contained proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// `loopexec-extension/v1`.
    pub format: String,
    pub from: From,
    /// Nodes that lead to both roots, bottom up, one after the other, base64.
    pub path: String,
    /// The signed checkpoint that extends it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint: Option<String>,
    /// The same without a signature, when no checkpoint is as long.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsigned: Option<Unsigned>,
}

/// What is extended: compare it with what was written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct From {
    /// Number of events.
    pub size: u64,
    /// Their Merkle root, base64.
    pub root: String,
}

/// What a proof that holds says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extended {
    pub from: u64,
    pub from_root: Digest,
    pub size: u64,
    pub root: Digest,
    /// The checkpoint that signs the newer root, and whether it is signed by the key that was given.
    pub checkpoint: Option<(Note, bool)>,
}

/// Proves that the latest checkpoint of at least `from` events, else the whole journal, extends the first `from` events.
///
/// # Errors
/// There are not that many events, or the journal cannot be read.
pub fn prove(reader: &Reader, from: u64) -> Result<Extension> {
    let mut leaves = Vec::new();
    reader.chained(|event| {
        leaves.push(event.leaf);
        Ok(())
    })?;
    let size = leaves.len() as u64;
    let first = usize::try_from(from).ok().and_then(|first| leaves.get(..first));
    let Some(first) = first.filter(|first| !first.is_empty()) else {
        return Err(Error::NoSuchEvent { seq: from, size });
    };
    let covers = |note: &Note| note.checkpoint.size >= from && note.checkpoint.size <= size;
    let notes = Notes::read(reader.store().as_ref())?.notes;
    let note = notes.into_iter().rev().find(covers);
    let under = note.as_ref().map_or(size, |note| note.checkpoint.size);
    let grown = &leaves[..usize::try_from(under).unwrap_or(leaves.len())];
    let path: Vec<u8> = growth_path(grown, first.len())
        .iter()
        .flat_map(|digest| digest.0)
        .collect();
    let unsigned = Unsigned {
        size,
        root: to_base64(&root(grown).0),
        head: to_base64(&grown.last().copied().unwrap_or_default().0),
    };
    Ok(Extension {
        format: FORMAT.to_owned(),
        from: From {
            size: from,
            root: to_base64(&root(first).0),
        },
        path: to_base64(&path),
        unsigned: note.is_none().then_some(unsigned),
        checkpoint: note.map(|note| note.text()),
    })
}

impl Extension {
    /// One line of JSON, ended.
    ///
    /// # Errors
    /// None that a proof could have.
    pub fn text(&self) -> Result<String> {
        let text = serde_json::to_string(self).map_err(|error| Error::Proof { why: error.to_string() })?;
        Ok(text + "\n")
    }
}

/// Checks a proof by itself. With `key`, the newer checkpoint must be there and be signed by it.
///
/// # Errors
/// Why it proves nothing.
pub fn check(text: &str, key: Option<&[u8; 32]>) -> Result<Extended> {
    let bad = |why: &str| Error::Proof { why: why.to_owned() };
    let proof: Extension = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
    if proof.format != FORMAT {
        return Err(bad("its format is unknown to this build"));
    }
    let digest = |text: &str| {
        let found = array_from_base64(text).map(Digest);
        found.ok_or_else(|| bad("one of its digests is malformed"))
    };
    let note = match &proof.checkpoint {
        None if key.is_some() => return Err(bad("no signed checkpoint extends it")),
        None => None,
        Some(text) => Some(Note::parse(text).ok_or_else(|| bad("its checkpoint is malformed"))?),
    };
    let (size, root) = match (&note, &proof.unsigned) {
        (Some(note), None) => (note.checkpoint.size, note.checkpoint.root),
        (None, Some(claim)) => (claim.size, digest(&claim.root)?),
        _ => return Err(bad("one checkpoint or one unsigned claim must say the newer root")),
    };
    let from_root = digest(&proof.from.root)?;
    let path = from_base64(&proof.path).ok_or_else(|| bad("its path is malformed"))?;
    let (path, rest) = path.as_chunks::<32>();
    let path: Vec<Digest> = path.iter().copied().map(Digest).collect();
    if !rest.is_empty() || root_of_growth(proof.from.size, size, from_root, &path) != Some(root) {
        return Err(bad("the path does not lead from the older root to the newer one"));
    }
    let signed = match (&note, key) {
        (Some(note), Some(key)) if !note.is_signed_by(key) => {
            return Err(bad("its checkpoint is not signed by the given key"));
        }
        (_, key) => key.is_some(),
    };
    Ok(Extended {
        from: proof.from.size,
        from_root,
        size,
        root,
        checkpoint: note.map(|note| (note, signed)),
    })
}
