//! A copy of a directory, with what git ignores: a check needs its installed dependencies.
//!
//! ```text
//!   copied       files (reflinked where the file system can), links, modes, modification times
//!   left out     the state directory, `.git` unless it is asked for, caches, sockets, pipes and devices
//! ```

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::ScratchError;
use crate::paths::{STATE_DIR, open_regular};

/// Directories that only ever hold what can be computed again.
const CACHES: &[&str] = &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

/// The mark of a cache directory (bford.info/cachedir), and the one of an environment, which some tools mark as one.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const ENVIRONMENT_TAG: &str = "pyvenv.cfg";

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// Sockets, pipes and devices, which no copy holds.
    pub specials: u64,
    /// A `.git` that was left out although it was asked for: a file that leads to a repository elsewhere.
    pub foreign_git: bool,
    /// Directories below that have a `.git` which was left out.
    pub nested: Vec<PathBuf>,
}

/// Copies `from` to `to`, which must not exist. Of what is in `from` nothing is changed. `goes_on` is asked before each
/// entry.
///
/// # Errors
/// The first thing that cannot be read or written, or that it does not go on.
pub fn copy_tree(from: &Path, to: &Path, with_git: bool, goes_on: impl Fn() -> bool) -> Result<Copied, ScratchError> {
    copy(
        &Job {
            from,
            to,
            seen_at: to,
            with_git,
        },
        goes_on,
    )
}

/// The same without the repository, for a copy that whoever works in it will see where the original is: its links stay.
///
/// # Errors
/// The first thing that cannot be read or written.
pub(crate) fn copy_to_be_seen_in_place(from: &Path, to: &Path) -> Result<Copied, ScratchError> {
    let job = Job {
        from,
        to,
        seen_at: from,
        with_git: false,
    };
    copy(&job, || true)
}

fn copy(job: &Job<'_>, goes_on: impl Fn() -> bool) -> Result<Copied, ScratchError> {
    let mut copied = Copied::default();
    // Directories whose modes and times are set once nothing more is written to them.
    let mut made: Vec<(PathBuf, Metadata)> = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let (source, target) = (job.from.join(&dir), job.to.join(&dir));
        let metadata = fs::metadata(&source).map_err(|error| ScratchError::new("read", &source, error))?;
        fs::create_dir(&target).map_err(|error| ScratchError::new("make", &target, error))?;
        made.push((target, metadata));
        let entries = fs::read_dir(&source).map_err(|error| ScratchError::new("read", &source, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| ScratchError::new("read", &source, error))?;
            let path = dir.join(entry.file_name());
            let failed = |error| ScratchError::new("copy", &job.from.join(&path), error);
            if !goes_on() {
                return Err(failed(io::ErrorKind::Interrupted.into()));
            }
            if job.take(&entry, &path, &mut copied).map_err(failed)? {
                open.push(path);
            }
        }
    }
    for (dir, metadata) in made.iter().rev() {
        like(dir, metadata).map_err(|error| ScratchError::new("write", dir, error))?;
    }
    Ok(copied)
}

struct Job<'a> {
    from: &'a Path,
    to: &'a Path,
    /// Where the links of the copy lead to that lead into the original.
    seen_at: &'a Path,
    with_git: bool,
}

impl Job<'_> {
    /// Copies one entry; true for a directory that is to be entered.
    fn take(&self, entry: &DirEntry, path: &Path, copied: &mut Copied) -> io::Result<bool> {
        let name = entry.file_name();
        let at_top = path.parent().is_some_and(|parent| parent.as_os_str().is_empty());
        if at_top && name == STATE_DIR {
            return Ok(false);
        }
        let kind = entry.file_type()?;
        if name == ".git" && !(self.with_git && kind.is_dir()) {
            copied.foreign_git |= at_top && self.with_git;
            copied
                .nested
                .extend(path.parent().filter(|_| !at_top).map(Path::to_path_buf));
            return Ok(false);
        }
        let (source, target) = (entry.path(), self.to.join(path));
        if kind.is_dir() {
            return Ok(!is_cache(&name, &source));
        }
        if kind.is_symlink() {
            symlink(retargeted(fs::read_link(&source)?, self.from, self.seen_at), &target)?;
        } else if kind.is_file() {
            copied.bytes += copy_file(&source, &target)?;
        } else {
            copied.specials += 1;
            return Ok(false);
        }
        copied.files += 1;
        Ok(false)
    }
}

/// An absolute link into the tree is one into the copy.
pub(crate) fn retargeted(link: PathBuf, from: &Path, to: &Path) -> PathBuf {
    match link.strip_prefix(from) {
        Ok(below) => to.join(below),
        Err(_) => link,
    }
}

