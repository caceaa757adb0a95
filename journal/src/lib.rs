//! An append-only, tamper-evident journal of events.
//!
//! One writer gathers events and commits them in batches; a commit returns only when the batch is
//! durable. Any number of readers follow without a lock. Every event is one link of a hash chain and
//! one leaf of a Merkle tree, so a change to recorded history is seen and its place is named, and one
//! event can be proven to somebody who has nothing else.
//!
//! ```
//! use engine::event::{Event, iteration::RetryScheduled};
//! use journal::{Journal, Layout, MemoryStore, Store};
//! use std::sync::Arc;
//!
//! # fn main() -> journal::Result<()> {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let mut writer = Journal::create_in(store.clone(), "run-1", Layout::default())?;
//! let event = Event::from(RetryScheduled { iteration: 1, attempt: 1, delay_ms: 500 });
//! writer.append(&event)?;
//! let durable = writer.commit()?;
//! assert_eq!(durable.seq, Some(0));
//!
//! let reader = Journal::open_read_in(store)?;
//! for item in reader.events() {
//!     assert_eq!(item?, (0, event.clone()));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! From the bytes up: [`frame`] (one event), [`batch`] (one commit), [`segment`] (one file), [`chain`]
//! and [`merkle`] (what ties them together), [`checkpoint`] and [`keys`] (who vouches for them);
//! then [`Writer`], [`Reader`], [`Recovery`], [`verify`], [`receipt`], [`proof`].
//!
//! Not seen from the files alone: a disk that lied about its last sync, and somebody who puts an older
//! whole copy in the place of a newer one. Both need a head that was remembered elsewhere; see
//! [`OpenOptions::expect_head`].
#![forbid(unsafe_code)]

mod active;
pub mod batch;
mod bytes;
pub mod chain;
pub mod checkpoint;
pub mod codec;
mod error;
pub mod extension;
pub mod frame;
mod inspect;
pub mod keys;
mod lock;
pub mod merkle;
pub mod proof;
mod read;
pub mod receipt;
mod recover;
mod scan;
pub mod segment;
mod spare;
pub mod store;
mod text;
mod verify;
mod write;

use std::path::Path;
use std::sync::Arc;

use engine::event::id::Digest;

pub use chain::Head;
pub use checkpoint::{Checkpoint, Note, Notes};
pub use error::{Code, Defect, Error, Result};
pub use keys::Keys;
pub use read::{Chained, Events, Reader};
pub use receipt::ReceiptWriter;
pub use recover::Recovery;
pub use segment::{Identity, Layout};
pub use store::{FaultyStore, FileStore, MemoryStore, Store};
pub use verify::{Legality, Options as VerifyOptions, Verdict, verify, verify_seals};
pub use write::{Appended, Durable, Writer};

/// How a journal is opened for writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    pub layout: Layout,
    /// A head that the journal is known to have had; without it in the chain the journal is refused.
    pub expect_head: Option<Digest>,
}

/// The ways into a journal.
#[derive(Debug)]
pub struct Journal;

impl Journal {
    /// Begins a journal in the directory `dir`, which is made when it is missing.
    pub fn create(dir: &Path, run_id: &str) -> Result<Writer> {
        let store = FileStore::create(dir).map_err(|source| Error::Io {
            action: "create",
            file: dir.display().to_string(),
            source,
        })?;
        Self::create_in(Arc::new(store), run_id, Layout::default())
    }

    /// Begins a journal in any store.
    pub fn create_in(store: Arc<dyn Store>, run_id: &str, layout: Layout) -> Result<Writer> {
        Writer::create(store, run_id, layout)
    }

    /// Opens a journal for reading: takes no lock and writes nothing, whatever its state.
    pub fn open_read(dir: &Path) -> Result<Reader> {
        Self::open_read_in(Arc::new(existing(dir)?))
    }

    /// Opens a journal in any store for reading.
    pub fn open_read_in(store: Arc<dyn Store>) -> Result<Reader> {
        Reader::open(store)
    }

    /// Opens a journal to go on with it: takes the lock, verifies, sets a torn tail aside, begins a new
    /// epoch. Refuses a journal that is held, damaged or rolled back, and changes nothing then.
    pub fn open_write(dir: &Path) -> Result<(Writer, Recovery)> {
        Self::open_write_in(Arc::new(existing(dir)?), &OpenOptions::default())
    }

    /// Opens a journal in any store to go on with it.
    pub fn open_write_in(store: Arc<dyn Store>, options: &OpenOptions) -> Result<(Writer, Recovery)> {
        let hold = lock::take(store.as_ref())?;
        let found = recover::examine(store.as_ref())?;
        if let recover::Tail::Corrupt(defect) = &found.tail {
            return Err(defect.clone().into());
        }
        if let Some(expected) = options.expect_head {
            expect(&Reader::open(Arc::clone(&store))?, expected)?;
        }
        Writer::take_over(store, options.layout, found, hold)
    }

    /// Says what [`Journal::open_write`] would find, without a lock and without a change.
    pub fn inspect(dir: &Path, expect_head: Option<Digest>) -> Result<Recovery> {
        Self::inspect_in(Arc::new(existing(dir)?), expect_head)
    }

    /// The same in any store.
    pub fn inspect_in(store: Arc<dyn Store>, expect_head: Option<Digest>) -> Result<Recovery> {
        let look = || {
            recover::examine(store.as_ref())?;
            let reader = Reader::open(Arc::clone(&store))?;
            if let Some(expected) = expect_head {
                expect(&reader, expected)?;
            }
            reader.tail()
        };
        match look() {
            Err(Error::Corrupt(defect)) => Ok(Recovery::Corrupt(*defect)),
            Err(Error::RolledBack { have, expected }) => Ok(Recovery::RolledBack { have, expected }),
            other => other,
        }
    }

    /// Examines the journal in `dir` in full; see [`verify()`].
    pub fn verify(dir: &Path, options: &VerifyOptions, legality: Option<Legality<'_>>) -> Result<Verdict> {
        verify(&existing(dir)?, options, legality)
    }

    /// Examines the journal in `dir` by its seals; see [`verify_seals()`].
    pub fn verify_seals(dir: &Path, options: &VerifyOptions) -> Result<Verdict> {
        verify_seals(&existing(dir)?, options)
    }

    /// Process id and epoch of the last writer, as it noted them; zeros when there is none.
    pub fn last_writer(dir: &Path) -> (u32, u64) {
        lock::holder(&FileStore::open(dir))
    }
}

/// Keeps a lookup from making anything.
fn existing(dir: &Path) -> Result<FileStore> {
    match dir.is_dir() {
        true => Ok(FileStore::open(dir)),
        false => Err(Error::Missing {
            place: dir.display().to_string(),
        }),
    }
}

/// Refuses a journal whose chain never had this head.
fn expect(reader: &Reader, expected: Digest) -> Result<()> {
    let mut seen = expected == Digest::ZERO;
    let have = reader.chained(|event| {
        seen |= event.leaf == expected;
        Ok(())
    })?;
    match seen {
        true => Ok(()),
        false => Err(Error::RolledBack { have, expected }),
    }
}
