//! The whole examination: every byte, every event, every signature.
//!
//! [`verify()`] trusts nothing. It walks the chain event by event, rebuilds the Merkle tree, decodes every
//! payload and compares its JSON with the digest in the chain, checks padding and unwritten space, epochs,
//! schema fingerprints and signatures, and lets the caller judge whether each event is lawful at its place.
//!
//! [`verify_seals()`] looks at as many bytes and computes one hash a sealed segment in place of five an
//! event. It finds damage, and every change by somebody who did not compute all later segment headers
//! anew; somebody who did, only the other one finds. The first defect is named.
//!
//! A segment's header says where it begins, so segments are examined side by side on all cores
//! ([`crate::inspect`]); what ties them together is checked here, in order.

use std::collections::BTreeMap;

use engine::event::Event;
use engine::event::id::Digest;

use crate::chain::Head;
use crate::checkpoint::{FILE, Note, Notes, key_id};
use crate::error::{Code, Defect, Error, Result};
use crate::frame::Frame;
use crate::inspect::{Depth, Inspected, side_by_side};
use crate::merkle::Peaks;
use crate::recover::{defect_in, known_shapes, segments};
use crate::scan::may_skip;
use crate::segment::{Header, file_name, number_in};
use crate::store::{Store, about};

/// Judges an event at its place; the error says why it is not lawful there.
pub type Legality<'a> = &'a mut dyn FnMut(u64, &Event) -> std::result::Result<(), String>;

/// What else is known about the journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A head that the journal is known to have had.
    pub expect_head: Option<Digest>,
    /// The key that must have signed the first checkpoint. Without it signatures say nothing about who
    /// made them, and only their roots are checked.
    pub key: Option<[u8; 32]>,
}

/// What the examination showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The first defect; `None` for an intact journal.
    pub defect: Option<Defect>,
    /// How far the history is intact.
    pub head: Head,
    /// Merkle root of that.
    pub root: Digest,
    pub segments: u64,
    pub batches: u64,
    pub epoch: u64,
    /// Checkpoints whose root, and signature as far as the key is known, are right.
    pub checkpoints: u64,
    /// Whether the signatures were checked against a key that the caller knew.
    pub key_known: bool,
    /// The last checkpoint.
    pub last_checkpoint: Option<Note>,
    /// Bytes behind the end that a crash left and the next writer will set aside.
    pub torn_bytes: u64,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub const fn is_intact(&self) -> bool {
        self.defect.is_none()
    }
}

/// Examines the journal in `store`. An error means that it could not be examined; what is wrong with it
/// is in the verdict.
pub fn verify(store: &dyn Store, options: &Options, legality: Option<Legality<'_>>) -> Result<Verdict> {
    examine(store, options, legality, false)
}

/// Examines the journal in `store` by its seals: sealed segments by one digest each, the structure of what
/// that covers, padding, unwritten space, and how the segments follow each other; event by event the last
/// segment and each one that a signed checkpoint ends in; and the signatures.
pub fn verify_seals(store: &dyn Store, options: &Options) -> Result<Verdict> {
    let verdict = examine(store, options, None, true)?;
    match &verdict.defect {
        // A head from inside of a batch can be found only among all leaves.
        Some(defect) if defect.code == Code::RolledBack => verify(store, options, None),
        _ => Ok(verdict),
    }
}

fn examine(store: &dyn Store, options: &Options, legality: Option<Legality<'_>>, seals: bool) -> Result<Verdict> {
    let mut examination = Examination {
        store,
        legality,
        verdict: Verdict {
            defect: None,
            head: Head::default(),
            root: Digest::ZERO,
            segments: 0,
            batches: 0,
            epoch: 0,
            checkpoints: 0,
            key_known: options.key.is_some(),
            last_checkpoint: None,
            torn_bytes: 0,
        },
        peaks: Peaks::default(),
        roots: BTreeMap::new(),
        expected: options.expect_head,
    };
    match examination.run(options, seals) {
        Ok(()) => {}
        Err(Error::Corrupt(defect)) => examination.verdict.defect = Some(*defect),
        Err(error) => return Err(error),
    }
    Ok(examination.verdict)
}

