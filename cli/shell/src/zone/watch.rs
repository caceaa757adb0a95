//! What a zone holds in memory, summed from outside: no limit of one process bounds many.

use std::fs;

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
