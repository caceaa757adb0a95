//! What a zone holds in memory, summed from outside: no limit of one process bounds many.
//!
//! ```text
//!   resident pages of every process          what is in somebody's address space
//!   files in memory that somebody has open   what need not be (`memfd_create`)       } counted beyond what of the
//!   segments of System V                     neither; only the inside sees them      } first is shared
//! ```
//!
//! A look for want of a cgroup, which counts all of it: what is under way in a socket, or mapped, untouched and closed,
//! is not seen here.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::watch::BLOCK_BYTES;

/// How the kernel calls a file that was made in memory.
const IN_MEMORY: &[u8] = b"/memfd:";

/// Where the inside finds what its segments hold.
pub(super) const SEGMENTS_AT: &str = "/proc/sysvipc/shm";

/// A walk over the descriptors of a zone, a part at a time.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Of the segments, as the inside told it last.
    pub(super) segments_bytes: u64,
    open: Vec<u32>,
    seen: BTreeSet<(u64, u64)>,
    /// Of this walk so far, and of the last one that came to its end.
    bytes: u64,
    files_bytes: u64,
}

impl Held {
    /// Whether the processes below `root` hold more; that one is not counted. Looks at descriptors until it is time.
    pub(super) fn exceeds(&mut self, most_bytes: u64, root: u32, is_time: impl Fn() -> bool) -> bool {
        let processes = below(root);
        self.look(&processes, is_time);
        let unmapped = self.bytes.max(self.files_bytes).saturating_add(self.segments_bytes);
        let resident: u64 = processes.iter().map(|process| resident_bytes(*process)).sum();
        if unmapped == 0 || resident > most_bytes {
            return resident > most_bytes;
        }
        // What of it is mapped is resident already.
        let shared: u64 = processes.iter().map(|process| shared_bytes(*process)).sum();
        resident.saturating_add(unmapped.saturating_sub(shared)) > most_bytes
    }

    fn look(&mut self, processes: &[u32], is_time: impl Fn() -> bool) {
        if self.open.is_empty() {
            self.open = processes.to_vec();
            self.seen.clear();
            self.bytes = 0;
        }
        while let Some(process) = self.open.pop() {
            self.count(process);
            if is_time() {
                return;
            }
        }
        self.files_bytes = self.bytes;
    }

    /// Who is gone by now holds nothing.
    fn count(&mut self, process: u32) {
        let descriptors = fs::read_dir(format!("/proc/{process}/fd"));
        for entry in descriptors.into_iter().flatten().flatten() {
            let path = entry.path();
            if is_in_memory(&path)
                && let Ok(about) = fs::metadata(&path)
                && self.seen.insert((about.dev(), about.ino()))
            {
                self.bytes = self.bytes.saturating_add(about.blocks().saturating_mul(BLOCK_BYTES));
            }
        }
    }
}

fn is_in_memory(descriptor: &Path) -> bool {
    fs::read_link(descriptor).is_ok_and(|leads| leads.as_os_str().as_bytes().starts_with(IN_MEMORY))
}

/// What the segments of a table hold.
pub(super) fn segments_bytes(table: &str) -> u64 {
    let mut lines = table.lines().map(str::split_whitespace);
    let columns: Vec<&str> = lines.next().into_iter().flatten().collect();
    let of = |words: &[&str], column: &str| -> u64 {
        let at = columns.iter().position(|known| *known == column);
        at.and_then(|at| words.get(at)?.parse().ok()).unwrap_or(0)
    };
    lines
        .map(|words| {
            let words: Vec<&str> = words.collect();
            of(&words, "rss").saturating_add(of(&words, "swap"))
        })
        .fold(0, u64::saturating_add)
}

/// Every process below one, that one left out.
fn below(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = children(root);
    while let Some(process) = open.pop() {
        open.extend(children(process));
        found.push(process);
    }
    found
}

/// Every thread has children of its own.
pub(super) fn children(process: u32) -> Vec<u32> {
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

/// Pages that several share count for each: the sum is too high sooner than too low.
fn resident_bytes(process: u32) -> u64 {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let sizes = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: Option<u64> = sizes.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0).saturating_mul(page)
}

fn shared_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn children_and_their_children_are_counted_and_the_root_is_not() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & read line; kill $!"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        while below(shell.id()).is_empty() {
            std::thread::yield_now();
        }
        let held = |root| below(root).into_iter().map(resident_bytes).sum::<u64>();
        assert!(held(shell.id()) > 0);
        assert!(held(std::process::id()) > held(shell.id()));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn a_file_in_memory_counts_once_whoever_has_it_open_and_a_part_at_a_time() {
        let mut file = fs::File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(&vec![1; 1 << 20]).unwrap();
        let again = file.try_clone().unwrap();
        let own = std::process::id();
        let mut held = Held::default();
        held.look(&[own, own], || true);
        held.look(&[own, own], || true);
        held.look(&[own, own], || false);
        // Whatever other tests of this process hold besides.
        assert!(held.files_bytes >= 1 << 20, "{held:?}");
        let with = held.files_bytes;
        drop((file, again));
        let mut held = Held::default();
        held.look(&[own, own], || false);
        assert!(with < held.files_bytes + (2 << 20), "{with} {held:?}");
    }

    #[test]
    fn segments_are_summed_by_the_names_of_the_columns() {
        let table = "key shmid perms size rss swap\n 0 1 1600 99999999 4096 8192\n 0 2 1600 1 100 0\n";
        assert_eq!(segments_bytes(table), 4096 + 8192 + 100);
        assert_eq!(segments_bytes(""), 0);
        assert_eq!(segments_bytes("key size\n 1 2\n"), 0);
    }
}
