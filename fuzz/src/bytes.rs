//! Targets over the journal's bytes: `frame` (one frame, batch or segment header, raw) and `recover` (a
//! legal journal that was cut, flipped or doubled must give a prefix or fail).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arbitrary::{Arbitrary, Unstructured};
use engine::event::Event;
use engine::event::id::Digest;
use engine::event::iteration::RetryScheduled;
use journal::batch::{self, BLOCK, SECTOR};
use journal::frame::Frame;
use journal::{
    Error, Journal, Keys, Layout, MemoryStore, Notes, OpenOptions, Recovery, VerifyOptions, checkpoint, segment,
};
use models::sim::Dice;

/// Segments of a few blocks, built in the same thread.
pub(crate) const SMALL: Layout = Layout {
    first_bytes: 16 << 10,
    max_bytes: 32 << 10,
    background: false,
};

const GOING_ON: OpenOptions = OpenOptions {
    layout: SMALL,
    expect_head: None,
};

/// Edits of one case.
const EDITS_MAX: usize = 16;

/// Reads the bytes as everything that a journal is made of, and names what they were.
///
/// # Panics
/// When a reader is not total, or when what was read does not survive being written and read again.
pub fn frame(data: &[u8]) -> String {
    let mut seen = Vec::new();
    match frames(data) {
        (0, _) => {}
        (_, 0) => seen.push("frames"),
        _ => seen.push("events"),
    }
    if let Some(header) = batch::Header::parse(data) {
        assert_eq!(header.encode()[..], data[..batch::HEADER_BYTES], "a batch header");
        let live = usize::try_from(header.live_bytes).unwrap_or(usize::MAX).min(data.len());
        let (_, events) = frames(&data[batch::HEADER_BYTES..live]);
        seen.push(if events > 0 { "batch_of_events" } else { "batch" });
    }
    match segment::Header::parse(data) {
        Ok(header) => {
            let again = header.encode().map(|block| segment::Header::parse(&block));
            assert!(again.is_ok_and(|again| again.as_ref() == Ok(&header)), "{header:?}");
            seen.push("segment");
        }
        Err(why) => assert!(!why.is_empty()),
    }
    if notes(data) > 0 {
        seen.push("notes");
    }
    match seen.is_empty() {
        true => "nothing".into(),
        false => seen.join("-"),
    }
}

/// Walks frame after frame; answers how many there are, and how many of them hold an event.
fn frames(data: &[u8]) -> (usize, usize) {
    let (mut rest, mut count, mut events) = (data, 0, 0);
    while let Some((frame, after)) = Frame::parse(rest) {
        let taken = journal::frame::HEADER_BYTES + frame.payload.len();
        assert_eq!(taken + after.len(), rest.len(), "a frame and what follows it");
        if let Ok(event) = Event::decode(frame.kind, frame.version, frame.payload) {
            survives(&event);
            events += 1;
        }
        (rest, count) = (after, count + 1);
    }
    (count, events)
}

/// An event that was read is the same after either of its forms was written and read again.
fn survives(event: &Event) {
    let mut payload = Vec::new();
    event.encode(&mut payload);
    let again = Event::decode(event.kind(), event.version(), &payload);
    assert!(again.is_ok_and(|again| again == *event), "as payload: {event:?}");
    let again = serde_json::to_string(event).and_then(|text| serde_json::from_str::<Event>(&text));
    assert!(again.is_ok_and(|again| again == *event), "as JSON: {event:?}");
}

/// How many checkpoints the bytes are.
fn notes(data: &[u8]) -> usize {
    let Ok(read) = Notes::parse(data) else { return 0 };
    for note in &read.notes {
        assert_eq!(checkpoint::Note::parse(&note.text()).as_ref(), Some(note));
    }
    read.notes.len()
}

/// The unchanged journal.
pub struct Original {
    /// Its files by name, but for the lock.
    pub files: BTreeMap<String, Vec<u8>>,
    pub events: Vec<Event>,
    head: Digest,
}

