//! The governor's side: a handle on the one supervisor of a run.

use std::borrow::Cow;
use std::ffi::OsString;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::command::{Cancel, CommandSpec, Input};
use super::error::{ProcessError, SupervisorLost};
use super::outcome::CommandRun;
use super::protocol::{EDITION, Inbox, Post, Reply, Request, send};
use super::table::{self, Identity};
use super::wish::{Next, Wishes};
use super::{SUPERVISE, lost};

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
    /// What every command inherits: its complete environment, but for what its own `env` sets. It is handed over
    /// once, when the supervisor starts.
    pub env: Vec<(OsString, OsString)>,
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
    /// A wish among `wishes` ends the command early; one that is waiting already ends it at once. When nobody is left
    /// to wish, the command can no longer be cancelled and simply runs.
    ///
    /// # Errors
    /// [`ProcessError::Lost`] when the supervisor died: the tree of the command has been ended, its output is lost,
    /// and [`Supervisor::restart`] makes a new one. [`ProcessError::NotRunning`] when that has not been done.
    pub fn run(&mut self, spec: &CommandSpec, wishes: &Wishes) -> Result<CommandRun, ProcessError> {
        self.begin(spec)?.end_while(wishes, || None)
    }

    /// Has one command begun, for who has something to do before waiting for its end.
    ///
    /// # Errors
    /// As [`Supervisor::run`].
    pub fn begin<'a>(&'a mut self, spec: &'a CommandSpec) -> Result<Begun<'a>, ProcessError> {
        let link = self.link.as_mut().ok_or(ProcessError::NotRunning)?;
        self.runs += 1;
        match link.ask(self.runs, spec) {
            Some(()) => Ok(Begun { supervisor: self, spec }),
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

/// A command that was begun, and has to be waited for: a supervisor runs one at a time.
#[derive(Debug)]
#[must_use]
pub struct Begun<'a> {
    supervisor: &'a mut Supervisor,
    spec: &'a CommandSpec,
}

impl Begun<'_> {
    /// Has it ended early.
    pub fn cancel(&mut self, cancel: Cancel) {
        if let Some(link) = &self.supervisor.link {
            let run = self.supervisor.runs;
            // A supervisor that cannot be told is lost, which shows as soon as its answer is waited for.
            let _lost = send(&link.control, &Request::Cancel { run, cancel });
        }
    }

    /// Waits for its end, as [`Supervisor::run`] does, and asks `watch` twice a second whether it should end: for what
    /// can only be found out by looking. A command that ends sooner costs no look.
    ///
    /// # Errors
    /// As [`Supervisor::run`].
    pub fn end_while(self, wishes: &Wishes, watch: impl FnMut() -> Option<Cancel>) -> Result<CommandRun, ProcessError> {
        let Self { supervisor, spec } = self;
        let link = supervisor.link.as_mut().ok_or(ProcessError::NotRunning)?;
        match link.answer(supervisor.runs, wishes, watch) {
            Some(run) => Ok(run),
            None => Err(supervisor.lose(spec)),
        }
    }
}

#[derive(Debug)]
struct Link {
    child: Child,
    id: Identity,
    control: UnixStream,
    replies: Inbox,
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
            .envs(options.env.iter().map(|(name, value)| (name, value)))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = lost::start_registered(&mut command).map_err(|error| failed(error.to_string()))?;
        // Ours of the two copies of their end: as long as it is open, their death would go unnoticed.
        drop(command);

