//! Reading: no lock, no write, any number of readers, a live journal included.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use engine::event::id::Digest;
use engine::event::{DecodeError, Event};

use crate::chain::{Head, Link};
use crate::error::{Code, Defect, Error, Result};
use crate::frame::Frame;
use crate::recover::{Recovery, Tail, judge, known_shapes, read_segment, read_written, sealed_defect, segments};
use crate::scan::{Scan, may_skip, quick};
use crate::segment::{Header, Identity};
use crate::store::Store;

/// A journal as it was when it was opened, plus whatever its last segment has gained since.
pub struct Reader {
    store: Arc<dyn Store>,
    segments: Vec<Header>,
}

/// An event with everything that went into its leaf.
#[derive(Clone, Copy, Debug)]
pub struct Chained<'a> {
    pub link: Link,
    pub leaf: Digest,
    /// The leaf before.
    pub previous: Digest,
    pub frame: Frame<'a>,
}

impl Reader {
    pub(crate) fn open(store: Arc<dyn Store>) -> Result<Self> {
        let segments = segments(store.as_ref())?;
        segments.iter().try_for_each(known_shapes)?;
        Ok(Self { store, segments })
    }

    /// Which journal this is.
    pub fn identity(&self) -> &Identity {
        &self.segments[0].identity
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Calls `visit(seq, kind, version, payload)` for every event, without decoding anything. The
    /// fastest way through a journal: sealed segments are verified by one digest each before any of
    /// their events is shown, the last one event by event.
    pub fn raw(&self, mut visit: impl FnMut(u64, u16, u16, &[u8])) -> Result<u64> {
        self.pass().frames(|seq, frame, _| {
            visit(seq, frame.kind, frame.version, frame.payload);
            Ok(())
        })
    }

    /// Calls `visit` for every event in order and gives their number. An event is decoded where it stays until
    /// `visit` returns: moving one costs as much as decoding it.
    pub fn fold(&self, mut visit: impl FnMut(u64, &Event)) -> Result<u64> {
        self.pass().frames(|seq, frame, place| {
            match &Event::decode(frame.kind, frame.version, frame.payload) {
                Ok(event) => visit(seq, event),
                Err(_) if may_skip(&frame) => {}
                Err(error) => return Err(place.malformed(seq, &frame, error)),
            }
            Ok(())
        })
    }

    /// The events in order. Ends after the first error. A kind of a newer build that is marked as not
    /// critical is left out; its number is not given to another.
    pub fn events(&self) -> Events<'_> {
        Events {
            pass: self.pass(),
            body: 0,
            at: 0,
            done: false,
        }
    }

    /// Calls `visit` for every event with its leaf, recomputed.
    pub fn chained(&self, mut visit: impl FnMut(Chained<'_>) -> Result<()>) -> Result<Head> {
        let mut head = Head::default();
        self.pass().frames(|_, frame, _| {
            let (link, previous) = (frame.link(head.size), head.leaf);
            head.advance(&link);
            visit(Chained {
                link,
                leaf: head.leaf,
                previous,
                frame,
            })
        })?;
        Ok(head)
    }

    /// Where the journal ends now.
    pub fn head(&self) -> Result<Head> {
        let mut pass = self.pass();
        pass.next = self.segments.len() - 1;
        pass.load()?;
        Ok(pass.end)
    }

    /// Every leaf, in order.
    pub fn leaves(&self) -> Result<Vec<Digest>> {
        let mut leaves = Vec::new();
        self.chained(|event| {
            leaves.push(event.leaf);
            Ok(())
        })?;
        Ok(leaves)
    }

    /// What is behind the last verified batch: [`Recovery::Clean`] or [`Recovery::TornTail`].
    pub fn tail(&self) -> Result<Recovery> {
        let mut pass = self.pass();
        let Some(last) = self.segments.last() else {
            return Ok(Recovery::Clean);
        };
        pass.load_settled(last)?;
        Ok(match pass.torn {
            Some(range) => Recovery::TornTail {
                segment: last.number,
                offset: range.start as u64,
                size_bytes: range.len() as u64,
                quarantine: String::new(),
            },
            None => Recovery::Clean,
        })
    }

    fn pass(&self) -> Pass<'_> {
        Pass {
            reader: self,
            next: 0,
            bytes: Vec::new(),
            bodies: Vec::new(),
            seq: 0,
            end: Head::default(),
            torn: None,
        }
    }
}

/// One way through the segments, with one reused buffer.
struct Pass<'a> {
    reader: &'a Reader,
    /// The segment to load next.
    next: usize,
    bytes: Vec<u8>,
    /// Where the frames of the loaded segment are.
    bodies: Vec<Range<usize>>,
    /// Number of the first event that was not shown yet.
    seq: u64,
    /// Where the last segment ends, once it is loaded.
    end: Head,
    torn: Option<Range<usize>>,
}

