//! A bell that only remembers why it rang first.

use crate::sync::Mutex;

pub(super) const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Connections,
    Bytes,
    Time,
}

#[derive(Debug, Default)]
pub(crate) struct Bell(Mutex<Option<Over>>);

impl Bell {
    pub(super) fn raise(&self, over: Over) {
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert(over);
        }
    }

    pub(crate) fn over(&self) -> Option<Over> {
        self.0.lock().ok().and_then(|first| *first)
    }
}
