//! The only door to the bytes: a directory of named files, in few calls.
//!
//! What is assumed of the disk behind it: a 512-byte sector is written as a whole or not at all; after
//! `sync` has returned, the bytes written before it are found again after a power cut; after `sync_dir`
//! has returned, so are names; bytes that were not asked to change do not change. A device that lies
//! about a sync can be noticed only with a head remembered elsewhere.

mod faulty;
mod file;
mod memory;

use std::any::Any;
use std::io;

pub use faulty::{CrashPlan, Fault, FaultyStore, Op};
pub use file::FileStore;
pub use memory::MemoryStore;

use crate::error::{Error, Result};

/// An exclusive hold on a journal; dropping it lets go.
pub type Hold = Box<dyn Any + Send>;

/// A directory of files. Names are relative to it and may have one folder in front.
#[allow(clippy::len_without_is_empty)]
pub trait Store: Send + Sync {
    /// Makes an empty file; fails when the name is taken.
    fn create(&self, name: &str) -> io::Result<()>;
    /// Reads from `offset` and says how many bytes there were; fewer than asked only at the end.
    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`, or fails.
    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Length of the file in bytes.
    fn len(&self, name: &str) -> io::Result<u64>;
    /// Cuts or grows (with zeros) the file.
    fn set_len(&self, name: &str, len: u64) -> io::Result<()>;
    /// Returns once everything written to the file is durable.
    fn sync(&self, name: &str) -> io::Result<()>;
    /// Returns once every name in the folder (`""` is the journal itself) is durable.
    fn sync_dir(&self, folder: &str) -> io::Result<()>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a name.
    fn unlink(&self, name: &str) -> io::Result<()>;
    /// The names in the journal's own folder, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Takes the writer's lock; `None` when someone else has it.
    fn lock(&self) -> io::Result<Option<Hold>>;
    /// What to call this place in a sentence.
    fn place(&self) -> String;
}

/// Names the action and the file (`""` is the folder itself) in an error.
pub(crate) fn about<T>(store: &dyn Store, result: io::Result<T>, action: &'static str, name: &str) -> Result<T> {
    result.map_err(|source| Error::Io {
        action,
        file: match name {
            "" => store.place(),
            _ => format!("{}/{name}", store.place()),
        },
        source,
    })
}

/// Reads a whole file into `buffer`, which is reused.
pub(crate) fn read_whole(store: &dyn Store, name: &str, buffer: &mut Vec<u8>) -> Result<()> {
    let length = about(store, store.len(name), "measure", name)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if buffer.len() < length {
        buffer.try_reserve_exact(length - buffer.len()).map_err(|_| Error::Io {
            action: "read",
            file: name.to_owned(),
            source: io::Error::from(io::ErrorKind::OutOfMemory),
        })?;
    }
    buffer.resize(length, 0);
    let got = about(store, store.read_at(name, 0, buffer), "read", name)?;
    buffer.truncate(got);
    Ok(())
}

/// Creates a file of zeros; the caller syncs it.
pub(crate) fn zero_filled(store: &dyn Store, name: &str, size_bytes: u64) -> Result<()> {
    const CHUNK: u64 = 256 << 10;
    about(store, store.create(name), "create", name)?;
    let zeros = vec![0; size_bytes.min(CHUNK) as usize];
    let mut at = 0;
    while at < size_bytes {
        let step = (size_bytes - at).min(CHUNK);
        about(
            store,
            store.write_at(name, at, &zeros[..step as usize]),
            "zero-fill",
            name,
        )?;
        at += step;
    }
    Ok(())
}
