//! What a zone holds in memory and on disk, summed from outside: no limit of one process bounds many.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// A disk counts in these, whatever the size of its blocks.
const BLOCK_BYTES: u64 = 512;

/// A walk over what a zone may write, a part at a time: it may be much, and somebody waits for whoever walks.
///
/// What is held by a file that is deleted and open, or lies in a directory that its owner may not read, is not seen.
#[derive(Debug, Default)]
pub(super) struct Kept {
    roots: Vec<PathBuf>,
    open: Vec<PathBuf>,
    /// Files with several names, which count once.
    seen: BTreeSet<(u64, u64)>,
    bytes: u64,
}

impl Kept {
    pub(super) fn below(roots: Vec<PathBuf>) -> Self {
        Self {
            roots,
            ..Self::default()
        }
    }

    /// Walks on until somebody says that it is time; whether more is there than this, as far as this walk has come.
    pub(super) fn exceeds(&mut self, most_bytes: u64, is_time: impl Fn() -> bool) -> bool {
        if self.open.is_empty() {
            self.begin();
        }
        while let Some(dir) = self.open.pop() {
            self.count(&dir);
            if self.bytes > most_bytes {
                return true;
            }
            if is_time() {
                return false;
            }
        }
        false
    }

    /// The same, to the end of a new walk.
    pub(super) fn exceeds_in_all(&mut self, most_bytes: u64) -> bool {
        self.begin();
        while let Some(dir) = self.open.pop() {
            self.count(&dir);
        }
        self.bytes > most_bytes
    }

    fn begin(&mut self) {
        self.open.clone_from(&self.roots);
        self.seen.clear();
        self.bytes = 0;
    }

    /// What is gone by now is not there.
    fn count(&mut self, dir: &PathBuf) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                self.open.push(entry.path());
            }
            if about.nlink() < 2 || about.is_dir() || self.seen.insert((about.dev(), about.ino())) {
                self.bytes = self.bytes.saturating_add(about.blocks().saturating_mul(BLOCK_BYTES));
            }
        }
    }
}

/// Resident bytes of every process below `root`, itself not counted. Pages that several share count for each: the sum
/// is too high sooner than too low.
pub(super) fn resident_bytes(root: u32) -> u64 {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let mut open = children(root);
    let mut pages = 0;
    while let Some(process) = open.pop() {
        pages += resident_pages(process);
        open.extend(children(process));
    }
    pages * page
}

/// Every thread has children of its own.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

fn resident_pages(process: u32) -> u64 {
    let sizes = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    sizes
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_lies_below_is_counted_once_and_what_a_link_leads_to_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("much"), vec![1; 1 << 20]).unwrap();
        symlink(outside.join("much"), inside.join("link")).unwrap();
        symlink(&outside, inside.join("way")).unwrap();
        fs::write(inside.join("deep/some"), vec![1; 256 << 10]).unwrap();
        fs::hard_link(inside.join("deep/some"), inside.join("again")).unwrap();
        let mut kept = Kept::below(vec![inside, dir.path().join("absent")]);
        assert!(!kept.exceeds_in_all(400 << 10), "{kept:?}");
        assert!(kept.exceeds_in_all(200 << 10), "{kept:?}");
        // A part at a time, it comes to the same.
        let patience = (0..100).any(|_| kept.exceeds(200 << 10, || true));
        assert!(patience && !(0..100).any(|_| kept.exceeds(400 << 10, || true)));
    }

    #[test]
    fn children_and_their_children_are_counted_and_the_root_is_not() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & read line; kill $!"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        while children(shell.id()).is_empty() {
            std::thread::yield_now();
        }
        assert!(resident_bytes(shell.id()) > 0);
        assert!(resident_bytes(std::process::id()) > resident_bytes(shell.id()));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
