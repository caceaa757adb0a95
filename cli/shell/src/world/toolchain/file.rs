//! One file on the way to a program: what is read of it, and when that has to be read again.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use engine::event::id::Digest;

use crate::{clock, foreign};

/// How much of a file is looked at for the name of its interpreter.
const SHEBANG_BYTES: u64 = 256;
/// Seconds within which two changes of a file may carry the same time.
const GRAIN_S: i64 = 2;

#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) digest: Digest,
    /// The words behind `#!`.
    pub(super) interpreter: Option<Vec<OsString>>,
}

/// What cannot stay the same when content changes: inode, size, times of change.
pub(super) type Stat = (u64, u64, u64, i64, i64, i64, i64);

pub(super) fn stat(meta: &Metadata) -> Stat {
    (
        meta.dev(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    )
}

pub(super) fn linked(file: &Path) -> Digest {
    let target = fs::read_link(file).unwrap_or_default();
    Digest(*blake3::hash(target.as_os_str().as_bytes()).as_bytes())
}

pub(super) fn content(file: &Path, meta: &Metadata) -> Content {
    let mut hasher = blake3::Hasher::new();
    // Executable and not readable: its size stands for it.
    let read = fs::File::open(file).and_then(|mut open| std::io::copy(&mut open, &mut hasher));
    if read.is_err() {
        hasher.reset();
        hasher.update(&meta.len().to_le_bytes());
    }
    Content {
        digest: Digest(*hasher.finalize().as_bytes()),
        interpreter: shebang(file),
    }
}

/// Whether the file system would tell a later change of this file from the last one: times have a grain.
pub(super) fn settled(meta: &Metadata) -> bool {
    let changed = meta.ctime().max(meta.mtime());
    let now = clock::wall_ms() / 1_000;
    i64::try_from(now).is_ok_and(|now| now.saturating_sub(changed) > GRAIN_S)
}

/// What a script says that reads it.
fn shebang(file: &Path) -> Option<Vec<OsString>> {
    let start = foreign::read_start(file, SHEBANG_BYTES).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    Some(words.map(|word| OsString::from_vec(word.to_vec())).collect())
}
