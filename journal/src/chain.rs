//! The chain: one value an event, which is also its leaf in the Merkle tree.
//!
//! `leaf(i) = H(0x00, leaf(i-1), seq, kind, version, flags, H(payload), H(json))`, little endian, and
//! the leaf before the first is 32 zero bytes. Because each leaf holds the one before it, order is
//! fixed and nothing can be inserted or left out; because each leaf holds the digest of the canonical
//! JSON, a receipt in JSON is evidence by itself. Every use of the hash has its own derive-key context,
//! so a value of one use can never stand for another.

use std::sync::LazyLock;

use blake3::Hasher;
use blake3::hazmat::{ContextKey, HasherExt, hash_derive_key_context};
use engine::event::id::Digest;

macro_rules! contexts {
    ($($(#[$meta:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// The separate uses of the hash.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Use { $($(#[$meta])* $name),* }

        impl Use {
            /// The derive-key context of this use; part of the format.
            pub(crate) fn hasher(self) -> Hasher {
                match self {
                    $(Self::$name => {
                        static KEY: LazyLock<ContextKey> = LazyLock::new(|| hash_derive_key_context($text));
                        Hasher::new_from_context_key(&KEY)
                    })*
                }
            }
        }
    };
}

contexts! {
    Payload = "loopexec journal/1 payload",
    Json = "loopexec journal/1 json",
    /// Leaves (prefix 0x00) and inner nodes (prefix 0x01).
    Tree = "loopexec journal/1 tree",
    BatchHeader = "loopexec journal/1 batch header",
    SegmentHeader = "loopexec journal/1 segment header",
    /// Everything live in a segment.
    Segment = "loopexec journal/1 segment",
    Schema = "loopexec journal/1 schema",
    Key = "loopexec journal/1 key id",
}

impl Use {
    pub(crate) fn digest(self, bytes: &[u8]) -> Digest {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        finish(&hasher)
    }
}

pub(crate) fn finish(hasher: &Hasher) -> Digest {
    Digest(*hasher.finalize().as_bytes())
}

/// The digest of a payload, as it stands in receipts and proofs.
pub fn payload_digest(payload: &[u8]) -> Digest {
    Use::Payload.digest(payload)
}

/// The digest of the canonical JSON of an event.
pub fn json_digest(json: &[u8]) -> Digest {
    Use::Json.digest(json)
}

/// Everything that goes into one leaf but the leaf before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub seq: u64,
    pub kind: u16,
    pub version: u16,
    pub flags: u32,
    pub payload: Digest,
    pub json: Digest,
}

impl Link {
    /// The leaf of this event after `previous`.
    pub fn leaf(&self, previous: &Digest) -> Digest {
        let mut input = [0_u8; 113];
        input[1..33].copy_from_slice(&previous.0);
        input[33..41].copy_from_slice(&self.seq.to_le_bytes());
        input[41..43].copy_from_slice(&self.kind.to_le_bytes());
        input[43..45].copy_from_slice(&self.version.to_le_bytes());
        input[45..49].copy_from_slice(&self.flags.to_le_bytes());
        input[49..81].copy_from_slice(&self.payload.0);
        input[81..113].copy_from_slice(&self.json.0);
        Use::Tree.digest(&input)
    }
}

/// An inner node of the Merkle tree.
pub fn node(left: &Digest, right: &Digest) -> Digest {
    let mut input = [1_u8; 65];
    input[1..33].copy_from_slice(&left.0);
    input[33..65].copy_from_slice(&right.0);
    Use::Tree.digest(&input)
}

/// Where a chain ends: how many events, and the leaf of the last one (zero for none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Head {
    pub size: u64,
    pub leaf: Digest,
}

impl Head {
    /// The number of the last event.
    pub const fn last_seq(&self) -> Option<u64> {
        self.size.checked_sub(1)
    }

    pub(crate) fn advance(&mut self, link: &Link) {
        self.leaf = link.leaf(&self.leaf);
        self.size += 1;
    }
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.size, self.leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_of_a_leaf_changes_it() {
        let link = Link {
            seq: 1,
            kind: 2,
            version: 3,
            flags: 4,
            payload: Digest([5; 32]),
            json: Digest([6; 32]),
        };
        let base = link.leaf(&Digest::ZERO);
        let others = [
            Link { seq: 9, ..link },
            Link { kind: 9, ..link },
            Link { version: 9, ..link },
            Link { flags: 9, ..link },
            Link {
                payload: Digest([9; 32]),
                ..link
            },
            Link {
                json: Digest([9; 32]),
                ..link
            },
        ];
        assert!(others.iter().all(|other| other.leaf(&Digest::ZERO) != base));
        assert_ne!(link.leaf(&Digest([1; 32])), base);
    }

    #[test]
    fn one_text_has_another_digest_in_every_use() {
        let digests = [
            payload_digest(b"x"),
            json_digest(b"x"),
            Use::Tree.digest(b"x"),
            Use::Schema.digest(b"x"),
            Use::Segment.digest(b"x"),
            Digest(*blake3::hash(b"x").as_bytes()),
        ];
        for (i, digest) in digests.iter().enumerate() {
            assert!(!digests[..i].contains(digest));
        }
        for (digest, context) in [
            (payload_digest(b"x"), "loopexec journal/1 payload"),
            (json_digest(b"x"), "loopexec journal/1 json"),
        ] {
            assert_eq!(
                digest.0,
                blake3::derive_key(context, b"x"),
                "the plain derive-key mode, so that any implementation of blake3 can check it"
            );
        }
    }

    #[test]
    fn a_head_is_told_by_its_size_and_its_last_leaf() {
        let head = Head {
            size: 3,
            leaf: Digest([0xab; 32]),
        };
        assert_eq!(head.to_string(), format!("3:{}", "ab".repeat(32)));
        assert_eq!((head.last_seq(), Head::default().last_seq()), (Some(2), None));
    }
}
