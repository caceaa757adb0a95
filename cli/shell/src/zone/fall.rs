//! The death of a governor, tried (SPEC 14.6.2): what it had in a zone must end with it, whatever that was at.
//!
//! ```text
//!   doctor ── killer ── stand-in ── supervisor ── launcher ── bwrap ── init ── command ── its child
//!               │ adopts every orphan below it                                    │           │
//!               └ reads a pipe in the zone's tree <───────────────────────────────┴───────────┘ hold it open
//! ```
//!
//! That nobody is left is the kernel's word, twice: the killer has no child to wait for, and the pipe has come to its end.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, wait,
};

use super::pair::run_once;
use super::{FALL, INIT, INIT_AT, account};
use crate::process::{CommandSpec, Input, Wishes};

/// The word after the hidden one that makes the binary the governor that is killed; without it, it is the killer.
const GOVERN: &str = "govern";
/// The words after that of the init: the command of the zone, and its child.
pub(super) const STAY: &str = "stay";
pub(super) const STAY_ON: &str = "stay-on";
/// The pipe, in the tree that the command starts in.
pub(super) const PIPE: &str = "alive";

/// A zone that takes longer to start is none.
const START_LIMIT: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// After this, whoever is still there is a survivor.
pub(super) const PATIENCE_MS: u64 = 10_000;

/// The killer's words: who stands in, the pipe, and how long somebody may take to die. It reads the plan.
pub(super) fn command(exe: &Path, pipe: PathBuf) -> Vec<OsString> {
    let own = exe.to_path_buf().into_os_string();
    vec![
        own.clone(),
        FALL.into(),
        own,
        pipe.into(),
        PATIENCE_MS.to_string().into(),
    ]
}

/// What the binary does after the hidden argument: tells who survived, a line each, or becomes the one that is killed.
#[must_use]
pub fn fall(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    let told = match words.as_slice() {
        [word] if word == GOVERN => return govern(),
        [exe, pipe, patience] => match patience.to_string_lossy().parse() {
            Ok(patience_ms) => survivors(exe.as_ref(), pipe.as_ref(), Duration::from_millis(patience_ms)),
            Err(error) => Err(io::Error::other(error)),
        },
        _ => Err(io::Error::other("no such words")),
    };
    let told = told.and_then(|survivors| {
        let mut out = io::stdout();
        survivors.iter().try_for_each(|survivor| writeln!(out, "{survivor}"))
    });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Has a zone as every governor has: under a supervisor of its own, for as long as it lasts.
fn govern() -> ExitCode {
    let mut plan = Vec::new();
    let ended = io::stdin().read_to_end(&mut plan).and_then(|_| {
        let exe = std::env::current_exe()?;
        let spec = CommandSpec {
            argv: account::launcher(&exe),
            cwd: "/".into(),
            input: Input::Bytes(plan),
            label: "zone of a stand-in".to_owned(),
            ..CommandSpec::default()
        };
        let env: Vec<_> = std::env::vars_os().collect();
        run_once(&exe, &env, &spec, &Wishes::never()).map_err(io::Error::other)
    });
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn survivors(exe: &Path, pipe: &Path, patience: Duration) -> io::Result<Vec<String>> {
    set_child_subreaper(Some(getpid()))?;
    let mut plan = Vec::new();
    io::stdin().read_to_end(&mut plan)?;
    let pipe = open(pipe, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let mut governor = Command::new(exe)
        .args([FALL, GOVERN])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let process = Pid::from_child(&governor);
    let fallen = pidfd_open(process, PidfdFlags::empty())?;
    // One that is gone already says so below.
    let _unread = governor.stdin.take().map(|mut input| input.write_all(&plan));
    let stood = stands(&pipe, &fallen);
    kill_process(process, Signal::KILL)?;
    let mut left = left(patience)?;
    stood?;
    if left.is_empty() && !is_at_its_end(&pipe) {
        left.push("somebody who holds the pipe of the zone open".to_owned());
    }
    Ok(left)
}

/// Waits until the command says that it and its child are there.
fn stands(pipe: &OwnedFd, governor: &OwnedFd) -> io::Result<()> {
    let mut signs = [PollFd::new(pipe, PollFlags::IN), PollFd::new(governor, PollFlags::IN)];
    poll(&mut signs, Some(&START_LIMIT))?;
    if rustix::io::read(pipe, &mut [0; 1]) == Ok(1) {
        Ok(())
    } else {
        Err(io::Error::other("the zone of a stand-in governor did not start"))
    }
}

/// Nobody writes there any more.
fn is_at_its_end(pipe: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(pipe, PollFlags::IN)];
    poll(&mut asked, Some(&Timespec::default())).is_ok() && rustix::io::read(pipe, &mut [0; 1]) == Ok(0)
}

/// Waits until there is no child to wait for, whoever that was; after a time names, and ends, whoever is.
fn left(patience: Duration) -> io::Result<Vec<String>> {
    let (says, heard) = channel();
    std::thread::spawn(move || {
        while wait(WaitOptions::empty()).err() != Some(Errno::CHILD) {}
        says.send(())
    });
    if heard.recv_timeout(patience).is_ok() {
        return Ok(Vec::new());
    }
    let own = std::process::id();
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"))?;
    let numbers = children.split_whitespace().filter_map(|number| number.parse().ok());
    let mut named = Vec::new();
    for process in numbers.filter_map(Pid::from_raw) {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&line).replace('\0', " ");
        named.push(format!("process {process}, {}", words.trim_end()));
        // Gone by now, or gone by this.
        let _gone = kill_process(process, Signal::KILL);
    }
    Ok(named)
}

/// The command of the zone: holds the pipe open beside a child that has left its group, until both are ended.
pub(super) fn stay() -> ExitCode {
    let held = OpenOptions::new().write(true).open(PIPE).and_then(|mut pipe| {
        let theirs = pipe.as_fd().try_clone_to_owned()?;
        let _child = Command::new(INIT_AT)
            .args([INIT, STAY_ON])
            .stdin(Stdio::null())
            .stdout(theirs)
            .process_group(0)
            .spawn()?;
        pipe.write_all(b".")?;
        Ok(pipe)
    });
    match held {
        Ok(pipe) => stay_on(pipe),
        Err(_) => ExitCode::FAILURE,
    }
}

/// Holds what it was given, for ever.
pub(super) fn stay_on<T>(_held: T) -> ! {
    loop {
        std::thread::park();
    }
}
