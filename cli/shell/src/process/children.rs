//! The children of the supervisor: the command's main process, and every orphan of its tree.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Pid;

use super::outcome::Outcome;
use super::survivors::Household;
use super::syscall::{Reap, reap_one};
use super::table::{self, Process};

/// Becomes readable when a child has ended.
pub(super) struct Bell(SignalFd);

impl Bell {
    pub(super) fn install() -> io::Result<Self> {
        // Blocked, it never runs. Without one the signal could be ignored, as whoever started the governor may have
        // arranged, and then no child could be waited for.
        signal_hook::flag::register(Signal::SIGCHLD as i32, Arc::new(AtomicBool::new(false)))?;
        let mut ended = SigSet::empty();
        ended.add(Signal::SIGCHLD);
        ended.thread_block()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        Ok(Self(SignalFd::with_flags(&ended, flags)?))
    }

    pub(super) fn silence(&self) {
        // However many children ended, the signal is pending once.
        let _silent = self.0.read_signal();
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
    /// Nobody is left, so nobody can come: every orphan would be a child.
    pub(super) none_left: bool,
    pub(super) cpu_us: u64,
    pub(super) max_rss_kb: u64,
}

impl<'a> Children<'a> {
    pub(super) fn new(bell: &'a Bell, main: Pid) -> Self {
        Self {
            bell,
            main,
            main_end: None,
            none_left: false,
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
        while !self.none_left {
            match reap_one() {
                Reap::NoChildren => self.none_left = true,
                Reap::AllAlive => break,
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
        self.none_left
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
