//! Writing: append gathers, commit makes durable, and the first failure is the last act.
//!
//! A commit is waited for or handed over. Handed over, it is written by a thread of its own ([`lane`])
//! while the next batch is gathered; both ways write the same bytes in the same order, and an event counts as
//! durable only when its own sync has returned. A commit that is waited for can be taken in its steps, for who has
//! something to do in between:
//!
//! ```text
//!   write --> sync --> commit: its lines in the receipt
//! ```

mod commit;
mod lane;

use std::sync::Arc;

use engine::event::Event;
use engine::event::id::Digest;

use crate::active::Active;
use crate::batch::{self, BLOCK, MAX_BYTES, Purpose, padded};
use crate::chain::{Head, Link};
use crate::checkpoint::{Checkpoint, Note, Notes};
use crate::codec::{Encoder, table};
use crate::error::{Error, Result};
use crate::frame::{self, Frame};
use crate::keys::Keys;
use crate::lock;
use crate::merkle::Peaks;
use crate::receipt::ReceiptWriter;
use crate::recover::{Recovered, Recovery, repair};
use crate::scan::Position;
use crate::segment::{self, Header, Identity, Layout};
use crate::spare::Spare;
use crate::store::{Hold, Store, about};
use commit::Written;
use lane::{Before, Lane};

/// What a commit has made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durable {
    /// Number of the last event on disk; `None` while there is none.
    pub seq: Option<u64>,
    /// The chain value that stands for everything up to it.
    pub head: Digest,
}

impl From<Head> for Durable {
    fn from(head: Head) -> Self {
        Self {
            seq: head.last_seq(),
            head: head.leaf,
        }
    }
}

/// The event that was appended last, in the forms that projections need.
#[derive(Clone, Copy, Debug)]
pub struct Appended<'a> {
    pub link: Link,
    pub leaf: Digest,
    /// Canonical JSON.
    pub json: &'a [u8],
}

/// The one writer of a journal. Dropping it lets go of the lock; what was not committed is gone.
pub struct Writer {
    store: Arc<dyn Store>,
    layout: Layout,
    identity: Identity,
    /// These three are behind the last batch that was built, which may still be on its way to the disk.
    active: Active,
    position: Position,
    peaks: Peaks,
    lane: Lane,
    /// Written, and not yet synced. Nothing is with the lane then.
    written: Option<Written>,
    /// How much of the gathered receipt is durable and not yet written.
    owed_bytes: usize,
    /// A buffer that came back from the disk.
    idle: Vec<u8>,
    /// Header space and the frames of the batch that is being gathered.
    pending: Vec<u8>,
    pending_leaves: Vec<Digest>,
    /// The chain including what is pending.
    tip: Head,
    encoder: Encoder,
    last: Option<(Link, Digest)>,
    /// The last batch carries no events, so everything is under a watermark already.
    marked: bool,
    spare: Spare,
    poison: Option<String>,
    receipt: Option<ReceiptWriter>,
    // Last, so that the lock is the last thing to go.
    _hold: Hold,
}

impl Writer {
    /// Begins a journal. Refused when there is one.
    pub(crate) fn create(store: Arc<dyn Store>, run_id: &str, layout: Layout) -> Result<Self> {
        let identity = Identity::new(run_id)?;
        let hold = lock::take(store.as_ref())?;
        for name in about(store.as_ref(), store.list(), "list", "")? {
            if name.ends_with(".seg") {
                return Err(Error::Exists { place: store.place() });
            }
            if name.ends_with(".prep") {
                about(store.as_ref(), store.unlink(&name), "remove", &name)?;
            }
        }
        let position = Position {
            epoch: 1,
            ordinal: 0,
            head: Head::default(),
        };
        let header = Header {
            identity: identity.clone(),
            number: 0,
            size_bytes: layout.size_bytes(0, BLOCK),
            first_batch: 0,
            epoch: position.epoch,
            previous: Digest::ZERO,
            head: position.head,
            peaks: Peaks::default(),
            table: table(),
        };
        Spare::build(store.as_ref(), 0, header.size_bytes)?;
        let active = Active::begin(store.as_ref(), &header)?;
        let mut writer = Self::with(store, layout, identity, active, position, Peaks::default(), hold);
        writer.marked = true;
        lock::sign(writer.store.as_ref(), 1)?;
        Ok(writer)
    }

