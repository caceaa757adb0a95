//! One command from start to account: a loop over one `poll`.
//!
//! ```text
//!   start ──> running ──────────────> main process ended ──> sweep ──> drain ──> account
//!                │  deadline, cap,        ▲
//!                │  cancel                │
//!                └──> asked (TERM) ──> struck (KILL)
//! ```
//!
//! A stop that finds the main process gone early still leaves the rest of the tree its grace: whoever does the real
//! work may be a grandchild with something to clean up.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, poll};

use super::capture::{Capture, Stream};
use super::children::{Bell, Children};
use super::command::{Cancel, CommandSpec};
use super::deadline::{Clocks, soon};
use super::outcome::{Captured, CommandRun, Outcome, StopCause};
use super::pipes::{Pipe, Pipes};
use super::protocol::{Inbox, Post, Request};
use super::spawn::{Spawner, unconnected};
use super::stop::{self, Stop};
use super::survivors::{Household, Sweep};
use super::table::Identity;

/// The most that is read at once.
const READ_MAX_BYTES: usize = 64 * 1024;

/// What the supervisor keeps from one command to the next.
pub(super) struct Workshop {
    pub(super) control: UnixStream,
    pub(super) inbox: Inbox,
    pub(super) pipes: Pipes,
    bell: Bell,
    spawner: Spawner,
    /// Processes of earlier commands that would not end.
    pub(super) stuck: BTreeSet<Identity>,
    buffer: Vec<u8>,
}

impl Workshop {
    pub(super) fn new(control: UnixStream, inbox: Inbox, bell: Bell, spawner: Spawner) -> Self {
        Self {
            control,
            inbox,
            pipes: Pipes::default(),
            bell,
            spawner,
            stuck: BTreeSet::new(),
            buffer: vec![0; READ_MAX_BYTES],
        }
    }
}

/// Runs one command. Its tree is gone on return, or the account names what is not.
pub(super) fn run(shop: &mut Workshop, number: u64, spec: &CommandSpec) -> CommandRun {
    let started_unix_ms = unix_ms();
    let [stdout, stderr] = match shop.pipes.take() {
        Ok(pair) => pair,
        Err(error) => return never_ran(unconnected(&error), started_unix_ms),
    };
    let main = match shop.spawner.spawn(spec, [&stdout, &stderr]) {
        Ok(main) => main,
        Err(outcome) => return never_ran(outcome, started_unix_ms),
    };
    let output = |pipe, stream| Output {
        pipe: Some(pipe),
        capture: Capture::new(&spec.capture, stream, &spec.redact),
    };
    let mut running = Running {
        spec,
        number,
        control: &shop.control,
        inbox: &mut shop.inbox,
        bell: &shop.bell,
        clocks: Clocks::start(Instant::now(), &spec.deadlines),
        children: Children::new(&shop.bell, main),
        outputs: [output(stdout, Stream::Stdout), output(stderr, Stream::Stderr)],
        stop: None,
        struck: BTreeSet::new(),
        hurry: false,
        governor_gone: false,
    };
    // A wish that came together with the command is in the inbox already, and no poll would tell.
    if !running.inbox.is_empty() {
        running.listen();
    }
    while !running.is_over(Instant::now()) {
        running.enforce(Instant::now());
        running.wait(&mut shop.buffer);
    }
    running.account(started_unix_ms, &mut shop.stuck, &mut shop.pipes, &mut shop.buffer)
}

struct Running<'a> {
    spec: &'a CommandSpec,
    number: u64,
    control: &'a UnixStream,
    inbox: &'a mut Inbox,
    bell: &'a Bell,
    clocks: Clocks,
    children: Children<'a>,
    outputs: [Output<'a>; 2],
    stop: Option<Stop>,
    /// Whom the stop has killed.
    struck: BTreeSet<Identity>,
    /// A cancel came after the main process had ended: no grace for the rest.
    hurry: bool,
    governor_gone: bool,
}

struct Output<'a> {
    /// `None` once it cannot be read.
    pipe: Option<Pipe>,
    capture: Capture<'a>,
}

