//! Places of a program that was killed before it could remove them.
//!
//! A place is owned by whoever holds the kernel's lock on a file in it. The lock goes with its holder, however that
//! ends, so a place whose lock is free belongs to nobody any more.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::{PREFIX, remove};

/// The file that is locked.
const OWNED: &str = "OWNED";

/// Takes a place that was just made. It is owned for as long as the file is open.
pub(super) fn own(root: &Path) -> io::Result<File> {
    let unfinished = root.join("OWNED.new");
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // Under its name it is never there without its lock.
    fs::rename(&unfinished, root.join(OWNED))?;
    Ok(file)
}

/// Removes the places below `base` that this user's killed programs left.
pub(super) fn sweep(base: &Path) {
    for place in abandoned(base) {
        let _tried_again_next_time = remove(&place);
    }
}

/// The places below `base` that this user's killed programs left.
pub(super) fn abandoned(base: &Path) -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let mut found = Vec::new();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|seen| seen.is_dir() && seen.uid() == user);
        if is_ours && is_abandoned(&entry.path()) {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn is_abandoned(root: &Path) -> bool {
    let nofollow = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nofollow)
        .open(root.join(OWNED));
    opened.is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_goes_with_its_owner_and_nothing_else_does() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let root = base.path().join(name);
            fs::create_dir(&root).unwrap();
            root
        };
        let held = make(&format!("{PREFIX}held"));
        let lock = own(&held).unwrap();
        let left = make(&format!("{PREFIX}left"));
        drop(own(&left).unwrap());
        let unfinished = make(&format!("{PREFIX}unfinished"));
        let other = make("someone-elses");
        drop(own(&other).unwrap());
        assert_eq!(abandoned(base.path()), [left.as_path()]);
        sweep(base.path());
        assert!(held.exists() && unfinished.exists() && other.exists());
        assert!(!left.exists());
        drop(lock);
        sweep(base.path());
        assert!(!held.exists());
    }
}
