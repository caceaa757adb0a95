//! The object store: content named by its BLAKE3, and manifests named by their tree id.
//!
//! ```text
//! objects/ab/cdef…     one file or link target, named by its digest
//! trees/ab/cdef…       one manifest, named by its tree id
//! incoming/            being written; nothing here is believed
//! ```
//!
//! An object's name appears only once its bytes are on disk: it is written under `incoming/`, synced, and
//! renamed into place. Objects are private (0600), never changed, and checked against their name each time
//! they are read. Content is copied or reflinked, never hard-linked, because a hard link would share later
//! edits.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::io::Errno;

use super::error::{TreeError, errno_of};
use super::manifest::{Digest, Manifest, TreeId};
use super::path::hex;
use super::read::{buffer, hash_fd};
use crate::foreign;

/// A tree of several million files.
const MANIFEST_MAX_BYTES: u64 = 1 << 30;

/// From here on one `syncfs` is cheaper than a sync of each file.
const MANY_OBJECTS: usize = 16;
/// From here on a file is reflinked or copied by the kernel instead of passing through memory.
const LARGE_BYTES: u64 = 1 << 20;

/// Content that is written and not yet in place.
#[derive(Debug)]
struct Pending {
    from: PathBuf,
    to: PathBuf,
    /// Kept open while a sync of its own is still the plan.
    file: Option<File>,
}

/// A store on disk.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
    known: HashSet<Digest>,
    pending: Mutex<Vec<Pending>>,
}

/// What came of storing a file that was hashed before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Stored,
    /// The file no longer has the content it had when it was hashed.
    Changed,
}

impl Store {
    /// Opens or creates the store in this directory and lists what it holds.
    pub(crate) fn open(root: &Path) -> Result<Self, TreeError> {
        for dir in ["objects", "trees", "incoming"] {
            make_dir(&root.join(dir))?;
        }
        let store = Self {
            root: root.to_path_buf(),
            known: list_objects(&root.join("objects"))?,
            pending: Mutex::default(),
        };
        store.clear_incoming()?;
        Ok(store)
    }

    fn clear_incoming(&self) -> Result<(), TreeError> {
        let dir = self.root.join("incoming");
        for entry in std::fs::read_dir(&dir)
            .map_err(|e| TreeError::writing_io(&dir, &e))?
            .flatten()
        {
            let _ = std::fs::remove_file(entry.path());
        }
        Ok(())
    }

    /// Whether the directory was removed since it was opened.
    pub(crate) fn is_gone(&self) -> bool {
        !self.root.join("incoming").is_dir()
    }

    pub(crate) fn contains(&self, digest: &Digest) -> bool {
        // Another tree may keep its files here too.
        self.known.contains(digest) || self.object_path(digest).exists()
    }

