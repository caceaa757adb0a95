//! Whether the names in a directory are those of the last listing, told by one `lstat`.

use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, lstat, openat};

use super::stat::{Now, Sig};

/// What a directory was like when it was listed last; nothing when it may change again without showing it.
#[derive(Debug, Default)]
pub(crate) struct Unmoved(Option<Sig>);

impl Unmoved {
    /// True when no name came or went in `dir` since the last call. When false, the caller lists it now: what is
    /// listed is remembered as of this call.
    pub(crate) fn since_last(&mut self, dir: &Path) -> bool {
        let earlier = Now::with(true);
        let seen = lstat(dir).ok().map(|stat| Sig::of(&stat));
        if seen.is_some() && seen == self.0 {
            return true;
        }
        let is_dir = |sig: &Sig| sig.file_type() == FileType::Directory;
        let settled = |sig: &Sig| sig.settled(earlier) && is_faithful(dir);
        self.0 = seen.filter(|sig| is_dir(sig) && settled(sig));
        false
    }

    /// What was listed then is not to be relied on.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

fn is_faithful(dir: &Path) -> bool {
    openat(CWD, dir, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).is_ok_and(super::stat::is_faithful)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_directory_is_taken_for_unmoved_only_once_a_change_would_show() {
        let dir = tempfile::tempdir().unwrap();
        let mut names = Unmoved::default();
        assert!(!names.since_last(dir.path()), "nothing is known of it");
        if !is_faithful(dir.path()) {
            return;
        }
        let until = Instant::now() + Duration::from_secs(20);
        while !names.since_last(dir.path()) && Instant::now() < until {}
        assert!(names.since_last(dir.path()));
        fs::write(dir.path().join("new"), "").unwrap();
        assert!(!names.since_last(dir.path()));
        assert!(
            !names.since_last(dir.path()),
            "another name may come within the same tick"
        );
    }

    #[test]
    fn a_link_and_a_missing_directory_are_looked_at_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let mut names = Unmoved(lstat(&link).ok().map(|stat| Sig {
            ino: 0,
            ..Sig::of(&stat)
        }));
        assert!(!names.since_last(&link) && !names.since_last(&link));
        assert!(!names.since_last(&dir.path().join("missing")));
    }
}
