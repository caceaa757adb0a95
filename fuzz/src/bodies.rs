//! `bodies`: the bytes are the payloads of a journal whose hashes, counts and checks are all right. What
//! decodes is read, in order, up to the first payload that does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;
use journal::batch::BLOCK;
use journal::chain::{Link, json_digest, payload_digest};
use journal::{Journal, MemoryStore, VerifyOptions, codec, segment};

use crate::bytes::original;
use crate::forge::{Batch, frame, header};

/// Frames of one case.
const FRAMES_MAX: usize = 32;

const SEGMENT_BYTES: usize = 256 << 10;

/// Begins a frame in a case: a mode, a kind, and a length in two bytes.
pub const HEAD_BYTES: usize = 4;

/// Modes of a frame, as bits.
pub mod mode {
    /// The kind is that number, known or not; else one of the known kinds.
    pub const RAW_KIND: u8 = 1;
    /// A new batch begins.
    pub const COMMIT: u8 = 2;
    /// A reader that does not know the kind may go past it.
    pub const OPTIONAL: u8 = 4;
}

struct Body<'a> {
    kind: u16,
    version: u16,
    flags: u32,
    commits: bool,
    payload: &'a [u8],
}

fn parse(data: &[u8]) -> Vec<Body<'_>> {
    let table = codec::table();
    let (mut rest, mut bodies) = (data, Vec::new());
    while let Some(([how, kind, low, high], after)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(after.len());
        let (payload, after) = after.split_at(length);
        let row = &table[usize::from(*kind) % table.len()];
        let raw = how & mode::RAW_KIND != 0;
        bodies.push(Body {
            kind: if raw { u16::from(*kind) } else { row.kind },
            version: if raw { 1 } else { row.version },
            flags: if how & mode::OPTIONAL != 0 { 0 } else { codec::CRITICAL },
            commits: how & mode::COMMIT != 0,
            payload,
        });
        rest = after;
        if bodies.len() == FRAMES_MAX {
            break;
        }
    }
    bodies
}

/// What a reader must answer: the events with their numbers, and whether it then fails.
fn expected(bodies: &[Body<'_>]) -> (Vec<(u64, Event)>, bool) {
    let known = |body: &Body<'_>| {
        let table = codec::table();
        table
            .iter()
            .any(|row| (row.kind, row.version) == (body.kind, body.version))
    };
    let mut events = Vec::new();
    for (seq, body) in (0..).zip(bodies) {
        match Event::decode(body.kind, body.version, body.payload) {
            Ok(event) => events.push((seq, event)),
            Err(_) if body.flags & codec::CRITICAL == 0 && !known(body) => {}
            Err(_) => return (events, true),
        }
    }
    (events, false)
}

/// A journal of one segment that holds these payloads, lawfully hashed.
fn journal(bodies: &[Body<'_>]) -> Option<MemoryStore> {
    let first = original().files.get("00000000.seg")?;
    let opening = segment::Header {
        size_bytes: SEGMENT_BYTES as u64,
        ..segment::Header::parse(first.get(..BLOCK)?).ok()?
    };
    let mut file = opening.encode().ok()?;
    file.resize(BLOCK, 0);
    let (mut leaf, mut seq, mut ordinal) = (Digest::ZERO, 0, 0);
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for (at, body) in bodies.iter().enumerate() {
        let event = Event::decode(body.kind, body.version, body.payload).ok();
        let json = event.and_then(|event| serde_json::to_vec(&event).ok());
        let link = Link {
            seq,
            kind: body.kind,
            version: body.version,
            flags: body.flags,
            payload: payload_digest(body.payload),
            json: json.map_or(Digest([1; 32]), |json| json_digest(&json)),
        };
        leaf = link.leaf(&leaf);
        frames.push(frame(&link, body.payload));
        seq += 1;
        if body.commits || at + 1 == bodies.len() {
            let first_seq = seq - frames.len() as u64;
            let header = header(opening.identity.origin(), ordinal, first_seq, leaf);
            let frames = std::mem::take(&mut frames);
            file.extend(Batch { header, frames }.bytes());
            ordinal += 1;
        }
    }
    file.resize(SEGMENT_BYTES.max(file.len()), 0);
    (file.len() == SEGMENT_BYTES).then(|| MemoryStore::of(BTreeMap::from([("00000000.seg".to_owned(), file)])))
}

/// Reads a lawfully hashed journal of these payloads, and names what it came to.
///
/// # Panics
/// When a reader is not total, reads another thing than was written, or goes past what it cannot read.
pub fn bodies(data: &[u8]) -> String {
    let bodies = parse(data);
    let Some(store) = journal(&bodies) else {
        return "too_long".into();
    };
    let (expected, fails) = expected(&bodies);
    let reader = Journal::open_read_in(Arc::new(store.clone()));
    let reader = reader.unwrap_or_else(|error| panic!("lawful hashes, yet refused: {error}"));
    let mut read = Vec::new();
    let mut failed = false;
    for item in reader.events() {
        match item {
            Ok(item) => read.push(item),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                failed = true;
            }
        }
    }
    assert_eq!(
        (read, failed),
        (expected, fails),
        "what decodes is read, up to what does not"
    );
    assert_eq!(reader.head().map(|head| head.size).ok(), Some(bodies.len() as u64));
    let verdict = journal::verify(&store, &VerifyOptions::default(), None);
    let intact = verdict.is_ok_and(|verdict| verdict.is_intact());
    assert!(!(intact && fails), "intact, yet not readable");
    let kinds = reader.events().filter_map(Result::ok).map(|(_, event)| event.name());
    let first = kinds.take(1).next().unwrap_or("nothing");
    match (fails, intact) {
        (true, _) => format!("{first}-fails"),
        (false, true) => format!("{first}-intact"),
        (false, false) => format!("{first}-passed_over"),
    }
}
