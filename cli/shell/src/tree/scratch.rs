//! Fresh copies of stored trees, for whatever must not work in the user's own.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::beneath::Beneath;
use super::error::TreeError;
use super::manifest::{Manifest, TreeId};
use super::path::{os, split};
use super::{Tree, place};

impl Tree {
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
        }
        Ok(())
    }
}
