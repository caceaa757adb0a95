//! Going through one segment batch by batch, believing nothing.

use std::ops::Range;

use blake3::Hasher;
use engine::event::Event;
use engine::event::id::Digest;

use crate::batch::{self, BLOCK, PADDING, Purpose, SECTOR, padded};
use crate::bytes::{all, digest_at, u64_at};
use crate::chain::{Head, Use, finish, json_digest};
use crate::codec::{CRITICAL, Encoder, kind_name};
use crate::error::Code;
use crate::frame::Frame;
use crate::segment::Header;

/// Where a journal stands between two batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) epoch: u64,
    /// Number of the next batch.
    pub(crate) ordinal: u64,
    pub(crate) head: Head,
}

impl Position {
    /// Before the first batch of a segment.
    pub(crate) fn before(segment: &Header) -> Self {
        Self {
            epoch: segment.epoch,
            ordinal: segment.first_batch,
            head: segment.head,
        }
    }
}

/// Why the bytes at a place are not the next batch.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// The first sector is all zero.
    Zero,
    /// Something is there, but no header that matches its check.
    NoHeader,
    /// A true header that cannot stand here.
    Contradiction { code: Code, why: String },
    /// The right header, and bytes after it that do not belong to it.
    Body {
        code: Code,
        /// Number and kind of the first event that is to blame.
        seq: u64,
        kind: Option<&'static str>,
        why: String,
        span: usize,
        nonzero_sectors: u32,
    },
}

/// A verified batch.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) at: usize,
    pub(crate) header: batch::Header,
    /// The frames.
    pub(crate) body: Range<usize>,
}

/// Live bytes that are hashed in one go.
const PACK_BYTES: usize = 8 << 10;

/// A walk over a segment in which every event is checked against the chain, or, where a digest over the
/// whole segment has shown that its bytes are what was written, their structure alone.
pub(crate) struct Scan<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) segment: &'a Header,
    pub(crate) at: usize,
    pub(crate) position: Position,
    /// Over everything live so far, but for what is still in `packed`.
    digest: Hasher,
    /// Live bytes that wait to be hashed together: one long piece costs a fraction of many short ones.
    packed: Vec<u8>,
    /// Leaves of the batch that was verified last; none of a covered segment.
    pub(crate) leaves: Vec<Digest>,
    covered: bool,
}

impl<'a> Scan<'a> {
    /// `bytes` is the whole file, at least a header block long.
    pub(crate) fn new(bytes: &'a [u8], segment: &'a Header) -> Self {
        Self {
            bytes,
            segment,
            at: BLOCK,
            position: Position::before(segment),
            digest: Use::Segment.hasher(),
            packed: bytes[..BLOCK.min(bytes.len())].to_vec(),
            leaves: Vec::new(),
            covered: false,
        }
    }

    /// A walk over a segment whose digest is right: nothing is hashed again.
    pub(crate) fn covered(bytes: &'a [u8], segment: &'a Header) -> Self {
        Self {
            covered: true,
            ..Self::new(bytes, segment)
        }
    }

    /// The hash over everything live so far.
    pub(crate) fn digest(&mut self) -> &Hasher {
        self.digest.update(&self.packed);
        self.packed.clear();
        &self.digest
    }

    fn pack(&mut self, live: &[u8]) {
        if self.packed.len() + live.len() > PACK_BYTES {
            self.digest();
        }
        self.packed.extend_from_slice(live);
    }

