//! A process that outlives this one on purpose: the same binary once more, which learns how this one lets go of it.
//!
//! ```text
//!   this process ── pipe ──> aside      a byte, then the end: there is nothing left to do
//!                                       the end alone: this process is gone, or gave up
//! ```
//!
//! The writing end is this process's alone and closes with it, however it ends. The other side has a session of its
//! own, and no signal that asks a run to stop ends it.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crossbeam_channel::Receiver;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, setsid};

use super::lost::{start_registered, wait_registered};
use super::signals::{Signal, Signals};

/// How long it may take to be ready.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take to end once there is nothing left to do.
const END_LIMIT: Duration = Duration::from_secs(5);

/// This side. Dropping it is to let go without a word.
#[derive(Debug)]
pub(crate) struct Aside {
    child: Child,
    line: PipeWriter,
}

impl Aside {
    /// Starts `exe` with these words and this environment, and waits until it stands by.
    ///
    /// # Errors
    /// What the system said, or that it does not answer. Then it is not there.
    pub(crate) fn start(exe: &Path, words: &[OsString], env: &[(OsString, OsString)]) -> io::Result<Self> {
        let (theirs, line) = io::pipe()?;
        let (mut heard, says) = io::pipe()?;
        let mut command = Command::new(exe);
        command
            .args(words)
            .env_clear()
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(theirs)
            .stdout(says)
            .stderr(Stdio::null());
        let child = start_registered(&mut command)?;
        // Ours of the copies of their ends: as long as those are open, their death would go unnoticed.
        drop(command);
        let mut aside = Self { child, line };
        let mut ready = [0];
        if is_readable(&heard, START_LIMIT) && heard.read(&mut ready)? == 1 {
            return Ok(aside);
        }
        let _ended_already = aside.child.kill();
        wait_registered(&mut aside.child);
        Err(io::Error::other("it ended, or did not answer"))
    }

    /// There is nothing left for it to do.
    pub(crate) fn release(mut self) {
        let _ended_already = self.line.write_all(b".");
        drop(self.line);
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        // One that was stopped by somebody is not waited for: it ends when it goes on.
        if ended.is_ok_and(|ended| is_readable(&ended, END_LIMIT)) {
            wait_registered(&mut self.child);
        }
    }
}

/// The other side, standing by.
#[derive(Debug)]
pub(crate) struct StandingBy {
    /// Whoever takes signals is not ended by them.
    _signals: Receiver<Signal>,
}

impl StandingBy {
    /// From here on the end of the session it came from is not its own, and whoever started it goes on.
    ///
    /// # Errors
    /// When signals cannot be taken, or nobody is there to be told.
    pub(crate) fn begin() -> io::Result<Self> {
        // Refused to the leader of a group, which nothing but a terminal's own shell is.
        let _leads_already = setsid();
        let signals = Signals::install()?;
        let mut out = io::stdout();
        out.write_all(b"+")?;
        out.flush()?;
        rustix::stdio::dup2_stdout(std::fs::File::open("/dev/null")?)?;
        Ok(Self { _signals: signals })
    }

    /// Waits until the other side lets go. True where there is nothing left to do.
    pub(crate) fn was_released(&self) -> bool {
        let mut word = [0];
        io::stdin().read_exact(&mut word).is_ok()
    }
}

fn is_readable(source: &impl AsFd, limit: Duration) -> bool {
    loop {
        let mut sources = [PollFd::new(source, PollFlags::IN)];
        match poll(&mut sources, limit.try_into().ok().as_ref()) {
            Ok(ready) => return ready > 0,
            Err(error) if error == rustix::io::Errno::INTR => {}
            Err(_) => return false,
        }
    }
}
