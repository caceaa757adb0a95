//! What a look at the programs of a check rests on: as long as every file of it is what it was, so are the programs.
//!
//! ```text
//!   PATH entry before the program: still nothing there     the program and its links: still the same inode
//!   what all links lead to: still the same inode           pyvenv.cfg beside it: still none
//! ```

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::file::{Stat, settled, stat};

/// A file itself, or what its links lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Itself,
    Behind,
}

impl Way {
    fn look(self, file: &Path) -> Option<Metadata> {
        match self {
            Self::Itself => fs::symlink_metadata(file).ok(),
            Self::Behind => fs::metadata(file).ok(),
        }
    }
}

/// Files as they were just before a look made something of them.
#[derive(Debug, Default)]
pub(super) struct Ground {
    files: Vec<(PathBuf, Way, Option<Stat>)>,
    /// It rests on something else too, or on what may change again without showing it.
    is_loose: bool,
}

impl Ground {
    /// Looks at a file, on which the answer rests from here on.
    pub(super) fn look(&mut self, file: &Path, way: Way) -> Option<Metadata> {
        let seen = way.look(file);
        self.is_loose |= seen.as_ref().is_some_and(|meta| !settled(meta));
        let now = seen.as_ref().map(stat);
        // The end of a way is looked at from its beginning: a file that was moved has another time.
        let is_end = way == Way::Itself && seen.as_ref().is_some_and(Metadata::is_file);
        let is_known = |(known, by, was): &(PathBuf, Way, Option<Stat>)| {
            known == file && *by == way || is_end && *by == Way::Behind && *was == now
        };
        if !self.files.iter().any(is_known) {
            self.files.push((file.to_path_buf(), way, now));
        }
        seen
    }

    /// The answer rests on more than single files.
    pub(super) fn loosen(&mut self) {
        self.is_loose = true;
    }

    /// Nothing that the answer rested on has changed.
    pub(super) fn holds(&self) -> bool {
        let same = |(file, way, was): &(PathBuf, Way, Option<Stat>)| way.look(file).as_ref().map(stat) == *was;
        !self.is_loose && self.files.iter().all(same)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use engine::event::policy::Command;

    use super::super::Toolchain;
    use super::*;

    /// Whether programs of the system, which nobody has touched for a while, are another one after this change to the
    /// first two directories of PATH, `near` and a link to where they lie.
    fn is_told(change: impl FnOnce(&Path)) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(top.join("near")).unwrap();
        symlink("/bin", top.join("far")).unwrap();
        let path = format!("{0}/near:{0}/far", top.display());
        let mut toolchain = Toolchain::default();
        let workdir = top.join("work");
        let start = toolchain.start(&workdir, &Command::shell("cat x"), Some(OsStr::new(&path)));
        assert!(toolchain.ground.holds(), "{:?}", toolchain.ground);
        assert_eq!(toolchain.again(&workdir, &start), start);
        change(&top);
        let now = toolchain.again(&workdir, &start);
        !start.changes(&now).is_empty()
    }

    fn program(at: &Path) {
        fs::write(at, "#!/bin/sh\n").unwrap();
        fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn an_answer_is_given_again_only_while_everything_on_the_way_to_it_is_the_same() {
        assert!(!is_told(|_| ()));
        assert!(is_told(|top| program(&top.join("near/cat"))));
        assert!(is_told(|top| {
            fs::create_dir(top.join("other")).unwrap();
            program(&top.join("other/cat"));
            fs::remove_file(top.join("far")).unwrap();
            symlink("other", top.join("far")).unwrap();
        }));
        assert!(is_told(|top| fs::remove_file(top.join("far")).unwrap()));
    }

    #[test]
    fn what_may_change_again_within_the_grain_of_its_times_carries_no_answer() {
        let dir = tempfile::tempdir().unwrap();
        let mut ground = Ground::default();
        ground.look(&dir.path().join("none"), Way::Itself);
        assert!(ground.holds());
        program(&dir.path().join("new"));
        ground.look(&dir.path().join("new"), Way::Itself);
        assert!(!ground.holds());
    }
}
