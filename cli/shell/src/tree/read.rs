//! Reading one file so that its digest and its signature belong together.
//!
//! The signature is taken before and after the bytes; when the two differ the file was being written, and
//! it is read once more. A file that will not hold still is reported, never guessed at.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{fstat, readlinkat};
use rustix::io::Errno;

use super::beneath::{open_file_at, sig_at};
use super::manifest::{Digest, Kind};
use super::stat::Sig;

/// Bytes read at a time; a file below this size is read with one call and hashed in one go.
pub(crate) const BUFFER_BYTES: usize = 128 * 1024;

/// A file as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) sig: Sig,
    pub(crate) digest: Digest,
    /// False when it changed during both readings.
    pub(crate) stable: bool,
}

/// What became of a name that was to be read.
#[derive(Debug)]
pub(crate) enum Look {
    Seen(Seen),
    /// Nothing is there (any more), or something that a manifest does not hold.
    Gone,
}

/// Hashes the file or link `name` in `dir`.
pub(crate) fn look_at(dir: BorrowedFd<'_>, name: &CStr, buffer: &mut [u8]) -> Result<Look, Errno> {
    let mut last = Look::Gone;
    for _ in 0..2 {
        match look_once(dir, name, buffer)? {
            Look::Seen(seen) if seen.stable => return Ok(Look::Seen(seen)),
            other => last = other,
        }
    }
    Ok(last)
}

fn look_once(dir: BorrowedFd<'_>, name: &CStr, buffer: &mut [u8]) -> Result<Look, Errno> {
    let Some(sig) = sig_at(dir, name)? else {
        return Ok(Look::Gone);
    };
    match sig.kind() {
        Some(Kind::Symlink) => link(dir, name, sig),
        Some(Kind::File) => file(dir, name, buffer),
        None => Ok(Look::Gone),
    }
}

fn link(dir: BorrowedFd<'_>, name: &CStr, before: Sig) -> Result<Look, Errno> {
    let target = match readlinkat(dir, name, Vec::new()) {
        Ok(target) => target,
        Err(Errno::NOENT | Errno::INVAL) => return Ok(Look::Gone),
        Err(errno) => return Err(errno),
    };
    let digest = *blake3::hash(target.as_bytes()).as_bytes();
    // Some file systems give links a size of their own.
    let sig = Sig {
        size: target.as_bytes().len() as u64,
        ..before
    };
    let stable = sig_at(dir, name)? == Some(before);
    Ok(Look::Seen(Seen {
        kind: Kind::Symlink,
        sig,
        digest,
        stable,
    }))
}

fn file(dir: BorrowedFd<'_>, name: &CStr, buffer: &mut [u8]) -> Result<Look, Errno> {
    let fd = match open_file_at(dir, name) {
        Ok(fd) => fd,
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(Look::Gone),
        Err(errno) => return Err(errno),
    };
    let sig = Sig::of(&fstat(&fd)?);
    if sig.kind() != Some(Kind::File) {
        return Ok(Look::Gone);
    }
    let (digest, read_bytes) = hash_fd(fd.as_fd(), buffer)?;
    let stable = read_bytes == sig.size && Sig::of(&fstat(&fd)?) == sig;
    Ok(Look::Seen(Seen {
        kind: Kind::File,
        sig,
        digest,
        stable,
    }))
}

/// Hashes from the file's current position to its end.
pub(crate) fn hash_fd(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<(Digest, u64), Errno> {
    let mut filled = fill(fd, buffer)?;
    if filled < buffer.len() {
        return Ok((*blake3::hash(&buffer[..filled]).as_bytes(), filled as u64));
    }
    let mut hasher = blake3::Hasher::new();
    let mut total = 0;
    while filled > 0 {
        hasher.update(&buffer[..filled]);
        total += filled as u64;
        filled = fill(fd, buffer)?;
    }
    Ok((*hasher.finalize().as_bytes(), total))
}

/// Reads until the buffer is full or the file ends.
fn fill(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::read(fd, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(filled)
}

/// A fresh reading buffer.
pub(crate) fn buffer() -> Vec<u8> {
    vec![0; BUFFER_BYTES]
}