struct Examination<'s, 'l> {
    store: &'s dyn Store,
    legality: Option<Legality<'l>>,
    verdict: Verdict,
    peaks: Peaks,
    /// Root and head at each size that a checkpoint speaks of.
    roots: BTreeMap<u64, (Digest, Digest)>,
    /// The expected head, until it was seen.
    expected: Option<Digest>,
}

impl Examination<'_, '_> {
    fn run(&mut self, options: &Options, seals: bool) -> Result<()> {
        let notes = match Notes::read(self.store) {
            Ok(notes) => notes,
            Err(Error::Checkpoint { why }) => return Err(self.note_defect(Code::Note, why)),
            Err(error) => return Err(error),
        };
        self.arrangement()?;
        let headers = segments(self.store)?;
        for note in &notes.notes {
            self.roots.insert(note.checkpoint.size, (Digest::ZERO, Digest::ZERO));
        }
        self.note_root();
        let store = self.store;
        let signed: Vec<u64> = self.roots.keys().copied().collect();
        let depth = if seals { Depth::Seals(&signed) } else { Depth::Events };
        side_by_side(store, &depth, &headers, |header, inspected| {
            let next = headers.get(header.number as usize + 1);
            self.segment(header, inspected, next)
        })?;
        self.signatures(&notes, options, &headers[0])?;
        self.verdict.torn_bytes += notes.torn_bytes;
        if let Some(expected) = self.expected {
            let why = format!("the journal never had the expected head {expected}; an older copy was put in its place");
            return Err(self
                .defect(Code::RolledBack, headers.last().map_or(0, |last| last.number), why)
                .into());
        }
        Ok(())
    }

