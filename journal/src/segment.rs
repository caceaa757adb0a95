//! A segment: one zero-filled file that begins with a header block and is immutable once the next one
//! exists. The header ties the segment to its journal and its predecessor and says what the payloads
//! mean.

use engine::event::id::Digest;

use crate::batch::BLOCK;
use crate::bytes::{digest_at, put, u16_at, u32_at, u64_at};
use crate::chain::{Head, Use};
use crate::codec::{ENCODING, Row};
use crate::error::{Error, Result};
use crate::merkle::Peaks;

/// The longest run id.
pub const MAX_RUN_ID_BYTES: usize = 94;
/// The largest segment that is believed.
pub const MAX_BYTES: u64 = 1 << 30;
/// The only format there is so far.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"loopxseg";
const HASH_AT: usize = BLOCK - 32;
const TABLE_AT: usize = 264;
const ROW_BYTES: usize = 36;

/// Which journal bytes belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Random, made once.
    pub journal_id: [u8; 16],
    pub run_id: String,
}

impl Identity {
    pub(crate) fn new(run_id: &str) -> Result<Self> {
        if run_id.is_empty() || run_id.len() > MAX_RUN_ID_BYTES || run_id.chars().any(char::is_control) {
            return Err(Error::RunId {
                run_id: run_id.to_owned(),
            });
        }
        let mut journal_id = [0; 16];
        getrandom::fill(&mut journal_id).map_err(|error| Error::Random { why: error.to_string() })?;
        Ok(Self {
            journal_id,
            run_id: run_id.to_owned(),
        })
    }

    /// The short form that every batch carries.
    pub fn origin(&self) -> [u8; 8] {
        crate::bytes::eight_at(&self.journal_id, 0)
    }

    /// The line that names this journal in a checkpoint.
    pub fn line(&self) -> String {
        let hex: String = self.journal_id.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}+{hex}", self.run_id)
    }
}

/// The first block of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub identity: Identity,
    pub number: u32,
    /// Length of the file.
    pub size_bytes: u64,
    pub first_batch: u64,
    pub epoch: u64,
    /// Digest of everything live in the segment before; zero for the first.
    pub previous: Digest,
    /// The chain before the first event of this segment.
    pub head: Head,
    /// The Merkle peaks before the first event of this segment.
    pub peaks: Peaks,
    pub table: Vec<Row>,
}

impl Header {
    /// The block, its hash included.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let peaks = self.peaks.peaks();
        let peaks_at = TABLE_AT + self.table.len() * ROW_BYTES;
        if peaks_at + peaks.len() * 32 > HASH_AT {
            return Err(Error::Schema {
                why: format!(
                    "the table of {} event kinds does not fit a segment header",
                    self.table.len()
                ),
            });
        }
        let mut out = vec![0; BLOCK];
        let run_id = self.identity.run_id.as_bytes();
        put(&mut out, 0, &MAGIC);
        put(&mut out, 8, &FORMAT.to_le_bytes());
        put(&mut out, 12, &self.number.to_le_bytes());
        put(&mut out, 16, &self.identity.journal_id);
        put(&mut out, 32, &self.size_bytes.to_le_bytes());
        put(&mut out, 40, &self.head.size.to_le_bytes());
        put(&mut out, 48, &self.first_batch.to_le_bytes());
        put(&mut out, 56, &self.epoch.to_le_bytes());
        put(&mut out, 64, &self.previous.0);
        put(&mut out, 96, &self.head.leaf.0);
        put(&mut out, 128, ENCODING.as_bytes());
        put(&mut out, 160, &(run_id.len() as u16).to_le_bytes());
        put(&mut out, 162, run_id);
        put(&mut out, 256, &(self.table.len() as u16).to_le_bytes());
        put(&mut out, 258, &(peaks.len() as u16).to_le_bytes());
        for (i, row) in self.table.iter().enumerate() {
            let at = TABLE_AT + i * ROW_BYTES;
            put(&mut out, at, &row.kind.to_le_bytes());
            put(&mut out, at + 2, &row.version.to_le_bytes());
            put(&mut out, at + 4, &row.fingerprint.0);
        }
        for (i, peak) in peaks.iter().enumerate() {
            put(&mut out, peaks_at + i * 32, &peak.0);
        }
        seal(&mut out);
        Ok(out)
    }

    /// Reads a header block; says what is wrong with it otherwise. Total on hostile bytes.
    pub fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let Some(block) = bytes.get(..BLOCK) else {
            return Err("the file is shorter than a segment header".to_owned());
        };
        if block[..8] != MAGIC {
            return Err("the file does not begin like a segment".to_owned());
        }
        if digest_at(block, HASH_AT) != Use::SegmentHeader.digest(&block[..HASH_AT]) {
            return Err("the segment header does not match its hash".to_owned());
        }
        let format = u32_at(block, 8);
        if format != FORMAT {
            return Err(format!("segment format {format} is unknown; a newer loopexec wrote it"));
        }
        let encoding = block[128..160].split(|byte| *byte == 0).next().unwrap_or_default();
        if encoding != ENCODING.as_bytes() {
            return Err(format!(
                "payload encoding {:?} is unknown to this build",
                String::from_utf8_lossy(encoding)
            ));
        }
        Self::fields(block).ok_or_else(|| "the segment header holds impossible values".to_owned())
    }

    fn fields(block: &[u8]) -> Option<Self> {
        let run_id = block.get(162..162 + usize::from(u16_at(block, 160)).min(MAX_RUN_ID_BYTES))?;
        let (rows, peaks) = (usize::from(u16_at(block, 256)), usize::from(u16_at(block, 258)));
        let peaks_at = TABLE_AT + rows * ROW_BYTES;
        let size_bytes = u64_at(block, 32);
        if peaks_at + peaks * 32 > HASH_AT || size_bytes > MAX_BYTES || !size_bytes.is_multiple_of(BLOCK as u64) {
            return None;
        }
        let head = Head {
            size: u64_at(block, 40),
            leaf: digest_at(block, 96),
        };
        let table = (0..rows).map(|i| TABLE_AT + i * ROW_BYTES).map(|at| Row {
            kind: u16_at(block, at),
            version: u16_at(block, at + 2),
            fingerprint: digest_at(block, at + 4),
        });
        let peaks = (0..peaks).map(|i| digest_at(block, peaks_at + i * 32)).collect();
        Some(Self {
            identity: Identity {
                journal_id: block[16..32].try_into().ok()?,
                run_id: String::from_utf8(run_id.to_vec()).ok()?,
            },
            number: u32_at(block, 12),
            size_bytes,
            first_batch: u64_at(block, 48),
            epoch: u64_at(block, 56),
            previous: digest_at(block, 64),
            head,
            peaks: Peaks::from_parts(head.size, peaks)?,
            table: table.collect(),
        })
    }
}

