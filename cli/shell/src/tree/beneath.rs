//! Reaching files beneath the workdir without ever following a link.
//!
//! Every directory of a path is opened on its own from its parent with `O_NOFOLLOW`, so a component that
//! was swapped for a symlink is seen as what it is and never leads outside.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::path::{os, split};
use super::stat::Sig;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the directory `name` in `dir`, refusing a link.
pub(crate) fn open_dir_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    retry(|dir, name| openat(dir, name, DIRECTORY, Mode::empty()), dir, name)
}

/// Opens the file `name` in `dir` for reading, refusing a link and never waiting for a fifo's writer.
pub(crate) fn open_file_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    retry(|dir, name| openat(dir, name, FILE, Mode::empty()), dir, name)
}

fn retry<P: rustix::path::Arg>(
    open: impl Fn(BorrowedFd<'_>, &std::ffi::CStr) -> Result<OwnedFd, Errno>,
    dir: BorrowedFd<'_>,
    name: P,
) -> Result<OwnedFd, Errno> {
    name.into_with_c_str(|name| {
        loop {
            match open(dir, name) {
                Err(Errno::INTR) => {}
                done => return done,
            }
        }
    })
}

/// The signature of `name` in `dir` itself, of a link and not of what it points to; `None` when absent.
pub(crate) fn sig_at(dir: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<Option<Sig>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Sig::of(&stat))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens directories beneath a root, remembering the last one.
pub(crate) struct Beneath<'a> {
    root: BorrowedFd<'a>,
    last: Option<(Vec<u8>, OwnedFd)>,
}

impl<'a> Beneath<'a> {
    pub(crate) fn new(root: BorrowedFd<'a>) -> Self {
        Self { root, last: None }
    }

    /// The directory `dir`; `None` when a component of it is absent, a link, or no directory.
    pub(crate) fn dir(&mut self, dir: &[u8]) -> Result<Option<BorrowedFd<'_>>, Errno> {
        if dir.is_empty() {
            return Ok(Some(self.root));
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != dir) {
            self.last = None;
            match open_all(self.root, dir) {
                Ok(fd) => self.last = Some((dir.to_vec(), fd)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        Ok(self.last.as_ref().map(|(_, fd)| fd.as_fd()))
    }

    /// The signature of what stands at `path`; `None` when nothing can be reached there without a link.
    pub(crate) fn sig(&mut self, path: &[u8]) -> Result<Option<Sig>, Errno> {
        let (dir, name) = split(path);
        match self.dir(dir)? {
            Some(fd) => sig_at(fd, name),
            None => Ok(None),
        }
    }
}

fn open_all(root: BorrowedFd<'_>, dir: &[u8]) -> Result<OwnedFd, Errno> {
    let mut fd: Option<OwnedFd> = None;
    for part in dir.split(|b| *b == b'/') {
        let parent = fd.as_ref().map_or(root, AsFd::as_fd);
        fd = Some(open_dir_at(parent, os(part))?);
    }
    fd.ok_or(Errno::NOENT)
}
