//! From a gathered batch to the disk: built, written and synced, here or by the commit thread.

use engine::event::id::Digest;

use super::Writer;
use super::lane::{Before, Job};
use crate::active::Active;
use crate::batch::{self, BLOCK, Purpose, padded};
use crate::chain::finish;
use crate::codec::table;
use crate::error::Result;
use crate::receipt::ReceiptWriter;
use crate::segment::Header;

/// A batch that was written and not synced, and where the journal stood before it.
pub(super) struct Written {
    job: Job,
    pub(super) before: Before,
}

impl Writer {
    pub(super) fn flush(&mut self, purpose: Purpose, epoch: u64) -> Result<()> {
        self.guard(|writer| writer.write_batch(purpose, epoch))
    }

    /// Writes a batch without events and waits until it is durable.
    fn write_batch(&mut self, purpose: Purpose, epoch: u64) -> Result<()> {
        let (job, live) = self.build(purpose, epoch)?;
        job.run(self.store.as_ref())?;
        self.advance(purpose, epoch, &job.bytes, live);
        self.prepare();
        Ok(())
    }

    /// Writes the gathered batch.
    pub(super) fn write_ahead(&mut self) -> Result<()> {
        let epoch = self.position.epoch;
        let (job, live) = self.build(Purpose::Events, epoch)?;
        job.write(self.store.as_ref())?;
        let before = self.before_this();
        self.advance(Purpose::Events, epoch, &job.bytes, live);
        self.pending = std::mem::take(&mut self.idle);
        self.pending.resize(batch::HEADER_BYTES, 0);
        self.written = Some(Written { job, before });
        Ok(())
    }

    /// Syncs what was written.
    pub(super) fn sync_written(&mut self) -> Result<()> {
        if let Some(written) = &self.written {
            // What could not be synced stays what it is: nothing behind it counts.
            written.job.sync(self.store.as_ref())?;
        }
        if let Some(Written { job, before }) = self.written.take() {
            self.owed_bytes += before.receipt_bytes;
            self.idle = job.bytes;
            self.idle.truncate(batch::HEADER_BYTES);
            self.prepare();
        }
        Ok(())
    }

    /// Writes the lines of what is durable.
    pub(super) fn pay(&mut self) {
        let owed = std::mem::take(&mut self.owed_bytes);
        if let Some(receipt) = &mut self.receipt {
            receipt.flush(owed);
        }
    }

    /// Where the journal stands before the gathered batch.
    fn before_this(&self) -> Before {
        let gathered = self.receipt.as_ref().map_or(0, ReceiptWriter::gathered_bytes);
        Before {
            head: self.position.head,
            peaks: self.peaks.clone(),
            receipt_bytes: gathered.saturating_sub(self.lane.receipt_bytes() + self.owed_bytes),
        }
    }

    /// Gives the gathered batch to the commit thread.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        let epoch = self.position.epoch;
        let (job, live) = self.build(Purpose::Events, epoch)?;
        let before = self.before_this();
        self.advance(Purpose::Events, epoch, &job.bytes, live);
        self.prepare();
        self.lane.hand_over(job, before);
        self.pending = std::mem::take(&mut self.idle);
        self.pending.resize(batch::HEADER_BYTES, 0);
        Ok(())
    }

    /// Takes in what the commit thread has made durable; with `wait`, everything. What was only written is synced
    /// first: nothing is written behind what is not durable.
    pub(super) fn settle(&mut self, wait: bool) -> Result<()> {
        self.sync_written()?;
        while let Some((before, mut buffer)) = self.lane.back(wait)? {
            self.owed_bytes += before.receipt_bytes;
            self.pay();
            buffer.truncate(batch::HEADER_BYTES);
            self.idle = buffer;
        }
        Ok(())
    }

    /// The bytes of the next batch, and how many of them are live. Turns to the next segment when this one
    /// is full; that seals it, so everything in it is made durable first.
    fn build(&mut self, purpose: Purpose, epoch: u64) -> Result<(Job, usize)> {
        let events = purpose == Purpose::Events;
        let mut bytes = match events {
            true => std::mem::take(&mut self.pending),
            false => vec![0; batch::HEADER_BYTES],
        };
        let (live, span) = (bytes.len(), padded(bytes.len()));
        if !self.active.current || self.active.at + span as u64 > self.active.size_bytes {
            self.settle(true)?;
            self.rotate(span)?;
        }
        let count = if events { self.pending_leaves.len() } else { 0 };
        let header = batch::Header {
            purpose,
            origin: self.identity.origin(),
            segment: self.active.number,
            epoch,
            ordinal: self.position.ordinal,
            first_seq: self.position.head.size,
            durable_events: self.position.head.size,
            durable_batches: self.position.ordinal,
            count: u32::try_from(count).unwrap_or(u32::MAX),
            live_bytes: 0,
            nonzero_sectors: 0,
            head: if events { self.tip.leaf } else { self.position.head.leaf },
            before: if events {
                Digest::ZERO
            } else {
                finish(&self.active.digest)
            },
        };
        batch::close(&mut bytes, header);
        let (name, at) = (self.active.name.clone(), self.active.at);
        Ok((Job { name, at, bytes }, live))
    }

    /// Goes past a batch that was built.
    fn advance(&mut self, purpose: Purpose, epoch: u64, bytes: &[u8], live: usize) {
        let events = purpose == Purpose::Events;
        self.active.at += bytes.len() as u64;
        self.active.digest.update(&bytes[..live]);
        self.position.epoch = epoch;
        self.position.ordinal += 1;
        self.marked = !events;
        if events {
            self.position.head = self.tip;
            self.pending_leaves.drain(..).for_each(|leaf| self.peaks.push(leaf));
        }
    }

    /// Has the next segment made in time.
    fn prepare(&mut self) {
        if self.active.at > self.active.size_bytes / 2 {
            let number = self.active.number + 1;
            let size = self.layout.size_bytes(number, BLOCK);
            self.spare.start(&self.store, number, size, self.layout.background);
        }
    }

    /// Goes on in the next segment, which seals this one.
    fn rotate(&mut self, batch_bytes: usize) -> Result<()> {
        let number = self.active.number + 1;
        let wanted = self.layout.size_bytes(number, batch_bytes);
        let size_bytes = self.spare.take(self.store.as_ref(), number, wanted)?;
        let header = Header {
            identity: self.identity.clone(),
            number,
            size_bytes,
            first_batch: self.position.ordinal,
            epoch: self.position.epoch,
            previous: finish(&self.active.digest),
            head: self.position.head,
            peaks: self.peaks.clone(),
            table: table(),
        };
        self.active = Active::begin(self.store.as_ref(), &header)?;
        Ok(())
    }
}
