//! What is known of the tree between scans, and how a scan changes it.
//!
//! When nothing moved, a scan allocates nothing and the manifest of the last one stands. When something
//! did, the manifest is put together again from what is known.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::beneath::Beneath;
use super::error::TreeError;
use super::listing::{Dir, Skipped, Slot};
use super::manifest::{Entry, Kind, Manifest, TreeId};
use super::path::{join, split};
use super::pins::{Pins, outside};
use super::read::{Look, buffer, look_at};
use super::stat::{Now, Sig};
use super::walk::Haul;

/// Everything a scan knows.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) dirs: HashMap<Vec<u8>, Dir>,
    /// Pinned files that the walk does not come by, as they are now.
    extra: HashMap<Vec<u8>, Slot>,
    /// Pinned paths that the walk does not come by, there or not.
    absent: Vec<Vec<u8>>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) id: TreeId,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) specials: u64,
}

impl Known {
    pub(crate) fn nothing() -> Self {
        let manifest = Arc::new(Manifest::default());
        let id = manifest.id();
        Self {
            dirs: HashMap::new(),
            extra: HashMap::new(),
            absent: Vec::new(),
            manifest,
            id,
            skipped: Vec::new(),
            specials: 0,
        }
    }

    /// Takes in what a walk found; returns true when the manifest may be another one.
    pub(crate) fn apply(&mut self, hauls: Vec<Haul>, unstable: &mut Vec<Vec<u8>>) -> bool {
        let visited: usize = hauls.iter().map(|h| h.visited.len()).sum();
        let mut changed = false;
        let mut there = HashSet::new();
        let mut cold = Vec::new();
        let mut gone = Vec::new();
        for haul in hauls {
            unstable.extend(haul.unstable);
            there.extend(haul.visited);
            cold.extend(haul.cold);
            for (path, index, now) in haul.warm {
                changed |= self.replace(&path, index, now, &mut gone);
            }
            changed |= !haul.listed.is_empty();
            self.dirs.extend(haul.listed);
        }
        for (path, slots) in cold {
            if let Some(dir) = self.dirs.get_mut(&path) {
                dir.files.extend(slots);
                dir.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            }
        }
        for (path, name) in gone {
            if let Some(dir) = self.dirs.get_mut(&path) {
                dir.settled = false;
                dir.files.retain(|slot| slot.name != name);
            }
        }
        if visited != self.dirs.len() {
            changed = true;
            self.dirs.retain(|path, _| there.contains(path));
        }
        changed
    }

    fn replace(&mut self, path: &[u8], index: usize, now: Option<Slot>, gone: &mut Vec<(Vec<u8>, CString)>) -> bool {
        let Some(slot) = self.dirs.get_mut(path).and_then(|dir| dir.files.get_mut(index)) else {
            return true;
        };
        match now {
            Some(now) => {
                let same = is_same(slot, &now);
                *slot = now;
                !same
            }
            None => {
                gone.push((path.to_vec(), slot.name.clone()));
                true
            }
        }
    }

    /// Works out again which pinned paths the walk does not come by.
    pub(crate) fn review_pins(&mut self, pins: &Pins, state: Option<&[u8]>) {
        let mut seen: Vec<Vec<u8>> = self
            .walked()
            .map(|(dir, slot)| join(dir, slot.name.to_bytes()))
            .collect();
        seen.sort_unstable();
        let seen: Vec<&[u8]> = seen.iter().map(Vec::as_slice).collect();
        self.absent = outside(pins.missing_from(&seen), state);
    }

    /// Looks at the pinned paths that the walk does not come by; returns true when one is not as it was.
    pub(crate) fn look_at_pins(
        &mut self,
        root: BorrowedFd<'_>,
        now: Now,
        unstable: &mut Vec<Vec<u8>>,
    ) -> Result<bool, TreeError> {
        let mut beneath = Beneath::new(root);
        let mut bytes = Vec::new();
        let mut extra = HashMap::with_capacity(self.extra.len());
        let mut changed = false;
        for path in &self.absent {
            let known = self.extra.get(path);
            let sig = beneath.sig(path).map_err(|e| TreeError::reading(path, e))?;
            let slot = match (known, sig) {
                (_, None) => None,
                (Some(slot), Some(sig)) if slot.settled && slot.sig == sig => Some(slot.clone()),
                _ => {
                    if bytes.is_empty() {
                        bytes = buffer();
                    }
                    look_beneath(&mut beneath, path, now, &mut bytes, unstable)?
                }
            };
            changed |= match (known, &slot) {
                (None, None) => false,
                (Some(was), Some(is)) => !is_same(was, is),
                _ => true,
            };
            extra.extend(slot.map(|slot| (path.clone(), slot)));
        }
        changed |= extra.len() != self.extra.len();
        self.extra = extra;
        Ok(changed)
    }

    /// Puts the manifest together; returns the previous one.
    pub(crate) fn rebuild(&mut self) -> Arc<Manifest> {
        let walked = self
            .walked()
            .map(|(dir, slot)| entry(join(dir, slot.name.to_bytes()), slot));
        let extra = self.extra.iter().map(|(path, slot)| entry(path.clone(), slot));
        let manifest = Manifest::new(walked.chain(extra).collect());
        self.id = manifest.id();
        let skipped = self.dirs.iter().filter_map(|(path, dir)| {
            Some(Skipped {
                path: path.clone(),
                why: dir.skip?,
            })
        });
        self.skipped = skipped.collect();
        self.skipped.sort_unstable();
        self.specials = self.dirs.values().map(|dir| dir.specials).sum();
        std::mem::replace(&mut self.manifest, Arc::new(manifest))
    }

    fn walked(&self) -> impl Iterator<Item = (&[u8], &Slot)> {
        self.dirs
            .iter()
            .flat_map(|(path, dir)| dir.files.iter().map(|slot| (path.as_slice(), slot)))
    }