    /// Segments that stand under each other's names. Looked at before anything is read in order,
    /// because in order a swapped segment looks like every kind of damage at once.
    fn arrangement(&self) -> Result<()> {
        let names = about(self.store, self.store.list(), "list", "")?;
        let mut holders = BTreeMap::<u32, u32>::new();
        let mut misnamed = None;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number_in(name)).collect();
        numbers.sort_unstable();
        for number in numbers {
            let mut block = vec![0; crate::batch::BLOCK];
            let name = file_name(number);
            let got = about(self.store, self.store.read_at(&name, 0, &mut block), "read", &name)?;
            let Ok(header) = Header::parse(&block[..got]) else {
                continue;
            };
            if let Some(other) = holders.insert(header.number, number) {
                let why = format!("{} and {name} hold the same segment", file_name(other));
                return Err(defect_in(&header, Code::SegmentDuplicated, why).into());
            }
            if header.number != number {
                misnamed = misnamed.or(Some((header, name)));
            }
        }
        match misnamed {
            Some((header, name)) => {
                let why = format!("{name} holds segment {:08}", header.number);
                Err(defect_in(&header, Code::SegmentsSwapped, why).into())
            }
            None => Ok(()),
        }
    }

    /// Takes in what a segment showed, after the segments before it.
    fn segment(&mut self, header: &Header, inspected: Inspected, next: Option<&Header>) -> Result<()> {
        known_shapes(header)?;
        if header.peaks != self.peaks || header.head != self.verdict.head || header.epoch < self.verdict.epoch {
            let why = "the segment does not begin where the one before it ends".to_owned();
            return Err(defect_in(header, Code::SegmentHeader, why).into());
        }
        let mut leaves = inspected.leaves.iter();
        for body in &inspected.bodies {
            let mut rest = &inspected.bytes[body.clone()];
            while let Some((frame, after)) = Frame::parse(rest) {
                let Some(leaf) = leaves.next() else {
                    break;
                };
                self.event(&frame, *leaf, header, body.start)?;
                rest = after;
            }
        }
        if let (Some(heads), Some(next), None) = (&inspected.heads, next, &inspected.defect) {
            self.peaks.clone_from(&next.peaks);
            self.verdict.head = next.head;
            self.expected = self.expected.filter(|expected| !heads.contains(expected));
            self.note_root();
        }
        self.verdict.root = self.peaks.root();
        self.verdict.batches += inspected.batches;
        self.verdict.epoch = inspected.epoch;
        self.verdict.torn_bytes += inspected.torn_bytes;
        match inspected.defect {
            Some(defect) => Err(defect.into()),
            None => {
                self.verdict.segments += 1;
                Ok(())
            }
        }
    }

    fn event(&mut self, frame: &Frame<'_>, leaf: Digest, header: &Header, at: usize) -> Result<()> {
        let seq = self.verdict.head.size;
        if let Some(legality) = &mut self.legality
            && !may_skip(frame)
        {
            let lawful = match Event::decode(frame.kind, frame.version, frame.payload) {
                Ok(event) => legality(seq, &event).map_err(|why| (Code::Illegal, why)),
                Err(error) => Err((Code::Payload, error.to_string())),
            };
            lawful.map_err(|(code, why)| Defect {
                kind: crate::codec::kind_name(frame.kind),
                offset: at as u64,
                ..self.defect(code, header.number, why)
            })?;
        }
        self.peaks.push(leaf);
        self.verdict.head = Head { size: seq + 1, leaf };
        if self.expected == Some(leaf) {
            self.expected = None;
        }
        self.note_root();
        Ok(())
    }

    /// Remembers the root when a checkpoint speaks of this size.
    fn note_root(&mut self) {
        if let Some(slot) = self.roots.get_mut(&self.verdict.head.size) {
            *slot = (self.peaks.root(), self.verdict.head.leaf);
        }
    }

    fn signatures(&mut self, notes: &Notes, options: &Options, first: &Header) -> Result<()> {
        let mut key = options.key;
        let mut retired = Vec::new();
        let mut size = 0;
        for note in &notes.notes {
            let said = &note.checkpoint;
            if retired.contains(&note.key_id) {
                let why = "a checkpoint is signed by a key that had handed over".to_owned();
                return Err(self.note_defect(Code::RetiredKey, why));
            }
            // Without a known key only its successors can be held to anything.
            if let Some(key) = &key
                && !note.is_signed_by(key)
            {
                let why = format!(
                    "the checkpoint of {} events is not signed by the key that must have signed it",
                    said.size
                );
                return Err(self.note_defect(Code::WrongKey, why));
            }
            if said.origin != first.identity.line() {
                let why = "a checkpoint speaks of another journal".to_owned();
                return Err(self.note_defect(Code::Grafted, why));
            }
            if said.size > self.verdict.head.size {
                let why = format!(
                    "a checkpoint covers {} events and only {} are here",
                    said.size, self.verdict.head.size
                );
                return Err(self.note_defect(Code::Truncated, why));
            }
            if said.size < size || self.roots.get(&said.size) != Some(&(said.root, said.head)) {
                let why = format!(
                    "the checkpoint of {} events signs another history than the one recorded here",
                    said.size
                );
                return Err(self.note_defect(Code::Forked, why));
            }
            size = said.size;
            if let Some(next) = said.next {
                retired.push(note.key_id);
                retired.retain(|id| *id != key_id(&next));
                key = Some(next);
            }
            self.verdict.checkpoints += 1;
            self.verdict.last_checkpoint = Some(note.clone());
        }
        Ok(())
    }

    fn defect(&self, code: Code, segment: u32, why: String) -> Defect {
        Defect {
            code,
            seq: self.verdict.head.size,
            kind: None,
            segment,
            offset: 0,
            why,
        }
    }

    fn note_defect(&self, code: Code, why: String) -> Error {
        let last = u32::try_from(self.verdict.segments.saturating_sub(1)).unwrap_or(u32::MAX);
        self.defect(code, last, format!("{FILE}: {why}")).into()
    }
}
