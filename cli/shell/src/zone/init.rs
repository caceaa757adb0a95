//! Process 1 of a zone: looks where it is, waits for GO, starts the command, reaps, and ends with its control socket.
//!
//! It holds no secret: what the command gets to know passes through it as a sealed parcel. Its end is the end of every
//! process in the zone, by the kernel's doing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, WaitOptions, WaitStatus, set_dumpable_behavior, wait};

use super::control::{Line, Order, Word};
use super::enter::enter;
use super::facts::Seen;
use super::fall::{STAY, STAY_ON, stay, stay_on};
use super::memory::{SEGMENTS_AT, segments_bytes};
use super::report::Ended;
use super::trial::{TRY, from_inside};
use super::{ENTER, INIT, INIT_AT};

/// Between two looks at what nobody outside can see.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// What the binary does when it is started inside of a zone; `word` is the argument after the hidden one.
#[must_use]
pub fn init(word: Option<&OsStr>) -> ExitCode {
    if word.is_some_and(|word| word == ENTER) {
        return enter();
    }
    if word.is_some_and(|word| word == TRY) {
        return from_inside();
    }
    if word.is_some_and(|word| word == STAY) {
        return stay();
    }
    if word.is_some_and(|word| word == STAY_ON) {
        stay_on(());
    }
    match oversee() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn oversee() -> io::Result<()> {
    // Nobody inside reads its memory, descriptors or environment, or traces it.
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let seen = Seen::look();
    let line = Line::inherited()?;
    let prepared = hidden
        .map_err(io::Error::from)
        .and(seen)
        .and_then(|seen| report(&line, seen));
    if let Err(error) = prepared {
        return line.send(&Word::failed("its first process cannot prepare it", &error), &[]);
    }
    // Closed before the GO: whoever held the other end is gone.
    let Some((Order::Go, with)) = line.receive()? else {
        return Ok(());
    };
    match House::open(&line, with) {
        Ok(mut house) => house.keep(),
        Err(error) => line.send(&Word::failed("the command's process cannot be made", &error), &[]),
    }
}

/// Tells what was seen; with it goes the listener, which is kept by nobody in here.
fn report(line: &Line, seen: Seen) -> io::Result<()> {
    let Some((Order::Look { listen }, _)) = line.receive()? else {
        return Err(io::Error::other("the control socket is closed"));
    };
    let listener = listen
        .then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .transpose()?;
    let with: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
    line.send(&Word::Seen(Box::new(seen)), &with)
}

/// The zone while the command runs.
struct House<'a> {
    line: &'a Line,
    bell: SignalFd,
    /// To the command's process, until it is the command.
    entrant: Line,
    command: i32,
    segments: Segments,
    /// It said itself how it ended.
    told: bool,
}

impl<'a> House<'a> {
    fn open(line: &'a Line, mut with: Vec<OwnedFd>) -> io::Result<Self> {
        let (Some(stderr), Some(stdout), Some(parcel)) = (with.pop(), with.pop(), with.pop()) else {
            return Err(io::Error::other("the order came without its descriptors"));
        };
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        children.thread_block()?;
        let bell = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let (entrant, given) = Line::pair()?;
        let child = Command::new(INIT_AT)
            .args([INIT, ENTER])
            .env_clear()
            .stdin(given)
            .stdout(stdout)
            .stderr(stderr)
            .spawn()?;
        entrant.send(&Order::Go, &[parcel.as_fd()])?;
        Ok(Self {
            line,
            bell,
            entrant,
            command: i32::try_from(child.id()).unwrap_or(0),
            segments: Segments::open(),
            told: false,
        })
    }

    /// Returns when the command has ended, or nobody waits for it any more.
    fn keep(&mut self) -> io::Result<()> {
        let mut entering = true;
        loop {
            let mut sources = vec![
                PollFd::new(self.line, PollFlags::IN),
                PollFd::new(&self.bell, PollFlags::IN),
            ];
            if entering {
                sources.push(PollFd::new(&self.entrant, PollFlags::IN));
            }
            // Interrupted or not: what is ready is looked at, and the rest comes again.
            let _count = poll(&mut sources, Some(&LOOK_EVERY));
            let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
            drop(sources);
            if ready[0] {
                // The only word that comes by now is to stop, and so says a closed socket.
                return Ok(());
            }
            if let Some(bytes) = self.segments.grown() {
                self.line.send(&Word::Segments { bytes }, &[])?;
            }
            if ready.get(2) == Some(&true) {
                entering = self.pass_on()?;
            }
            if ready[1]
                && let Some(ended) = self.reap()
            {
                while entering {
                    entering = self.pass_on()?;
                }
                return self.tell(ended);
            }
        }
    }

    /// Passes a word of the command's process on; false when it has none left.
    fn pass_on(&mut self) -> io::Result<bool> {
        let Some((word, _)) = self.entrant.receive::<Word>()? else {
            return Ok(false);
        };
        self.told |= !matches!(word, Word::Confined(_));
        self.line.send(&word, &[])?;
        Ok(true)
    }

    /// Waits for whoever has ended; says how the command did.
    fn reap(&mut self) -> Option<Ended> {
        // However many children ended, the signal is pending once.
        let _silent = self.bell.read_signal();
        let mut ended = None;
        while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
            if process.as_raw_pid() == self.command {
                ended = how(status);
            }
        }
        ended
    }

    fn tell(&self, ended: Ended) -> io::Result<()> {
        if self.told {
            return Ok(());
        }
        let left_inside = living().saturating_sub(1);
        self.line.send(&Word::Ended { ended, left_inside }, &[])
    }
}

/// What the zone's segments of shared memory hold: it is told of in here alone, and only where it became another.
struct Segments {
    table: Option<File>,
    told_bytes: u64,
}

impl Segments {
    fn open() -> Self {
        Self {
            table: File::open(SEGMENTS_AT).ok(),
            told_bytes: 0,
        }
    }

    fn grown(&mut self) -> Option<u64> {
        let mut text = String::new();
        let table = self.table.as_mut()?;
        table.rewind().and_then(|()| table.read_to_string(&mut text)).ok()?;
        let bytes = segments_bytes(&text);
        (std::mem::replace(&mut self.told_bytes, bytes) != bytes).then_some(bytes)
    }
}

fn how(status: WaitStatus) -> Option<Ended> {
    let exited = status.exit_status().map(Ended::Exited);
    exited.or_else(|| status.terminating_signal().map(Ended::Signaled))
}

/// Processes of the zone that have not ended, this one included.
fn living() -> u32 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| {
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process
            .then(|| fs::read_to_string(entry.path().join("stat")).ok())
            .flatten()
    });
    let alive = |stat: &String| {
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        !matches!(state, None | Some('Z' | 'X'))
    };
    u32::try_from(stats.filter(alive).count()).unwrap_or(u32::MAX)
}
