//! The receipt: the journal as one line of JSON an event, for people, `tail -f` and other languages.
//!
//! It is derived and never synced, yet it is evidence: the canonical JSON of every event is inside the
//! chain, so the lines alone give back every leaf, and a journal can be rebuilt from them.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chain::{Head, Link, json_digest};
use crate::codec::Encoder;
use crate::error::{Code, Error, Result};
use crate::read::Reader;
use crate::segment::Layout;
use crate::store::Store;
use crate::write::{Appended, Writer};

/// Events in one batch of a rebuilt journal.
const IMPORT_BATCH: u64 = 256;

/// One line of a receipt.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub seq: u64,
    /// Canonical JSON, byte for byte.
    pub event: Box<RawValue>,
    pub kind: u16,
    /// Version of the kind.
    pub v: u16,
    pub flags: u32,
    pub leaf: Digest,
    /// Digest of the payload.
    pub payload: Digest,
}

impl Line {
    /// Reads a line; only the one spelling that a writer gives.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let line: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut again = String::with_capacity(text.len() + 1);
        line.render(&mut again);
        match again.strip_suffix('\n') == Some(text) {
            true => Ok(line),
            false => Err("the line is not spelled as a receipt is".to_owned()),
        }
    }

    fn render(&self, out: &mut String) {
        let link = Link {
            seq: self.seq,
            kind: self.kind,
            version: self.v,
            flags: self.flags,
            payload: self.payload,
            json: Digest::ZERO,
        };
        render(out, &link, &self.leaf, self.event.get());
    }

    /// The event, and the link that its bytes give: JSON and payload digests are computed anew, and the
    /// recorded payload digest must be the computed one.
    pub fn link(&self) -> std::result::Result<(Event, Link), String> {
        let event: Event = serde_json::from_str(self.event.get()).map_err(|error| error.to_string())?;
        let mut encoder = Encoder::default();
        let link = encoder.encode(&event, self.seq).map_err(|error| error.to_string())?;
        if encoder.json != self.event.get().as_bytes() {
            return Err("the event is not in its canonical form".to_owned());
        }
        if (link.kind, link.version) != (self.kind, self.v) {
            return Err(format!("the event is not of kind {} version {}", self.kind, self.v));
        }
        if link.payload != self.payload {
            return Err("the recorded payload digest is not that of the event".to_owned());
        }
        debug_assert_eq!(link.json, json_digest(self.event.get().as_bytes()));
        Ok((
            event,
            Link {
                flags: self.flags,
                ..link
            },
        ))
    }
}

fn render(out: &mut String, link: &Link, leaf: &Digest, json: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        r#"{{"seq":{},"event":{json},"kind":{},"v":{},"flags":{},"leaf":"{leaf}","payload":"{}"}}"#,
        link.seq, link.kind, link.version, link.flags, link.payload
    );
}

/// Writes the receipt while the journal is written.
#[derive(Debug)]
pub struct ReceiptWriter {
    file: File,
    lines: String,
    error: Option<String>,
}