/// Puts the hash at the end of a header block.
fn seal(block: &mut [u8]) {
    let hash = Use::SegmentHeader.digest(&block[..HASH_AT]);
    put(block, HASH_AT, &hash.0);
}

/// How segments grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of the first segment; each later one is twice as large.
    pub first_bytes: u64,
    /// The largest size, unless one batch needs more.
    pub max_bytes: u64,
    /// Whether the spare segment is built by a thread of its own.
    pub background: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            first_bytes: 256 << 10,
            max_bytes: 2 << 20,
            background: true,
        }
    }
}

impl Layout {
    /// Size of segment `number` that must take a batch of `batch_bytes`.
    pub(crate) fn size_bytes(&self, number: u32, batch_bytes: usize) -> u64 {
        let grown = self
            .first_bytes
            .saturating_mul(1 << number.min(32))
            .min(self.max_bytes.min(MAX_BYTES));
        let needed = (BLOCK + batch_bytes) as u64;
        grown.max(needed).div_ceil(BLOCK as u64) * BLOCK as u64
    }
}

/// The file of segment `number`.
pub(crate) fn file_name(number: u32) -> String {
    format!("{number:08}.seg")
}

/// The file of the spare that becomes segment `number`.
pub(crate) fn spare_name(number: u32) -> String {
    format!("{number:08}.prep")
}

/// The number in a segment's file name.
pub(crate) fn number_in(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".seg")?;
    let number = (digits.len() == 8).then(|| digits.parse().ok())??;
    (file_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let mut peaks = Peaks::default();
        for i in 0..5 {
            peaks.push(Digest([i; 32]));
        }
        Header {
            identity: Identity::new("run-1").unwrap(),
            number: 3,
            size_bytes: 1 << 20,
            first_batch: 4,
            epoch: 2,
            previous: Digest([1; 32]),
            head: Head {
                size: 5,
                leaf: Digest([2; 32]),
            },
            peaks,
            table: crate::codec::table(),
        }
    }

    #[test]
    fn the_whole_vocabulary_and_the_largest_tree_fit_one_block() {
        let mut full = header();
        full.head.size = (1 << 44) - 1;
        full.peaks = Peaks::from_parts(full.head.size, vec![Digest([9; 32]); 44]).unwrap();
        let block = full.encode().unwrap();
        assert_eq!(Header::parse(&block), Ok(full));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_seen() {
        let block = header().encode().unwrap();
        for bit in 0..BLOCK * 8 {
            let mut flipped = block.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_segment_is_large_enough_for_the_batch_that_asked_for_it() {
        let layout = Layout::default();
        assert_eq!(layout.size_bytes(0, 4096), 256 << 10);
        assert_eq!(layout.size_bytes(3, 4096), 2 << 20);
        assert_eq!(layout.size_bytes(40, 4096), 2 << 20);
        assert_eq!(layout.size_bytes(0, 8 << 20), (8 << 20) + 4096);
    }

    #[test]
    fn only_canonical_names_are_segments() {
        assert_eq!(number_in(&file_name(7)), Some(7));
        for name in ["7.seg", "0000007.seg", "+0000007.seg", "00000007.prep", "00000007.seg~"] {
            assert_eq!(number_in(name), None, "{name}");
        }
    }

    #[test]
    fn a_run_id_that_does_not_fit_is_refused() {
        assert!(Identity::new(&"x".repeat(94)).is_ok());
        for bad in [String::new(), "x".repeat(95), "a\nb".to_owned()] {
            assert!(matches!(Identity::new(&bad), Err(Error::RunId { .. })));
        }
    }
}