impl Running<'_> {
    fn is_over(&self, now: Instant) -> bool {
        self.over_at().is_some_and(|at| at <= now) || (self.children.none_left && self.children.main_end.is_some())
    }

    /// When to stop watching and sweep, as far as that is known.
    fn over_at(&self) -> Option<Instant> {
        let deadlines = &self.spec.deadlines;
        match (&self.children.main_end, &self.stop) {
            (Some((ended, _)), None) if self.hurry => Some(*ended),
            (Some((ended, _)), None) => Some(soon(*ended, deadlines.survivor_grace_ms)),
            (Some(_), Some(stop)) => Some(stop.struck_at.unwrap_or(stop.kill_at)),
            (None, Some(stop)) => stop.struck_at.map(|at| soon(at, deadlines.end_limit_ms)),
            (None, None) => None,
        }
    }

    /// Begins a stop when a limit has passed, and strikes when its grace has.
    fn enforce(&mut self, now: Instant) {
        if self.children.main_end.is_some() {
            return;
        }
        if self.stop.is_none() {
            let cap = self.spec.capture.stop_after_bytes;
            let over_cap = self
                .outputs
                .iter()
                .any(|output| cap.is_some_and(|cap| output.capture.bytes() > cap));
            let cause = if over_cap {
                Some(StopCause::OutputCap)
            } else {
                self.clocks.passed(now)
            };
            if let Some(cause) = cause {
                self.begin_stop(cause, now);
            }
        }
        if let Some(stop) = &mut self.stop
            && stop.struck_at.is_none()
            && stop.kill_at <= now
        {
            stop.struck_at = Some(now);
            self.struck
                .extend(stop::strike(self.children.unreaped_main(), &self.children.living()));
        }
    }

    fn begin_stop(&mut self, cause: StopCause, now: Instant) {
        let at_once = matches!(cause, StopCause::Forced | StopCause::GovernorGone);
        let kill_at = if at_once {
            now
        } else {
            soon(now, self.spec.deadlines.grace_ms)
        };
        if !at_once {
            stop::ask(self.children.unreaped_main(), &self.children.living());
        }
        self.stop = Some(Stop {
            cause,
            kill_at,
            struck_at: None,
        });
    }

    fn cancel(&mut self, cause: StopCause) {
        let now = Instant::now();
        match &mut self.stop {
            None if self.children.main_end.is_some() => self.hurry = true,
            None => self.begin_stop(cause, now),
            Some(_) if cause == StopCause::Cancelled => {}
            Some(stop) => {
                stop.kill_at = stop.kill_at.min(now);
                if stop.cause == StopCause::Cancelled {
                    stop.cause = cause;
                }
            }
        }
    }

    /// Sleeps until something happens or is due, and takes notice of it.
    fn wait(&mut self, buffer: &mut [u8]) {
        let [bell, control, stdout, stderr] = self.ready(self.wake_in());
        if stdout {
            self.read(0, buffer);
        }
        if stderr {
            self.read(1, buffer);
        }
        if control {
            self.listen();
        }
        if bell {
            self.bell.silence();
            self.children.reap();
        }
    }

    /// Which of bell, control, stdout and stderr have something to say, after `at_most` none.
    fn ready(&self, at_most: Option<Duration>) -> [bool; 4] {
        let pipes = [&self.outputs[0].pipe, &self.outputs[1].pipe];
        let sources = [
            Some(self.bell.as_fd()),
            (!self.governor_gone).then(|| self.control.as_fd()),
            pipes[0].as_ref().map(|pipe| pipe.read.as_fd()),
            pipes[1].as_ref().map(|pipe| pipe.read.as_fd()),
        ];
        let mut polled: Vec<PollFd<'_>> = sources
            .iter()
            .flatten()
            .map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN))
            .collect();
        let timeout = at_most.and_then(|span| span.try_into().ok());
        if poll(&mut polled, timeout.as_ref()).is_err() {
            // Interrupted: the bell tells on the next round.
            return [false; 4];
        }
        let mut answers = polled.iter().map(|source| !source.revents().is_empty());
        sources.map(|source| source.is_some() && answers.next().unwrap_or(false))
    }

    fn wake_in(&self) -> Option<Duration> {
        let deadline = self.clocks.next().map(|(at, _)| at).filter(|_| self.stop.is_none());
        let strike = self
            .stop
            .as_ref()
            .filter(|stop| stop.struck_at.is_none())
            .map(|stop| stop.kill_at);
        let running = self.children.main_end.is_none();
        let due = [deadline.filter(|_| running), strike.filter(|_| running), self.over_at()];
        let now = Instant::now();
        due.into_iter()
            .flatten()
            .min()
            .map(|at| at.saturating_duration_since(now))
    }

    fn read(&mut self, which: usize, buffer: &mut [u8]) {
        if self.outputs[which].read(buffer) > 0 {
            self.clocks.output_seen(Instant::now());
        }
    }

    fn listen(&mut self) {
        loop {
            match self.inbox.look(self.control) {
                Ok(Post::Message(Request::Cancel { run, cancel })) if run == self.number => match cancel {
                    Cancel::Stop => self.cancel(StopCause::Cancelled),
                    Cancel::Force => self.cancel(StopCause::Forced),
                },
                Ok(Post::Message(Request::Cancel { .. })) => {}
                Ok(Post::Partial) => return,
                // Closed, or nonsense: in both cases there is no governor to answer to.
                Ok(Post::Message(Request::Hello { .. } | Request::Run { .. }) | Post::Closed) | Err(_) => {
                    self.governor_gone = true;
                    return self.cancel(StopCause::GovernorGone);
                }
            }
        }
    }

    fn account(
        mut self,
        started_unix_ms: u64,
        stuck: &mut BTreeSet<Identity>,
        pipes: &mut Pipes,
        buffer: &mut [u8],
    ) -> CommandRun {
        let sweep = Sweep {
            redact: &self.spec.redact,
            limit: Duration::from_millis(self.spec.deadlines.end_limit_ms),
            struck: &self.struck,
            stuck,
        };
        let survivors = sweep.end_all(&mut self.children);
        let [_, _, stdout, stderr] = self.ready(Some(Duration::ZERO));
        for (output, ready) in self.outputs.iter_mut().zip([stdout, stderr]) {
            if ready {
                output.drain(buffer);
            }
            output.pipe.take().into_iter().for_each(|pipe| pipes.put_away(pipe));
        }
        // A main process that would not die even of SIGKILL is named among the survivors.
        let killed = Outcome::Signaled(rustix::process::Signal::KILL.as_raw());
        let (ended, outcome) = self
            .children
            .main_end
            .take()
            .unwrap_or_else(|| (Instant::now(), killed));
        let [stdout, stderr] = self.outputs.map(|output| output.capture.finish());
        CommandRun {
            outcome,
            stop: self.stop.map(|stop| stop.cause),
            stdout,
            stderr,
            started_unix_ms,
            duration_ms: whole_ms(ended.saturating_duration_since(self.clocks.started())),
            cpu_ms: self.children.cpu_us / 1_000,
            max_rss_kb: self.children.max_rss_kb,
            survivors,
        }
    }
}

