//! What a journal is after a crash: one rule, four verdicts.
//!
//! A torn write and a damaged record look alike to a checksum. They differ in evidence that the format
//! keeps: segments are zero-filled, so a torn batch has fewer non-zero sectors than its header says;
//! and every batch says how many batches before it had been acknowledged. So, at the first batch that
//! does not verify:
//!
//! 1. a later batch says that this one was acknowledged: damaged;
//! 2. the first sector was never written: the end, torn if anything lies behind it;
//! 3. the first sector was written but holds no true header: damaged, since a sector is atomic;
//! 4. the header is true and the body is not: torn if sectors are missing, else damaged.
//!
//! Torn bytes were never acknowledged: they are copied to `quarantine/`, zeroed, and writing goes on.
//! Damage is refused.

use std::ops::Range;
use std::sync::Arc;

use blake3::Hasher;
use engine::event::id::Digest;

use crate::batch::{BLOCK, SECTOR, nonzero_sectors};
use crate::bytes::all;
use crate::chain::Head;
use crate::error::{Code, Defect, Error, Result};
use crate::merkle::Peaks;
use crate::scan::{Position, Problem, Scan, quick};
use crate::segment::{self, Header};
use crate::store::{Store, about, read_whole};

/// What was found when a journal was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It ends where its writer stopped.
    Clean,
    /// The last write was cut short; nothing acknowledged is missing.
    TornTail {
        segment: u32,
        offset: u64,
        size_bytes: u64,
        /// Where the bytes were kept; empty when nothing was repaired.
        quarantine: String,
    },
    /// Recorded history is damaged; nothing is executed and nothing appended.
    Corrupt(Defect),
    /// Intact, but not the journal that once had this head.
    RolledBack { have: Head, expected: Digest },
}

/// What is behind the last verified batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Clean,
    Torn(Range<usize>),
    Corrupt(Defect),
}

/// The rule of this module, at the place where `scan` met `problem`.
pub(crate) fn judge(scan: &Scan<'_>, problem: &Problem) -> Tail {
    let at = scan.at;
    let defect = |code, seq, kind, why: &str| {
        Tail::Corrupt(Defect {
            code,
            seq,
            kind,
            segment: scan.segment.number,
            offset: at as u64,
            why: why.to_owned(),
        })
    };
    let seq = scan.position.head.size;
    let torn = || Tail::Torn(at..written_end(scan.bytes, at));
    match problem {
        Problem::Contradiction { code, why } => defect(*code, seq, None, why),
        Problem::Body {
            code, seq, kind, why, ..
        } if acknowledged(scan) => defect(*code, *seq, *kind, why),
        _ if acknowledged(scan) => defect(
            Code::BatchLost,
            seq,
            None,
            "a batch that was acknowledged is not readable",
        ),
        Problem::Zero if written_end(scan.bytes, at) == at => Tail::Clean,
        Problem::Zero => torn(),
        Problem::NoHeader => defect(
            Code::BatchLost,
            seq,
            None,
            "the batch header was written whole and does not match its check",
        ),
        Problem::Body {
            code,
            seq,
            kind,
            why,
            span,
            nonzero_sectors: written,
        } => {
            let found = nonzero_sectors(&scan.bytes[at..at + span]);
            if found < *written {
                torn()
            } else {
                defect(*code, *seq, *kind, why)
            }
        }
    }
}

/// Whether a later batch says that the batch at this place had been synced.
fn acknowledged(scan: &Scan<'_>) -> bool {
    scan.later().any(|later| later.durable_batches > scan.position.ordinal)
}

/// The end of the last block from `at` on that is not all zero; `at` if there is none.
fn written_end(bytes: &[u8], at: usize) -> usize {
    let blocks = bytes[at..].chunks(BLOCK);
    let last = blocks.enumerate().rfind(|(_, block)| !all(block, 0));
    last.map_or(at, |(i, block)| at + i * BLOCK + block.len())
}

/// The segments of a journal, from the first to the last.
pub(crate) fn segments(store: &dyn Store) -> Result<Vec<Header>> {
    let names = about(store, store.list(), "list", "")?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| segment::number_in(name)).collect();
    numbers.sort_unstable();
    if numbers.is_empty() {
        return Err(Error::Missing { place: store.place() });
    }
    let mut headers: Vec<Header> = Vec::with_capacity(numbers.len());
    let mut block = vec![0; BLOCK];
    for (expected, number) in (0..).zip(numbers) {
        if number != expected {
            let why = format!("{} is missing", segment::file_name(expected));
            return Err(broken(&headers, expected, Code::SegmentMissing, why).into());
        }
        let name = segment::file_name(number);
        block.fill(0);
        let got = about(store, store.read_at(&name, 0, &mut block), "read", &name)?;
        let header = Header::parse(&block[..got])
            .map_err(|why| Error::from(broken(&headers, number, Code::SegmentHeader, why)))?;
        if let Some((code, why)) = misplaced(&header, number, headers.last()) {
            return Err(broken(&headers, number, code, why).into());
        }
        headers.push(header);
    }
    Ok(headers)
}

