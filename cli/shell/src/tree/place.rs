//! Writing single entries: a file or link as it was recorded, beneath an open directory.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::beneath::open_file_at;
use super::error::TreeError;
use super::manifest::{Entry, Kind};
use super::path::os;
use super::stat::Sig;
use super::store::Store;

/// Creates `name` in `dir` with the recorded content and mode. Nothing may be there.
pub(crate) fn create(store: &Store, dir: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<(), TreeError> {
    let path = os(&entry.path);
    match entry.kind {
        Kind::Symlink => {
            let target = store.bytes(&entry.digest)?;
            symlinkat(os(&target), dir, os(name)).map_err(|e| TreeError::writing(path, e))
        }
        Kind::File => {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = openat(dir, os(name), flags, Mode::RUSR | Mode::WUSR).map_err(|e| TreeError::writing(path, e))?;
            let mut file = File::from(fd);
            store.write_to(&entry.digest, entry.size, &mut file, path)?;
            // Last: writing may clear set-user-id bits.
            fchmod(&file, Mode::from_raw_mode(entry.mode)).map_err(|e| TreeError::writing(path, e))
        }
    }
}

/// Puts an entry where a file, a link or nothing is, in one step that is seen whole or not at all.
pub(crate) fn replace(store: &Store, dir: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<(), TreeError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temp = format!(".loopexec-{}-{count}.tmp", std::process::id()).into_bytes();
    // Left over from a process of the same id that was killed between two steps.
    let _ = unlinkat(dir, os(&temp), AtFlags::empty());
    let placed = create(store, dir, &temp, entry)
        .and_then(|()| renameat(dir, os(&temp), dir, os(name)).map_err(|e| TreeError::writing(os(&entry.path), e)));
    if placed.is_err() {
        let _ = unlinkat(dir, os(&temp), AtFlags::empty());
    }
    placed
}

/// Sets the mode of a file that is recorded as having the right content. False when that has to be done
/// by replacing it: it cannot be opened, or shares its inode with other names.
pub(crate) fn set_mode(dir: BorrowedFd<'_>, name: &[u8], seen: Sig, mode: u32) -> Result<bool, Errno> {
    let Ok(fd) = open_file_at(dir, os(name)) else {
        return Ok(false);
    };
    let stat = rustix::fs::fstat(&fd)?;
    if Sig::of(&stat) != seen || seen.file_type() != FileType::RegularFile || stat.st_nlink != 1 {
        return Ok(false);
    }
    match fchmod(fd.as_fd(), Mode::from_raw_mode(mode)) {
        Ok(()) => Ok(true),
        Err(Errno::PERM) => Ok(false),
        Err(errno) => Err(errno),
    }
}
