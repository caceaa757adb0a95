//! One writer: the kernel's lock on `LOCK`, and the epoch that outlives it.
//!
//! A dead owner's lock frees itself. The epoch rises with every writer and stands in every batch, so
//! that a second writer that the lock did not stop (network file systems) is seen when the journal is
//! read: the batches of two epochs contradict each other.

use crate::error::{Error, Result};
use crate::store::{Hold, Store, about};

pub(crate) const LOCK_NAME: &str = "LOCK";

/// Takes the lock, or names who has it.
pub(crate) fn take(store: &dyn Store) -> Result<Hold> {
    match about(store, store.lock(), "lock", LOCK_NAME)? {
        Some(hold) => Ok(hold),
        None => {
            let (pid, epoch) = holder(store);
            Err(Error::Held { pid, epoch })
        }
    }
}

/// Writes who holds the lock. For people: the lock itself is the kernel's.
pub(crate) fn sign(store: &dyn Store, epoch: u64) -> Result<()> {
    let text = format!("pid {:<10} epoch {epoch:<20}\n", std::process::id());
    about(store, store.write_at(LOCK_NAME, 0, text.as_bytes()), "write", LOCK_NAME)
}

/// Process and epoch in `LOCK`; zeros when it says nothing readable.
pub(crate) fn holder(store: &dyn Store) -> (u32, u64) {
    let mut bytes = [0; 64];
    let count = store.read_at(LOCK_NAME, 0, &mut bytes).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..count]);
    let mut words = text.split_whitespace();
    let pid = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let epoch = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    (pid, epoch)
}
