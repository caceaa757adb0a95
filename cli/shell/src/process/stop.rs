//! Ending a running command: first asked, then made to.

use std::collections::BTreeSet;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};

use super::outcome::StopCause;
use super::table::{self, Identity, Process};

/// A stop under way.
pub(super) struct Stop {
    pub(super) cause: StopCause,
    /// When asking ends.
    pub(super) kill_at: Instant,
    /// When SIGKILL was sent.
    pub(super) struck_at: Option<Instant>,
}

/// Asks the group of the main process and every other process of the tree to end. Members of the group are not asked
/// twice: many programs take a second SIGTERM for impatience. Stopped processes are woken so that they can obey.
pub(super) fn ask(main: Option<Pid>, tree: &[Process]) {
    for signal in [Signal::TERM, Signal::CONT] {
        send(main, tree, signal);
    }
}

/// Kills the same processes, and says which they were.
pub(super) fn strike(main: Option<Pid>, tree: &[Process]) -> BTreeSet<Identity> {
    send(main, tree, Signal::KILL);
    tree.iter().map(|process| process.id).collect()
}

/// `main` has not been waited for, so its number and that of its group are still its own.
fn send(main: Option<Pid>, tree: &[Process], signal: Signal) {
    // Failures mean gone, or another user's: the sweep at the end finds and reports those.
    if let Some(main) = main {
        let _gone = kill_process_group(main, signal);
    }
    let group = main.map(Pid::as_raw_pid);
    for process in tree.iter().filter(|process| Some(process.group) != group) {
        let _refused = table::signal(process.id, signal);
    }
}