impl Pass<'_> {
    /// Loads and verifies the next segment; false after the last.
    fn load(&mut self) -> Result<bool> {
        let segments = &self.reader.segments;
        let Some(header) = segments.get(self.next) else {
            return Ok(false);
        };
        self.bodies.clear();
        self.seq = header.head.size;
        match segments.get(self.next + 1) {
            Some(following) => {
                read_segment(self.reader.store.as_ref(), header, &mut self.bytes)?;
                if !quick(&self.bytes, following, &mut self.bodies) {
                    return Err(sealed_defect(&self.bytes, header, following).into());
                }
            }
            None => self.load_last(header)?,
        }
        self.next += 1;
        Ok(true)
    }

    /// Calls `visit` for every frame of every segment, with where it lies, and gives their number.
    fn frames(mut self, mut visit: impl FnMut(u64, Frame<'_>, Place) -> Result<()>) -> Result<u64> {
        while self.load()? {
            let mut seq = self.seq;
            for body in &self.bodies {
                let place = self.place(body);
                let mut rest = &self.bytes[body.clone()];
                while !rest.is_empty() {
                    let (frame, after) = Frame::parse(rest).ok_or_else(|| place.unreadable(seq))?;
                    visit(seq, frame, place)?;
                    (rest, seq) = (after, seq + 1);
                }
            }
            self.seq = seq;
        }
        Ok(self.seq)
    }

    /// Where the frames of a batch of the loaded segment lie.
    const fn place(&self, body: &Range<usize>) -> Place {
        Place {
            segment: self.next as u32 - 1,
            offset: body.start as u64,
        }
    }

    /// The last segment, of which mostly no more has to be looked at than was written.
    fn load_last(&mut self, header: &Header) -> Result<()> {
        if self.load_clean(header)? {
            return Ok(());
        }
        self.load_settled(header)
    }

    /// The last segment may be growing under our eyes: a batch seen half-written is read again, and
    /// only a picture that stays the same is judged.
    fn load_settled(&mut self, header: &Header) -> Result<()> {
        const LOOKS: usize = 50;
        let mut before: Option<(usize, Tail)> = None;
        for _ in 0..LOOKS {
            self.bodies.clear();
            read_segment(self.reader.store.as_ref(), header, &mut self.bytes)?;
            let mut scan = Scan::new(&self.bytes, header);
            let tail = loop {
                match scan.next() {
                    Ok(Some(batch)) => self.bodies.push(batch.body),
                    Ok(None) => break Tail::Clean,
                    Err(problem) => break judge(&scan, &problem),
                }
            };
            self.end = scan.position.head;
            let seen = Some((scan.at, tail.clone()));
            let settled = seen == before;
            match tail {
                Tail::Clean => return Ok(()),
                Tail::Torn(range) if settled => {
                    self.torn = Some(range);
                    return Ok(());
                }
                Tail::Corrupt(defect) if settled => return Err(defect.into()),
                Tail::Torn(_) | Tail::Corrupt(_) => std::thread::sleep(Duration::from_millis(2)),
            }
            before = seen;
        }
        Ok(())
    }

    /// Reads what was written of the last segment; false when that is not simply batches and then nothing.
    fn load_clean(&mut self, header: &Header) -> Result<bool> {
        read_written(self.reader.store.as_ref(), header, &mut self.bytes)?;
        let mut scan = Scan::new(&self.bytes, header);
        let clean = loop {
            match scan.next() {
                Ok(Some(batch)) => self.bodies.push(batch.body),
                Ok(None) => break true,
                Err(problem) => break matches!(judge(&scan, &problem), Tail::Clean),
            }
        };
        self.end = scan.position.head;
        Ok(clean)
    }
}

/// Where a frame lies, as far as a defect names it.
#[derive(Clone, Copy)]
struct Place {
    segment: u32,
    offset: u64,
}

impl Place {
    #[cold]
    fn unreadable(self, seq: u64) -> Error {
        self.defect(seq, Code::BatchLost, None, "a frame does not fit its batch".to_owned())
    }

    #[cold]
    fn malformed(self, seq: u64, frame: &Frame<'_>, error: &DecodeError) -> Error {
        self.defect(
            seq,
            Code::Payload,
            crate::codec::kind_name(frame.kind),
            error.to_string(),
        )
    }

    fn defect(self, seq: u64, code: Code, kind: Option<&'static str>, why: String) -> Error {
        Error::from(Defect {
            code,
            seq,
            kind,
            segment: self.segment,
            offset: self.offset,
            why,
        })
    }
}

/// Iterator over the events of a journal.
pub struct Events<'a> {
    pass: Pass<'a>,
    body: usize,
    at: usize,
    done: bool,
}

impl Events<'_> {
    /// Where the journal ended when the last event was given; before that, its beginning.
    pub fn head(&self) -> Head {
        self.pass.end
    }

    fn step(&mut self) -> Result<Option<(u64, Event)>> {
        loop {
            let Some(body) = self.pass.bodies.get(self.body) else {
                if !self.pass.load()? {
                    return Ok(None);
                }
                (self.body, self.at) = (0, 0);
                continue;
            };
            let rest = &self.pass.bytes[body.start + self.at..body.end];
            if rest.is_empty() {
                (self.body, self.at) = (self.body + 1, 0);
                continue;
            }
            let (seq, place) = (self.pass.seq, self.pass.place(body));
            let (frame, after) = Frame::parse(rest).ok_or_else(|| place.unreadable(seq))?;
            self.at += rest.len() - after.len();
            self.pass.seq += 1;
            if may_skip(&frame) {
                continue;
            }
            let event = Event::decode(frame.kind, frame.version, frame.payload);
            let event = event.map_err(|error| place.malformed(seq, &frame, &error))?;
            return Ok(Some((seq, event)));
        }
    }
}

impl Iterator for Events<'_> {
    type Item = Result<(u64, Event)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.step().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}
