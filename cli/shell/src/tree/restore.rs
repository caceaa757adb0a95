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

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use super::beneath::{Beneath, sig_at};
use super::error::TreeError;
use super::manifest::{ChangeKind, Entry, Kind, Manifest, TreeId, diff};
use super::path::{ancestors, is_inside, is_under, join, os, split};
use super::read::buffer;
use super::stat::{Now, Sig};
use super::state::{entry, look_beneath};
use super::{Tree, place, store};

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
struct Restore<'a> {
    tree: &'a mut Tree,
    /// What was there, and is saved. Grows by what turns up.
    saved: Manifest,
    done: Restored,
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
            if !is_inside(path) || self.state_path.as_ref().is_some_and(|state| is_under(path, state)) {
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
            let slot = look_beneath(&mut beneath, path, Now::read(), &mut bytes, &mut Vec::new())?;
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

    /// Makes every component of a directory a directory, replacing links and files that stand there.
    fn make_dir(&mut self, dir: &[u8]) -> Result<(), TreeError> {
        if dir.is_empty() || Beneath::new(self.tree.root()).dir(dir).is_ok_and(|d| d.is_some()) {
            return Ok(());
        }
        let mut above: Vec<&[u8]> = ancestors(dir).collect();
        above.reverse();
        for part in above.into_iter().chain([dir]) {
            match self.sig(part)? {
                Some(sig) if sig.file_type().is_dir() => continue,
                Some(sig) => {
                    self.secure(part, sig)?;
                    self.unlink(part)?;
                }
                None => {}
            }
            let (parent, name) = split(part);
            self.at(parent, |fd| match mkdirat(fd, os(name), Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) | Ok(()) => Ok(()),
                Err(errno) => Err(errno),
            })?;
        }
        Ok(())
    }

    /// Makes sure that what stands at `path` may be overwritten: it is saved, as it is now.
    fn secure(&mut self, path: &[u8], sig: Sig) -> Result<(), TreeError> {
        if sig.kind().is_none() {
            // A socket, fifo or device: nothing to save.
            return Ok(());
        }
        let recorded = self.saved.entry(path).cloned();
        let stored = recorded.as_ref().is_some_and(|e| self.tree.store.contains(&e.digest));
        if stored && self.tree.known.sig(path) == Some(sig) {
            return Ok(());
        }
        if sig.size > self.tree.options.blob_cap_bytes {
            return self.put_aside(path);
        }
        let mut beneath = Beneath::new(self.tree.root());
        let mut unstable = Vec::new();
        let slot = look_beneath(&mut beneath, path, Now::read(), &mut buffer(), &mut unstable)?;
        let Some(slot) = slot.filter(|_| unstable.is_empty()) else {
            return Err(TreeError::Changing {
                paths: vec![path.to_vec()],
            });
        };
        let now = entry(path.to_vec(), &slot);
        match recorded {
            // Another name of the same inode was replaced: only the change time moved.
            Some(recorded) if stored && recorded == now => Ok(()),
            Some(_) if stored => Err(TreeError::Changing {
                paths: vec![path.to_vec()],
            }),
            _ => self.save(now),
        }
    }

    /// Saves an entry that no scan saw, before it is overwritten.
    fn save(&mut self, entry: Entry) -> Result<(), TreeError> {
        let moving = self.tree.keep(std::slice::from_ref(&entry))?.moving;
        if !moving.is_empty() {
            return Err(TreeError::Changing { paths: moving });
        }
        self.also_saved(vec![entry])
    }

    fn also_saved(&mut self, entries: Vec<Entry>) -> Result<(), TreeError> {
        let mut all = std::mem::take(&mut self.saved).entries().to_vec();
        all.extend(entries);
        self.saved = Manifest::new(all);
        self.done.saved = self.tree.keep_tree(&self.saved)?;
        Ok(())
    }

    /// Clears a directory away from where a file must go.
    fn clear_dir(&mut self, dir: &[u8]) -> Result<(), TreeError> {
        let recorded = self.saved.beneath(dir).map(|e| e.path.clone());
        let recorded: Vec<Vec<u8>> = recorded.filter(|p| !self.tree.pins.is_shielded(p)).collect();
        let mut dirs = BTreeSet::from([dir.to_vec()]);
        for path in &recorded {
            self.remove(path)?;
            dirs.extend(ancestors(path).filter(|above| is_under(above, dir)).map(<[u8]>::to_vec));
        }
        // In reverse order a directory comes after what lies beneath it.
        for dir in dirs.iter().rev() {
            self.remove_dir(dir)?;
        }
        if self.sig(dir)?.is_some() {
            self.put_aside(dir)
        } else {
            Ok(())
        }
    }

    /// Removes a file, a link or a special file, if one is there and saved.
    fn remove(&mut self, path: &[u8]) -> Result<(), TreeError> {
        match self.sig(path)? {
            Some(sig) if !sig.file_type().is_dir() => {
                self.secure(path, sig)?;
                self.unlink(path)?;
                self.done.removed += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn unlink(&mut self, path: &[u8]) -> Result<(), TreeError> {
        let (dir, name) = split(path);
        self.at(dir, |fd| match unlinkat(fd, os(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        })
    }

    /// Removes a directory if it is empty; returns whether it did.
    fn remove_dir(&mut self, dir: &[u8]) -> Result<bool, TreeError> {
        let (parent, name) = split(dir);
        self.at(parent, |fd| match unlinkat(fd, os(name), AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
            Err(errno) => Err(errno),
        })
    }

    /// Moves what cannot be saved into the state directory.
    fn put_aside(&mut self, path: &[u8]) -> Result<(), TreeError> {
        let shelf = self.tree.state_dir.join("aside");
        store::make_dir(&shelf)?;
        let made = tempfile::Builder::new()
            .prefix("")
            .tempdir_in(&shelf)
            .map(tempfile::TempDir::keep);
        let place = made
            .map_err(|e| TreeError::writing_io(&shelf, &e))?
            .join(os(split(path).1));
        let (dir, name) = split(path);
        let moved = self.at(dir, |fd| rustix::fs::renameat(fd, os(name), rustix::fs::CWD, &place));
        match moved {
            Ok(()) => {
                self.done.aside.push(place);
                Ok(())
            }
            Err(_) => Err(TreeError::Blocked {
                path: path.to_vec(),
                aside: place,
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

    fn sig(&self, path: &[u8]) -> Result<Option<Sig>, TreeError> {
        let (dir, name) = split(path);
        let reading = |errno| TreeError::reading(path, errno);
        let mut beneath = Beneath::new(self.tree.root());
        match beneath.dir(dir).map_err(reading)? {
            Some(fd) => sig_at(fd, name).map_err(reading),
            None => Ok(None),
        }
    }

    /// Does something in a directory that has to be there.
    fn at<T>(
        &self,
        dir: &[u8],
        act: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> Result<T, TreeError> {
        let mut beneath = Beneath::new(self.tree.root());
        let fd = beneath
            .dir(dir)
            .and_then(|fd| fd.ok_or(Errno::NOENT))
            .map_err(|e| TreeError::writing(os(dir), e))?;
        act(fd).map_err(|e| TreeError::writing(self.tree.workdir.join(os(&join(dir, b""))), e))
    }
}