/// Why this header cannot be the one of segment `number` after `previous`.
fn misplaced(header: &Header, number: u32, previous: Option<&Header>) -> Option<(Code, String)> {
    if let Some(previous) = previous {
        if header.identity != previous.identity {
            return Some((Code::Grafted, "the segment is from another journal".to_owned()));
        }
        let ordered = header.head.size >= previous.head.size
            && header.first_batch >= previous.first_batch
            && header.epoch >= previous.epoch;
        if header.number == number && !ordered {
            return Some((
                Code::SegmentHeader,
                "the segment begins before the one it follows".to_owned(),
            ));
        }
    }
    (header.number != number).then(|| {
        let why = format!("the file holds segment {:08}", header.number);
        (Code::SegmentsSwapped, why)
    })
}

fn broken(before: &[Header], segment: u32, code: Code, why: String) -> Defect {
    Defect {
        code,
        seq: before.last().map_or(0, |header| header.head.size),
        kind: None,
        segment,
        offset: 0,
        why,
    }
}

/// Reads a segment file and compares its length with its header.
pub(crate) fn read_segment(store: &dyn Store, header: &Header, buffer: &mut Vec<u8>) -> Result<()> {
    let name = measured(store, header)?;
    read_whole(store, &name, buffer)
}

/// As [`read_segment`], without the zeros at the end: the segment that is being written is mostly those, and a short
/// look at a run should pay neither memory nor time for room that the run has not used. Of what lies behind a stretch
/// of zeros, the sectors are read that could hold the header of a batch; if one of them was written, so is the rest
/// of what is returned. Torn bytes of a batch without a header may be left out.
pub(crate) fn read_written(store: &dyn Store, header: &Header, buffer: &mut Vec<u8>) -> Result<()> {
    const STEP: usize = 2 * BLOCK;
    let name = measured(store, header)?;
    let read = |at: usize, into: &mut [u8]| about(store, store.read_at(&name, at as u64, into), "read", &name);
    let size = usize::try_from(header.size_bytes).unwrap_or(usize::MAX);
    // Allocated before the buffer grows, so that the buffer can grow where it lies.
    let mut window = vec![0; STEP];
    buffer.clear();
    while buffer.len() < size {
        let got = read(buffer.len(), &mut window)?;
        if all(&window[..got], 0) {
            break;
        }
        buffer.extend_from_slice(&window[..got]);
    }
    for at in (buffer.len() + STEP..size).step_by(BLOCK) {
        let got = read(at, &mut window[..SECTOR])?;
        if !all(&window[..got], 0) {
            return read_whole(store, &name, buffer);
        }
    }
    Ok(())
}

/// The name of a segment file that is as long as its header says.
fn measured(store: &dyn Store, header: &Header) -> Result<String> {
    let name = segment::file_name(header.number);
    let length = about(store, store.len(&name), "measure", &name)?;
    if length == header.size_bytes {
        return Ok(name);
    }
    let why = format!("the file has {length} bytes and should have {}", header.size_bytes);
    Err(defect_in(header, Code::SegmentHeader, why).into())
}

pub(crate) fn defect_in(header: &Header, code: Code, why: String) -> Defect {
    Defect {
        code,
        seq: header.head.size,
        kind: None,
        segment: header.number,
        offset: 0,
        why,
    }
}

/// Names the defect of a sealed segment whose digest is wrong.
pub(crate) fn sealed_defect(bytes: &[u8], header: &Header, next: &Header) -> Defect {
    let mut scan = Scan::new(bytes, header);
    let problem = loop {
        match scan.next() {
            Ok(Some(_)) => {}
            Ok(None) => break Problem::Zero,
            Err(problem) => break problem,
        }
    };
    let (code, seq, kind, why) = match problem {
        Problem::Body {
            code, seq, kind, why, ..
        } => (code, seq, kind, why),
        Problem::Contradiction { code, why } => (code, scan.position.head.size, None, why),
        Problem::NoHeader => {
            let why = "a batch header does not match its check".to_owned();
            (Code::BatchLost, scan.position.head.size, None, why)
        }
        Problem::Zero if scan.position.head.size < next.head.size => {
            let why = "the segment ends before the one that follows it begins".to_owned();
            (Code::Deleted, scan.position.head.size, None, why)
        }
        Problem::Zero => {
            let why = format!("the segment is not the one that segment {:08} follows", next.number);
            (Code::SegmentDigest, header.head.size, None, why)
        }
    };
    Defect {
        code,
        seq,
        kind,
        segment: header.number,
        offset: scan.at as u64,
        why,
    }
}