impl ReceiptWriter {
    /// An empty receipt in place of whatever was there.
    pub fn create(path: &Path) -> Result<Self> {
        Self::with(path, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Goes on with the receipt of this journal; one that lags, leads or differs is rebuilt first.
    pub fn resume(reader: &Reader, path: &Path) -> Result<Self> {
        if check(reader, path).is_err() {
            rebuild(reader, path)?;
        }
        Self::with(path, OpenOptions::new().append(true))
    }

    fn with(path: &Path, options: &OpenOptions) -> Result<Self> {
        Ok(Self {
            file: about(options.open(path), "open", path)?,
            lines: String::new(),
            error: None,
        })
    }

    /// Gathers the line of an event.
    pub fn push(&mut self, event: &Appended<'_>) {
        let json = std::str::from_utf8(event.json).unwrap_or_default();
        render(&mut self.lines, &event.link, &event.leaf, json);
    }

    /// How much is gathered and not written.
    pub(crate) const fn gathered_bytes(&self) -> usize {
        self.lines.len()
    }

    /// Writes everything that is gathered: for who knows that all of it is durable. An error is kept and ends this
    /// receipt, never the journal.
    pub fn flush_all(&mut self) {
        self.flush(self.lines.len());
    }

    /// Writes the first so many bytes of what is gathered. An error is kept and ends this receipt, never the
    /// journal.
    pub(crate) fn flush(&mut self, bytes: usize) {
        let bytes = bytes.min(self.lines.len());
        if self.error.is_none()
            && let Err(error) = self.file.write_all(&self.lines.as_bytes()[..bytes])
        {
            self.error = Some(error.to_string());
        }
        self.lines.drain(..bytes);
    }

    /// Why the receipt is behind the journal, if it is.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

/// Writes the whole receipt anew, in one step as far as readers can see.
pub fn rebuild(reader: &Reader, path: &Path) -> Result<Head> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let temporary = Path::new(&name);
    let mut out = BufWriter::new(about(File::create(temporary), "create", temporary)?);
    let mut line = String::new();
    let mut encoder = Encoder::default();
    let head = reader.chained(|event| {
        line.clear();
        let decoded = crate::scan::agrees(&event.frame, &mut encoder);
        decoded.map_err(|(_, why)| Error::Receipt {
            line: event.link.seq + 1,
            why,
        })?;
        let json = std::str::from_utf8(&encoder.json).unwrap_or_default();
        render(&mut line, &event.link, &event.leaf, json);
        about(out.write_all(line.as_bytes()), "write", temporary)
    })?;
    about(out.flush(), "write", temporary)?;
    about(fs::rename(temporary, path), "rename", temporary)?;
    Ok(head)
}

/// Goes through a receipt without the journal: calls `visit` for every event with its recomputed leaf,
/// and refuses the first line whose recorded values differ.
pub fn walk(receipt: impl BufRead, mut visit: impl FnMut(&Event, &Link, &Digest) -> Result<()>) -> Result<Head> {
    let mut head = Head::default();
    for (number, text) in (1..).zip(receipt.lines()) {
        let bad = |why: String| Error::Receipt { line: number, why };
        let text = text.map_err(|error| bad(error.to_string()))?;
        let line = Line::parse(&text).map_err(bad)?;
        if line.seq != head.size {
            return Err(bad(format!(
                "event {} stands where event {} belongs",
                line.seq, head.size
            )));
        }
        let (event, link) = line.link().map_err(bad)?;
        head.advance(&link);
        if head.leaf != line.leaf {
            return Err(bad("the recorded leaf does not follow from the lines so far".to_owned()));
        }
        visit(&event, &link, &head.leaf)?;
    }
    Ok(head)
}

/// Every leaf of the journal, from its receipt alone.
pub fn leaves(receipt: impl BufRead) -> Result<Vec<Digest>> {
    let mut leaves = Vec::new();
    walk(receipt, |_, _, leaf| {
        leaves.push(*leaf);
        Ok(())
    })?;
    Ok(leaves)
}

/// Rebuilds a journal with the same leaves from a receipt.
pub fn import(receipt: impl BufRead, store: Arc<dyn Store>, run_id: &str, layout: Layout) -> Result<Head> {
    let mut writer = Writer::create(store, run_id, layout)?;
    walk(receipt, |event, link, leaf| {
        let seq = match writer.append(event) {
            Err(Error::TooLarge { .. }) => {
                writer.commit()?;
                writer.append(event)?
            }
            other => other?,
        };
        if writer.tip().leaf != *leaf {
            return Err(Error::Receipt {
                line: link.seq + 1,
                why: "the event cannot be written again with the same leaf".to_owned(),
            });
        }
        if (seq + 1).is_multiple_of(IMPORT_BATCH) {
            writer.commit()?;
        }
        Ok(())
    })?;
    writer.commit()?;
    let head = writer.head();
    writer.close()?;
    Ok(head)
}

/// Compares a receipt with its journal and names the first line that differs or is missing.
pub fn check(reader: &Reader, path: &Path) -> Result<Head> {
    let mut lines = BufReader::new(about(File::open(path), "open", path)?);
    let mut text = String::new();
    let mut wanted = String::new();
    let mut encoder = Encoder::default();
    let head = reader.chained(|event| {
        let number = event.link.seq + 1;
        let bad = |why: String| Error::Receipt { line: number, why };
        wanted.clear();
        text.clear();
        let decoded = crate::scan::agrees(&event.frame, &mut encoder);
        decoded.map_err(|(code, why)| bad(format!("{code}: {why}")))?;
        let json = std::str::from_utf8(&encoder.json).unwrap_or_default();
        render(&mut wanted, &event.link, &event.leaf, json);
        lines.read_line(&mut text).map_err(|error| bad(error.to_string()))?;
        match text.as_str() {
            same if same == wanted => Ok(()),
            "" => Err(bad(format!("event {} is missing", event.link.seq))),
            _ => Err(bad(format!(
                "{}: the line is not event {} of the journal",
                Code::ReceiptEdited,
                event.link.seq
            ))),
        }
    })?;
    text.clear();
    match lines.read_line(&mut text) {
        Ok(0) => Ok(head),
        _ => Err(Error::Receipt {
            line: head.size + 1,
            why: "the journal has no such event".to_owned(),
        }),
    }
}

fn about<T>(result: io::Result<T>, action: &'static str, path: &Path) -> Result<T> {
    result.map_err(|source| Error::Io {
        action,
        file: path.display().to_string(),
        source,
    })
}
