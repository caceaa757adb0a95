//! The place of an experiment: a fresh copy of a tree, with a home and a temporary directory of its own.
//!
//! ```text
//!   <private temporary directory>/        0700, removed at the end; after a kill, by the next one
//!     tree/     the copy: from the store (`Tree::materialise`), or from a directory ([`copy_tree`])
//!     home/     HOME, and the XDG directories below it
//!     tmp/      TMPDIR
//!     shelf/    what the governor keeps of the runs in it
//!     varied/   where a run finds one of the first three when it is to find it elsewhere; not there until then
//!     support/  what is injected into a run; not there until then
//!     NAME      a link to what the check calls by `../NAME`
//! ```
//!
//! The user's tree is never the place of an experiment: nothing here writes to the tree that is copied, and a link in
//! a copy that would lead back into it leads to the same place in the copy.

mod copy;
mod error;
mod neighbours;
mod removal;
mod stale;
mod surroundings;
mod traces;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub use copy::{Copied, copy_tree};
pub(crate) use copy::{copy_file, copy_to_be_seen_in_place, is_cache, retargeted};
pub use error::ScratchError;
pub(crate) use neighbours::bring_near;
pub(crate) use removal::remove;
pub use traces::Traces;

use crate::tree::Unmoved;

/// How the name of every place begins. Whoever normalises output knows it for a name that is made up.
const PREFIX: &str = "tmp-loopexec-";

/// How it begins once it was set aside: nobody sweeps it away any more.
const KEPT: &str = "kept-";

/// Where what is injected into a run lies, in a place.
pub(crate) const SUPPORT: &str = "support";

/// One place. Dropping it removes it with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    dir: Option<TempDir>,
    root: PathBuf,
    is_kept: bool,
    /// The temporary directory, as of when it was seen to be empty.
    empty_tmp: Unmoved,
    _owned: File,
}

impl Scratch {
    /// An empty place in the directory for temporary files. What killed programs left there is removed.
    ///
    /// # Errors
    /// When no directory can be made there.
    pub fn new(purpose: &str) -> Result<Self, ScratchError> {
        let base = base();
        stale::sweep(&base);
        let private = fs::Permissions::from_mode(0o700);
        let name = format!("{PREFIX}{purpose}-");
        let made = tempfile::Builder::new()
            .prefix(&name)
            .permissions(private)
            .tempdir_in(&base);
        let dir = made.map_err(|error| ScratchError::new("make a fresh copy in", &base, error))?;
        let failed = |error| ScratchError::new("take", dir.path(), error);
        let root = dir.path().canonicalize().map_err(failed)?;
        let owned = stale::own(&root).map_err(failed)?;
        let scratch = Self {
            dir: Some(dir),
            root,
            is_kept: false,
            empty_tmp: Unmoved::default(),
            _owned: owned,
        };
        for part in [scratch.home(), scratch.tmp(), scratch.shelf()] {
            renew(&part)?;
        }
        Ok(scratch)
    }

    /// The same for experiments on `workdir`, which must lie elsewhere.
    ///
    /// # Errors
    /// As [`Scratch::new`], or when the directory for temporary files lies in the workdir.
    pub fn beside(workdir: &Path, purpose: &str) -> Result<Self, ScratchError> {
        let base = base();
        // Before anything is made: not even for a moment may something appear in the user's tree.
        if base.canonicalize().is_ok_and(|base| base.starts_with(workdir)) {
            return Err(ScratchError::inside(&base));
        }
        Self::new(purpose)
    }

