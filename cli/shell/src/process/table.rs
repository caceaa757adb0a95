//! The process table, as `/proc` shows it, and signals that cannot reach the wrong process.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A command line longer than this is cut.
const COMMAND_MAX_CHARS: usize = 200;

/// A process for good: its number may come again, its number and start time do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) pid: i32,
    pub(super) start_ticks: u64,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) id: Identity,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// The letter of `ps`.
    pub(super) state: u8,
}

impl Process {
    /// False for a process that has ended and only waits to be waited for.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// True when it was stopped by a signal or a debugger.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// The process of this number, if there is one and it may be seen.
pub(super) fn find(pid: i32) -> Option<Process> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process that may be seen.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(find)
        .collect()
}

fn parse(stat: &[u8]) -> Option<Process> {
    // The second field is a name in parentheses that may itself hold parentheses and spaces.
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.split(|byte| *byte == b' ').next()?)
        .ok()?
        .parse()
        .ok()?;
    let rest = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(15)?.parse().ok()?;
    Some(Process {
        id: Identity { pid, start_ticks },
        parent,
        group,
        session,
        state,
    })
}

/// Those of `table` that are in `roots` or descend from one of them.
pub(super) fn trees(table: &[Process], roots: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut found: Vec<Process> = table.iter().filter(|process| roots(process)).copied().collect();
    let mut known: BTreeSet<i32> = found.iter().map(|process| process.id.pid).collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.id.pid) {
        for child in table.iter().filter(|process| process.parent == parent) {
            if known.insert(child.id.pid) {
                found.push(*child);
            }
        }
        next += 1;
    }
    found
}

/// The command line of a process, or its short name in brackets, as one line of text.
pub(super) fn command_line(pid: i32) -> Vec<u8> {
    let mut line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    while line.last() == Some(&0) {
        line.pop();
    }
    if line.is_empty() {
        let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        return [b"[", name.trim_ascii_end(), b"]"].concat();
    }
    for byte in &mut line {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    line
}

/// A command line as it is shown: text without control characters, of bounded length.
pub(super) fn shown(command_line: &[u8]) -> String {
    let text = String::from_utf8_lossy(command_line);
    text.chars()
        .take(COMMAND_MAX_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A descriptor of exactly this process; `None` when it is gone.
pub(super) fn open(id: Identity) -> Option<OwnedFd> {
    let descriptor = pidfd_open(Pid::from_raw(id.pid)?, PidfdFlags::empty()).ok()?;
    // Looked at after it was opened: if the number still belongs to the same process now, the descriptor does too.
    (find(id.pid)?.id == id).then_some(descriptor)
}

/// Sends a signal to exactly this process. `Err` when it is there but may not be signalled.
pub(super) fn signal(id: Identity, signal: Signal) -> Result<(), Errno> {
    match open(id).map(|descriptor| pidfd_send_signal(&descriptor, signal)) {
        None | Some(Ok(()) | Err(Errno::SRCH)) => Ok(()),
        Some(Err(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"42 (a) R (b c) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 1 2 3\n";
        let process = parse(line).unwrap();
        assert_eq!(
            process.id,
            Identity {
                pid: 42,
                start_ticks: 12345
            }
        );
        assert_eq!((process.parent, process.group, process.session), (7, 8, 9));
        assert!(process.is_alive() && !process.is_stopped());
    }

    #[test]
    fn this_process_is_found_and_is_itself() {
        let own = find(std::process::id() as i32).unwrap();
        assert!(open(own.id).is_some());
        let other = Identity {
            start_ticks: own.id.start_ticks + 1,
            ..own.id
        };
        assert!(
            open(other).is_none(),
            "the same number at another time is another process"
        );
    }

    #[test]
    fn a_tree_holds_the_grandchildren_and_no_one_else() {
        let row = |pid, parent| Process {
            id: Identity { pid, start_ticks: 1 },
            parent,
            group: 0,
            session: 0,
            state: b'S',
        };
        let table = [row(5, 4), row(2, 1), row(3, 2), row(4, 3), row(9, 1)];
        let mut pids: Vec<i32> = trees(&table, |process| process.parent == 2)
            .iter()
            .map(|p| p.id.pid)
            .collect();
        pids.sort_unstable();
        assert_eq!(pids, [3, 4, 5]);
    }
}
