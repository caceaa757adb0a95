//! A journal that grows while it is read.

use engine::event::Event;
use journal::Journal;

use super::{Fold, RecordError};
use crate::paths::RunDir;

/// Reads what a journal has gained since the last look.
#[derive(Debug)]
pub struct Follow {
    run: RunDir,
    pub fold: Fold,
}

impl Follow {
    pub fn new(run: RunDir) -> Self {
        Self {
            run,
            fold: Fold::default(),
        }
    }

    /// Shows every event that is new, and says how many there were.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn look(&mut self, mut visit: impl FnMut(u64, &Event, &Fold)) -> Result<u64, RecordError> {
        let reader = match Journal::open_read(&self.run.journal()) {
            // The first segment appears a moment after its directory.
            Err(journal::Error::Missing { .. }) => return Ok(0),
            other => other?,
        };
        let known = self.fold.events;
        // Only the last segment is read to learn that nothing is new.
        if reader.head()?.size == known {
            return Ok(0);
        }
        for item in reader.events() {
            let (seq, event) = item?;
            if seq >= known {
                self.fold.add(seq, &event);
                visit(seq, &event, &self.fold);
            }
        }
        Ok(self.fold.events - known)
    }

    /// The run came to an end, or was suspended.
    pub fn is_over(&self) -> bool {
        self.fold
            .state
            .as_ref()
            .is_some_and(|state| state.facts.halted.is_some() || state.facts.suspended.is_some())
    }
}
