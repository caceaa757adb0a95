//! A directory in memory: crash images, tests and rebuilt journals that need no disk.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Hold, Store};

/// Files by name. Cloning shares them; [`MemoryStore::copy`] does not.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    held: Arc<AtomicBool>,
}

struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl MemoryStore {
    /// A store of these files.
    pub fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self {
            files: Arc::new(Mutex::new(files)),
            held: Arc::default(),
        }
    }

    /// The files as they are now.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.map().clone()
    }

    /// An independent copy, which nobody holds.
    pub fn copy(&self) -> Self {
        Self::of(self.files())
    }

    /// Changes a file as no journal would.
    pub fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.map().entry(name.to_owned()).or_default());
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, name: &str, action: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        match self.map().get_mut(name) {
            Some(file) => Ok(action(file)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Store for MemoryStore {
    fn create(&self, name: &str) -> io::Result<()> {
        let mut files = self.map();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        files.insert(name.to_owned(), Vec::new());
        Ok(())
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(name, |file| {
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(file.len());
            let count = into.len().min(file.len() - from);
            into[..count].copy_from_slice(&file[from..from + count]);
            count
        })
    }

    fn write_at(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.with(name, |file| {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            if file.len() < from + bytes.len() {
                file.resize(from + bytes.len(), 0);
            }
            file[from..from + bytes.len()].copy_from_slice(bytes);
        })
    }

    fn len(&self, name: &str) -> io::Result<u64> {
        self.with(name, |file| file.len() as u64)
    }

    fn set_len(&self, name: &str, len: u64) -> io::Result<()> {
        self.with(name, |file| {
            file.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        })
    }

    fn sync(&self, name: &str) -> io::Result<()> {
        self.with(name, |_| ())
    }

    fn sync_dir(&self, _folder: &str) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.map();
        match files.remove(from) {
            Some(file) => {
                files.insert(to.to_owned(), file);
                Ok(())
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        match self.map().remove(name) {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.map().keys().filter(|name| !name.contains('/')).cloned().collect())
    }

    fn lock(&self) -> io::Result<Option<Hold>> {
        let taken = self.held.swap(true, Ordering::AcqRel);
        if !taken {
            self.map().entry(crate::lock::LOCK_NAME.to_owned()).or_default();
        }
        Ok((!taken).then(|| Box::new(Held(Arc::clone(&self.held))) as Box<dyn Any + Send>))
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}
