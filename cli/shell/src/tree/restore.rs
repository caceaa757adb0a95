//! Putting a stored tree back.
//!
//! ```text
//! snapshot what is there ----> write what differs ----> look again ----> delete what is too much ----> compare
//!   (all of it is saved)        (ignore files too)       (their rules         (saved as well)
//!                                                         now hold)
//! ```
//!
//! Every step starts from what is on disk, so a restore that was interrupted anywhere is completed by
//! running it again. Deleting comes after a second look, because only then the ignore rules of the target
//! say which files are the user's. What cannot be saved (over the cap, or a directory that holds ignored
//! files where a file must go) is moved into the state directory instead of being deleted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::beneath::Beneath;
use super::error::TreeError;
use super::manifest::{ChangeKind, Entry, Kind, Manifest, TreeId, diff};
use super::path::{ancestors, split};
use super::read::buffer;
use super::state::{entry, look_beneath};
use super::{Tree, place};

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The tree as it is now: the target, unless `kept` names files that stand beside it.
    pub tree: TreeId,
    /// A stored tree that holds everything that was overwritten or deleted.
    pub saved: TreeId,
    /// Files and links written, or given their mode.
    pub written: u64,
    /// Files and links deleted.
    pub removed: u64,
    /// Files the target does not have, left because they were ignored when the tree was opened.
    pub kept: Vec<Vec<u8>>,
    /// Where things were moved that could not be saved in the store.
    pub aside: Vec<PathBuf>,
}

/// A restore under way.
pub(crate) struct Restore<'a> {
    pub(crate) tree: &'a mut Tree,
    /// What was there, and is saved. Grows by what turns up.
    pub(crate) saved: Manifest,
    pub(crate) done: Restored,
    go_on: &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    target: TreeId,
}

impl Tree {
    /// Makes the recorded files exactly as they are in the target. Deletes only files that a scan sees and
    /// that were not ignored when the tree was opened.
    pub fn restore(&mut self, target: TreeId) -> Result<Restored, TreeError> {
        self.restore_while(target, &mut |_| ControlFlow::Continue(()))
    }

    /// As [`Self::restore`], asking before each file whether to go on. Stopped part way it is
    /// [`TreeError::Interrupted`], and the same call completes it later.
    pub fn restore_while(
        &mut self,
        target: TreeId,
        go_on: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Restored, TreeError> {
        let wanted = Arc::new(self.store.tree(target)?);
        self.pins.aim_at(Some(wanted.clone()));
        self.pins_moved = true;
        let mut restore = Restore::begin(self, target, go_on)?;
        let puts = restore.differing(wanted.entries());
        restore.put_all(&puts)?;
        restore.look_again(&wanted)?;
        let (kept, extra): (Vec<_>, Vec<_>) = restore.too_much(&wanted);
        restore.remove_all(&extra, |dir| wanted.beneath(dir).next().is_some())?;
        restore.done.kept = kept;
        restore.finish(|now, kept| mismatches(&wanted, now, kept))
    }

    /// Puts single files back as they were captured ([`Self::capture_matching`]) or recorded, and deletes
    /// others, ignored or not. What stands there now is saved first.
    pub fn restore_files(&mut self, put: &[Entry], remove: &[Vec<u8>]) -> Result<Restored, TreeError> {
        for path in put.iter().map(|e| &e.path).chain(remove) {
            if !self.may_hold(path) {
                return Err(TreeError::OutOfBounds { path: path.clone() });
            }
        }
        let wanted = Manifest::new(put.to_vec());
        let mut go_on = |_: &[u8]| ControlFlow::Continue(());
        let mut restore = Restore::begin(self, wanted.id(), &mut go_on)?;
        restore.put_all(put)?;
        restore.remove_all(remove, |_| false)?;
        let target = restore.target;
        let done = restore.finish(|_, _| Vec::new())?;
        let now = self.entries_at(wanted.entries().iter().map(|e| e.path.as_slice()))?;
        let mut paths: Vec<_> = diff(&wanted, &now).into_iter().map(|c| c.path).collect();
        let removed = self.entries_at(remove.iter().map(Vec::as_slice))?;
        paths.extend(removed.entries().iter().map(|e| e.path.clone()));
        if paths.is_empty() {
            Ok(done)
        } else {
            Err(TreeError::Mismatch { target, paths })
        }
    }

    /// What stands at these paths now, read afresh.
    fn entries_at<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> Result<Manifest, TreeError> {
        let (mut beneath, mut bytes) = (Beneath::new(self.root()), buffer());
        let mut entries = Vec::new();
        for path in paths {
            let slot = look_beneath(&mut beneath, path, self.now(), &mut bytes, &mut Vec::new())?;
            entries.extend(slot.map(|slot| entry(path.to_vec(), &slot)));
        }
        Ok(Manifest::new(entries))
    }
}

/// Where the tree is not the target, apart from files that were kept.
fn mismatches(wanted: &Manifest, now: &Manifest, kept: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let changes = diff(wanted, now).into_iter();
    changes
        .filter(|c| c.kind != ChangeKind::Added || kept.binary_search(&c.path).is_err())
        .map(|c| c.path)
        .collect()
}

impl<'a> Restore<'a> {
    /// Saves everything that is there.
    fn begin(
        tree: &'a mut Tree,
        target: TreeId,
        go_on: &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Self, TreeError> {
        let seen = tree.snapshot()?;
        if !seen.unstable.is_empty() {
            return Err(TreeError::Changing { paths: seen.unstable });
        }
        let done = Restored {
            tree: seen.id,
            saved: seen.id,
            written: 0,
            removed: 0,
            kept: Vec::new(),
            aside: Vec::new(),
        };
        let saved = (*tree.known.manifest).clone();
        Ok(Self {
            tree,
            saved,
            done,
            go_on,
            target,
        })
    }

    fn differing(&self, wanted: &[Entry]) -> Vec<Entry> {
        wanted
            .iter()
            .filter(|e| self.saved.entry(&e.path) != Some(*e))
            .cloned()
            .collect()
    }

    fn put_all(&mut self, puts: &[Entry]) -> Result<(), TreeError> {
        // Before anything is touched: is all of it there?
        let lost = |e: &&Entry| !self.tree.store.contains(&e.digest);
        let (over, lost): (Vec<_>, Vec<_>) = puts
            .iter()
            .filter(lost)
            .partition(|e| e.size > self.tree.options.blob_cap_bytes);
        if let Some(entry) = lost.first() {
            return Err(TreeError::BlobMissing {
                digest: super::path::hex(&entry.digest),
            });
        }
        if !over.is_empty() {
            return Err(TreeError::NotStored {
                paths: over.into_iter().map(|e| e.path.clone()).collect(),
            });
        }
        for entry in puts {
            self.may_go_on(&entry.path)?;
            self.put(entry)?;
            self.done.written += 1;
        }
        Ok(())
    }

    fn may_go_on(&mut self, path: &[u8]) -> Result<(), TreeError> {
        match (self.go_on)(path) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(TreeError::Interrupted { target: self.target }),
        }
    }

