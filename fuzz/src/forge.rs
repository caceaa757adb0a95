//! Batches whose hashes are right: what a fuzzer that only changes bytes never gets past.

use engine::event::id::Digest;
use journal::batch::{self, BLOCK, Header, PADDING, SECTOR};
use journal::chain::Link;
use journal::frame::{self, Frame};

/// A batch taken apart: its header, and its frames as they lie on disk.
pub(crate) struct Batch {
    pub(crate) header: Header,
    pub(crate) frames: Vec<Vec<u8>>,
}

/// The batches of a segment, in order.
pub(crate) fn batches(segment: &[u8]) -> Vec<Batch> {
    let (mut at, mut found) = (BLOCK, Vec::new());
    while let Some(header) = segment.get(at..).and_then(Header::parse) {
        let live = header.live_bytes as usize;
        let mut rest = &segment[at + batch::HEADER_BYTES..at + live];
        let mut frames = Vec::new();
        while let Some((_, after)) = Frame::parse(rest) {
            frames.push(rest[..rest.len() - after.len()].to_vec());
            rest = after;
        }
        at += live.div_ceil(BLOCK) * BLOCK;
        found.push(Batch { header, frames });
    }
    found
}

/// The bytes of a frame.
pub(crate) fn frame(link: &Link, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame::HEADER_BYTES + payload.len());
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&link.kind.to_le_bytes());
    out.extend_from_slice(&link.version.to_le_bytes());
    out.extend_from_slice(&link.flags.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&link.json.0);
    out.extend_from_slice(payload);
    out
}

impl Batch {
    /// The bytes on disk, with counts and check computed anew; the chain value stays as the header says.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; batch::HEADER_BYTES];
        out.extend(self.frames.iter().flatten());
        let live_bytes = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out.resize(out.len().div_ceil(BLOCK) * BLOCK, PADDING);
        let written = out[SECTOR..]
            .chunks(SECTOR)
            .filter(|sector| sector.iter().any(|byte| *byte != 0));
        let header = Header {
            count: u32::try_from(self.frames.len()).unwrap_or(u32::MAX),
            live_bytes,
            nonzero_sectors: 1 + u32::try_from(written.count()).unwrap_or(u32::MAX),
            ..self.header.clone()
        };
        out[..batch::HEADER_BYTES].copy_from_slice(&header.encode());
        out
    }
}

/// The header of the first batches of a journal.
pub(crate) fn header(origin: [u8; 8], ordinal: u64, first_seq: u64, head: Digest) -> Header {
    Header {
        purpose: batch::Purpose::Events,
        origin,
        segment: 0,
        epoch: 1,
        ordinal,
        first_seq,
        durable_events: first_seq,
        durable_batches: ordinal,
        count: 0,
        live_bytes: 0,
        nonzero_sectors: 0,
        head,
        before: Digest::ZERO,
    }
}
