//! What a check needs and no tree holds: installed packages, local configuration, the repository.
//!
//! ```text
//!   along        environments (`node_modules`, virtual environments), `.git`, files and directories that were there
//!                before the run
//!   left out     caches, build products and whatever else was made since: it is what a copy is to do without
//! ```

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::paths::STATE_DIR;
use crate::scratch::{ScratchError, copy_file, copy_tree, is_cache, retargeted};
use crate::tree::Manifest;

/// Copies to `copy`, which holds a tree already, what lies in `workdir` beside `tree` and may come along. A file counts
/// as made before the run when its inode is older than `opened_ms`.
pub(in crate::world) fn bring_along(
    workdir: &Path,
    copy: &Path,
    tree: &Manifest,
    opened_ms: u64,
) -> Result<(), ScratchError> {
    let opened = SystemTime::UNIX_EPOCH + Duration::from_millis(opened_ms);
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        let source = workdir.join(&dir);
        let failed = |error| ScratchError::new("copy", &source, error);
        for entry in fs::read_dir(&source).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = dir.join(entry.file_name());
            let failed = |error| ScratchError::new("copy", &workdir.join(&path), error);
            let Some(whole) = take(&entry, &path, tree, (workdir, copy), opened).map_err(failed)? else {
                continue;
            };
            if whole {
                copy_whole(&entry.path(), &copy.join(&path))?;
                continue;
            }
            let is_old = |seen: Metadata| made_before(&seen, opened);
            if fs::symlink_metadata(entry.path()).is_ok_and(is_old) {
                // A check may need one that is empty, and no tree has those.
                make_within(copy, &path).map_err(failed)?;
            }
            open.push(path);
        }
    }
    Ok(())
}

/// Copies a file that may come along. A directory that is to be copied whole gives true, one to be looked into false.
fn take(
    entry: &DirEntry,
    path: &Path,
    tree: &Manifest,
    (workdir, copy): (&Path, &Path),
    opened: SystemTime,
) -> io::Result<Option<bool>> {
    let (name, kind) = (entry.file_name(), entry.file_type()?);
    let at_top = path.parent().is_some_and(|parent| parent.as_os_str().is_empty());
    let bytes = path.as_os_str().as_bytes();
    if at_top && name == STATE_DIR || tree.entry(bytes).is_some() {
        return Ok(None);
    }
    if kind.is_dir() {
        let whole = name == "node_modules" || name == ".git" || entry.path().join("pyvenv.cfg").is_file();
        return Ok((whole || !is_cache(&name, &entry.path())).then_some(whole));
    }
    let (source, target) = (entry.path(), copy.join(path));
    // A file of t0's tree that is gone now lies here as little as in the workdir; a link is followed by nobody.
    if !made_before(&fs::symlink_metadata(&source)?, opened) || target.symlink_metadata().is_ok() {
        return Ok(None);
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if kind.is_symlink() {
        std::os::unix::fs::symlink(retargeted(fs::read_link(&source)?, workdir, copy), &target)?;
    } else if kind.is_file() {
        copy_file(&source, &target)?;
    }
    Ok(None)
}

/// A directory, unless something else stands in its way: no link is followed.
fn make_within(copy: &Path, path: &Path) -> io::Result<()> {
    let mut dir = copy.to_path_buf();
    for part in path {
        dir.push(part);
        match fs::create_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !fs::symlink_metadata(&dir)?.is_dir() {
                    return Ok(());
                }
            }
            other => other?,
        }
    }
    Ok(())
}

/// An environment. Its links into itself lead into the copy.
fn copy_whole(from: &Path, to: &Path) -> Result<(), ScratchError> {
    if to.symlink_metadata().is_ok() {
        // Part of it is tracked and there already; the rest cannot be told from what was made since.
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| ScratchError::new("make", parent, error))?;
    }
    copy_tree(from, to, false, || true).map(drop)
}

/// The inode is older than the run. Where a file system does not say when it was made, its newest change counts.
pub(in crate::world) fn made_before(metadata: &Metadata, opened: SystemTime) -> bool {
    let made = metadata.created().ok().or_else(|| changed(metadata));
    made.is_some_and(|made| made < opened)
}

/// When anything of the file changed last, its name among others, which nothing sets back.
pub(super) fn changed(metadata: &Metadata) -> Option<SystemTime> {
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanos = u32::try_from(metadata.ctime_nsec()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now_ms() -> u64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        u64::try_from(now.as_millis()).unwrap()
    }

    #[test]
    fn environments_and_what_was_there_before_come_along_and_caches_products_and_the_tree_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let (work, copy) = (dir.path().join("work"), dir.path().join("copy"));
        fs::create_dir(&copy).unwrap();
        for name in [
            ".venv/bin/tool",
            "node_modules/a/index.js",
            "web/node_modules/b/index.js",
            "target/debug/x",
            "src/__pycache__/x.pyc",
            ".loopexec/state",
            "local/.env",
            ".git/HEAD",
        ] {
            fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
            fs::write(work.join(name), "old").unwrap();
        }
        fs::write(work.join(".venv/pyvenv.cfg"), "").unwrap();
        fs::write(work.join("target/CACHEDIR.TAG"), "").unwrap();
        std::os::unix::fs::symlink(work.join("local/.env"), work.join("link")).unwrap();
        for dir in ["out/empty", "moved/here"] {
            fs::create_dir_all(work.join(dir)).unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), copy.join("moved")).unwrap();
        let later = now_ms() + 60_000;

        bring_along(&work, &copy, &Manifest::new(Vec::new()), later).unwrap();
        let there = |name: &str| copy.join(name).exists();
        assert!(there(".venv/bin/tool") && there("node_modules/a/index.js") && there("web/node_modules/b/index.js"));
        assert!(there("local/.env") && there(".git/HEAD"));
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), copy.join("local/.env"));
        assert!(there("out/empty") && !dir.path().join("here").exists());
        assert!(!there("target") && !there("src/__pycache__") && !there(".loopexec"));
    }

    #[test]
    fn what_was_made_since_the_run_was_opened_stays_behind() {
        let dir = tempfile::tempdir().unwrap();
        let (work, copy) = (dir.path().join("work"), dir.path().join("copy"));
        fs::create_dir(&copy).unwrap();
        fs::create_dir_all(work.join("build")).unwrap();
        fs::write(work.join("build/app"), "x").unwrap();
        bring_along(&work, &copy, &Manifest::new(Vec::new()), 1).unwrap();
        assert!(!copy.join("build").exists());
    }
}
