//! The commit thread of a [`super::Writer`]: it makes one batch after the other durable while the writer
//! encodes and hashes the next.
//!
//! It begins with the first batch that is handed over, so a writer that waits for each commit never pays
//! for a thread. One batch is with the disk and one may wait; which of them is durable is known only from
//! what comes back. A batch is written when the sync of the one before it has returned, exactly as without
//! a thread, so the disk cannot tell the two ways apart. The first error is the last thing the thread
//! does: what waits behind it is never written.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::chain::Head;
use crate::error::{Error, Result};
use crate::merkle::Peaks;
use crate::store::{Store, about};

/// The bytes of a batch and where they go.
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Job {
    /// One write and one sync: all that stands between an event and its acknowledgement.
    pub(crate) fn run(&self, store: &dyn Store) -> Result<()> {
        self.write(store)?;
        self.sync(store)
    }

    pub(crate) fn write(&self, store: &dyn Store) -> Result<()> {
        about(
            store,
            store.write_at(&self.name, self.at, &self.bytes),
            "write",
            &self.name,
        )
    }

    pub(crate) fn sync(&self, store: &dyn Store) -> Result<()> {
        about(store, store.sync(&self.name), "sync", &self.name)
    }
}

/// Where the journal stood before a batch that is not known to be durable.
pub(crate) struct Before {
    pub(crate) head: Head,
    pub(crate) peaks: Peaks,
    /// How much of the gathered receipt belongs to the batch.
    pub(crate) receipt_bytes: usize,
}

/// What was handed over and has not come back, and the thread that has it.
#[derive(Default)]
pub(crate) struct Lane {
    thread: Option<Thread>,
    out: VecDeque<Before>,
}

struct Thread {
    jobs: SyncSender<Job>,
    done: Receiver<Result<Vec<u8>>>,
    handle: JoinHandle<()>,
}

impl Lane {
    /// Whether there is a thread, begun now if need be.
    pub(crate) fn begin(&mut self, store: &Arc<dyn Store>) -> bool {
        if self.thread.is_none() {
            let store = Arc::clone(store);
            let (jobs, work) = sync_channel::<Job>(1);
            let (answer, done) = channel();
            let run = move || {
                for job in work {
                    let result = job.run(store.as_ref()).map(|()| job.bytes);
                    let failed = result.is_err();
                    if answer.send(result).is_err() || failed {
                        return;
                    }
                }
            };
            let spawned = Builder::new().name("journal-commit".to_owned()).spawn(run);
            self.thread = spawned.ok().map(|handle| Thread { jobs, done, handle });
        }
        self.thread.is_some()
    }

    /// Hands a batch over; waits while another one waits already.
    pub(crate) fn hand_over(&mut self, job: Job, before: Before) {
        if let Some(thread) = &self.thread {
            self.out.push_back(before);
            // A thread that has ended left the reason behind; [`Lane::back`] finds it.
            let _ = thread.jobs.send(job);
        }
    }

    /// The next batch that came back, durable, and its bytes for use again; `None` when none is out, or
    /// when none has come back and `wait` is false.
    pub(crate) fn back(&mut self, wait: bool) -> Result<Option<(Before, Vec<u8>)>> {
        let Some(thread) = self.thread.as_ref().filter(|_| !self.out.is_empty()) else {
            return Ok(None);
        };
        let answer = match wait {
            true => thread.done.recv().map_err(|_| TryRecvError::Disconnected),
            false => thread.done.try_recv(),
        };
        match answer {
            Ok(result) => {
                let bytes = result?;
                Ok(self.out.pop_front().map(|before| (before, bytes)))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Error::Poisoned {
                because: "the thread that commits ended early".to_owned(),
            }),
        }
    }

    /// Where the journal stood before the first batch that has not come back.
    pub(crate) fn oldest(&self) -> Option<&Before> {
        self.out.front()
    }

    /// How much of the gathered receipt belongs to what is out.
    pub(crate) fn receipt_bytes(&self) -> usize {
        self.out.iter().map(|before| before.receipt_bytes).sum()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(Thread { jobs, handle, .. }) = self.thread.take() {
            drop(jobs);
            let _ = handle.join();
        }
    }
}