/// A small journal of a few segments, two epochs and a checkpoint, made once.
///
/// # Panics
/// When it cannot be made, or is not read as it was written.
pub fn original() -> &'static Original {
    static ORIGINAL: OnceLock<Original> = OnceLock::new();
    ORIGINAL.get_or_init(|| {
        let (store, events) = written().unwrap_or_else(|error| panic!("{error}"));
        let (found, end) = read(&store);
        assert_eq!(end, None, "the unchanged journal is read to its end");
        assert_eq!(found, events, "the unchanged journal holds what was written");
        let reader = Journal::open_read_in(Arc::new(store.clone()));
        let head = reader.and_then(|reader| reader.head()).map(|head| head.leaf);
        let mut files = store.files();
        files.retain(|name, _| name != "LOCK");
        Original {
            files,
            events,
            head: head.unwrap_or(Digest::ZERO),
        }
    })
}

fn written() -> journal::Result<(MemoryStore, Vec<Event>)> {
    let mut dice = Dice::new(7);
    let mut bytes = || -> Vec<u8> { (0..192).map(|_| dice.below(256).to_le_bytes()[0]).collect() };
    let events: Vec<Event> = (0..64)
        .filter_map(|_| Event::arbitrary(&mut Unstructured::new(&bytes())).ok())
        .collect();
    let (first, second) = events.split_at(events.len() / 2);
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL)?;
    for batch in first.chunks(8) {
        writer.append_all(batch)?;
        writer.commit()?;
    }
    drop(writer);
    let (mut writer, _) = Journal::open_write_in(Arc::new(store.clone()), &GOING_ON)?;
    for batch in second.chunks(8) {
        writer.append_all(batch)?;
        writer.commit()?;
    }
    writer.seal(Digest([7; 32]), Some(&Keys::from_seed(&[1; 32])))?;
    writer.close()?;
    Ok((store, events))
}

/// The legal journal after edits of four bytes each: what is done, to which file or how, and where.
fn edited(data: &[u8]) -> MemoryStore {
    let mut files = original().files.clone();
    let (edits, _) = data.as_chunks::<4>();
    for edit in edits.iter().take(EDITS_MAX) {
        change(&mut files, *edit);
    }
    MemoryStore::of(files)
}

fn change(files: &mut BTreeMap<String, Vec<u8>>, [what, which, high, low]: [u8; 4]) {
    let names = &original().files;
    let named = |number: u8| names.keys().nth(usize::from(number) % names.len());
    let Some(name) = named(which) else { return };
    if what % 10 == 8 {
        files.remove(name);
        return;
    }
    if what % 10 == 9 {
        let Some(other) = named(high) else { return };
        let (one, two) = (files.remove(name), files.remove(other));
        files.extend(one.map(|bytes| (other.clone(), bytes)));
        files.extend(two.map(|bytes| (name.clone(), bytes)));
        return;
    }
    let Some(bytes) = files.get_mut(name).filter(|bytes| !bytes.is_empty()) else {
        return;
    };
    let at = usize::from(u16::from_be_bytes([high, low])) % bytes.len();
    let blocks = bytes.len().div_ceil(BLOCK);
    let block = |number: u8| {
        let from = usize::from(number) % blocks * BLOCK;
        from..(from + BLOCK).min(bytes.len())
    };
    let (one, two) = (block(high), block(low));
    match what % 10 {
        0 | 1 => bytes[at] ^= 1 << (what / 10 % 8),
        2 => bytes.truncate(at),
        3 => {
            let end = (at + SECTOR).min(bytes.len());
            bytes[at / SECTOR * SECTOR..end].fill(0);
        }
        4 => drop(bytes.drain(one)),
        5 => {
            let copy = bytes[one].to_vec();
            bytes.splice(two.start..two.start, copy);
        }
        6 if one.len() == two.len() => {
            let (first, second) = (bytes[one.clone()].to_vec(), bytes[two.clone()].to_vec());
            bytes[one].copy_from_slice(&second);
            bytes[two].copy_from_slice(&first);
        }
        _ => bytes[one].fill(if low.is_multiple_of(2) { 0 } else { low }),
    }
}

/// The events up to the end, or up to the first error and what it says.
pub(crate) fn read(store: &MemoryStore) -> (Vec<Event>, Option<String>) {
    let reader = match Journal::open_read_in(Arc::new(store.clone())) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut events = Vec::new();
    for item in reader.events() {
        match item {
            Ok((seq, event)) => {
                assert_eq!(seq, events.len() as u64, "events are numbered without a gap");
                events.push(event);
            }
            Err(error) => return (events, Some(error.to_string())),
        }
    }
    assert!(
        reader
            .raw(|_, _, _, _| ())
            .is_ok_and(|count| count == events.len() as u64)
    );
    (events, None)
}

