//! What a zone keeps on disk, summed from outside: no limit of one process bounds many.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use rustix::io::Errno;

/// A disk counts in these, whatever the size of its blocks.
pub(super) const BLOCK_BYTES: u64 = 512;

/// A walk over what a zone may write, a part at a time: it may be much, and somebody waits for whoever walks.
///
/// What is held by a file that is deleted and open, or lies in a directory that its owner may not read, is not seen.
#[derive(Debug, Default)]
pub(super) struct Kept {
    roots: Vec<PathBuf>,
    open: Vec<PathBuf>,
    /// Files with several names, which count once.
    seen: BTreeSet<(u64, u64)>,
    bytes: u64,
}

impl Kept {
    pub(super) fn below(roots: Vec<PathBuf>) -> Self {
        Self {
            roots,
            ..Self::default()
        }
    }

    /// Walks on until somebody says that it is time; whether more is there than this, as far as this walk has come.
    pub(super) fn exceeds(&mut self, most_bytes: u64, is_time: impl Fn() -> bool) -> bool {
        if self.open.is_empty() {
            self.begin();
        }
        while let Some(dir) = self.open.pop() {
            self.count(&dir);
            if self.bytes > most_bytes {
                return true;
            }
            if is_time() {
                return false;
            }
        }
        false
    }

    /// The same, to the end of a new walk.
    pub(super) fn exceeds_in_all(&mut self, most_bytes: u64) -> bool {
        self.begin();
        while let Some(dir) = self.open.pop() {
            self.count(&dir);
        }
        self.bytes > most_bytes
    }

    fn begin(&mut self) {
        self.open.clone_from(&self.roots);
        self.seen.clear();
        self.bytes = 0;
    }

    /// What is gone by now is not there; what no path leads to any more, for it would be too long, is too much.
    fn count(&mut self, dir: &PathBuf) {
        let entries = fs::read_dir(dir);
        if let Err(error) = &entries
            && error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
        {
            self.bytes = u64::MAX;
        }
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                self.open.push(entry.path());
            }
            if about.nlink() < 2 || about.is_dir() || self.seen.insert((about.dev(), about.ino())) {
                self.bytes = self.bytes.saturating_add(about.blocks().saturating_mul(BLOCK_BYTES));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn what_lies_below_is_counted_once_and_what_a_link_leads_to_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("much"), vec![1; 1 << 20]).unwrap();
        symlink(outside.join("much"), inside.join("link")).unwrap();
        symlink(&outside, inside.join("way")).unwrap();
        fs::write(inside.join("deep/some"), vec![1; 256 << 10]).unwrap();
        fs::hard_link(inside.join("deep/some"), inside.join("again")).unwrap();
        let mut kept = Kept::below(vec![inside, dir.path().join("absent")]);
        assert!(!kept.exceeds_in_all(400 << 10), "{kept:?}");
        assert!(kept.exceeds_in_all(200 << 10), "{kept:?}");
        // A part at a time, it comes to the same.
        let patience = (0..100).any(|_| kept.exceeds(200 << 10, || true));
        assert!(patience && !(0..100).any(|_| kept.exceeds(400 << 10, || true)));
    }
    #[test]
    fn what_lies_deeper_than_a_path_leads_is_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let name = "d".repeat(250);
        let mut at = fs::File::open(dir.path()).unwrap();
        let mut kept = Kept::below(vec![dir.path().to_path_buf()]);
        assert!(!kept.exceeds_in_all(u64::MAX - 1));
        for _ in 0..17 {
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::RDONLY, Mode::empty())
                .unwrap()
                .into();
        }
        assert!(kept.exceeds_in_all(u64::MAX - 1));
    }
}