impl Output<'_> {
    /// Reads once from a pipe that is ready; zero at its end.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(pipe) = &self.pipe else { return 0 };
        match rustix::io::read(&pipe.read, &mut *buffer) {
            Err(error) if error == rustix::io::Errno::INTR => 0,
            Ok(read) if read > 0 => {
                self.capture.take(&buffer[..read]);
                read
            }
            _ => {
                self.pipe = None;
                0
            }
        }
    }

    /// Takes what the pipe still holds, never waiting. At most what fits in it: whoever may still hold the other end
    /// cannot keep us here by writing on.
    fn drain(&mut self, buffer: &mut [u8]) {
        let mut left = self
            .pipe
            .as_ref()
            .and_then(|pipe| rustix::pipe::fcntl_getpipe_size(&pipe.read).ok())
            .unwrap_or(0);
        while let Some(pipe) = &self.pipe
            && left > 0
            && poll(
                &mut [PollFd::new(&pipe.read, PollFlags::IN)],
                Some(&Duration::ZERO.try_into().unwrap_or_default()),
            )
            .is_ok_and(|ready| ready > 0)
        {
            left = left.saturating_sub(self.read(buffer));
        }
    }
}

fn never_ran(outcome: Outcome, started_unix_ms: u64) -> CommandRun {
    CommandRun {
        outcome,
        stop: None,
        stdout: Captured::nothing(),
        stderr: Captured::nothing(),
        started_unix_ms,
        duration_ms: 0,
        cpu_ms: 0,
        max_rss_kb: 0,
        survivors: Vec::new(),
    }
}

fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, whole_ms)
}

fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