/// Opens a damaged journal in every way and names what was found.
///
/// # Panics
/// When something was read that was never written, or a way in disagrees with another.
pub fn recover(data: &[u8]) -> String {
    let original = original();
    let store = edited(data);
    let before = store.files();
    let (events, end) = read(&store);
    assert!(original.events.starts_with(&events), "read what was never written");
    let found = Journal::inspect_in(Arc::new(store.clone()), None);
    if let Ok(Recovery::TornTail { segment, offset, .. }) = found {
        let file = &before[&format!("{segment:08}.seg")];
        let tail = usize::try_from(offset).map_or(&[][..], |offset| &file[offset..]);
        assert!(!calls_durable(tail, events.len()), "torn, yet known to be durable");
    }
    let remembered = Journal::inspect_in(Arc::new(store.clone()), Some(original.head));
    if let Ok(Recovery::Clean | Recovery::TornTail { .. }) = remembered {
        assert_eq!(end, None, "a known head is there");
        assert_eq!(events.len(), original.events.len(), "a known head is there");
    }
    let judged = journal::verify(&store, &VerifyOptions::default(), None);
    if let Ok(verdict) = &judged
        && verdict.is_intact()
    {
        assert_eq!(end, None, "intact, yet not readable");
        assert_eq!(verdict.head.size, events.len() as u64, "intact up to another place");
    }
    assert!(store.files() == before, "looking changes nothing");
    goes_on(&store, &events);
    let found = match &found {
        Ok(Recovery::Clean) => "clean".to_owned(),
        Ok(Recovery::TornTail { .. }) => "torn".to_owned(),
        Ok(Recovery::Corrupt(defect)) => format!("corrupt_{:?}", defect.code),
        Ok(Recovery::RolledBack { .. }) => "rolled_back".to_owned(),
        Err(_) => "failed".to_owned(),
    };
    let judged = match &judged {
        Ok(verdict) => verdict
            .defect
            .as_ref()
            .map_or("intact".to_owned(), |defect| format!("{:?}", defect.code)),
        Err(_) => "failed".to_owned(),
    };
    format!("{found}-{judged}")
}

/// Whether a batch behind the first block says that more than so many events were durable before it.
fn calls_durable(tail: &[u8], events: usize) -> bool {
    let mut later = tail.chunks(BLOCK).skip(1).filter_map(batch::Header::parse);
    later.any(|header| header.durable_events > events as u64)
}

/// A writer that takes the journal over refuses it, or goes on right behind what is read.
fn goes_on(store: &MemoryStore, events: &[Event]) {
    let store = store.copy();
    let before = store.files();
    let opened = Journal::open_write_in(Arc::new(store.clone()), &GOING_ON);
    let (mut writer, recovery) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            refused(&store, &before, events, &error);
            return;
        }
    };
    assert!(matches!(recovery, Recovery::Clean | Recovery::TornTail { .. }));
    let next = Event::from(RetryScheduled {
        iteration: 1,
        attempt: 1,
        delay_ms: 500,
    });
    let written = writer.append(&next).and_then(|_| writer.commit());
    let seq = written
        .map(|durable| durable.seq)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(seq, Some(events.len() as u64), "the next event has the next number");
    drop(writer);
    let (after, end) = read(&store);
    assert_eq!(end, None, "what was taken over is readable");
    let expected = [events, &[next]].concat();
    assert_eq!(after, expected, "what was there, and one more");
}

/// Refusing changes no file. The exception is a malformed checkpoint: it is read after a torn tail was set
/// aside, so then only the events must be the same.
fn refused(store: &MemoryStore, before: &BTreeMap<String, Vec<u8>>, events: &[Event], error: &Error) {
    let after = store.files();
    let changed: Vec<&String> = before
        .keys()
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    let repaired = matches!(error, Error::Checkpoint { .. });
    assert!(
        changed.is_empty() || repaired,
        "refused, yet changed {changed:?}: {error}"
    );
    assert!(read(store).0 == events, "refused, yet other events are read: {error}");
}
