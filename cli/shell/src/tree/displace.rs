//! Making room for what is restored, without losing what stands there.
//!
//! Nothing is overwritten, unlinked or renamed away here before it is in the store as it is at that
//! moment, or moved whole into the state directory. Directories are entered from the root each time, by
//! [`Beneath`], because the steps before may have changed what stands above.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;

use super::beneath::{Beneath, sig_at};
use super::error::TreeError;
use super::manifest::{Entry, Manifest};
use super::path::{ancestors, is_under, os, split};
use super::read::buffer;
use super::restore::Restore;
use super::stat::Sig;
use super::state::{entry, look_beneath};
use super::store;

impl Restore<'_> {
    /// Makes every component of a directory a directory, replacing links and files that stand there.
    pub(crate) fn make_dir(&mut self, dir: &[u8]) -> Result<(), TreeError> {
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
    pub(crate) fn secure(&mut self, path: &[u8], sig: Sig) -> Result<(), TreeError> {
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
        let slot = look_beneath(&mut beneath, path, self.tree.now(), &mut buffer(), &mut unstable)?;
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
    pub(crate) fn save(&mut self, entry: Entry) -> Result<(), TreeError> {
        let moving = self.tree.keep(std::slice::from_ref(&entry))?.moving;
        if !moving.is_empty() {
            return Err(TreeError::Changing { paths: moving });
        }
        self.also_saved(vec![entry])
    }

    pub(crate) fn also_saved(&mut self, entries: Vec<Entry>) -> Result<(), TreeError> {
        let mut all = std::mem::take(&mut self.saved).entries().to_vec();
        all.extend(entries);
        self.saved = Manifest::new(all);
        self.done.saved = self.tree.keep_tree(&self.saved)?;
        Ok(())
    }

    /// Clears a directory away from where a file must go.
    pub(crate) fn clear_dir(&mut self, dir: &[u8]) -> Result<(), TreeError> {
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
    pub(crate) fn remove(&mut self, path: &[u8]) -> Result<(), TreeError> {
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

    pub(crate) fn unlink(&mut self, path: &[u8]) -> Result<(), TreeError> {
        let (dir, name) = split(path);
        self.at(dir, |fd| match unlinkat(fd, os(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        })
    }

    /// Removes a directory if it is empty; returns whether it did.
    pub(crate) fn remove_dir(&mut self, dir: &[u8]) -> Result<bool, TreeError> {
        let (parent, name) = split(dir);
        self.at(parent, |fd| match unlinkat(fd, os(name), AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
            Err(errno) => Err(errno),
        })
    }

    /// Moves what cannot be saved into the state directory.
    pub(crate) fn put_aside(&mut self, path: &[u8]) -> Result<(), TreeError> {
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

    pub(crate) fn sig(&self, path: &[u8]) -> Result<Option<Sig>, TreeError> {
        let (dir, name) = split(path);
        let reading = |errno| TreeError::reading(path, errno);
        let mut beneath = Beneath::new(self.tree.root());
        match beneath.dir(dir).map_err(reading)? {
            Some(fd) => sig_at(fd, name).map_err(reading),
            None => Ok(None),
        }
    }

    /// Does something in a directory that has to be there.
    pub(crate) fn at<T>(
        &self,
        dir: &[u8],
        act: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> Result<T, TreeError> {
        let mut beneath = Beneath::new(self.tree.root());
        let fd = beneath
            .dir(dir)
            .and_then(|fd| fd.ok_or(Errno::NOENT))
            .map_err(|e| TreeError::writing(os(dir), e))?;
        act(fd).map_err(|e| TreeError::writing(self.tree.workdir.join(os(dir)), e))
    }
}