    /// The copy; not there until something makes it.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub fn shelf(&self) -> PathBuf {
        self.root.join("shelf")
    }

    pub fn varied(&self) -> PathBuf {
        self.root.join("varied")
    }

    pub fn support(&self) -> PathBuf {
        self.root.join(SUPPORT)
    }

    /// All of these.
    pub(crate) fn parts(&self) -> [PathBuf; 6] {
        [
            self.tree(),
            self.home(),
            self.tmp(),
            self.shelf(),
            self.varied(),
            self.support(),
        ]
    }

    /// Takes away the copy.
    ///
    /// # Errors
    /// When some of it cannot be removed.
    pub fn clear_tree(&self) -> Result<(), ScratchError> {
        remove(&self.tree())
    }

    /// Empties the home and the temporary directory.
    ///
    /// # Errors
    /// When some of it cannot be removed or made.
    pub fn renew_surroundings(&self) -> Result<(), ScratchError> {
        renew(&self.home())?;
        renew(&self.tmp())
    }

    /// Empties the places of what is varied and injected.
    ///
    /// # Errors
    /// As [`Scratch::renew_surroundings`].
    pub fn renew_variation(&self) -> Result<(), ScratchError> {
        renew(&self.varied())?;
        renew(&self.support())
    }

    /// Makes a private directory below the place of what is varied.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(&self, dir: &Path) -> Result<(), ScratchError> {
        fs::create_dir_all(dir).map_err(|error| ScratchError::new("make", dir, error))
    }

    /// Lets `write` fill the place of what is injected.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_support(&self, write: impl Fn(&Path) -> std::io::Result<()>) -> Result<(), ScratchError> {
        let dir = self.support();
        write(&dir).map_err(|error| ScratchError::new("write", &dir, error))
    }

    /// Empties the temporary directory.
    ///
    /// # Errors
    /// As [`Scratch::renew_surroundings`].
    pub fn renew_tmp(&mut self) -> Result<(), ScratchError> {
        let tmp = self.tmp();
        if self.empty_tmp.since_last(&tmp) {
            return Ok(());
        }
        let is_dir = fs::symlink_metadata(&tmp).is_ok_and(|seen| seen.is_dir());
        let is_empty = is_dir && fs::read_dir(&tmp).is_ok_and(|mut entries| entries.next().is_none());
        if is_empty {
            return Ok(());
        }
        self.empty_tmp.forget();
        renew(&tmp)
    }

    /// Empties the shelf.
    ///
    /// # Errors
    /// As [`Scratch::renew_surroundings`].
    pub fn renew_shelf(&self) -> Result<(), ScratchError> {
        renew(&self.shelf())
    }

    /// Leaves the place where it is, under a name that nobody removes; that name.
    ///
    /// # Errors
    /// When it cannot be renamed. It is still there then, and its name is the one that it had.
    pub(crate) fn set_aside(mut self) -> Result<PathBuf, ScratchError> {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let aside = self.root.with_file_name(format!("{KEPT}{name}"));
        let moved = fs::rename(&self.root, &aside);
        // Neither name is to be cleared by anybody when this goes.
        drop(self.dir.take().map(TempDir::keep));
        let had = std::mem::replace(&mut self.root, aside.clone());
        self.is_kept = true;
        moved.map_err(|error| ScratchError::new("set aside", &had, error))?;
        Ok(aside)
    }

    /// The environment with this home, caches in it, and this temporary directory.
    pub fn environment(env: &[(OsString, OsString)], home: &Path, tmp: &Path) -> Vec<(OsString, OsString)> {
        surroundings::private(env, home, tmp)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = remove(&self.root);
        // What is left of it, if anything.
        drop(self.dir.take());
    }
}

/// Places in the directory for temporary files that killed programs of this user left. Nothing is removed.
pub fn abandoned() -> Vec<PathBuf> {
    stale::abandoned(&base())
}

/// The directory for temporary files. An empty `TMPDIR` names none: taken at its word it would be wherever this process
/// stands.
pub fn base() -> PathBuf {
    Some(std::env::temp_dir())
        .filter(|named| !named.as_os_str().is_empty())
        .unwrap_or_else(|| "/tmp".into())
}

/// An empty private directory in place of whatever is there.
fn renew(dir: &Path) -> Result<(), ScratchError> {
    remove(dir)?;
    let made = fs::create_dir(dir).and_then(|()| fs::set_permissions(dir, fs::Permissions::from_mode(0o700)));
    made.map_err(|error| ScratchError::new("make", dir, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_private_and_gone_when_it_is_dropped_whatever_was_done_to_it() {
        let scratch = Scratch::new("test").unwrap();
        let root = scratch.root.clone();
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        let deep = scratch.home().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        for dir in [deep, scratch.home().join("a")] {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o000)).unwrap();
        }
        drop(scratch);
        assert!(!root.exists());
    }

    #[test]
    fn a_link_in_place_of_the_temporary_directory_leads_to_nobodys_files() {
        let (mut scratch, users) = (Scratch::new("test").unwrap(), tempfile::tempdir().unwrap());
        fs::write(users.path().join("kept"), "x").unwrap();
        fs::set_permissions(users.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir(scratch.tmp()).unwrap();
        std::os::unix::fs::symlink(users.path(), scratch.tmp()).unwrap();
        scratch.renew_tmp().unwrap();
        assert!(scratch.tmp().is_dir() && !scratch.tmp().is_symlink());
        assert!(users.path().join("kept").exists());
        assert_eq!(fs::metadata(users.path()).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn surroundings_are_empty_again_and_the_copy_stays() {
        let scratch = Scratch::new("test").unwrap();
        fs::create_dir(scratch.tree()).unwrap();
        fs::write(scratch.home().join("left"), "x").unwrap();
        fs::write(scratch.tmp().join("left"), "x").unwrap();
        scratch.renew_surroundings().unwrap();
        assert_eq!(fs::read_dir(scratch.home()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(scratch.tmp()).unwrap().count(), 0);
        assert!(scratch.tree().exists());
        scratch.clear_tree().unwrap();
        assert!(!scratch.tree().exists());
        scratch.clear_tree().unwrap();
    }
}
