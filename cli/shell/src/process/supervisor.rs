//! The governor's side: a handle on the one supervisor of a run.

use std::borrow::Cow;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, never, select, unbounded};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::command::{Cancel, CommandSpec};
use super::error::{ProcessError, SupervisorLost};
use super::outcome::CommandRun;
use super::protocol::{Reply, Request, receive, send};
use super::table::{self, Identity};
use super::{SUPERVISE, hex, lost};

/// How long a new supervisor may take to answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long a supervisor may take to end once it was told to.
const END_LIMIT: Duration = Duration::from_secs(20);
/// How often to make sure that no one has stopped the supervisor while a command runs, and to ask for a wish.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// What a supervisor needs beside the binary.
#[derive(Clone, Debug, Default)]
pub struct SupervisorOptions {
    /// Where it leaves `supervisor.json`, by which a later run finds what it could not end. Nowhere when `None`.
    pub runtime_dir: Option<PathBuf>,
}

/// A running supervisor. Dropping it ends it, and with it every command.
#[derive(Debug)]
pub struct Supervisor {
    exe: PathBuf,
    options: SupervisorOptions,
    runs: u64,
    /// `None` after a loss, until [`Supervisor::restart`].
    link: Option<Link>,
}

impl Supervisor {
    /// Starts `exe __supervise` and waits until it is ready. Makes the calling process a subreaper.
    ///
    /// # Errors
    /// [`ProcessError::Start`] when it does not start or does not answer.
    pub fn start(exe: &Path, options: SupervisorOptions) -> Result<Self, ProcessError> {
        let link = Link::open(exe, &options)?;
        Ok(Self {
            exe: exe.to_owned(),
            options,
            runs: 0,
            link: Some(link),
        })
    }

    /// Process number of the supervisor, while there is one.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.link.as_ref().map(|link| link.child.id())
    }

    /// Runs one command to its end. On return its whole tree is gone, or the account names what is not.
    ///
    /// A message on `cancel` ends the command early; one that is waiting already ends it at once. When the senders
    /// are gone the command can no longer be cancelled and simply runs.
    ///
    /// # Errors
    /// [`ProcessError::Lost`] when the supervisor died: the tree of the command has been ended, its output is lost,
    /// and [`Supervisor::restart`] makes a new one. [`ProcessError::NotRunning`] when that has not been done.
    pub fn run(&mut self, spec: &CommandSpec, cancel: &Receiver<Cancel>) -> Result<CommandRun, ProcessError> {
        self.run_while(spec, cancel, || None)
    }

    /// As [`Supervisor::run`], and asks `wish` twice a second whether the command should end: for what can only be
    /// found out by looking. A command that ends sooner costs no look.
    ///
    /// # Errors
    /// As [`Supervisor::run`].
    pub fn run_while(
        &mut self,
        spec: &CommandSpec,
        cancel: &Receiver<Cancel>,
        wish: impl FnMut() -> Option<Cancel>,
    ) -> Result<CommandRun, ProcessError> {
        let link = self.link.as_mut().ok_or(ProcessError::NotRunning)?;
        self.runs += 1;
        match link.run(self.runs, spec, cancel, wish) {
            Some(run) => Ok(run),
            None => Err(self.lose(spec)),
        }
    }

    /// Starts a new supervisor after a loss. Without one, ends the present supervisor first.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub fn restart(&mut self) -> Result<(), ProcessError> {
        self.link = None;
        self.link = Some(Link::open(&self.exe, &self.options)?);
        Ok(())
    }

    /// Ends the supervisor and waits until it is gone. Dropping does the same.
    pub fn shutdown(self) {}

    fn lose(&mut self, spec: &CommandSpec) -> ProcessError {
        let how = self.link.take().and_then(Link::end_now);
        let survivors = lost::end_orphans(&spec.redact);
        ProcessError::Lost(SupervisorLost {
            label: spec.label.clone(),
            how,
            survivors,
        })
    }
}

#[derive(Debug)]
struct Link {
    child: Child,
    id: Identity,
    control: UnixStream,
    replies: Receiver<Reply>,
    /// Waited for: from here on its number may be someone else's.
    ended: bool,
}

impl Link {
    fn open(exe: &Path, options: &SupervisorOptions) -> Result<Self, ProcessError> {
        let failed = |message: String| ProcessError::Start {
            exe: exe.to_owned(),
            message,
        };
        let (control, theirs) = UnixStream::pair().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(exe);
        command
            .arg(SUPERVISE)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = lost::start_registered(&mut command).map_err(|error| failed(error.to_string()))?;
        // Ours of the two copies of their end: as long as it is open, their death would go unnoticed.
        drop(command);

        let pid = Pid::from_child(&child).as_raw_pid();
        let replies = replies_of(&control).map_err(|error| failed(error.to_string()));
        let mut link = Self {
            child,
            id: Identity { pid, start_ticks: 0 },
            control,
            replies: never(),
            ended: false,
        };
        link.replies = replies?;
        link.greet(options).map_err(failed)?;
        Ok(link)
    }

