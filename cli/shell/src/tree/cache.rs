//! The stat cache on disk: what was known of each file's signature when it was last saved.
//!
//! A convenience only. It can be deleted at any time; a damaged one, or one of another version, is
//! read as empty. Only settled signatures are kept, so an entry that still matches is right.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::TreeError;
use super::manifest::Digest;
use super::stat::Sig;

const MAGIC: &[u8; 16] = b"loopexec stat 1\n";

/// Known files, by path relative to the workdir.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    files: HashMap<Vec<u8>, (Sig, Digest)>,
}

impl Remembered {
    /// The digest of the file at this path, when its signature is the known one.
    pub(crate) fn digest(&self, path: &[u8], sig: &Sig) -> Option<Digest> {
        self.files
            .get(path)
            .filter(|(known, _)| known == sig)
            .map(|(_, digest)| *digest)
    }

    /// Reads what [`save`] wrote; empty when it cannot be believed.
    pub(crate) fn load(file: &Path) -> Self {
        let files = std::fs::read(file)
            .ok()
            .and_then(|bytes| decode(&bytes))
            .unwrap_or_default();
        Self { files }
    }

    /// Where the cache lies in a state directory.
    pub(crate) fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("stat-cache")
    }
}

/// Replaces the cache file. Not synced: losing it costs a rehash.
pub(crate) fn save<'a>(
    file: &Path,
    files: impl Iterator<Item = (Vec<u8>, &'a Sig, &'a Digest)>,
) -> Result<(), TreeError> {
    let mut body = Vec::new();
    for (path, sig, digest) in files {
        encode(&mut body, &path, sig, digest);
    }
    let dir = file.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut temp = tempfile::NamedTempFile::new_in(dir)?;
        temp.write_all(MAGIC)?;
        temp.write_all(blake3::hash(&body).as_bytes())?;
        temp.write_all(&body)?;
        temp.persist(file)?;
        Ok(())
    };
    write().map_err(|e| TreeError::writing_io(file, &e))
}

fn encode(body: &mut Vec<u8>, path: &[u8], sig: &Sig, digest: &Digest) {
    body.extend_from_slice(&(path.len() as u32).to_le_bytes());
    body.extend_from_slice(path);
    for number in [sig.dev, sig.ino, sig.size, sig.ctime_s as u64] {
        body.extend_from_slice(&number.to_le_bytes());
    }
    body.extend_from_slice(&sig.mode.to_le_bytes());
    body.extend_from_slice(&sig.ctime_ns.to_le_bytes());
    body.extend_from_slice(digest);
}

fn decode(bytes: &[u8]) -> Option<HashMap<Vec<u8>, (Sig, Digest)>> {
    let (sum, mut body) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
    if blake3::hash(body).as_bytes() != sum {
        return None;
    }
    let mut files = HashMap::new();
    while !body.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(take(&mut body)?)).ok()?;
        let (path, rest) = body.split_at_checked(length)?;
        body = rest;
        let [dev, ino, size, ctime_s] = [take(&mut body)?, take(&mut body)?, take(&mut body)?, take(&mut body)?];
        let sig = Sig {
            dev: u64::from_le_bytes(dev),
            ino: u64::from_le_bytes(ino),
            size: u64::from_le_bytes(size),
            ctime_s: i64::from_le_bytes(ctime_s),
            mode: u32::from_le_bytes(take(&mut body)?),
            ctime_ns: u32::from_le_bytes(take(&mut body)?),
        };
        files.insert(path.to_vec(), (sig, take(&mut body)?));
    }
    Some(files)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_cache_is_read_back_and_a_damaged_one_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let file = Remembered::file(dir.path());
        let sig = Sig {
            dev: 1,
            ino: 2,
            size: 3,
            mode: 4,
            ctime_s: -5,
            ctime_ns: 6,
        };
        save(&file, [(b"a\xff".to_vec(), &sig, &[7; 32])].into_iter()).unwrap();
        assert_eq!(Remembered::load(&file).digest(b"a\xff", &sig), Some([7; 32]));
        assert_eq!(Remembered::load(&file).digest(b"a\xff", &Sig { ino: 9, ..sig }), None);
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(Remembered::load(&file).digest(b"a\xff", &sig), None);
        assert_eq!(Remembered::load(&dir.path().join("absent")).digest(b"a", &sig), None);
    }
}
