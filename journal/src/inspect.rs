//! One segment examined by itself, event by event or by its seal, and many of them side by side.

use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use engine::event::id::Digest;

use crate::bytes::all;
use crate::chain::finish;
use crate::codec::{Encoder, kind_name};
use crate::error::{Code, Defect, Error, Result};
use crate::frame::Frame;
use crate::recover::{Tail, judge, read_segment, sealed_defect};
use crate::scan::{Problem, Scan, agrees, may_skip, quick};
use crate::segment::Header;
use crate::store::Store;

/// What a segment showed.
pub(crate) struct Inspected {
    pub(crate) bytes: Vec<u8>,
    /// The frames of every verified batch.
    pub(crate) bodies: Vec<Range<usize>>,
    /// The leaf of every event before the defect.
    pub(crate) leaves: Vec<Digest>,
    /// The chain values after each batch, when only the seal was looked at: there are no leaves then.
    pub(crate) heads: Option<Vec<Digest>>,
    pub(crate) batches: u64,
    pub(crate) epoch: u64,
    pub(crate) torn_bytes: u64,
    pub(crate) defect: Option<Defect>,
}

impl Inspected {
    const fn nothing(header: &Header) -> Self {
        Self {
            bytes: Vec::new(),
            bodies: Vec::new(),
            leaves: Vec::new(),
            heads: None,
            batches: 0,
            epoch: header.epoch,
            torn_bytes: 0,
            defect: None,
        }
    }
}

/// How closely the segments are looked at.
pub(crate) enum Depth<'a> {
    Events,
    /// Sealed segments by their digest, but event by event those in which one of these sizes is reached.
    Seals(&'a [u64]),
}

impl Depth<'_> {
    /// The header that sealed a segment, if its seal is enough.
    fn seal<'h>(&self, header: &Header, next: Option<&'h Header>) -> Option<&'h Header> {
        match self {
            Self::Events => None,
            Self::Seals(sizes) => next.filter(|next| {
                let within = |size: &u64| header.head.size < *size && *size < next.head.size;
                !sizes.iter().any(within)
            }),
        }
    }
}

/// Reads and examines a segment. The last one may be growing: a defect is believed only if the bytes
/// are still the same afterwards. `buffer` is used again where the bytes are not handed on.
fn inspect(
    store: &dyn Store,
    depth: &Depth<'_>,
    header: &Header,
    next: Option<&Header>,
    buffer: &mut Vec<u8>,
) -> Result<Inspected> {
    const LOOKS: usize = 50;
    if let Some(next) = depth.seal(header, next) {
        read_segment(store, header, buffer)?;
        return Ok(examine_seal(buffer, header, next));
    }
    let mut bytes = Vec::new();
    read_segment(store, header, &mut bytes)?;
    for _ in 0..LOOKS {
        let found = examine(bytes, header, next);
        if next.is_some() || found.defect.is_none() {
            return Ok(found);
        }
        bytes = Vec::new();
        read_segment(store, header, &mut bytes)?;
        if bytes == found.bytes {
            return Ok(found);
        }
    }
    Ok(examine(bytes, header, next))
}

/// Examines a sealed segment as far as that goes without a hash for each event: the digest over
/// everything live, then the structure of what it covers, padding and unwritten space.
fn examine_seal(bytes: &[u8], header: &Header, next: &Header) -> Inspected {
    let mut found = Inspected::nothing(header);
    let mut heads = Vec::new();
    let whole = quick(bytes, next, &mut Vec::new());
    let mut scan = Scan::covered(bytes, header);
    let sound = whole
        && loop {
            match scan.next() {
                Ok(Some(batch)) => {
                    found.batches += 1;
                    found.epoch = batch.header.epoch;
                    heads.push(batch.header.head);
                }
                Ok(None) | Err(Problem::Zero) => break true,
                Err(_) => break false,
            }
        };
    found.defect = match sound {
        true => seal_defect(&scan, header, next, true),
        false => Some(sealed_defect(bytes, header, next)),
    };
    found.heads = Some(heads);
    found
}