        let pid = Pid::from_child(&child).as_raw_pid();
        let mut link = Self {
            child,
            id: Identity { pid, start_ticks: 0 },
            control,
            replies: Inbox::default(),
            ended: false,
        };
        link.greet(options).map_err(failed)?;
        Ok(link)
    }

    fn greet(&mut self, options: &SupervisorOptions) -> Result<(), String> {
        let runtime_dir = options.runtime_dir.as_deref().map(absolute);
        let hello = Request::Hello {
            edition: EDITION,
            nonce: nonce()?,
            runtime_dir,
        };
        send(&self.control, &hello).map_err(|error| error.to_string())?;
        let until = Instant::now() + START_LIMIT;
        loop {
            let [answered, _] = self.wait(&Wishes::never(), until.saturating_duration_since(Instant::now()));
            if !answered && Instant::now() >= until {
                return Err("it does not answer".to_owned());
            }
            match self.replies.look(&self.control) {
                Ok(Post::Message(Reply::Ready { start_ticks })) => {
                    self.id.start_ticks = start_ticks;
                    return Ok(());
                }
                Ok(Post::Message(Reply::Failed { message })) => return Err(message),
                Ok(Post::Message(Reply::Ended { .. })) => return Err("it answered out of turn".to_owned()),
                Ok(Post::Partial) => {}
                Ok(Post::Closed) | Err(_) => return Err("it ended before it answered".to_owned()),
            }
        }
    }

    /// `None` when the supervisor is lost.
    fn ask(&self, number: u64, spec: &CommandSpec) -> Option<()> {
        let spec = with_absolute_paths(spec);
        send(&self.control, &Request::Run { run: number, spec }).ok()
    }

    /// `None` when the supervisor is lost.
    fn answer(
        &mut self,
        number: u64,
        wishes: &Wishes,
        mut watch: impl FnMut() -> Option<Cancel>,
    ) -> Option<CommandRun> {
        let mut wishes = wishes.clone();
        let mut look_at = Instant::now() + WATCH_INTERVAL;
        loop {
            let [answered, wished] = self.wait(&wishes, look_at.saturating_duration_since(Instant::now()));
            if answered {
                match self.replies.look(&self.control) {
                    Ok(Post::Message(Reply::Ended { run, result })) if run == number => return Some(*result),
                    Ok(Post::Partial) => {}
                    // Closed, or nonsense: no supervisor of ours.
                    Ok(Post::Message(_) | Post::Closed) | Err(_) => return None,
                }
            }
            let mut cancel = None;
            if wished {
                match wishes.take() {
                    Next::Wish(wish) => cancel = Some(wish),
                    Next::Nothing => {}
                    Next::Never => wishes = Wishes::never(),
                }
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + WATCH_INTERVAL;
                self.wake_if_stopped();
                cancel = cancel.or_else(&mut watch);
            }
            if let Some(cancel) = cancel {
                send(&self.control, &Request::Cancel { run: number, cancel }).ok()?;
            }
        }
    }

    /// Sleeps until the supervisor answers or somebody wishes; says which of the two.
    fn wait(&self, wishes: &Wishes, at_most: Duration) -> [bool; 2] {
        let answer = PollFd::new(&self.control, PollFlags::IN);
        let mut sources: Vec<PollFd<'_>> = [answer].into_iter().chain(wishes.readable()).collect();
        match poll(&mut sources, at_most.try_into().ok().as_ref()) {
            Ok(_) => [0, 1].map(|at| sources.get(at).is_some_and(|source| !source.revents().is_empty())),
            // Interrupted: the caller looks at the time and comes back.
            Err(_) => [false; 2],
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
        // Closing is the request to end.
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

fn nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The supervisor goes from one directory to another: relative paths mean the governor's.
fn with_absolute_paths(spec: &CommandSpec) -> Cow<'_, CommandSpec> {
    let spill_dir = spec.capture.spill_dir.as_deref();
    let input = match &spec.input {
        Input::File(path) => Some(path.as_path()),
        Input::Closed | Input::Bytes(_) => None,
    };
    if [Some(spec.cwd.as_path()), spill_dir, input]
        .iter()
        .flatten()
        .all(|path| path.is_absolute())
    {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    spec.cwd = absolute(&spec.cwd);
    spec.capture.spill_dir = spec.capture.spill_dir.as_deref().map(absolute);
    if let Input::File(path) = &mut spec.input {
        *path = absolute(path);
    }
    Cow::Owned(spec)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