    /// Takes over an examined journal: repairs its tail and begins a new epoch, durably.
    pub(crate) fn take_over(
        store: Arc<dyn Store>,
        layout: Layout,
        found: Recovered,
        hold: Hold,
    ) -> Result<(Self, Recovery)> {
        // First the notes: a malformed one refuses the journal, and a refusal changes nothing.
        Notes::mend(store.as_ref())?;
        let recovery = repair(&store, &found)?;
        let active = Active {
            number: found.last.number,
            name: segment::file_name(found.last.number),
            size_bytes: found.last.size_bytes,
            at: found.at as u64,
            digest: found.digest,
            current: found.last.table == table(),
        };
        let identity = found.last.identity;
        let mut position = found.position;
        let mut writer = Self::with(store, layout, identity, active, position, found.peaks, hold);
        position.epoch += 1;
        writer.flush(Purpose::Epoch, position.epoch)?;
        lock::sign(writer.store.as_ref(), position.epoch)?;
        Ok((writer, recovery))
    }

    fn with(
        store: Arc<dyn Store>,
        layout: Layout,
        identity: Identity,
        active: Active,
        position: Position,
        peaks: Peaks,
        hold: Hold,
    ) -> Self {
        Self {
            store,
            layout,
            identity,
            active,
            tip: position.head,
            position,
            peaks,
            lane: Lane::default(),
            written: None,
            owed_bytes: 0,
            idle: Vec::new(),
            pending: vec![0; batch::HEADER_BYTES],
            pending_leaves: Vec::new(),
            encoder: Encoder::default(),
            last: None,
            marked: false,
            spare: Spare::None,
            poison: None,
            receipt: None,
            _hold: hold,
        }
    }

    /// Gathers an event into the next batch and gives its number. Nothing is written yet.
    pub fn append(&mut self, event: &Event) -> Result<u64> {
        self.usable()?;
        let seq = self.tip.size;
        let link = self.encoder.encode(event, seq)?;
        let size = self.pending.len() + frame::HEADER_BYTES + self.encoder.payload.len();
        if padded(size) > MAX_BYTES {
            return Err(Error::TooLarge {
                size_bytes: size as u64,
                limit_bytes: MAX_BYTES as u64,
            });
        }
        Frame::write(&mut self.pending, &link, &self.encoder.payload);
        self.tip.advance(&link);
        self.pending_leaves.push(self.tip.leaf);
        self.last = Some((link, self.tip.leaf));
        if let (Some(receipt), Some((link, leaf))) = (&mut self.receipt, self.last) {
            receipt.push(&Appended {
                link,
                leaf,
                json: &self.encoder.json,
            });
        }
        Ok(seq)
    }

