//! Context files, pinned by content.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use engine::event::id::Digest;
use engine::event::policy::ContextFile;

use crate::paths::open_regular;

/// Fills in the digest of every file that can be read; relative paths start at `workdir`.
pub fn digest_all(workdir: &Path, files: &mut [ContextFile]) {
    for entry in files {
        let path = workdir.join(OsStr::from_bytes(&entry.path.0));
        entry.digest = digest(&path).ok();
    }
}

fn digest(path: &Path) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open_regular(path)?)?;
    Ok(Digest(*hasher.finalize().as_bytes()))
}