    fn greet(&mut self, options: &SupervisorOptions) -> Result<(), String> {
        let runtime_dir = options.runtime_dir.as_deref().map(absolute);
        let hello = Request::Hello {
            nonce: nonce()?,
            runtime_dir,
        };
        send(&self.control, &hello).map_err(|error| error.to_string())?;
        match self.replies.recv_timeout(START_LIMIT) {
            Ok(Reply::Ready { start_ticks }) => {
                self.id.start_ticks = start_ticks;
                Ok(())
            }
            Ok(Reply::Failed { message }) => Err(message),
            Ok(Reply::Ended { .. }) => Err("it answered out of turn".to_owned()),
            Err(RecvTimeoutError::Timeout) => Err("it does not answer".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err("it ended before it answered".to_owned()),
        }
    }

    /// `None` when the supervisor is lost.
    fn run(
        &mut self,
        number: u64,
        spec: &CommandSpec,
        cancel: &Receiver<Cancel>,
        mut wish: impl FnMut() -> Option<Cancel>,
    ) -> Option<CommandRun> {
        send(
            &self.control,
            &Request::Run {
                run: number,
                spec: with_absolute_paths(spec),
            },
        )
        .ok()?;
        let mut cancel = cancel.clone();
        loop {
            select! {
                recv(self.replies) -> reply => match reply {
                    Ok(Reply::Ended { run, result }) if run == number => return Some(*result),
                    // Closed, or nonsense: no supervisor of ours.
                    Ok(Reply::Ended { .. } | Reply::Ready { .. } | Reply::Failed { .. }) | Err(_) => return None,
                },
                recv(cancel) -> wish => match wish {
                    Ok(wish) => send(&self.control, &Request::Cancel { run: number, cancel: wish }).ok()?,
                    Err(_) => cancel = never(),
                },
                default(WATCH_INTERVAL) => {
                    self.wake_if_stopped();
                    if let Some(cancel) = wish() {
                        send(&self.control, &Request::Cancel { run: number, cancel }).ok()?;
                    }
                },
            }
        }
    }

    /// A command may stop its supervisor; stopped, that would keep no deadline.
    fn wake_if_stopped(&self) {
        if table::find(self.id.pid).is_some_and(|process| process.is_stopped()) {
            // It cannot be refused by a child of the same user, and a dead one shows at the socket.
            let _sent = table::signal(self.id, Signal::CONT);
        }
    }

    /// Ends the supervisor without asking, and says how it ended.
    fn end_now(mut self) -> Option<String> {
        self.end(Duration::ZERO)
    }

    fn end(&mut self, limit: Duration) -> Option<String> {
        if std::mem::replace(&mut self.ended, true) {
            return None;
        }
        // Closing is the request to end; it also releases the thread that reads replies.
        let _closed_already = self.control.shutdown(Shutdown::Both);
        if !self.ends_within(limit) {
            // Not waited for yet, so the number is still its own.
            let _ended_already = self.child.kill();
        }
        lost::wait_registered(&mut self.child)
    }

    fn ends_within(&self, limit: Duration) -> bool {
        let Ok(descriptor) = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()) else {
            return false;
        };
        let until = Instant::now() + limit;
        loop {
            let timeout = until.saturating_duration_since(Instant::now()).try_into().ok();
            match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], timeout.as_ref()) {
                Ok(ready) => return ready > 0,
                Err(error) if error == rustix::io::Errno::INTR => {}
                Err(_) => return false,
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(END_LIMIT);
    }
}

/// One thread for the life of the supervisor turns the socket into a channel, which can be awaited with others.
fn replies_of(control: &UnixStream) -> io::Result<Receiver<Reply>> {
    let source = control.try_clone()?;
    let (sender, receiver) = unbounded();
    thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
        while let Ok(Some(reply)) = receive(&source) {
            if sender.send(reply).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

fn nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(hex::encode(&bytes))
}

/// The supervisor has a directory of its own: relative paths mean the governor's.
fn with_absolute_paths(spec: &CommandSpec) -> Cow<'_, CommandSpec> {
    let relative = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.is_relative());
    if spec.cwd.is_absolute() && !relative(&spec.capture.spill_dir) {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    spec.cwd = absolute(&spec.cwd);
    spec.capture.spill_dir = spec.capture.spill_dir.as_deref().map(absolute);
    Cow::Owned(spec)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
