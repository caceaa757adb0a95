//! A batch: the unit of commit. One header, the frames of its events, padding of 0xFF up to the next
//! 4 KiB boundary, written with one call.
//!
//! Two fields exist only for recovery. `durable_batches` says how many batches had been synced when
//! this one was written, so a later batch proves that an earlier, damaged one was acknowledged.
//! `nonzero_sectors` says how many 512-byte sectors of the batch are not all zero: fewer of them on a
//! zero-filled disk means that the write was torn, as many of them means that bytes were changed.

use engine::event::id::Digest;

use crate::bytes::{all, digest_at, eight_at, put, u32_at, u64_at};
use crate::chain::Use;

/// Batches begin on multiples of this.
pub const BLOCK: usize = 4096;
/// What a disk writes as a whole, or not at all.
pub const SECTOR: usize = 512;
/// Size of a batch header.
pub const HEADER_BYTES: usize = 144;
/// The largest batch, header and padding included.
pub const MAX_BYTES: usize = 8 << 20;
/// Fills a batch up to the next block.
pub const PADDING: u8 = 0xFF;

const MAGIC: [u8; 4] = *b"LXB1";
const CHECK_AT: usize = HEADER_BYTES - 8;

/// What a batch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Carries events.
    Events,
    /// A writer took over; the epoch rises here and nowhere else.
    Epoch,
    /// Carries nothing, but puts everything before it under a watermark.
    Mark,
}

impl Purpose {
    const fn number(self) -> u32 {
        match self {
            Self::Events => 1,
            Self::Epoch => 2,
            Self::Mark => 3,
        }
    }

    const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Events),
            2 => Some(Self::Epoch),
            3 => Some(Self::Mark),
            _ => None,
        }
    }
}

/// The header of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub purpose: Purpose,
    /// First eight bytes of the journal id.
    pub origin: [u8; 8],
    pub segment: u32,
    pub epoch: u64,
    /// Number of this batch in the whole journal.
    pub ordinal: u64,
    pub first_seq: u64,
    /// Events whose sync had returned when this batch was written.
    pub durable_events: u64,
    /// Batches whose sync had returned when this batch was written.
    pub durable_batches: u64,
    pub count: u32,
    /// Header and frames, without padding.
    pub live_bytes: u32,
    pub nonzero_sectors: u32,
    /// Chain value after the last event of this batch.
    pub head: Digest,
    /// In an empty batch, the digest of everything live before it in the segment; else zero.
    pub before: Digest,
}

impl Header {
    /// The bytes of this header, its check included.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        put(&mut out, 0, &MAGIC);
        put(&mut out, 4, &self.purpose.number().to_le_bytes());
        put(&mut out, 8, &self.origin);
        put(&mut out, 16, &self.epoch.to_le_bytes());
        put(&mut out, 24, &self.ordinal.to_le_bytes());
        put(&mut out, 32, &self.first_seq.to_le_bytes());
        put(&mut out, 40, &self.durable_events.to_le_bytes());
        put(&mut out, 48, &self.durable_batches.to_le_bytes());
        put(&mut out, 56, &self.count.to_le_bytes());
        put(&mut out, 60, &self.live_bytes.to_le_bytes());
        put(&mut out, 64, &self.nonzero_sectors.to_le_bytes());
        put(&mut out, 68, &self.segment.to_le_bytes());
        put(&mut out, 72, &self.head.0);
        put(&mut out, 104, &self.before.0);
        let check = check(&out);
        put(&mut out, CHECK_AT, &check);
        out
    }

    /// Reads a header whose check is right and whose lengths are possible. Total on hostile bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..HEADER_BYTES)?;
        Self::parse_covered(head).filter(|_| eight_at(head, CHECK_AT) == check(head))
    }

    /// As [`Header::parse`], of bytes that a digest over the whole segment covers: the check is not
    /// computed.
    pub(crate) fn parse_covered(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEADER_BYTES).filter(|bytes| bytes[..4] == MAGIC)?;
        let header = Self::fields(bytes)?;
        let live = header.live_bytes as usize;
        let least = HEADER_BYTES + header.count as usize * crate::frame::HEADER_BYTES;
        let empty = header.purpose != Purpose::Events;
        let possible = live >= least && padded(live) <= MAX_BYTES && empty == (header.count == 0);
        (possible && (!empty || live == HEADER_BYTES)).then_some(header)
    }

    fn fields(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            purpose: Purpose::from_number(u32_at(bytes, 4))?,
            origin: eight_at(bytes, 8),
            epoch: u64_at(bytes, 16),
            ordinal: u64_at(bytes, 24),
            first_seq: u64_at(bytes, 32),
            durable_events: u64_at(bytes, 40),
            durable_batches: u64_at(bytes, 48),
            count: u32_at(bytes, 56),
            live_bytes: u32_at(bytes, 60),
            nonzero_sectors: u32_at(bytes, 64),
            segment: u32_at(bytes, 68),
            head: digest_at(bytes, 72),
            before: digest_at(bytes, 104),
        })
    }

    /// Live length of the batch at the front of `bytes`, if something that looks like a batch is
    /// there; the check is left to a digest over the whole segment.
    pub(crate) fn glance(bytes: &[u8]) -> Option<usize> {
        let head = bytes.get(..HEADER_BYTES)?;
        let live = u32_at(head, 60) as usize;
        let fits = head[..4] == MAGIC && live >= HEADER_BYTES && padded(live) <= bytes.len().min(MAX_BYTES);
        fits.then_some(live)
    }
}

