//! `chain`: a legal journal that somebody edited with the format in hand: frames and batches flipped,
//! dropped, doubled and swapped, with every count and check made right again. It is read as a prefix of what
//! was written, or refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use engine::event::Event;
use journal::batch::BLOCK;
use journal::{Journal, MemoryStore, VerifyOptions};

use crate::bytes::{SMALL, read};
use crate::forge::{Batch, batches};

/// Bytes of one edit: what is done, to which file, where, and with what.
pub const EDIT_BYTES: usize = 4;

/// Edits of one case, and events of its journal.
const EDITS_MAX: usize = 8;
const EVENTS_MAX: usize = 24;

/// Writes a journal that the bytes choose.
fn written(bytes: &mut Unstructured<'_>) -> journal::Result<(MemoryStore, Vec<Event>)> {
    let store = MemoryStore::default();
    let mut writer = Journal::create_in(Arc::new(store.clone()), "run-1", SMALL)?;
    let mut events = Vec::new();
    while events.len() < EVENTS_MAX && !bytes.is_empty() {
        let commits = u8::arbitrary(bytes).is_ok_and(|byte| byte > 150);
        let Ok(event) = Event::arbitrary(bytes) else { break };
        writer.append(&event)?;
        events.push(event);
        if commits {
            writer.commit()?;
        }
    }
    writer.close()?;
    Ok((store, events))
}

/// One edit of the batches of a segment.
fn edit(batches: &mut Vec<Batch>, [what, _, place, with]: [u8; EDIT_BYTES]) {
    if batches.is_empty() {
        return;
    }
    let (at, other) = (usize::from(place) % batches.len(), usize::from(with) % batches.len());
    let batch = &mut batches[at];
    let frames = batch.frames.len();
    let within = usize::from(with) % frames.max(1);
    match what % 10 {
        0 => {
            if let Some(last) = batch.frames.get_mut(within).and_then(|frame| frame.last_mut()) {
                *last ^= 1;
            }
        }
        // Flags, kind or version.
        1 if frames > 0 => batch.frames[within][4 + usize::from(what / 10) % 8] ^= 1,
        2 if frames > 1 => batch.frames.swap(within, (within + 1) % frames),
        3 if frames > 1 => drop(batch.frames.remove(within)),
        4 if frames > 0 => batch.frames.insert(within, batch.frames[within].clone()),
        5 => drop(batches.remove(at)),
        6 => batches.swap(at, other),
        7 => batch.header.first_seq = batch.header.first_seq.wrapping_add(u64::from(with)),
        8 => batch.header.ordinal = batch.header.ordinal.wrapping_add(u64::from(with)),
        _ => batch.header.epoch = batch.header.epoch.wrapping_add(u64::from(with)),
    }
}

/// The files after the edits, each segment put together anew.
fn edited(store: &MemoryStore, edits: &[[u8; EDIT_BYTES]]) -> MemoryStore {
    let mut files = store.files();
    files.retain(|name, _| name.ends_with(".seg"));
    let names: Vec<String> = files.keys().cloned().collect();
    let mut taken: BTreeMap<&String, Vec<Batch>> = BTreeMap::new();
    for name in &names {
        taken.insert(name, batches(&files[name]));
    }
    for one in edits {
        let name = &names[usize::from(one[1]) % names.len()];
        if let Some(batches) = taken.get_mut(name) {
            edit(batches, *one);
        }
    }
    for (name, batches) in taken {
        if let Some(file) = files.get_mut(name) {
            let length = file.len();
            file.truncate(BLOCK);
            file.extend(batches.iter().flat_map(Batch::bytes));
            file.resize(length.max(file.len()), 0);
        }
    }
    MemoryStore::of(files)
}

/// Edits a legal journal and names what its readers make of it.
///
/// # Panics
/// When something is read that was never written, or what is not read to its end counts as intact.
pub fn chain(data: &[u8]) -> String {
    let Some((count, rest)) = data.split_first() else {
        return "nothing".into();
    };
    let (edits, _) = rest.as_chunks::<EDIT_BYTES>();
    let edits = &edits[..edits.len().min(usize::from(*count) % (EDITS_MAX + 1))];
    let mut bytes = Unstructured::new(&rest[edits.len() * EDIT_BYTES..]);
    let (store, events) = written(&mut bytes).unwrap_or_else(|error| panic!("a legal journal: {error}"));
    let store = edited(&store, edits);
    let (found, end) = read(&store);
    assert!(events.starts_with(&found), "read what was never written");
    assert!(
        !edits.is_empty() || (found == events && end.is_none()),
        "nothing was edited"
    );
    let verdict = journal::verify(&store, &VerifyOptions::default(), None);
    match verdict {
        Ok(verdict) => match verdict.defect {
            None => {
                assert_eq!(end, None, "intact, yet not readable");
                if found == events {
                    "whole".into()
                } else {
                    "prefix".into()
                }
            }
            Some(defect) => format!("refused_{:?}", defect.code),
        },
        Err(_) => "failed".into(),
    }
}
