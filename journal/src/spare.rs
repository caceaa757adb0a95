//! The segment after the active one, zero-filled and synced before it is needed, so that a full disk is
//! noticed while there is still room to say so.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::error::{Error, Result};
use crate::segment::spare_name;
use crate::store::{Store, about, zero_filled};

pub(crate) enum Spare {
    None,
    Building(JoinHandle<Result<()>>, u64),
    Ready(u64),
    Failed(String),
}

impl Spare {
    /// Builds the spare of segment `number` now; half of one is not left in the way of a full disk.
    pub(crate) fn build(store: &dyn Store, number: u32, size_bytes: u64) -> Result<()> {
        let name = spare_name(number);
        let built = zero_filled(store, &name, size_bytes).and_then(|()| about(store, store.sync(&name), "sync", &name));
        if built.is_err() {
            let _ = store.unlink(&name);
        }
        built
    }

    /// Begins to build it, unless that was begun before.
    pub(crate) fn start(&mut self, store: &Arc<dyn Store>, number: u32, size_bytes: u64, background: bool) {
        if !matches!(self, Self::None) {
            return;
        }
        let owned = Arc::clone(store);
        let build = move || Self::build(owned.as_ref(), number, size_bytes);
        let thread = std::thread::Builder::new().name("journal-spare".to_owned());
        *self = match background {
            true => match thread.spawn(build) {
                Ok(handle) => Self::Building(handle, size_bytes),
                Err(error) => Self::Failed(error.to_string()),
            },
            false => Self::outcome(build(), size_bytes),
        };
    }

    /// The spare, at least `wanted` bytes long; built here and now when there is none that fits.
    pub(crate) fn take(&mut self, store: &dyn Store, number: u32, wanted: u64) -> Result<u64> {
        self.wait();
        let was = std::mem::replace(self, Self::None);
        match was {
            Self::Ready(size) if size >= wanted => return Ok(size),
            Self::None => {}
            _ => {
                let name = spare_name(number);
                match store.unlink(&name) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    other => about(store, other, "remove", &name)?,
                }
            }
        }
        Self::build(store, number, wanted)?;
        Ok(wanted)
    }

    /// Waits until a spare that is being built is ready or has failed.
    pub(crate) fn wait(&mut self) {
        if let Self::Building(..) = self
            && let Self::Building(handle, size) = std::mem::replace(self, Self::None)
        {
            let built = handle.join().unwrap_or_else(|_| {
                Err(Error::Poisoned {
                    because: "the thread that builds the spare segment ended early".to_owned(),
                })
            });
            *self = Self::outcome(built, size);
        }
    }

    /// Removes a spare that was not used. Leftovers are harmless, so an error is not one.
    pub(crate) fn discard(&mut self, store: &dyn Store) {
        self.wait();
        if !matches!(self, Self::None)
            && let Ok(names) = store.list()
        {
            for name in names.iter().filter(|name| name.ends_with(".prep")) {
                let _ = store.unlink(name);
            }
        }
        *self = Self::None;
    }

    /// Why it could not be built.
    pub(crate) fn error(&mut self) -> Option<&str> {
        if let Self::Building(handle, _) = self
            && handle.is_finished()
        {
            self.wait();
        }
        match self {
            Self::Failed(why) => Some(why),
            _ => None,
        }
    }

    fn outcome(built: Result<()>, size_bytes: u64) -> Self {
        match built {
            Ok(()) => Self::Ready(size_bytes),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}