/// First eight bytes of the digest over the header without its check.
fn check(header: &[u8]) -> [u8; 8] {
    eight_at(&Use::BatchHeader.digest(&header[..CHECK_AT]).0, 0)
}

/// Bytes that a batch of `live` bytes takes on disk.
pub(crate) const fn padded(live: usize) -> usize {
    live.div_ceil(BLOCK) * BLOCK
}

/// How many sectors of `bytes` are not all zero.
pub(crate) fn nonzero_sectors(bytes: &[u8]) -> u32 {
    let count = bytes.chunks(SECTOR).filter(|sector| !all(sector, 0)).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Turns `buffer`, which begins with room for a header and holds the frames, into the bytes to write.
pub(crate) fn close(buffer: &mut Vec<u8>, mut header: Header) {
    header.live_bytes = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    buffer.resize(padded(buffer.len()), PADDING);
    // The first sector holds the header, which is never all zero, so it counts whatever it holds now.
    header.nonzero_sectors = 1 + nonzero_sectors(&buffer[SECTOR..]);
    let encoded = header.encode();
    put(buffer, 0, &encoded);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            purpose: Purpose::Events,
            origin: [1; 8],
            segment: 2,
            epoch: 3,
            ordinal: 4,
            first_seq: 5,
            durable_events: 5,
            durable_batches: 4,
            count: 2,
            live_bytes: 600,
            nonzero_sectors: 8,
            head: Digest([6; 32]),
            before: Digest::ZERO,
        }
    }

    #[test]
    fn a_header_survives_its_bytes_and_every_flipped_bit_is_seen() {
        let bytes = header().encode();
        assert_eq!(Header::parse(&bytes), Some(header()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::parse(&flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn impossible_lengths_are_refused_though_the_check_is_right() {
        for (count, live_bytes) in [(0, 600), (2, 200), (1, 10), (1, u32::MAX), (u32::MAX, 600)] {
            let bad = Header {
                count,
                live_bytes,
                ..header()
            };
            assert_eq!(Header::parse(&bad.encode()), None, "{count} {live_bytes}");
        }
    }

    #[test]
    fn a_closed_batch_counts_its_nonzero_sectors() {
        let mut buffer = vec![0; 2000];
        close(&mut buffer, header());
        assert_eq!(buffer.len(), BLOCK);
        let parsed = Header::parse(&buffer).unwrap();
        assert_eq!(parsed.live_bytes, 2000);
        // The header's sector, the one the padding begins in, and four of padding.
        assert_eq!(parsed.nonzero_sectors, 6);
        assert_eq!(nonzero_sectors(&buffer), 6);
    }
}
