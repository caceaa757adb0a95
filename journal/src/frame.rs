//! A frame: 48 bytes of header, then the payload of one event.

use engine::event::id::Digest;

use crate::bytes::{digest_at, u16_at, u32_at};
use crate::chain::{Link, Use};

/// Size of a frame header.
pub const HEADER_BYTES: usize = 48;

/// One event as it lies in a batch.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub kind: u16,
    pub version: u16,
    pub flags: u32,
    pub json: Digest,
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Appends a frame; the caller has checked that the payload fits a batch.
    pub(crate) fn write(out: &mut Vec<u8>, link: &Link, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&link.kind.to_le_bytes());
        out.extend_from_slice(&link.version.to_le_bytes());
        out.extend_from_slice(&link.flags.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&link.json.0);
        out.extend_from_slice(payload);
    }

    /// The first frame of `bytes` and what follows it. `None` when the bytes are too short or the
    /// reserved word is not zero. Total on hostile bytes, and allocates nothing.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        let length = usize::try_from(u32_at(head, 0)).ok()?;
        if u32_at(head, 12) != 0 {
            return None;
        }
        let (payload, rest) = rest.split_at_checked(length)?;
        let frame = Self {
            kind: u16_at(head, 4),
            version: u16_at(head, 6),
            flags: u32_at(head, 8),
            json: digest_at(head, 16),
            payload,
        };
        Some((frame, rest))
    }

    /// The inputs of this event's leaf at `seq`.
    pub fn link(&self, seq: u64) -> Link {
        Link {
            seq,
            kind: self.kind,
            version: self.version,
            flags: self.flags,
            payload: Use::Payload.digest(self.payload),
            json: self.json,
        }
    }
}