/// Whether a directory of this name holds only what can be computed again.
pub(crate) fn is_cache(name: &OsStr, dir: &Path) -> bool {
    CACHES.iter().any(|cache| name == *cache) || (dir.join(CACHE_TAG).is_file() && !dir.join(ENVIRONMENT_TAG).is_file())
}

/// Copies one file with its mode and times.
pub(crate) fn copy_file(source: &Path, target: &Path) -> io::Result<u64> {
    let mut from = open_regular(source)?;
    let metadata = from.metadata()?;
    let mut to = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)?;
    let bytes = io::copy(&mut from, &mut to)?;
    finish(&to, &metadata)?;
    Ok(bytes)
}

/// Mode and times of the original.
fn like(dir: &Path, metadata: &Metadata) -> io::Result<()> {
    finish(&File::open(dir)?, metadata)
}

fn finish(file: &File, metadata: &Metadata) -> io::Result<()> {
    let times = fs::FileTimes::new().set_modified(metadata.modified()?);
    file.set_times(times)?;
    file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (from, to) = (root.join("from"), root.join("to"));
        fs::create_dir(&from).unwrap();
        (dir, from, to)
    }

    #[test]
    fn content_modes_times_and_links_are_those_of_the_original() {
        let (_dir, from, to) = tree();
        fs::create_dir_all(from.join("node_modules/x")).unwrap();
        fs::write(from.join("node_modules/x/run.sh"), "echo").unwrap();
        fs::set_permissions(from.join("node_modules/x/run.sh"), Permissions::from_mode(0o750)).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        File::options()
            .append(true)
            .open(from.join("node_modules/x/run.sh"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        symlink("node_modules/x/run.sh", from.join("inner")).unwrap();
        symlink(from.join("node_modules"), from.join("absolute")).unwrap();
        symlink("/no/such/place", from.join("outer")).unwrap();
        fs::set_permissions(from.join("node_modules/x"), Permissions::from_mode(0o500)).unwrap();

        let copied = copy_tree(&from, &to, false, || true).unwrap();
        assert_eq!((copied.files, copied.bytes), (4, 4));
        let there = fs::metadata(to.join("node_modules/x/run.sh")).unwrap();
        assert_eq!((there.mode() & 0o777, there.modified().unwrap()), (0o750, old));
        assert_eq!(fs::metadata(to.join("node_modules/x")).unwrap().mode() & 0o777, 0o500);
        assert_eq!(
            fs::read_link(to.join("inner")).unwrap(),
            Path::new("node_modules/x/run.sh")
        );
        assert_eq!(fs::read_link(to.join("absolute")).unwrap(), to.join("node_modules"));
        assert_eq!(fs::read_link(to.join("outer")).unwrap(), Path::new("/no/such/place"));
    }

    #[test]
    fn state_caches_and_the_repository_stay_behind_and_an_environment_comes_along() {
        let (_dir, from, to) = tree();
        for dir in [".loopexec", ".git", "sub/.loopexec", "__pycache__", "target", ".venv"] {
            fs::create_dir_all(from.join(dir)).unwrap();
            fs::write(from.join(dir).join("file"), "x").unwrap();
        }
        for tagged in ["target", ".venv"] {
            fs::write(from.join(tagged).join(CACHE_TAG), "Signature").unwrap();
        }
        fs::write(from.join(".venv").join(ENVIRONMENT_TAG), "home").unwrap();
        let socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();

        let copied = copy_tree(&from, &to, false, || true).unwrap();
        assert_eq!(copied.specials, 1);
        drop(socket);
        let there = |name: &str| to.join(name).exists();
        assert!(!there(".loopexec") && !there(".git") && !there("__pycache__") && !there("target"));
        assert!(there("sub/.loopexec/file") && there(".venv/file"));

        let with_git = to.with_extension("git");
        copy_tree(&from, &with_git, true, || true).unwrap();
        assert!(with_git.join(".git/file").exists());
    }

    #[test]
    fn a_repository_that_lies_elsewhere_is_not_lent_to_a_copy() {
        let (_dir, from, to) = tree();
        fs::write(from.join(".git"), "gitdir: /elsewhere").unwrap();
        let copied = copy_tree(&from, &to, true, || true).unwrap();
        assert!(copied.foreign_git && !to.join(".git").exists());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let (_dir, from, to) = tree();
        let error = copy_tree(&from.join("missing"), &to, false, || true).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[test]
    fn a_copy_that_need_not_be_finished_is_not() {
        let (_dir, from, to) = tree();
        for name in ["a", "b", "c"] {
            fs::write(from.join(name), "x").unwrap();
        }
        let left = std::cell::Cell::new(2);
        let error = copy_tree(&from, &to, false, || left.replace(left.get() - 1) > 0).unwrap_err();
        assert!(!error.is_about_the_source(), "{error}");
        assert_eq!(fs::read_dir(&to).unwrap().count(), 2);
    }
}
