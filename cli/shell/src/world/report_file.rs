//! A report that the contract names: whether this run of the check wrote it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use engine::event::measurement::ReportState;

use super::output;
use crate::foreign;

/// A file that the check writes, before and after.
pub(super) struct ReportFile {
    /// Where the check is in a zone, the directory that the path may not leave.
    top: Option<PathBuf>,
    path: PathBuf,
    before: Option<Metadata>,
}

impl ReportFile {
    pub(super) fn new(root: PathBuf, named: &Path, is_zoned: bool) -> Self {
        let (top, path) = match is_zoned {
            true => (Some(root), named.to_path_buf()),
            false => (None, root.join(named)),
        };
        let mut file = Self {
            top,
            path,
            before: None,
        };
        file.before = file.metadata().ok();
        file
    }

    fn metadata(&self) -> io::Result<Metadata> {
        match &self.top {
            Some(top) => foreign::open_beneath(top, &self.path)?.metadata(),
            None => fs::metadata(&self.path),
        }
    }

    fn content(&self) -> io::Result<Vec<u8>> {
        match &self.top {
            Some(top) => output::report_from(foreign::open_beneath(top, &self.path)?),
            None => output::report(&self.path),
        }
    }

    /// The content, when this run wrote it.
    pub(super) fn read(&self) -> (ReportState, Option<Vec<u8>>) {
        let Ok(after) = self.metadata() else {
            return (ReportState::Absent, None);
        };
        let same =
            |b: &Metadata| (b.ino(), b.ctime(), b.ctime_nsec()) == (after.ino(), after.ctime(), after.ctime_nsec());
        if self.before.as_ref().is_some_and(same) {
            return (ReportState::Stale, None);
        }
        match self.content() {
            Ok(bytes) => (ReportState::Fresh, Some(bytes)),
            Err(_) => (ReportState::Absent, None),
        }
    }
}
