//! Orphans of a dead supervisor, on the governor's side.
//!
//! They become the governor's children, because it is a subreaper. They are told from children it started itself by
//! their session: the supervisor had one of its own, a process can only ever move to a newer one, so none of its
//! descendants is in the governor's.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use super::outcome::Survivor;
use super::survivors::{Household, Sweep};
use super::table::{self, Process};

/// Supervisors of this process that have not been waited for: children of another session that are no orphans.
static SUPERVISORS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How long to wait for orphans to be gone.
const LIMIT: Duration = Duration::from_secs(5);

/// Starts a supervisor, after making sure that its orphans will come to this process.
pub(super) fn start_registered(command: &mut Command) -> io::Result<Child> {
    set_child_subreaper(Some(getpid()))?;
    // Held until the number is in: nobody looks for orphans in between.
    let mut supervisors = SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    supervisors.insert(Pid::from_child(&child).as_raw_pid());
    Ok(child)
}

/// Waits for a supervisor that is ending. Its orphans are this process's children when this returns.
pub(super) fn wait_registered(child: &mut Child) -> Option<String> {
    let ended = child.wait().ok().map(|status| status.to_string());
    SUPERVISORS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&Pid::from_child(child).as_raw_pid());
    ended
}

/// Ends every orphan.
pub(super) fn end_orphans(redact: &[Vec<u8>]) -> Vec<Survivor> {
    // From the table, as the others' are: in a container the session may belong to a process outside, and then it is
    // shown as 0.
    let Some(own) = table::find(getpid().as_raw_pid()) else {
        return Vec::new();
    };
    let mut orphans = Orphans {
        own: own.id.pid,
        session: own.session,
    };
    let nobody = BTreeSet::new();
    Sweep {
        redact,
        limit: LIMIT,
        struck: &nobody,
        stuck: &mut BTreeSet::new(),
    }
    .end_all(&mut orphans)
}

struct Orphans {
    own: i32,
    session: i32,
}

impl Orphans {
    fn is_root(&self, process: &Process) -> bool {
        process.parent == self.own
            && process.session != self.session
            && !SUPERVISORS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&process.id.pid)
    }
}

impl Household for Orphans {
    fn reap(&mut self) -> bool {
        let mut left = false;
        for orphan in table::all().iter().filter(|process| self.is_root(process)) {
            // One by one: waiting for any child would take the exit status of a command someone else waits for.
            let ended = Pid::from_raw(orphan.id.pid)
                .map(|pid| waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG));
            left |= matches!(ended, Some(Ok(None)));
        }
        !left
    }

    fn living(&self) -> Vec<Process> {
        let mut found = table::trees(&table::all(), |process| self.is_root(process));
        found.retain(Process::is_alive);
        found
    }

    fn pause(&mut self, at_most: Duration) {
        thread::sleep(at_most);
    }
}