    /// The next batch; `None` when the segment is full.
    pub(crate) fn next(&mut self) -> Result<Option<Batch>, Problem> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let parsed = match self.covered {
            true => batch::Header::parse_covered(rest),
            false => batch::Header::parse(rest),
        };
        let Some(header) = parsed else {
            let first = &rest[..SECTOR.min(rest.len())];
            return Err(if all(first, 0) {
                Problem::Zero
            } else {
                Problem::NoHeader
            });
        };
        self.place(&header)?;
        let live = header.live_bytes as usize;
        let Some(span) = rest.get(..padded(live)) else {
            return Err(contradiction(
                Code::BatchLost,
                "the batch is longer than its segment".to_owned(),
            ));
        };
        self.leaves.clear();
        let head = self
            .body(&header, &span[..live])
            .map_err(|fault| fault.of(&header, span.len()))?;
        if !all(&span[live..], PADDING) {
            let fault = Fault {
                code: Code::Padding,
                seq: header.first_seq,
                kind: None,
                why: "the padding after the batch was changed".to_owned(),
            };
            return Err(fault.of(&header, span.len()));
        }
        if !self.covered {
            self.pack(&span[..live]);
        }
        let at = self.at;
        self.at += span.len();
        self.position = Position {
            epoch: header.epoch,
            ordinal: header.ordinal + 1,
            head,
        };
        Ok(Some(Batch {
            at,
            body: at + batch::HEADER_BYTES..at + live,
            header,
        }))
    }

    /// Whether this header may stand here.
    fn place(&self, header: &batch::Header) -> Result<(), Problem> {
        let now = &self.position;
        if header.origin != self.segment.identity.origin() {
            return Err(contradiction(
                Code::Grafted,
                "the batch is from another journal".to_owned(),
            ));
        }
        if header.segment != self.segment.number {
            let why = format!("the batch was written to segment {:08}", header.segment);
            return Err(contradiction(Code::Reordered, why));
        }
        let follows = header.ordinal == now.ordinal && header.first_seq == now.head.size;
        let takes_over = header.purpose == Purpose::Epoch;
        if header.epoch < now.epoch && follows {
            let why = format!("epoch {} comes after epoch {}", header.epoch, now.epoch);
            return Err(contradiction(Code::EpochRollback, why));
        }
        if header.epoch < now.epoch || (header.epoch > now.epoch && !takes_over) {
            let why = format!(
                "a writer of epoch {} and one of epoch {} wrote over each other",
                header.epoch, now.epoch
            );
            return Err(contradiction(Code::Forked, why));
        }
        if !follows {
            return Err(self.out_of_order(header));
        }
        let possible = header.durable_batches <= header.ordinal && header.durable_events <= header.first_seq;
        if !possible || (takes_over && header.epoch == now.epoch) {
            return Err(contradiction(
                Code::BatchLost,
                "the batch header contradicts itself".to_owned(),
            ));
        }
        Ok(())
    }

    fn out_of_order(&self, header: &batch::Header) -> Problem {
        let now = &self.position;
        let why = format!(
            "batch {} with event {} stands where batch {} with event {} belongs",
            header.ordinal, header.first_seq, now.ordinal, now.head.size
        );
        let ahead = header.ordinal > now.ordinal || (header.ordinal == now.ordinal && header.first_seq > now.head.size);
        let elsewhere = || self.later().any(|other| other.ordinal == now.ordinal);
        let code = match ahead {
            true if elsewhere() => Code::Reordered,
            true => Code::Deleted,
            false => Code::Inserted,
        };
        contradiction(code, why)
    }

    /// True headers of this journal at later places of the segment.
    pub(crate) fn later(&self) -> impl Iterator<Item = batch::Header> + '_ {
        let from = self.at + BLOCK;
        (from..self.bytes.len())
            .step_by(BLOCK)
            .filter_map(|at| batch::Header::parse(&self.bytes[at..]))
            .filter(|header| header.origin == self.segment.identity.origin())
    }

    /// Follows the chain through the frames of a batch and gives the head after it.
    fn body(&mut self, header: &batch::Header, live: &[u8]) -> Result<Head, Fault> {
        let mut head = self.position.head;
        let mut rest = &live[batch::HEADER_BYTES..];
        for _ in 0..header.count {
            let Some((frame, after)) = Frame::parse(rest) else {
                return Err(Fault {
                    code: Code::Edited,
                    seq: head.size,
                    kind: None,
                    why: "the frame does not fit its batch".to_owned(),
                });
            };
            if self.covered {
                head.size += 1;
            } else {
                head.advance(&frame.link(head.size));
                self.leaves.push(head.leaf);
            }
            rest = after;
        }
        let before = match header.purpose {
            _ if self.covered => header.before,
            Purpose::Events => Digest::ZERO,
            Purpose::Epoch | Purpose::Mark => finish(self.digest()),
        };
        if self.covered && header.count > 0 {
            head.leaf = header.head;
        }
        if rest.is_empty() && head.leaf == header.head && before == header.before {
            return Ok(head);
        }
        Err(blame(header, live))
    }
}

