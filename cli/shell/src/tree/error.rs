//! Everything that can go wrong in the tree room, as sentences for people.
//!
//! An error names the file it is about (escaped by [`super::path_text`]) and says what to do. Nothing
//! here is a judgement of a run: an unreadable file is a fact, and the caller decides what it means.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::git::Unavailable;
use super::manifest::TreeId;
use super::path::path_text;

/// Why a tree could not be seen, stored, restored or exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeError {
    /// The workdir itself is gone.
    WorkdirRemoved { workdir: PathBuf },
    /// The workdir is there, and is not a directory that can be opened.
    WorkdirUnusable { workdir: PathBuf, errno: i32 },
    /// A file or directory beneath the workdir cannot be read. `path` is relative to the workdir.
    Unreadable { path: Vec<u8>, errno: i32 },
    /// A file could not be written because its file system, or the quota on it, is full.
    DiskFull { path: PathBuf },
    /// A write failed for another reason.
    Unwritable { path: PathBuf, errno: i32 },
    /// A stored blob is not in the store.
    BlobMissing { digest: String },
    /// A stored blob no longer has the content it is named after.
    BlobCorrupt { digest: String, file: PathBuf },
    /// No tree of this id was ever stored here.
    TreeUnknown { id: TreeId },
    /// The manifest of a tree is damaged.
    TreeCorrupt { id: TreeId, file: PathBuf },
    /// Files that the operation needs were too large to be stored.
    NotStored { paths: Vec<Vec<u8>> },
    /// Files changed while they were being read or restored, twice in a row.
    Changing { paths: Vec<Vec<u8>> },
    /// Something that must not be destroyed stands where a file has to go.
    Blocked { path: Vec<u8>, aside: PathBuf },
    /// A path that is never touched: absolute, with `..`, inside `.git` or the state directory.
    OutOfBounds { path: Vec<u8> },
    /// The restored tree is not the one asked for.
    Mismatch { target: TreeId, paths: Vec<Vec<u8>> },
    /// The caller stopped a restore between two files; running it again completes it.
    Interrupted { target: TreeId },
    /// There is no usable repository here.
    Git(Unavailable),
    /// The `git` program could not be started.
    GitMissing { errno: i32 },
    /// A git command failed.
    GitFailed {
        command: String,
        status: String,
        stderr: String,
    },
    /// A git command did not end in time and was killed.
    GitTimeout { command: String, limit_ms: u64 },
    /// The branch to export to is already there.
    BranchExists { branch: String },
    /// A tree holds a path that git cannot hold.
    NotExportable { path: Vec<u8>, stderr: String },
}

/// How many paths a sentence names before it only counts.
const NAMED_PATHS: usize = 5;

impl TreeError {
    /// A failed read of `path` (relative to the workdir).
    pub(crate) fn reading(path: &[u8], errno: Errno) -> Self {
        Self::Unreadable {
            path: path.to_vec(),
            errno: errno.raw_os_error(),
        }
    }

    /// A failed write of `path` (absolute, or relative to the workdir); a full disk is told apart.
    pub(crate) fn writing(path: impl AsRef<Path>, errno: Errno) -> Self {
        let path = path.as_ref().to_path_buf();
        match errno {
            Errno::NOSPC | Errno::DQUOT => Self::DiskFull { path },
            _ => Self::Unwritable {
                path,
                errno: errno.raw_os_error(),
            },
        }
    }

    /// As [`Self::writing`], from an error of the standard library.
    pub(crate) fn writing_io(path: impl AsRef<Path>, error: &std::io::Error) -> Self {
        Self::writing(path, errno_of(error))
    }
}

/// The errno of a standard error; `EIO` when it carries none.
pub(crate) fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

fn reason(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

fn name_paths(paths: &[Vec<u8>]) -> String {
    let mut text = paths
        .iter()
        .take(NAMED_PATHS)
        .map(|p| path_text(p))
        .collect::<Vec<_>>()
        .join(", ");
    if paths.len() > NAMED_PATHS {
        text.push_str(&format!(" and {} more", paths.len() - NAMED_PATHS));
    }
    text
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkdirRemoved { workdir } => write!(
                f,
                "the working directory {} is gone; bring it back (snapshots are kept in the state directory) and run again",
                workdir.display()
            ),
            Self::WorkdirUnusable { workdir, errno } => {
                write!(
                    f,
                    "the working directory {} cannot be opened: {}",
                    workdir.display(),
                    reason(*errno)
                )
            }
            Self::Unreadable { path, errno } => write!(
                f,
                "cannot read {}: {}; make it readable or have git ignore it",
                path_text(path),
                reason(*errno)
            ),
            Self::DiskFull { path } => {
                write!(
                    f,
                    "the disk or quota is full: could not write {}; free some space and run again",
                    path.display()
                )
            }
            Self::Unwritable { path, errno } => write!(f, "cannot write {}: {}", path.display(), reason(*errno)),
            Self::BlobMissing { digest } => {
                write!(
                    f,
                    "the stored content {digest} is missing from the object store; it was removed by hand or never saved"
                )
            }
            Self::BlobCorrupt { digest, file } => write!(
                f,
                "the stored content {digest} is damaged: {} does not hash to its name; check the disk, and move the file away",
                file.display()
            ),
            Self::TreeUnknown { id } => write!(f, "no snapshot {id} is stored here"),
            Self::TreeCorrupt { id, file } => {
                write!(f, "the list of files of snapshot {id} is damaged: {}", file.display())
            }
            Self::NotStored { paths } => write!(
                f,
                "the content of {} was not saved (larger than the cap on stored files); raise the cap before the run",
                name_paths(paths)
            ),
            Self::Changing { paths } => {
                write!(
                    f,
                    "{} kept changing; end what is writing there and run again",
                    name_paths(paths)
                )
            }
            Self::Blocked { path, aside } => write!(
                f,
                "{} stands where a recorded file belongs and holds files that are not recorded; it could not be moved to {}, move it yourself",
                path_text(path),
                aside.display()
            ),
            Self::OutOfBounds { path } => write!(
                f,
                "{} is never touched: it is outside the working directory, or belongs to git or to the run's own state",
                path_text(path)
            ),
            Self::Mismatch { target, paths } => {
                write!(
                    f,
                    "after restoring snapshot {target} these files still differ: {}",
                    name_paths(paths)
                )
            }
            Self::Interrupted { target } => {
                write!(
                    f,
                    "the restore of snapshot {target} was stopped part way; run it again to complete it"
                )
            }
            Self::Git(reason) => reason.fmt(f),
            Self::GitMissing { errno } => {
                write!(
                    f,
                    "git could not be started: {}; install git or put it on PATH, outside of the workdir",
                    reason(*errno)
                )
            }
            Self::GitFailed {
                command,
                status,
                stderr,
            } => {
                write!(f, "git {command} failed ({status}): {}", stderr.trim_end())
            }
            Self::GitTimeout { command, limit_ms } => {
                write!(f, "git {command} did not end within {limit_ms} ms and was killed")
            }
            Self::BranchExists { branch } => {
                write!(
                    f,
                    "the branch {branch} already exists and is left as it is; choose another name"
                )
            }
            Self::NotExportable { path, stderr } => {
                write!(f, "git cannot hold the path {}: {}", path_text(path), stderr.trim_end())
            }
        }
    }
}

impl std::error::Error for TreeError {}
