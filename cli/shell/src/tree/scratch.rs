//! Fresh copies of stored trees, for whatever must not work in the user's own.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::beneath::Beneath;
use super::cache::Remembered;
use super::error::TreeError;
use super::git::GitReader;
use super::git::listed::Listings;
use super::manifest::{Manifest, TreeId};
use super::path::{is_inside, is_under, os, split};
use super::stat::is_faithful;
use super::state::Known;
use super::store::Store;
use super::{Kind, Tree, compiled, open_workdir, place};

impl Tree {
    /// The same tree elsewhere: a directory that holds a copy of it, looked at by the same rules and kept in the same
    /// store. What was ignored here is the user's there too.
    pub(crate) fn twin(&self, workdir: &Path) -> Result<Self, TreeError> {
        let (workdir, root) = open_workdir(workdir)?;
        Ok(Self {
            faithful: is_faithful(&root),
            root: Arc::new(root),
            state_dir: self.state_dir.clone(),
            state_path: None,
            options: self.options.clone(),
            reader: self.repository().cloned().map(GitReader::new),
            listings: Listings::default(),
            rules: self.rules.clone(),
            pins: self.pins.clone(),
            sparse: self.sparse.clone(),
            known: Known::nothing(),
            remembered: Remembered::default(),
            captured: HashMap::new(),
            store: Store::open(&self.state_dir)?,
            stored: None,
            unstored: Vec::new(),
            scanned: false,
            stale: false,
            pins_moved: false,
            workdir,
        })
    }

    /// A file may be put there: it lies beneath the workdir and not among the governor's own.
    pub(crate) fn may_hold(&self, path: &[u8]) -> bool {
        is_inside(path) && !self.state_path.as_ref().is_some_and(|state| is_under(path, state))
    }

    /// Writes a stored tree into `dest`, which is created, or empty. The copy shares nothing that could be
    /// written through: content is copied, or reflinked where the file system can.
    pub fn materialise(&self, tree: TreeId, dest: &Path) -> Result<(), TreeError> {
        self.materialise_manifest(&self.store.tree(tree)?, dest)
    }

    /// The same for a list of stored files that need not be a tree that was seen.
    pub(crate) fn materialise_manifest(&self, manifest: &Manifest, dest: &Path) -> Result<(), TreeError> {
        let cap = self.options.blob_cap_bytes;
        let lost = manifest
            .entries()
            .iter()
            .filter(|e| e.size > cap && !self.store.contains(&e.digest));
        let paths: Vec<_> = lost.map(|e| e.path.clone()).collect();
        if !paths.is_empty() {
            return Err(TreeError::NotStored { paths });
        }
        std::fs::create_dir_all(dest).map_err(|e| TreeError::writing_io(dest, &e))?;
        self.lay_out(manifest, dest)
    }

    fn lay_out(&self, manifest: &Manifest, dest: &Path) -> Result<(), TreeError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(dest, flags, Mode::empty()).map_err(|e| TreeError::writing(dest, e))?;
        let mut beneath = Beneath::new(root.as_fd());
        let mut made: &[u8] = b"";
        for entry in manifest.entries() {
            let (dir, name) = split(&entry.path);
            let full = || dest.join(os(&entry.path));
            if dir != made {
                std::fs::create_dir_all(dest.join(os(dir))).map_err(|e| TreeError::writing_io(full(), &e))?;
                made = dir;
            }
            // Opened without following: no link of the tree itself can lead a file outside.
            match beneath.dir(dir).map_err(|e| TreeError::writing(full(), e))? {
                Some(fd) => place::create(&self.store, fd, name, entry)?,
                None => return Err(TreeError::writing(full(), rustix::io::Errno::NOTDIR)),
            }
            if entry.kind == Kind::File {
                compiled::age(&full()).map_err(|e| TreeError::writing_io(full(), &e))?;
            }
        }
        Ok(())
    }
}