    /// The signature that this path had at the last scan.
    pub(crate) fn sig(&self, path: &[u8]) -> Option<Sig> {
        if let Some(slot) = self.extra.get(path) {
            return Some(slot.sig);
        }
        let (dir, name) = split(path);
        let name = CString::new(name).ok()?;
        self.dirs.get(dir)?.slot(&name).map(|slot| slot.sig)
    }

    /// Every settled file, for the cache.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (Vec<u8>, &Sig, &[u8; 32])> {
        let walked = self.walked().map(|(dir, slot)| (join(dir, slot.name.to_bytes()), slot));
        let all = walked.chain(self.extra.iter().map(|(path, slot)| (path.clone(), slot)));
        all.filter(|(_, slot)| slot.settled)
            .map(|(path, slot)| (path, &slot.sig, &slot.digest))
    }

    /// Ignored files in directories that are walked, by path.
    pub(crate) fn ignored_files(&self) -> impl Iterator<Item = Vec<u8>> {
        self.ignored(|is_dir| !is_dir)
    }

    /// Ignored files and directories, by path.
    pub(crate) fn ignored(&self, wanted: impl Fn(bool) -> bool) -> impl Iterator<Item = Vec<u8>> {
        self.dirs.iter().flat_map(move |(path, dir)| {
            let names = dir.ignored.iter().filter(|(_, is_dir)| wanted(*is_dir));
            names.map(|(name, _)| join(path, name.to_bytes())).collect::<Vec<_>>()
        })
    }
}

fn is_same(was: &Slot, is: &Slot) -> bool {
    was.kind == is.kind && was.digest == is.digest && was.sig.size == is.sig.size && mode(was) == mode(is)
}

fn mode(slot: &Slot) -> u32 {
    match slot.kind {
        Kind::File => slot.sig.permissions(),
        Kind::Symlink => 0o777,
    }
}

/// A slot as a manifest tells it.
pub(crate) fn entry(path: Vec<u8>, slot: &Slot) -> Entry {
    Entry {
        path,
        kind: slot.kind,
        mode: mode(slot),
        size: slot.sig.size,
        digest: slot.digest,
    }
}

/// Hashes the file at a path without following a link; `None` when nothing a manifest holds is there.
pub(crate) fn look_beneath(
    beneath: &mut Beneath<'_>,
    path: &[u8],
    now: Now,
    bytes: &mut [u8],
    unstable: &mut Vec<Vec<u8>>,
) -> Result<Option<Slot>, TreeError> {
    let (dir, name) = split(path);
    let Ok(name) = CString::new(name) else { return Ok(None) };
    let reading = |errno| TreeError::reading(path, errno);
    let Some(fd) = beneath.dir(dir).map_err(reading)? else {
        return Ok(None);
    };
    let Look::Seen(seen) = look_at(fd, &name, bytes).map_err(reading)? else {
        return Ok(None);
    };
    if !seen.stable {
        unstable.push(path.to_vec());
    }
    let settled = seen.stable && seen.sig.settled(now);
    Ok(Some(Slot {
        name,
        kind: seen.kind,
        sig: seen.sig,
        digest: seen.digest,
        settled,
    }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::tree::{Options, Tree, cache};

    fn open(dir: &Path, load_cache: bool) -> Tree {
        Tree::open(
            &dir.join("work"),
            &dir.join("state"),
            Options {
                load_cache,
                ..Options::default()
            },
        )
        .unwrap()
    }

    /// A scanned tree of one file, whose digest is then made wrong.
    fn misled(dir: &Path, settled: bool) -> Tree {
        std::fs::create_dir(dir.join("work")).unwrap();
        std::fs::write(dir.join("work/file"), "content").unwrap();
        let mut tree = open(dir, true);
        tree.scan().unwrap();
        let root = tree.known.dirs.get_mut(&b""[..]).unwrap();
        root.settled = true;
        root.files[0].settled = settled;
        root.files[0].digest = [9; 32];
        tree
    }

    fn digest(tree: &mut Tree) -> [u8; 32] {
        // The manifest is only put together again when something moved.
        tree.stale = true;
        tree.scan().unwrap();
        tree.current().entry(b"file").unwrap().digest
    }

    #[test]
    fn a_settled_file_is_not_read_again_and_an_unsettled_one_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(digest(&mut misled(dir.path(), true)), [9; 32]);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            digest(&mut misled(dir.path(), false)),
            *blake3::hash(b"content").as_bytes()
        );
    }

    #[test]
    fn an_unsettled_directory_is_listed_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut tree = misled(dir.path(), true);
        let root = tree.known.dirs.get_mut(&b""[..]).unwrap();
        root.settled = false;
        root.files.clear();
        assert_eq!(digest(&mut tree), *blake3::hash(b"content").as_bytes());
    }

    #[test]
    fn the_saved_cache_holds_settled_files_only_and_is_believed_only_when_asked_to() {
        let dir = tempfile::tempdir().unwrap();
        let tree = misled(dir.path(), true);
        tree.save_cache().unwrap();
        assert_eq!(digest(&mut open(dir.path(), true)), [9; 32]);
        assert_eq!(
            digest(&mut open(dir.path(), false)),
            *blake3::hash(b"content").as_bytes()
        );
        let other = tempfile::tempdir().unwrap();
        misled(other.path(), false).save_cache().unwrap();
        assert_eq!(
            digest(&mut open(other.path(), true)),
            *blake3::hash(b"content").as_bytes()
        );
        let file = cache::Remembered::file(&other.path().canonicalize().unwrap().join("state"));
        assert_eq!(file.metadata().unwrap().len(), 16 + 32, "no entry");
    }
}
