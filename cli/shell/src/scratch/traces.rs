//! What a command wrote below a directory: its entries before and after, by what the file system says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::copy::is_cache;

/// More entries than this are not looked at.
const ENTRIES_MAX: usize = 1_000_000;

/// Everything below a directory at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    entries: BTreeMap<PathBuf, Mark>,
    /// Directories that hold only what can be computed again.
    caches: BTreeSet<PathBuf>,
}

/// Any write changes it: nobody but the kernel sets a change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    mode: u32,
    size: u64,
    changed: (i64, i64),
}

impl Traces {
    /// Looks at what is there. What cannot be looked at is not there.
    pub fn of(dir: &Path) -> Self {
        let mut found = Self::default();
        let mut open = vec![PathBuf::new()];
        while let Some(below) = open.pop() {
            for entry in fs::read_dir(dir.join(&below)).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                let path = below.join(entry.file_name());
                if metadata.is_dir() {
                    open.push(path.clone());
                    if is_cache(&entry.file_name(), &entry.path()) {
                        found.caches.insert(path.clone());
                    }
                }
                if found.entries.len() < ENTRIES_MAX {
                    found.entries.insert(path, Mark::of(&metadata));
                }
            }
        }
        found
    }

    /// Paths that are new, gone or written to, in order. A directory counts when it is new or gone: that something in
    /// it changed is told by what did. Of a cache there is only its name, behind all others.
    pub fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let differs = |path: &&PathBuf| self.entries.get(*path) != before.entries.get(*path);
        let all = self.entries.keys().chain(before.entries.keys());
        let mut changed: Vec<&PathBuf> = all.filter(differs).collect();
        changed.sort_unstable();
        changed.dedup();
        // Of a new directory with something in it, the something.
        let is_parent = |at: usize| changed.get(at + 1).is_some_and(|next| next.starts_with(changed[at]));
        let kept = (0..changed.len()).filter(|at| !is_parent(*at)).map(|at| changed[at]);
        let (mut named, mut caches) = (Vec::new(), BTreeSet::new());
        for path in kept {
            let mut around = path.ancestors();
            match around.find(|dir| self.caches.contains(*dir) || before.caches.contains(*dir)) {
                Some(cache) => drop(caches.insert(cache.to_path_buf())),
                None => named.push(path.clone()),
            }
        }
        named.extend(caches);
        named
    }
}

impl Mark {
    fn of(metadata: &fs::Metadata) -> Self {
        let is_dir = metadata.is_dir();
        Self {
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: if is_dir { 0 } else { metadata.size() },
            changed: if is_dir {
                (0, 0)
            } else {
                (metadata.ctime(), metadata.ctime_nsec())
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_made_or_removed_is_named_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        for name in ["kept", "sub/written", "sub/gone"] {
            fs::write(at(name), "x").unwrap();
        }
        let before = Traces::of(dir.path());
        assert!(Traces::of(dir.path()).changed_since(&before).is_empty());
        fs::write(at("sub/written"), "longer").unwrap();
        fs::remove_file(at("sub/gone")).unwrap();
        fs::create_dir_all(at("__pycache__/x")).unwrap();
        fs::write(at("__pycache__/x/a"), "x").unwrap();
        fs::write(at("__pycache__/b"), "x").unwrap();
        fs::create_dir_all(at("new/deep")).unwrap();
        fs::write(at("new/deep/file"), "x").unwrap();
        let changed = Traces::of(dir.path()).changed_since(&before);
        assert_eq!(
            changed,
            ["new/deep/file", "sub/gone", "sub/written", "__pycache__"].map(PathBuf::from)
        );
    }
}
