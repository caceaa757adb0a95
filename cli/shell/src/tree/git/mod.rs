//! Git, from the outside: where the repository is, what its references and settings are.
//!
//! Facts are read from its files in this process (`facts`, `refs`). The git program itself is run for
//! two things only, listing what index and commit hold (`listed`) and exporting (`export`, `patch`), and
//! then (`run`) with everything switched off that a repository's own configuration could make it execute.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::error::errno_of;
use crate::foreign;

/// A `.git` file or a `commondir` holds one path.
const POINTER_MAX_BYTES: u64 = 64 << 10;

pub(crate) mod export;
mod facts;
pub(crate) mod listed;
pub(crate) mod patch;
mod refs;
pub(crate) mod run;

pub use export::Export;
pub use facts::{GitFacts, GitReader};
pub use listed::{GitEntry, Listed, Listing};

/// Why nothing can be said about a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// Neither the workdir nor a directory above it has one.
    NoRepository,
    /// References are kept in a format that is not read here.
    Reftable { git_dir: PathBuf },
    /// A file of the repository cannot be read.
    Unreadable { file: PathBuf, errno: i32 },
    /// A file of the repository is not what it should be.
    Malformed { file: PathBuf },
}

impl Unavailable {
    pub(crate) fn reading(file: &Path, error: &std::io::Error) -> Self {
        Self::Unreadable {
            file: file.to_path_buf(),
            errno: errno_of(error).raw_os_error(),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository => f.write_str("there is no git repository here"),
            Self::Reftable { git_dir } => write!(
                f,
                "the repository {} keeps its references in the reftable format, which is not read; `git refs migrate --ref-format=files` changes that",
                git_dir.display()
            ),
            Self::Unreadable { file, errno } => {
                write!(
                    f,
                    "cannot read {}: {}",
                    file.display(),
                    std::io::Error::from_raw_os_error(*errno)
                )
            }
            Self::Malformed { file } => write!(f, "{} is not what git writes there", file.display()),
        }
    }
}

impl std::error::Error for Unavailable {}

/// Where a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The top of the working tree.
    pub top: PathBuf,
    /// Its own git directory (in a linked worktree, the private one).
    pub git_dir: PathBuf,
    /// The directory shared by all worktrees; often the same.
    pub common_dir: PathBuf,
    /// The workdir relative to `top`, components joined by `/`; empty when they are the same.
    pub prefix: Vec<u8>,
}

impl Repository {
    /// Finds the repository that an absolute, canonical workdir lies in, from its files alone: no variable
    /// of the environment can name another one.
    pub fn find(workdir: &Path) -> Result<Self, Unavailable> {
        for top in workdir.ancestors() {
            let Some(git_dir) = git_dir_at(&top.join(".git"))? else {
                continue;
            };
            let common_dir = common_dir_of(&git_dir)?;
            if !git_dir.join("HEAD").is_file() || !common_dir.join("objects").is_dir() {
                continue;
            }
            let below = workdir.strip_prefix(top).unwrap_or(Path::new(""));
            let parts: Vec<&[u8]> = below.components().map(|c| c.as_os_str().as_bytes()).collect();
            return Ok(Self {
                top: top.to_path_buf(),
                git_dir,
                common_dir,
                prefix: parts.join(&b'/'),
            });
        }
        Err(Unavailable::NoRepository)
    }

    /// The index lock, when one is there. It may belong to a running git or be left over from a dead one:
    /// it is reported and never deleted.
    pub fn index_lock(&self) -> Option<PathBuf> {
        let lock = self.git_dir.join("index.lock");
        lock.symlink_metadata().is_ok().then_some(lock)
    }
}

/// The git directory behind a `.git` entry: itself, or where the file points.
fn git_dir_at(dot_git: &Path) -> Result<Option<PathBuf>, Unavailable> {
    let Ok(metadata) = dot_git.metadata() else {
        return Ok(None);
    };
    if metadata.is_dir() {
        return Ok(Some(dot_git.to_path_buf()));
    }
    let text = foreign::read(dot_git, POINTER_MAX_BYTES).map_err(|e| Unavailable::reading(dot_git, &e))?;
    let malformed = || Unavailable::Malformed {
        file: dot_git.to_path_buf(),
    };
    let target = text.strip_prefix(b"gitdir:").ok_or_else(malformed)?.trim_ascii();
    Ok(Some(plain(
        &dot_git
            .parent()
            .unwrap_or(Path::new("/"))
            .join(OsStr::from_bytes(target)),
    )))
}

fn common_dir_of(git_dir: &Path) -> Result<PathBuf, Unavailable> {
    let file = git_dir.join("commondir");
    match foreign::read(&file, POINTER_MAX_BYTES) {
        Ok(text) => Ok(plain(&git_dir.join(OsStr::from_bytes(text.trim_ascii())))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(git_dir.to_path_buf()),
        Err(e) => Err(Unavailable::reading(&file, &e)),
    }
}

/// Resolves links and `..`; the path as it is when that fails.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| path.components().filter(|c| *c != Component::CurDir).collect())
}