/// Examines the bytes of a segment; `next` is the header that sealed it, if it is sealed.
fn examine(bytes: Vec<u8>, header: &Header, next: Option<&Header>) -> Inspected {
    let mut found = Inspected::nothing(header);
    let mut scan = Scan::new(&bytes, header);
    let mut encoder = Encoder::default();
    let problem = loop {
        match scan.next() {
            Ok(None) => break None,
            Err(problem) => break Some(problem),
            Ok(Some(batch)) => {
                found.batches += 1;
                found.epoch = batch.header.epoch;
                let unfit = payloads(&bytes[batch.body.clone()], header, &mut encoder);
                found.bodies.push(batch.body);
                let Some((index, kind, code, why)) = unfit else {
                    found.leaves.extend_from_slice(&scan.leaves);
                    continue;
                };
                found.leaves.extend_from_slice(&scan.leaves[..index]);
                found.defect = Some(Defect {
                    code,
                    seq: header.head.size + found.leaves.len() as u64,
                    kind,
                    segment: header.number,
                    offset: batch.at as u64,
                    why,
                });
                found.bytes = bytes;
                return found;
            }
        }
    };
    match (problem, next) {
        (_, Some(next)) => {
            let whole = finish(scan.digest()) == next.previous;
            found.defect = seal_defect(&scan, header, next, whole);
        }
        (None, None) => {}
        (Some(problem), None) => match judge(&scan, &problem) {
            Tail::Clean => {}
            Tail::Corrupt(defect) => found.defect = Some(defect),
            Tail::Torn(range) => found.torn_bytes = range.len() as u64,
        },
    }
    found.bytes = bytes;
    found
}

/// The first event of a batch whose payload is not what the chain says it is, or whose kind the segment
/// does not declare: its place in the batch, its kind, and what is wrong.
fn payloads(
    body: &[u8],
    header: &Header,
    encoder: &mut Encoder,
) -> Option<(usize, Option<&'static str>, Code, String)> {
    let mut rest = body;
    let mut index = 0;
    while let Some((frame, after)) = Frame::parse(rest) {
        let declared = |row: &crate::codec::Row| row.kind == frame.kind && row.version == frame.version;
        let checked = match header.table.iter().any(declared) {
            true if may_skip(&frame) => Ok(()),
            true => agrees(&frame, encoder).map(|_| ()),
            false => Err((
                Code::SchemaTable,
                format!(
                    "the segment does not declare kind {} version {}",
                    frame.kind, frame.version
                ),
            )),
        };
        if let Err((code, why)) = checked {
            return Some((index, kind_name(frame.kind), code, why));
        }
        (rest, index) = (after, index + 1);
    }
    None
}

/// What is wrong with the end of a segment that has a successor; `whole` says whether its digest is right.
fn seal_defect(scan: &Scan<'_>, header: &Header, next: &Header, whole: bool) -> Option<Defect> {
    let reached = scan.position.head == next.head && scan.position.ordinal == next.first_batch;
    if !reached || !whole {
        return Some(sealed_defect(scan.bytes, header, next));
    }
    let free = scan.bytes.get(scan.at..).unwrap_or_default();
    (!all(free, 0)).then(|| Defect {
        code: Code::Padding,
        seq: scan.position.head.size,
        kind: None,
        segment: header.number,
        offset: scan.at as u64,
        why: "the unwritten end of the segment was written to".to_owned(),
    })
}

/// Examines all segments on all cores and hands them to `take` in order; the first error ends it.
pub(crate) fn side_by_side(
    store: &dyn Store,
    depth: &Depth<'_>,
    headers: &[Header],
    mut take: impl FnMut(&Header, Inspected) -> Result<()>,
) -> Result<()> {
    // Below this a thread costs more than it saves.
    const WORTH_BYTES: u64 = 4 << 20;
    let size: u64 = headers
        .iter()
        .map(|header| header.size_bytes)
        .fold(0, u64::saturating_add);
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    let workers = if size < WORTH_BYTES {
        1
    } else {
        cores.min(headers.len())
    };
    if workers <= 1 {
        let mut buffer = Vec::new();
        for (i, header) in headers.iter().enumerate() {
            take(header, inspect(store, depth, header, headers.get(i + 1), &mut buffer)?)?;
        }
        return Ok(());
    }
    thread::scope(|scope| {
        // One queue a worker, one segment deep, so that no more is in memory than is worked on. Worker
        // `w` has the segments `w`, `w + workers` and so on.
        let mut queues = Vec::with_capacity(workers);
        for worker in 0..workers {
            let (sender, receiver) = mpsc::sync_channel::<Result<Inspected>>(1);
            queues.push(receiver);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                for i in (worker..headers.len()).step_by(workers) {
                    let inspected = inspect(store, depth, &headers[i], headers.get(i + 1), &mut buffer);
                    if sender.send(inspected).is_err() {
                        return;
                    }
                }
            });
        }
        for (i, header) in headers.iter().enumerate() {
            let inspected = queues[i % workers].recv().map_err(|_| Error::Poisoned {
                because: "a verifying thread ended early".to_owned(),
            })??;
            take(header, inspected)?;
        }
        Ok(())
    })
}
