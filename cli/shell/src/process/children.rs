//! The children of the supervisor: the command's main process, and every orphan of its tree.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;
use signal_hook::consts::SIGCHLD;

use super::outcome::Outcome;
use super::survivors::Household;
use super::syscall::{Reap, reap_one};
use super::table::{self, Process};

/// Becomes readable when a child has ended.
pub(super) struct Bell(UnixStream);

impl Bell {
    pub(super) fn install() -> io::Result<Self> {
        let (heard, rung) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, rung)?;
        Ok(Self(heard))
    }

    pub(super) fn silence(&self) {
        let mut rings = [0; 64];
        while matches!((&self.0).read(&mut rings), Ok(read) if read == rings.len()) {}
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What waiting has told so far about the children of one command.
pub(super) struct Children<'a> {
    bell: &'a Bell,
    main: Pid,
    /// When and how the main process ended.
    pub(super) main_end: Option<(Instant, Outcome)>,
    pub(super) cpu_us: u64,
    pub(super) max_rss_kb: u64,
}

impl<'a> Children<'a> {
    pub(super) fn new(bell: &'a Bell, main: Pid) -> Self {
        Self {
            bell,
            main,
            main_end: None,
            cpu_us: 0,
            max_rss_kb: 0,
        }
    }

    /// The main process as long as its number, and that of its group, cannot have passed to another.
    pub(super) fn unreaped_main(&self) -> Option<Pid> {
        self.main_end.is_none().then_some(self.main)
    }
}

impl Household for Children<'_> {
    fn reap(&mut self) -> bool {
        loop {
            match reap_one() {
                Reap::NoChildren => return true,
                Reap::AllAlive => return false,
                Reap::One(child) => {
                    self.cpu_us += child.cpu_us;
                    self.max_rss_kb = self.max_rss_kb.max(child.max_rss_kb);
                    if self.unreaped_main() == Some(child.pid) {
                        let outcome = child.end.map_or_else(Outcome::Signaled, Outcome::Exited);
                        self.main_end = Some((Instant::now(), outcome));
                    }
                }
            }
        }
    }

    fn living(&self) -> Vec<Process> {
        let own = rustix::process::getpid().as_raw_pid();
        let mut found = table::trees(&table::all(), |process| process.parent == own);
        found.retain(Process::is_alive);
        found
    }

    fn pause(&mut self, at_most: Duration) {
        let timeout = at_most.try_into().ok();
        // Interrupted or timed out: the caller looks again either way.
        let _ready = poll(&mut [PollFd::new(self.bell, PollFlags::IN)], timeout.as_ref());
        self.bell.silence();
    }
}
