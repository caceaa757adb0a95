//! The signing key of a person or a machine: one file that only its owner can read, kept away from
//! everything the agent can write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signer, SigningKey};

use crate::checkpoint::{Checkpoint, Note, key_id};
use crate::error::{Error, Result};
use crate::text::{array_from_base64, to_base64};

const PRIVATE: &str = "loopexec-signing-key/v1 ";
const PUBLIC: &str = "loopexec-public-key/v1 ";

/// An ed25519 key pair.
pub struct Keys(SigningKey);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Keys").field(&to_base64(&self.public())).finish()
    }
}

impl Keys {
    /// The key of these 32 secret bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// A new key from the system's randomness.
    pub fn random() -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Error::Random { why: error.to_string() })?;
        Ok(Self::from_seed(&seed))
    }

    /// The public half.
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs what a checkpoint says.
    pub fn sign(&self, checkpoint: &Checkpoint) -> Note {
        Note {
            checkpoint: checkpoint.clone(),
            key_id: key_id(&self.public()),
            signature: self.sign_bytes(checkpoint.body().as_bytes()),
        }
    }

    /// Signs any bytes; the caller sees to it that they cannot be taken for another kind of sentence.
    pub fn sign_bytes(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }

    /// The key in `path`, made now (mode 0600, the public half beside it as `<path>.pub`) when there is
    /// none. Refused when the file lies inside one of `forbidden_dirs`, when others can read it, or when
    /// it is not a plain file.
    pub fn load_or_create(path: &Path, forbidden_dirs: &[&Path]) -> Result<Self> {
        let real = resolved(path)?;
        for dir in forbidden_dirs {
            let dir = io_result(fs::canonicalize(dir), dir)?;
            if real.starts_with(&dir) {
                return Err(refused(
                    path,
                    &format!("it lies inside {}, where the agent can reach it", dir.display()),
                ));
            }
        }
        match fs::symlink_metadata(&real) {
            Ok(_) => Self::load(&real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(&real),
            Err(error) => Err(refused(path, &error.to_string())),
        }
    }

    fn load(path: &Path) -> Result<Self> {
        let file = io_result(
            OpenOptions::new()
                .read(true)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(path),
            path,
        )?;
        let meta = io_result(file.metadata(), path)?;
        if !meta.is_file() {
            return Err(refused(path, "it is not a plain file"));
        }
        if meta.mode() & 0o077 != 0 {
            return Err(refused(path, "others can read it; make it mode 0600 and use a new key"));
        }
        let mut text = String::new();
        io_result(file.take(4096).read_to_string(&mut text), path)?;
        let seed = text.strip_prefix(PRIVATE).and_then(|rest| rest.strip_suffix('\n'));
        seed.and_then(array_from_base64)
            .map(|seed| Self::from_seed(&seed))
            .ok_or_else(|| refused(path, "it does not hold a loopexec signing key"))
    }

    /// Writes a temporary file and links it, so that a key is there whole or not at all and two
    /// processes end up with the same one.
    fn make(path: &Path) -> Result<Self> {
        if let Some(parent) = path.parent() {
            io_result(fs::create_dir_all(parent), parent)?;
        }
        let keys = Self::random()?;
        let private = format!("{PRIVATE}{}\n", to_base64(keys.0.as_bytes()));
        match publish(path, private.as_bytes(), 0o600) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Self::load(path),
            Err(error) => return Err(refused(path, &error.to_string())),
        }
        let public = public_path(path);
        match publish(&public, public_text(&keys.public()).as_bytes(), 0o644) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(refused(&public, &error.to_string())),
            _ => Ok(keys),
        }
    }
}

/// The content of a public key file.
pub fn public_text(public: &[u8; 32]) -> String {
    format!("{PUBLIC}{}\n", to_base64(public))
}

/// Reads the content of a public key file.
pub fn parse_public(text: &str) -> Option<[u8; 32]> {
    array_from_base64(text.trim_end().strip_prefix(PUBLIC)?)
}

/// Where the public half of the key in `path` is.
pub fn public_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn publish(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut unique = [0; 8];
    getrandom::fill(&mut unique).map_err(io::Error::other)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{:016x}.new", u64::from_le_bytes(unique)));
    let temporary = PathBuf::from(name);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::hard_link(&temporary, path));
    let removed = fs::remove_file(&temporary);
    written.and(removed)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Where a path leads, its last part existing or not. A link is followed: the file it names counts.
fn resolved(path: &Path) -> Result<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => return Err(refused(path, "it is a link to nothing")),
        // Somebody made it between the two looks.
        Ok(_) => return io_result(fs::canonicalize(path), path),
        Err(_) => {}
    }
    // The nearest folder that exists says where the path really leads; the rest must be plain names.
    let absolute = io_result(std::path::absolute(path), path)?;
    let plain = |part: &std::path::Component<'_>| !matches!(part, std::path::Component::ParentDir);
    if !absolute.components().all(|part| plain(&part)) || absolute.file_name().is_none() {
        return Err(refused(path, "it names no file"));
    }
    for ancestor in absolute.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), absolute.strip_prefix(ancestor)) {
            return Ok(real.join(rest));
        }
    }
    Err(refused(path, "no folder on the way to it exists"))
}

fn refused(path: &Path, why: &str) -> Error {
    Error::Key {
        file: path.display().to_string(),
        why: why.to_owned(),
    }
}

fn io_result<T>(result: io::Result<T>, path: &Path) -> Result<T> {
    result.map_err(|error| refused(path, &error.to_string()))
}
