//! What a scan looks at whatever the ignore rules say.
//!
//! Ignore files belong to the tree, so whoever edits the tree can edit them. A file that was once seen, or
//! that git tracks, is therefore looked for by name in every scan: adding a line to `.gitignore`, or a
//! `.git` directory beside it, does not hide it.

use std::collections::HashSet;
use std::sync::Arc;

use super::manifest::Manifest;
use super::path::{ancestors, is_under};

/// Paths that are always looked at, and paths that are never deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pins {
    /// What git tracked when the tree was opened, sorted.
    tracked: Vec<Vec<u8>>,
    /// The first scan, and trees the caller names.
    trees: Vec<Arc<Manifest>>,
    /// The tree being restored.
    target: Option<Arc<Manifest>>,
    /// Files and directories that were ignored when the tree was opened.
    ignored: HashSet<Vec<u8>>,
    /// Directories that were there when the tree was opened.
    dirs: HashSet<Vec<u8>>,
}

impl Pins {
    pub(crate) fn new(mut tracked: Vec<Vec<u8>>) -> Self {
        tracked.sort_unstable();
        tracked.dedup();
        Self {
            tracked,
            ..Self::default()
        }
    }

    pub(crate) fn pin(&mut self, tree: Arc<Manifest>) {
        self.trees.push(tree);
    }

    pub(crate) fn aim_at(&mut self, target: Option<Arc<Manifest>>) {
        self.target = target;
    }

    /// Remembers what the first scan found besides files.
    pub(crate) fn found_at_open(&mut self, ignored: HashSet<Vec<u8>>, dirs: HashSet<Vec<u8>>) {
        self.ignored = ignored;
        self.dirs = dirs;
    }

    fn sources(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.trees.iter().chain(&self.target)
    }

    /// True when a pinned path lies strictly beneath this directory.
    pub(crate) fn any_beneath(&self, dir: &[u8]) -> bool {
        let mut prefix = dir.to_vec();
        prefix.push(b'/');
        let at = self.tracked.partition_point(|p| p.as_slice() < prefix.as_slice());
        self.tracked.get(at).is_some_and(|p| p.starts_with(&prefix))
            || self.sources().any(|tree| tree.beneath(dir).next().is_some())
    }

    /// The pinned paths that are not among these sorted ones, sorted.
    pub(crate) fn missing_from(&self, seen: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut missing = Vec::new();
        absent(self.tracked.iter().map(Vec::as_slice), seen, &mut missing);
        for tree in self.sources() {
            absent(tree.entries().iter().map(|e| e.path.as_slice()), seen, &mut missing);
        }
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// True for what was ignored when the tree was opened and is not pinned: it may become visible when
    /// an ignore file changes, and is still the user's.
    pub(crate) fn is_shielded(&self, path: &[u8]) -> bool {
        let ignored = self.ignored.contains(path) || ancestors(path).any(|dir| self.ignored.contains(dir));
        ignored && !self.is_pinned(path)
    }

    fn is_pinned(&self, path: &[u8]) -> bool {
        self.tracked.binary_search_by(|p| p.as_slice().cmp(path)).is_ok()
            || self.sources().any(|tree| tree.entry(path).is_some())
    }

    /// True for a directory that was there when the tree was opened.
    pub(crate) fn was_dir(&self, dir: &[u8]) -> bool {
        self.dirs.contains(dir)
    }
}

/// Both sides sorted; adds what only the first has.
fn absent<'a>(paths: impl Iterator<Item = &'a [u8]>, seen: &[&[u8]], missing: &mut Vec<Vec<u8>>) {
    let mut at = 0;
    for path in paths {
        while seen.get(at).is_some_and(|s| *s < path) {
            at += 1;
        }
        if seen.get(at) != Some(&path) {
            missing.push(path.to_vec());
        }
    }
}

/// Removes what lies in the state directory.
pub(crate) fn outside(paths: Vec<Vec<u8>>, state: Option<&[u8]>) -> Vec<Vec<u8>> {
    match state {
        Some(state) => paths.into_iter().filter(|p| !is_under(p, state)).collect(),
        None => paths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::manifest::{Entry, Kind};

    fn tree(paths: &[&str]) -> Arc<Manifest> {
        let entry = |p: &&str| Entry {
            path: p.as_bytes().to_vec(),
            kind: Kind::File,
            mode: 0o644,
            size: 0,
            digest: [0; 32],
        };
        Arc::new(Manifest::new(paths.iter().map(entry).collect()))
    }

    #[test]
    fn every_pinned_path_that_was_not_seen_is_named_once() {
        let mut pins = Pins::new(vec![b"z".to_vec(), b"a".to_vec()]);
        pins.pin(tree(&["a", "m/x"]));
        assert_eq!(pins.missing_from(&[b"z"]), [b"a".to_vec(), b"m/x".to_vec()]);
        assert!(pins.any_beneath(b"m") && !pins.any_beneath(b"a"));
    }

    #[test]
    fn what_was_ignored_at_open_is_shielded_with_all_beneath_it_unless_tracked() {
        let mut pins = Pins::new(vec![b"build/kept".to_vec()]);
        pins.found_at_open(HashSet::from([b"build".to_vec(), b".env".to_vec()]), HashSet::new());
        assert!(pins.is_shielded(b".env") && pins.is_shielded(b"build/deep/x"));
        assert!(!pins.is_shielded(b"build/kept") && !pins.is_shielded(b"builds"));
    }
}