    /// Where content of this digest is, or would be.
    pub(crate) fn object_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("objects").join(object_name(digest))
    }

    fn tree_path(&self, id: TreeId) -> PathBuf {
        self.root.join("trees").join(object_name(&id.0))
    }

    /// The directory of the objects; [`object_name`] is relative to it.
    pub(crate) fn objects_dir(&self) -> PathBuf {
        self.root.join("objects")
    }

    /// Writes bytes that hash to `digest`. Durable and visible after [`Self::settle`].
    pub(crate) fn put_bytes(&self, digest: &Digest, bytes: &[u8]) -> Result<(), TreeError> {
        self.put_at(self.object_path(digest), &format!("o{}", hex(digest)), bytes)
    }

    fn put_at(&self, to: PathBuf, temp: &str, bytes: &[u8]) -> Result<(), TreeError> {
        let Some((from, mut file)) = self.create(temp)? else {
            return Ok(());
        };
        if let Err(error) = file.write_all(bytes) {
            let _ = std::fs::remove_file(&from);
            return Err(TreeError::writing_io(&from, &error));
        }
        self.push(from, to, file);
        Ok(())
    }

    /// `None` when another thread is already writing the same object.
    fn create(&self, temp: &str) -> Result<Option<(PathBuf, File)>, TreeError> {
        let from = self.root.join("incoming").join(temp);
        match std::fs::OpenOptions::new()
            .write(true)
            .read(true)
            .create_new(true)
            .mode(0o600)
            .open(&from)
        {
            Ok(file) => Ok(Some((from, file))),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
            Err(e) => Err(TreeError::writing_io(&from, &e)),
        }
    }

    fn push(&self, from: PathBuf, to: PathBuf, file: File) {
        let mut pending = self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let file = (pending.len() < MANY_OBJECTS).then_some(file);
        pending.push(Pending { from, to, file });
    }

    /// Stores an open file that is expected to hash to `digest`. `path` is what an error calls it.
    pub(crate) fn put_file(&self, digest: &Digest, mut source: File, size: u64, path: &[u8]) -> Result<Put, TreeError> {
        if size >= LARGE_BYTES {
            return self.put_large(digest, source, path);
        }
        let mut bytes = Vec::with_capacity(size as usize + 1);
        let limit = LARGE_BYTES * 2;
        Read::take(&mut source, limit)
            .read_to_end(&mut bytes)
            .map_err(|e| TreeError::reading(path, errno_of(&e)))?;
        if blake3::hash(&bytes).as_bytes() != digest {
            return Ok(Put::Changed);
        }
        self.put_bytes(digest, &bytes)?;
        Ok(Put::Stored)
    }

    fn put_large(&self, digest: &Digest, mut source: File, path: &[u8]) -> Result<Put, TreeError> {
        let Some((from, mut file)) = self.create(&format!("o{}", hex(digest)))? else {
            return Ok(Put::Stored);
        };
        // The copy is hashed, not the source, so the object is right by construction.
        match copy_and_hash(&mut source, &mut file) {
            Ok(seen) if seen == *digest => {
                self.push(from, self.object_path(digest), file);
                Ok(Put::Stored)
            }
            other => {
                let _ = std::fs::remove_file(&from);
                match other {
                    Ok(_) => Ok(Put::Changed),
                    Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => Err(TreeError::writing(&from, errno)),
                    Err(errno) => Err(TreeError::reading(path, errno)),
                }
            }
        }
    }

    /// Writes a manifest under its tree id, unless it is there. Durable after [`Self::settle`].
    pub(crate) fn put_tree(&self, id: TreeId, canonical: &[u8]) -> Result<(), TreeError> {
        let to = self.tree_path(id);
        if to.exists() {
            return Ok(());
        }
        self.put_at(to, &format!("t{}", hex(&id.0)), canonical)
    }

    /// Makes everything put since the last call durable, then visible. Returns how many objects that was;
    /// with nothing new there is nothing to sync.
    pub(crate) fn settle(&mut self) -> Result<usize, TreeError> {
        let pending = std::mem::take(
            self.pending
                .get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        if pending.is_empty() {
            return Ok(0);
        }
        let many = pending.len() > MANY_OBJECTS;
        if many {
            self.sync_whole()?;
        }
        let mut dirs: Vec<PathBuf> = Vec::new();
        for object in &pending {
            if let Some(file) = object.file.as_ref().filter(|_| !many) {
                file.sync_data().map_err(|e| TreeError::writing_io(&object.from, &e))?;
            }
            dirs.extend(place(&object.from, &object.to)?);
        }
        if many {
            self.sync_whole()?;
        } else {
            dirs.sort();
            dirs.dedup();
            dirs.iter().try_for_each(|dir| sync_dir(dir))?;
        }
        let objects = self.objects_dir();
        self.known.extend(
            pending
                .iter()
                .filter(|p| p.to.starts_with(&objects))
                .filter_map(|p| digest_of(&p.to)),
        );
        Ok(pending.len())
    }

    /// Drops what was put since the last [`Self::settle`].
    pub(crate) fn abandon(&mut self) {
        for object in self
            .pending
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .drain(..)
        {
            let _ = std::fs::remove_file(&object.from);
        }
    }

    fn sync_whole(&self) -> Result<(), TreeError> {
        let dir = File::open(&self.root).map_err(|e| TreeError::writing_io(&self.root, &e))?;
        rustix::fs::syncfs(&dir).map_err(|e| TreeError::writing(&self.root, e))
    }

    /// Reads content into memory and checks it against its name.
    pub(crate) fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, TreeError> {
        let (mut file, path) = self.open_object(digest)?;
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|e| TreeError::reading(path.as_os_str().as_encoded_bytes(), errno_of(&e)))?;
        if blake3::hash(&bytes).as_bytes() == digest {
            Ok(bytes)
        } else {
            Err(TreeError::BlobCorrupt {
                digest: hex(digest),
                file: path,
            })
        }
    }

    /// Checks content against its name without keeping it.
    pub(crate) fn check(&self, digest: &Digest, bytes: &mut [u8]) -> Result<(), TreeError> {
        let (file, path) = self.open_object(digest)?;
        let reading = |e| TreeError::reading(path.as_os_str().as_encoded_bytes(), e);
        let (seen, _) = hash_fd(file.as_fd(), bytes).map_err(reading)?;
        if seen == *digest {
            Ok(())
        } else {
            Err(TreeError::BlobCorrupt {
                digest: hex(digest),
                file: path,
            })
        }
    }

    fn open_object(&self, digest: &Digest) -> Result<(File, PathBuf), TreeError> {
        let path = self.object_path(digest);
        match foreign::open(&path) {
            Ok(file) => Ok((file, path)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(TreeError::BlobMissing { digest: hex(digest) }),
            Err(e) => Err(TreeError::reading(path.as_os_str().as_encoded_bytes(), errno_of(&e))),
        }
    }

    /// Copies content into an empty file open for reading and writing, checking what was copied.
    pub(crate) fn write_to(&self, digest: &Digest, size: u64, file: &mut File, path: &Path) -> Result<(), TreeError> {
        if size < LARGE_BYTES {
            return file
                .write_all(&self.bytes(digest)?)
                .map_err(|e| TreeError::writing_io(path, &e));
        }
        let (mut source, object) = self.open_object(digest)?;
        let seen = copy_and_hash(&mut source, file).map_err(|e| TreeError::writing(path, e))?;
        if seen == *digest {
            Ok(())
        } else {
            Err(TreeError::BlobCorrupt {
                digest: hex(digest),
                file: object,
            })
        }
    }

    /// Reads the manifest of a tree.
    pub(crate) fn tree(&self, id: TreeId) -> Result<Manifest, TreeError> {
        let file = self.tree_path(id);
        let bytes = match foreign::read(&file, MANIFEST_MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(TreeError::TreeUnknown { id }),
            Err(e) => return Err(TreeError::reading(file.as_os_str().as_encoded_bytes(), errno_of(&e))),
        };
        if TreeId::of(&bytes) != id {
            return Err(TreeError::TreeCorrupt { id, file });
        }
        Manifest::decode(&bytes).ok_or(TreeError::TreeCorrupt { id, file })
    }
}

