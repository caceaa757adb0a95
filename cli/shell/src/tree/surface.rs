//! Files that matter although git ignores them, such as `.env`.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::FileType;

use super::beneath::{Beneath, open_dir_at};
use super::error::TreeError;
use super::listing::{SkipReason, Slot, list};
use super::manifest::Entry;
use super::path::{is_under, join, split};
use super::read::buffer;
use super::state::{entry, look_beneath};
use super::{Tree, TreeSeen};

impl Tree {
    /// Captures every file that `matcher` accepts (by path relative to the workdir), git-ignored or not,
    /// and stores it, so that [`Self::restore_files`] can put it back. What is absent is not listed.
    ///
    /// Asked are: all files of a scan; ignored files in directories that the scan enters; and, for each
    /// literal path in `under`, every file at or beneath it even when it lies in an ignored directory. An
    /// ignored directory that no path of `under` leads to is not entered, so `node_modules` and the like
    /// cost nothing; a cache directory inside one of `under` is entered only when the path names it. Never
    /// asked: `.git` and the state directory.
    pub fn capture_matching(
        &mut self,
        under: &[&[u8]],
        matcher: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Entry>, TreeError> {
        let before = self.known.manifest.clone();
        let unstable = self.look()?;
        self.seen(&before, unstable);
        self.matching(under, matcher)
    }

    /// One look for both: [`Self::snapshot`], and the files that [`Self::capture_matching`] would find.
    pub fn observe(
        &mut self,
        under: &[&[u8]],
        matcher: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(TreeSeen, Vec<Entry>), TreeError> {
        let seen = self.snapshot()?;
        let found = self.matching(under, matcher)?;
        Ok((seen, found))
    }

    /// Files that match, as of the last scan; ignored ones are looked at now.
    fn matching(&mut self, under: &[&[u8]], matcher: &dyn Fn(&[u8]) -> bool) -> Result<Vec<Entry>, TreeError> {
        let scanned = self.known.manifest.entries().iter().filter(|e| matcher(&e.path));
        let mut found: Vec<Entry> = scanned.cloned().collect();
        let mut hidden: Vec<Vec<u8>> = self.known.ignored_files().collect();
        for root in self.hidden_roots(under) {
            self.list_below(root, under, &mut hidden)?;
        }
        hidden.retain(|path| matcher(path) && self.known.manifest.entry(path).is_none());
        hidden.sort_unstable();
        hidden.dedup();
        found.extend(self.look_at_hidden(&hidden)?);
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let moving = self.keep(&found)?.moving;
        self.store.settle()?;
        if moving.is_empty() {
            Ok(found)
        } else {
            Err(TreeError::Changing { paths: moving })
        }
    }

    /// Where the scan does not go and a path of `under` does: the outermost such places.
    fn hidden_roots(&self, under: &[&[u8]]) -> Vec<Vec<u8>> {
        let ignored = self.known.ignored(|is_dir| is_dir).map(|dir| (dir, true));
        let skipped = self
            .known
            .skipped
            .iter()
            .map(|s| (s.path.clone(), s.why != SkipReason::CacheDirectory));
        let mut roots = Vec::new();
        for (dir, reached_from_above) in ignored.chain(skipped) {
            for wanted in under {
                if is_under(wanted, &dir) {
                    roots.push(wanted.to_vec());
                } else if reached_from_above && is_under(&dir, wanted) && !self.is_cache(split(&dir).1) {
                    roots.push(dir.clone());
                }
            }
        }
        roots.sort_unstable();
        roots.dedup_by(|later, kept| is_under(later, kept));
        roots
    }

    fn is_cache(&self, name: &[u8]) -> bool {
        self.options
            .cache_dirs
            .iter()
            .any(|cache| cache.markers.is_empty() && cache.name == name)
    }

    /// Adds every file and link at or beneath `root`, without following links.
    fn list_below(&self, root: Vec<u8>, under: &[&[u8]], files: &mut Vec<Vec<u8>>) -> Result<(), TreeError> {
        let mut beneath = Beneath::new(self.root());
        let mut names = vec![MaybeUninit::uninit(); 64 * 1024];
        let mut todo = vec![root];
        while let Some(path) = todo.pop() {
            let reading = |errno| TreeError::reading(&path, errno);
            if self.state_path.as_deref() == Some(&path) {
                continue;
            }
            let (dir, name) = split(&path);
            let Some(parent) = beneath.dir(dir).map_err(reading)? else {
                continue;
            };
            let Ok(fd) = open_dir_at(parent, name) else {
                files.push(path);
                continue;
            };
            for entry in list(fd.as_fd(), &mut names).map_err(reading)? {
                let (name, full) = (entry.name.to_bytes(), join(&path, entry.name.to_bytes()));
                match entry.file_type {
                    _ if name == b".git" => {}
                    FileType::Directory if self.is_cache(name) && !under.iter().any(|u| is_under(u, &full)) => {}
                    FileType::Directory => todo.push(full),
                    _ => files.push(full),
                }
            }
        }
        Ok(())
    }

    fn look_at_hidden(&mut self, paths: &[Vec<u8>]) -> Result<Vec<Entry>, TreeError> {
        if paths.is_empty() {
            self.captured.clear();
            return Ok(Vec::new());
        }
        let now = self.now();
        let mut beneath = Beneath::new(self.root.as_fd());
        let mut captured: HashMap<Vec<u8>, Slot> = HashMap::with_capacity(paths.len());
        let (mut bytes, mut unstable, mut found) = (buffer(), Vec::new(), Vec::new());
        for path in paths {
            let sig = beneath.sig(path).map_err(|e| TreeError::reading(path, e))?;
            let known = self
                .captured
                .get(path)
                .filter(|slot| slot.settled && Some(slot.sig) == sig);
            let slot = match known {
                Some(slot) => Some(slot.clone()),
                None => look_beneath(&mut beneath, path, now, &mut bytes, &mut unstable)?,
            };
            if let Some(slot) = slot {
                found.push(entry(path.clone(), &slot));
                captured.insert(path.clone(), slot);
            }
        }
        self.captured = captured;
        if unstable.is_empty() {
            Ok(found)
        } else {
            Err(TreeError::Changing { paths: unstable })
        }
    }
}
