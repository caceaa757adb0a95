//! From an event to its bytes and digests, and the table that says what the bytes mean.

use std::sync::LazyLock;

use engine::event::id::Digest;
use engine::event::{Event, Schema};

use crate::chain::{Link, Use};
use crate::error::{Error, Result};

/// A reader that does not know the kind must not go past it.
pub const CRITICAL: u32 = 1;

/// How payloads are encoded; stands in every segment header.
pub const ENCODING: &str = "rkyv-0.8/le/unaligned/ptr32";

/// One row of the schema table of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub kind: u16,
    pub version: u16,
    pub fingerprint: Digest,
}

/// The fingerprint of a kind: blake3 of its name and the text of its structure.
pub fn fingerprint(schema: &Schema) -> Digest {
    let mut hasher = Use::Schema.hasher();
    hasher.update(schema.name.as_bytes());
    hasher.update(b"\n");
    hasher.update(schema.shape.as_bytes());
    crate::chain::finish(&hasher)
}

/// Number, version, name and fingerprint of every kind, as the golden vocabulary has them: to spell and hash every
/// shape anew would be a third of the work of opening a short journal. A test holds them to the types.
const KINDS: &str = include_str!("../../tests/golden/events/v1/kinds.txt");

static TABLE: LazyLock<Vec<(Row, &'static str)>> = LazyLock::new(|| KINDS.lines().filter_map(row).collect());

fn row(line: &'static str) -> Option<(Row, &'static str)> {
    let mut words = line.split(' ');
    let kind = words.next()?.parse().ok()?;
    let version = words.next()?.strip_prefix('v')?.parse().ok()?;
    let name = words.next()?;
    let fingerprint = Digest::from_hex(words.next()?)?;
    let row = Row {
        kind,
        version,
        fingerprint,
    };
    Some((row, name))
}

/// The table of this build.
pub fn table() -> Vec<Row> {
    TABLE.iter().map(|(row, _)| *row).collect()
}

/// Whether this build can decode a kind and version.
pub(crate) fn knows(kind: u16, version: u16) -> bool {
    TABLE.iter().any(|(row, _)| row.kind == kind && row.version == version)
}

/// The name of a kind in this build.
pub fn kind_name(kind: u16) -> Option<&'static str> {
    TABLE.iter().find(|(row, _)| row.kind == kind).map(|(_, name)| *name)
}

/// Reused buffers and the digests of the event that was encoded last.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) payload: Vec<u8>,
    pub(crate) json: Vec<u8>,
}

impl Encoder {
    /// Fills both buffers and gives the link of the event at `seq`.
    pub(crate) fn encode(&mut self, event: &Event, seq: u64) -> Result<Link> {
        self.payload.clear();
        event.encode(&mut self.payload);
        if self.payload.is_empty() {
            return Err(Error::Encode {
                name: event.name(),
                why: "its payload is empty".to_owned(),
            });
        }
        self.json(event)?;
        Ok(Link {
            seq,
            kind: event.kind(),
            version: event.version(),
            flags: CRITICAL,
            payload: Use::Payload.digest(&self.payload),
            json: Use::Json.digest(&self.json),
        })
    }

    /// Fills the JSON buffer alone.
    pub(crate) fn json(&mut self, event: &Event) -> Result<&[u8]> {
        self.json.clear();
        serde_json::to_writer(&mut self.json, event).map_err(|error| Error::Encode {
            name: event.name(),
            why: error.to_string(),
        })?;
        Ok(&self.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_is_read_is_the_one_that_the_types_spell() {
        let spelled: Vec<_> = Event::schemas()
            .iter()
            .map(|schema| {
                let row = Row {
                    kind: schema.kind,
                    version: schema.version,
                    fingerprint: fingerprint(schema),
                };
                (row, schema.name)
            })
            .collect();
        assert_eq!(*TABLE, spelled, "regenerate the golden vocabulary");
    }
}