/// `ab/cdef…`: where an object lies in its directory.
pub(crate) fn object_name(digest: &Digest) -> String {
    let name = hex(digest);
    format!("{}/{}", &name[..2], &name[2..])
}

fn digest_of(path: &Path) -> Option<Digest> {
    let rest = path.file_name()?.to_str()?;
    let start = path.parent()?.file_name()?.to_str()?;
    parse_hex(&format!("{start}{rest}"))
}

fn parse_hex(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(digest)
}

fn list_objects(objects: &Path) -> Result<HashSet<Digest>, TreeError> {
    let unreadable = |e: std::io::Error| TreeError::reading(objects.as_os_str().as_encoded_bytes(), errno_of(&e));
    let mut known = HashSet::new();
    for shelf in std::fs::read_dir(objects).map_err(unreadable)? {
        let Ok(names) = std::fs::read_dir(shelf.map_err(unreadable)?.path()) else {
            continue;
        };
        for name in names {
            known.extend(digest_of(&name.map_err(unreadable)?.path()));
        }
    }
    Ok(known)
}

/// Renames an object into place; returns the directories that changed.
fn place(from: &Path, to: &Path) -> Result<Vec<PathBuf>, TreeError> {
    let Some(shelf) = to.parent() else {
        return Ok(Vec::new());
    };
    let mut changed = vec![shelf.to_path_buf()];
    match std::fs::rename(from, to) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            make_dir(shelf)?;
            changed.extend(shelf.parent().map(Path::to_path_buf));
            std::fs::rename(from, to).map_err(|e| TreeError::writing_io(to, &e))?;
        }
        other => other.map_err(|e| TreeError::writing_io(to, &e))?,
    }
    Ok(changed)
}

/// Makes a private directory and its parents.
pub(crate) fn make_dir(dir: &Path) -> Result<(), TreeError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|e| TreeError::writing_io(dir, &e))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), TreeError> {
    let synced = File::open(dir).and_then(|d| d.sync_all());
    synced.map_err(|e| TreeError::writing_io(dir, &e))
}

fn copy_and_hash(source: &mut File, target: &mut File) -> Result<Digest, Errno> {
    copy_content(source, target).map_err(|e| errno_of(&e))?;
    std::io::Seek::rewind(target).map_err(|e| errno_of(&e))?;
    Ok(hash_fd(target.as_fd(), &mut buffer())?.0)
}

/// Shares the extents where the file system can, and copies where it cannot.
fn copy_content(source: &mut File, target: &mut File) -> std::io::Result<()> {
    if rustix::fs::ioctl_ficlone(&*target, &*source).is_ok() {
        return Ok(());
    }
    std::io::copy(source, target).map(drop)
}