/// What is wrong inside a batch whose header is right.
struct Fault {
    code: Code,
    seq: u64,
    kind: Option<&'static str>,
    why: String,
}

impl Fault {
    fn of(self, header: &batch::Header, span: usize) -> Problem {
        Problem::Body {
            code: self.code,
            seq: self.seq,
            kind: self.kind,
            why: self.why,
            span,
            nonzero_sectors: header.nonzero_sectors,
        }
    }
}

fn contradiction(code: Code, why: String) -> Problem {
    Problem::Contradiction { code, why }
}

/// The first event of a broken batch whose JSON digest is not that of its payload; else the first.
fn blame(header: &batch::Header, live: &[u8]) -> Fault {
    let mut rest = &live[batch::HEADER_BYTES..];
    let mut encoder = Encoder::default();
    let mut first = None;
    for seq in header.first_seq..header.first_seq + u64::from(header.count) {
        let Some((frame, after)) = Frame::parse(rest) else {
            break;
        };
        if let Err((_, why)) = agrees(&frame, &mut encoder) {
            return Fault {
                code: Code::Edited,
                seq,
                kind: kind_name(frame.kind),
                why,
            };
        }
        first = first.or(Some(kind_name(frame.kind)));
        rest = after;
    }
    Fault {
        code: Code::Edited,
        seq: header.first_seq,
        kind: first.flatten(),
        why: format!("the chain over the batch of {} events does not close", header.count),
    }
}

/// Decodes the payload and compares its JSON with the recorded digest.
pub(crate) fn agrees(frame: &Frame<'_>, encoder: &mut Encoder) -> Result<Event, (Code, String)> {
    let event =
        Event::decode(frame.kind, frame.version, frame.payload).map_err(|error| (Code::Payload, error.to_string()))?;
    let json = encoder
        .json(&event)
        .map_err(|error| (Code::Payload, error.to_string()))?;
    if json_digest(json) != frame.json {
        return Err((
            Code::JsonDigest,
            "the payload is not the event whose JSON digest is recorded".to_owned(),
        ));
    }
    Ok(event)
}

/// Whether a build that does not know the kind of this frame may go past it.
pub(crate) fn may_skip(frame: &Frame<'_>) -> bool {
    frame.flags & CRITICAL == 0 && !crate::codec::knows(frame.kind, frame.version)
}

/// Where the frames of a sealed segment are, if one digest over everything live is `sealed` and the
/// last batch leads to `next`. Much faster than a [`Scan`]; believes the writer about the chain.
pub(crate) fn quick(bytes: &[u8], next: &Header, bodies: &mut Vec<Range<usize>>) -> bool {
    const PACK: usize = 64 << 10;
    let mut digest = Use::Segment.hasher();
    let mut packed = Vec::with_capacity(PACK + BLOCK);
    packed.extend_from_slice(&bytes[..BLOCK.min(bytes.len())]);
    let (mut at, mut last) = (BLOCK, BLOCK);
    while let Some(live) = bytes.get(at..).and_then(batch::Header::glance) {
        if packed.len() + live > PACK {
            digest.update(&packed);
            packed.clear();
        }
        if live > PACK {
            digest.update(&bytes[at..at + live]);
        } else {
            packed.extend_from_slice(&bytes[at..at + live]);
        }
        bodies.push(at + batch::HEADER_BYTES..at + live);
        last = at;
        at += padded(live);
    }
    digest.update(&packed);
    let leads = at > BLOCK;
    let last = bytes.get(last..).unwrap_or_default();
    let (head, ordinal) = (digest_at(last, 72), u64_at(last, 24));
    let linked = !leads || (head == next.head.leaf && ordinal + 1 == next.first_batch);
    linked && finish(&digest) == next.previous
}