/// Everything a writer needs to go on.
pub(crate) struct Recovered {
    pub(crate) last: Header,
    pub(crate) position: Position,
    pub(crate) peaks: Peaks,
    pub(crate) digest: Hasher,
    /// Where the next batch goes.
    pub(crate) at: usize,
    /// Where the last batch of the segment is; empty when there is none.
    pub(crate) last_batch: Range<usize>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) tail: Tail,
}

/// Verifies a journal: sealed segments by their digest, the last one event by event. Changes nothing.
pub(crate) fn examine(store: &dyn Store) -> Result<Recovered> {
    let headers = segments(store)?;
    let mut bytes = Vec::new();
    let mut bodies = Vec::new();
    for pair in headers.windows(2) {
        read_segment(store, &pair[0], &mut bytes)?;
        bodies.clear();
        if !quick(&bytes, &pair[1], &mut bodies) {
            return Err(sealed_defect(&bytes, &pair[0], &pair[1]).into());
        }
    }
    let Some(last) = headers.into_iter().next_back() else {
        return Err(Error::Missing { place: store.place() });
    };
    known_shapes(&last)?;
    read_segment(store, &last, &mut bytes)?;
    let mut peaks = last.peaks.clone();
    let mut scan = Scan::new(&bytes, &last);
    let mut last_batch = 0..0;
    let tail = loop {
        match scan.next() {
            Ok(Some(batch)) => {
                scan.leaves.iter().for_each(|leaf| peaks.push(*leaf));
                last_batch = batch.at..scan.at;
            }
            Ok(None) => break Tail::Clean,
            Err(problem) => break judge(&scan, &problem),
        }
    };
    let (position, digest, at) = (scan.position, scan.digest().clone(), scan.at);
    Ok(Recovered {
        last,
        position,
        peaks,
        digest,
        at,
        last_batch,
        bytes,
        tail,
    })
}

/// Refuses a segment in which a kind of this build means something else.
pub(crate) fn known_shapes(header: &Header) -> Result<()> {
    let ours = crate::codec::table();
    for row in &header.table {
        let same = |our: &&crate::codec::Row| our.kind == row.kind && our.version == row.version;
        if let Some(our) = ours.iter().find(same)
            && our.fingerprint != row.fingerprint
        {
            let why = format!(
                "kind {} version {} has another structure in this build; use the loopexec that wrote the journal",
                row.kind, row.version
            );
            return Err(defect_in(header, Code::SchemaTable, why).into());
        }
    }
    Ok(())
}

/// Makes the files what [`examine`] found: torn bytes set aside and zeroed, and the last batch, which
/// the page cache may hold without the disk, written again.
pub(crate) fn repair(store: &Arc<dyn Store>, found: &Recovered) -> Result<Recovery> {
    let store = store.as_ref();
    let name = segment::file_name(found.last.number);
    if let Tail::Corrupt(defect) = &found.tail {
        return Err(defect.clone().into());
    }
    if !found.last_batch.is_empty() {
        let bytes = &found.bytes[found.last_batch.clone()];
        about(
            store,
            store.write_at(&name, found.last_batch.start as u64, bytes),
            "rewrite",
            &name,
        )?;
    }
    let mut recovery = Recovery::Clean;
    if let Tail::Torn(range) = &found.tail {
        let quarantine = set_aside(store, found.last.number, range, &found.bytes[range.clone()])?;
        let zeros = vec![0; range.len()];
        about(store, store.write_at(&name, range.start as u64, &zeros), "zero", &name)?;
        recovery = Recovery::TornTail {
            segment: found.last.number,
            offset: range.start as u64,
            size_bytes: range.len() as u64,
            quarantine,
        };
    }
    about(store, store.sync(&name), "sync", &name)?;
    for leftover in about(store, store.list(), "list", "")? {
        if leftover.ends_with(".prep") {
            about(store, store.unlink(&leftover), "remove", &leftover)?;
        }
    }
    about(store, store.sync_dir(""), "sync", "")?;
    Ok(recovery)
}

/// Copies torn bytes to a file of their own, durably, before they are zeroed.
fn set_aside(store: &dyn Store, number: u32, range: &Range<usize>, bytes: &[u8]) -> Result<String> {
    const FOLDER: &str = "quarantine";
    for attempt in 0_u32.. {
        let name = format!("{FOLDER}/{number:08}-{}.{attempt}", range.start);
        match store.create(&name) {
            Ok(()) => {
                about(store, store.write_at(&name, 0, bytes), "write", &name)?;
                about(store, store.sync(&name), "sync", &name)?;
                about(store, store.sync_dir(FOLDER), "sync", FOLDER)?;
                return Ok(name);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return about(store, Err(error), "create", &name),
        }
    }
    Ok(String::new())
}

#[cfg(test)]
mod tests;
