//! A scan whose files are also kept.

use std::fs::File;

use super::beneath::{Beneath, open_file_at};
use super::error::TreeError;
use super::manifest::{Entry, Kind, Manifest, TreeId};
use super::path::split;
use super::store::{Put, Store};
use super::{Tree, TreeSeen};

/// From here on new content is stored by two threads.
const WORTH_A_THREAD: usize = 256;

/// What came of storing files: which were no longer what was seen, and which are over the cap.
pub(crate) struct Kept {
    pub(crate) moving: Vec<Vec<u8>>,
    unstored: Vec<Vec<u8>>,
}

impl Tree {
    /// Sees the tree as it is and stores it: when this returns, every file of it (but those over the cap)
    /// and its manifest are on disk. An unchanged tree costs a scan and nothing else.
    pub fn snapshot(&mut self) -> Result<TreeSeen, TreeError> {
        let before = self.known.manifest.clone();
        let mut unstable = self.look()?;
        let mut moving = self.keep_current()?;
        if !moving.is_empty() {
            unstable = self.look()?;
            moving = self.keep_current()?;
        }
        unstable.extend(moving);
        unstable.sort_unstable();
        unstable.dedup();
        let mut seen = self.seen(&before, unstable);
        seen.unstored = self.unstored.clone();
        Ok(seen)
    }

    /// Stores what the last scan saw; returns the files that are no longer what it saw.
    fn keep_current(&mut self) -> Result<Vec<Vec<u8>>, TreeError> {
        if self.store.is_gone() {
            // Somebody removed it while a command ran: what is still here is kept once more.
            self.store = Store::open(&self.state_dir)?;
            self.stored = None;
        }
        if self.stored == Some(self.known.id) {
            return Ok(Vec::new());
        }
        let manifest = self.known.manifest.clone();
        let Kept { moving, unstored } = self.keep(manifest.entries())?;
        self.store.put_tree(self.known.id, &manifest.canonical_bytes())?;
        self.store.settle()?;
        self.unstored = unstored;
        self.stored = moving.is_empty().then_some(self.known.id);
        Ok(moving)
    }

    /// Stores the content of these files of the workdir, where it is not stored yet; not durable until the
    /// store is settled.
    pub(crate) fn keep(&mut self, entries: &[Entry]) -> Result<Kept, TreeError> {
        let missing = entries.iter().filter(|e| !self.store.contains(&e.digest));
        let (missing, over): (Vec<&Entry>, Vec<&Entry>) = missing.partition(|e| e.size <= self.options.blob_cap_bytes);
        let kept = keep_all(&self.store, self.root(), &missing);
        if kept.is_err() {
            self.store.abandon();
        }
        Ok(Kept {
            moving: kept?,
            unstored: over.into_iter().map(|e| e.path.clone()).collect(),
        })
    }

    /// Stores a manifest that is not a scan of its own, durably.
    pub(crate) fn keep_tree(&mut self, manifest: &Manifest) -> Result<TreeId, TreeError> {
        let canonical = manifest.canonical_bytes();
        let id = TreeId::of(&canonical);
        self.store.put_tree(id, &canonical)?;
        self.store.settle()?;
        Ok(id)
    }
}

type Root<'a> = std::os::fd::BorrowedFd<'a>;

fn keep_all(store: &Store, root: Root<'_>, entries: &[&Entry]) -> Result<Vec<Vec<u8>>, TreeError> {
    if entries.len() < WORTH_A_THREAD {
        return keep_some(store, root, entries);
    }
    let (left, right) = entries.split_at(entries.len() / 2);
    std::thread::scope(|scope| {
        let helper = std::thread::Builder::new().spawn_scoped(scope, || keep_some(store, root, right));
        let mut moving = keep_some(store, root, left)?;
        moving.extend(match helper.map(|h| h.join()) {
            Ok(Ok(kept)) => kept?,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => keep_some(store, root, right)?,
        });
        Ok(moving)
    })
}

fn keep_some(store: &Store, root: Root<'_>, entries: &[&Entry]) -> Result<Vec<Vec<u8>>, TreeError> {
    let mut beneath = Beneath::new(root);
    let mut moving = Vec::new();
    for entry in entries {
        if keep_one(store, &mut beneath, entry)? == Put::Changed {
            moving.push(entry.path.clone());
        }
    }
    Ok(moving)
}

fn keep_one(store: &Store, beneath: &mut Beneath<'_>, entry: &Entry) -> Result<Put, TreeError> {
    use rustix::io::Errno;
    let (dir, name) = split(&entry.path);
    let reading = |errno| TreeError::reading(&entry.path, errno);
    let Some(fd) = beneath.dir(dir).map_err(reading)? else {
        return Ok(Put::Changed);
    };
    match entry.kind {
        Kind::File => match open_file_at(fd, name) {
            Ok(file) => store.put_file(&entry.digest, File::from(file), entry.size, &entry.path),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => Ok(Put::Changed),
            Err(errno) => Err(reading(errno)),
        },
        Kind::Symlink => match rustix::fs::readlinkat(fd, name, Vec::new()) {
            Ok(target) if blake3::hash(target.as_bytes()).as_bytes() == &entry.digest => {
                store.put_bytes(&entry.digest, target.as_bytes())?;
                Ok(Put::Stored)
            }
            Ok(_) | Err(Errno::NOENT | Errno::INVAL) => Ok(Put::Changed),
            Err(errno) => Err(reading(errno)),
        },
    }
}
