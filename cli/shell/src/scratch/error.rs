//! Why there is no place for an experiment.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What could not be done to what.
#[derive(Debug)]
pub struct ScratchError {
    doing: &'static str,
    path: PathBuf,
    error: Option<io::Error>,
}

impl ScratchError {
    pub(crate) fn new(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self {
            doing,
            path: path.to_path_buf(),
            error: Some(error),
        }
    }

    /// Whether it is the tree to be copied that cannot be read, and not the place for the copy.
    pub fn is_about_the_source(&self) -> bool {
        use io::ErrorKind::{NotFound, PermissionDenied};
        let refused = self
            .error
            .as_ref()
            .is_some_and(|error| matches!(error.kind(), NotFound | PermissionDenied));
        refused && ["read", "copy"].contains(&self.doing)
    }

    /// The directory for temporary files lies in the tree itself.
    pub(super) fn inside(base: &Path) -> Self {
        Self {
            doing: "make a fresh copy in",
            path: base.to_path_buf(),
            error: None,
        }
    }
}

impl fmt::Display for ScratchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: ", self.doing, self.path.display())?;
        match &self.error {
            None => f.write_str("it lies in the workdir, which is no place for experiments; set TMPDIR to one outside"),
            Some(error) if error.kind() == io::ErrorKind::StorageFull => {
                write!(f, "{error}; set TMPDIR to a place with room")
            }
            Some(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScratchError {}