    fn put(&mut self, entry: &Entry) -> Result<(), TreeError> {
        let (dir, name) = split(&entry.path);
        self.make_dir(dir)?;
        let sig = self.sig(&entry.path)?;
        let is_dir = sig.is_some_and(|sig| sig.file_type().is_dir());
        if is_dir {
            self.clear_dir(&entry.path)?;
        } else if let Some(sig) = sig {
            let only_mode = self.saved.entry(&entry.path).is_some_and(|was| {
                was.kind == Kind::File
                    && Entry {
                        mode: entry.mode,
                        ..was.clone()
                    } == *entry
            });
            self.secure(&entry.path, sig)?;
            if only_mode && self.at(dir, |fd| place::set_mode(fd, name, sig, entry.mode))? {
                return Ok(());
            }
        }
        let mut beneath = Beneath::new(self.tree.root());
        match beneath.dir(dir).map_err(|e| TreeError::reading(dir, e))? {
            Some(fd) => place::replace(&self.tree.store, fd, name, entry),
            None => Err(TreeError::Changing {
                paths: vec![entry.path.clone()],
            }),
        }
    }

    /// Sees what the ignore rules show now, and saves what they hid before.
    fn look_again(&mut self, wanted: &Manifest) -> Result<(), TreeError> {
        let seen = self.tree.snapshot()?;
        if !seen.unstable.is_empty() {
            return Err(TreeError::Changing { paths: seen.unstable });
        }
        let now = self.tree.known.manifest.clone();
        // What was just written was not there before, and is not called saved.
        let hidden = now.entries().iter().filter(|e| self.saved.entry(&e.path).is_none());
        let hidden: Vec<Entry> = hidden.filter(|e| wanted.entry(&e.path).is_none()).cloned().collect();
        if hidden.is_empty() {
            Ok(())
        } else {
            self.also_saved(hidden)
        }
    }

    /// Files that the target does not have: those to keep, and those to delete.
    fn too_much(&self, wanted: &Manifest) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let extra = self
            .tree
            .known
            .manifest
            .entries()
            .iter()
            .filter(|e| wanted.entry(&e.path).is_none());
        extra
            .map(|e| e.path.clone())
            .partition(|path| self.tree.pins.is_shielded(path))
    }

    fn remove_all(&mut self, paths: &[Vec<u8>], needed: impl Fn(&[u8]) -> bool) -> Result<(), TreeError> {
        for path in paths {
            self.may_go_on(path)?;
            self.remove(path)?;
            for dir in ancestors(path) {
                if needed(dir) || self.tree.pins.was_dir(dir) || !self.remove_dir(dir)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Makes it durable, and compares.
    fn finish(self, compare: impl Fn(&Manifest, &[Vec<u8>]) -> Vec<Vec<u8>>) -> Result<Restored, TreeError> {
        let Self {
            tree, mut done, target, ..
        } = self;
        if done.written + done.removed > 0 {
            rustix::fs::syncfs(&*tree.root).map_err(|e| TreeError::writing(&tree.workdir, e))?;
        }
        let seen = tree.scan()?;
        if !seen.unstable.is_empty() {
            return Err(TreeError::Changing { paths: seen.unstable });
        }
        let paths = compare(&tree.known.manifest, &done.kept);
        if !paths.is_empty() {
            return Err(TreeError::Mismatch { target, paths });
        }
        done.tree = seen.id;
        Ok(done)
    }
}