    /// Appends several events and gives the number of the last.
    pub fn append_all<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) -> Result<Option<u64>> {
        let mut last = None;
        for event in events {
            last = Some(self.append(event)?);
        }
        Ok(last)
    }

    /// Makes everything appended durable, as one batch: all of it or none of it survives a crash.
    /// After an error nothing more is accepted.
    pub fn commit(&mut self) -> Result<Durable> {
        self.write()?;
        self.sync()?;
        self.pay();
        Ok(self.head().into())
    }

    /// Writes everything appended as one batch, and does not sync it: it survives the end of this process. It counts as
    /// durable only when [`Writer::sync`] or [`Writer::commit`] has returned.
    pub fn write(&mut self) -> Result<()> {
        self.guard(|writer| writer.settle(true))?;
        if self.pending_leaves.is_empty() {
            return Ok(());
        }
        self.guard(Self::write_ahead)
    }

    /// Makes durable what was written. Its lines in the receipt are left to the next [`Writer::commit`].
    pub fn sync(&mut self) -> Result<()> {
        self.guard(Self::sync_written)
    }

    /// As [`Writer::commit`], but does not wait for the disk: says what is durable by now, which is rarely
    /// the batch that was handed over. It waits only while two earlier batches are on their way. An error
    /// of any of them comes from a later call, and after it nothing more is accepted.
    pub fn commit_behind(&mut self) -> Result<Durable> {
        self.guard(|writer| writer.settle(false))?;
        self.pay();
        if !self.pending_leaves.is_empty() {
            if !self.lane.begin(&self.store) {
                return self.commit();
            }
            self.guard(Self::hand_over)?;
        }
        Ok(self.head().into())
    }

    /// Commits, puts everything under a watermark, and signs it when there are keys. `state` is the
    /// caller's digest of what the events fold to.
    pub fn seal(&mut self, state: Digest, keys: Option<&Keys>) -> Result<Option<Note>> {
        self.commit()?;
        if !self.marked {
            self.flush(Purpose::Mark, self.position.epoch)?;
        }
        let Some(keys) = keys else {
            return Ok(None);
        };
        let checkpoint = Checkpoint {
            origin: self.identity.line(),
            size: self.position.head.size,
            root: self.peaks.root(),
            head: self.position.head.leaf,
            state,
            next: None,
        };
        let note = keys.sign(&checkpoint);
        self.guard(|writer| Notes::append(writer.store.as_ref(), &note))?;
        Ok(Some(note))
    }

    /// Hands the signing over: a checkpoint by `old` names `new`, and only `new` counts from then on.
    pub fn rotate_key(&mut self, state: Digest, old: &Keys, new: &Keys) -> Result<Note> {
        self.commit()?;
        let checkpoint = Checkpoint {
            origin: self.identity.line(),
            size: self.position.head.size,
            root: self.peaks.root(),
            head: self.position.head.leaf,
            state,
            next: Some(new.public()),
        };
        let note = old.sign(&checkpoint);
        self.guard(|writer| Notes::append(writer.store.as_ref(), &note))?;
        Ok(note)
    }

    /// Commits and lets go.
    pub fn close(mut self) -> Result<Durable> {
        let durable = self.commit()?;
        self.spare.discard(self.store.as_ref());
        Ok(durable)
    }

    /// Where the durable part ends.
    pub fn head(&self) -> Head {
        self.before().map_or(self.position.head, |before| before.head)
    }

    /// Where the journal will end after the next commit.
    pub const fn tip(&self) -> Head {
        self.tip
    }

    /// Merkle root of the durable part.
    pub fn root(&self) -> Digest {
        self.before().map_or(&self.peaks, |before| &before.peaks).root()
    }

    /// Where the journal stood before the first batch that is not known to be durable.
    fn before(&self) -> Option<&Before> {
        let written = self.written.as_ref().map(|written| &written.before);
        written.or_else(|| self.lane.oldest())
    }

    /// The writer's number among all writers of this journal, from 1.
    pub const fn epoch(&self) -> u64 {
        self.position.epoch
    }

    /// Which journal this is.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The event that was appended last.
    pub fn last(&self) -> Option<Appended<'_>> {
        self.last.map(|(link, leaf)| Appended {
            link,
            leaf,
            json: &self.encoder.json,
        })
    }

    /// Writes a line for every event from now on, once it is durable.
    pub fn attach_receipt(&mut self, receipt: ReceiptWriter) {
        self.receipt = Some(receipt);
    }

    /// Why the receipt is behind, if it is. It is derived and can be rebuilt; the journal goes on.
    pub fn receipt_error(&self) -> Option<&str> {
        self.receipt.as_ref()?.error()
    }

    /// Why the next segment could not be prepared, if so: the disk is full or failing while at most
    /// half a segment is left. Whoever asks can still record why the run stops.
    pub fn spare_error(&mut self) -> Option<&str> {
        self.spare.error()
    }

    /// Another handle to the same store, for reading what is durable.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    fn usable(&self) -> Result<()> {
        match &self.poison {
            None => Ok(()),
            Some(because) => Err(Error::Poisoned {
                because: because.clone(),
            }),
        }
    }

    /// Any failure of `action` ends this writer.
    fn guard<T>(&mut self, action: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.usable()?;
        let result = action(self);
        if let Err(error) = &result {
            self.poison = Some(error.to_string());
        }
        result
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.spare.wait();
    }
}
