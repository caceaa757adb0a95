//! Something derived that need not be written before a command begins, and is written while it runs if it lasts.
//!
//! ```text
//!   ledger: put ──> command begins ──> half a second later: written     (a command that ends sooner: put once more)
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use engine::State;

/// Writes it, from what was recorded before the command.
pub(crate) type Write = Box<dyn FnOnce(&State) + Send>;

/// What waits; the newest only. Every clone is the same place.
#[derive(Clone, Default)]
pub(crate) struct Late(Arc<Mutex<Option<Write>>>);

impl Late {
    /// In place of what waited.
    pub(crate) fn put(&self, write: Option<Write>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = write;
    }

    pub(crate) fn take(&self) -> Option<Write> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Late")
    }
}
