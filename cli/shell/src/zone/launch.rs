//! The outside of a zone: reads the plan, starts bwrap, lets the command start when the facts are as they must be,
//! watches, and ends the way the command ended.
//!
//! ```text
//!   plan ─> sources ─> bwrap ─> Look ─> Seen: judged ─> Go ─> Confined ─> ... ─> Ended ─> report
//!             └───────────┴──────────────┴── refused: nothing was started ───────────────────^
//! ```
//!
//! One thread until bwrap is started, and bwrap from that thread: the signal that a parent's death sends belongs to
//! the thread that made the child.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitCode;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{PidfdFlags, geteuid, getppid, getuid, pidfd_open, umask};

use super::bwrap::{self, System};
use super::outside::Outside;
use super::plan::ZonePlan;
use super::report::{Refusal, RefusalCause, ZoneReport};
use super::started::Started;
use super::word::{Place, leave};
use super::{backend, sources};
use crate::process::close_on_exec_from;

/// How the launcher ends when it refused, or cannot say how the command ended.
pub(super) const REFUSED: u8 = 125;

/// What the binary does when it is started as the launcher of a zone.
#[must_use]
pub fn launch() -> ExitCode {
    // A signal to everyone below the supervisor is meant for the command, which gets its own.
    let prepared = Parent::open().and_then(|parent| {
        SigSet::all().thread_block()?;
        close_on_exec_from(3)?;
        // Directories that bwrap makes on the way are the same whoever started loopexec.
        umask(Mode::from_raw_mode(0o022));
        let plan = read_plan()?;
        let place = Place::open(&plan.report)?;
        Ok((parent, plan, place))
    });
    let Ok((parent, plan, place)) = prepared else {
        return ExitCode::from(REFUSED);
    };
    let mut report = ZoneReport::default();
    match start(&plan) {
        Ok(started) => Outside::new(&plan, started, &parent, &mut report).run(),
        Err(refusal) => report.refused = Some(refusal),
    }
    if parent.is_gone() || place.write(&report).is_err() {
        return ExitCode::from(REFUSED);
    }
    leave(&report)
}

/// Whoever started the launcher: when it is gone, nobody waits for the zone.
///
/// Two signs, because it may be gone before the first line here runs, and then somebody else is the parent already: it
/// alone reads what the command prints.
pub(super) struct Parent {
    process: OwnedFd,
    reads: io::Stderr,
}

impl Parent {
    fn open() -> io::Result<Self> {
        let gone = || io::Error::other("whoever started the launcher is gone");
        let parent = getppid().ok_or_else(gone)?;
        let process = pidfd_open(parent, PidfdFlags::empty())?;
        // The same after as before: the descriptor is its, and not that of a later process of its number.
        if getppid() != Some(parent) {
            return Err(gone());
        }
        Ok(Self {
            process,
            reads: io::stderr(),
        })
    }

    /// Any of these ready is its end.
    pub(super) fn signs(&self) -> [PollFd<'_>; 2] {
        // Asked for nothing, a pipe tells of itself only that nobody reads it.
        let unread = PollFd::new(&self.reads, PollFlags::empty());
        [PollFd::new(&self.process, PollFlags::IN), unread]
    }

    pub(super) fn is_gone(&self) -> bool {
        poll(&mut self.signs(), Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

fn read_plan() -> io::Result<ZonePlan> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

fn start(plan: &ZonePlan) -> Result<Started, Refusal> {
    if let Some(container) = &plan.container {
        return Err(refuse(format!(
            "this release runs no command in a container of {}: leave out --runtime and --image",
            container.engine
        )));
    }
    backend::look(&plan.bwrap)?;
    let user = user(plan)?;
    if let Some(fault) = bwrap::unsound(plan) {
        return Err(refuse(fault));
    }
    let sources = sources::sources(plan, user.is_some()).map_err(refuse)?;
    let failed = |error: io::Error| refuse(format!("bwrap cannot be started: {error}"));
    let system = System::look();
    let mut made = made().map_err(failed)?;
    let copied = system.copied.iter().map(|path| copied(path));
    made.extend(copied.collect::<io::Result<Vec<_>>>().map_err(failed)?);
    let numbers: Vec<RawFd> = made.iter().map(AsRawFd::as_raw_fd).collect();
    let arguments = bwrap::arguments(plan, &system, &sources, &numbers);
    let mut list = Vec::new();
    for argument in arguments {
        list.extend_from_slice(argument.as_encoded_bytes());
        list.push(0);
    }
    let list = file("arguments", &list).map_err(failed)?;
    Started::spawn(plan, user, &list)
}

/// User and group to drop to; `None` where there is nothing to drop.
fn user(plan: &ZonePlan) -> Result<Option<(u32, u32)>, Refusal> {
    if !geteuid().is_root() && !getuid().is_root() {
        return Ok(None);
    }
    match plan.drop_to {
        Some((user, group)) if user != 0 && group != 0 => Ok(Some((user, group))),
        _ => Err(Refusal {
            cause: RefusalCause::Privileged,
            message: "loopexec runs as root, and root in a zone is root of the machine: \
                      name an unprivileged user to run zones as, or start loopexec as one"
                .to_owned(),
        }),
    }
}

pub(super) fn refuse(message: String) -> Refusal {
    Refusal {
        cause: RefusalCause::ProbeFailed,
        message: format!("the zone cannot be made: {message}"),
    }
}

/// The files that are the same everywhere, for bwrap to copy.
fn made() -> io::Result<Vec<OwnedFd>> {
    bwrap::MADE
        .iter()
        .map(|(_, text)| file("made", text.as_bytes()))
        .collect()
}

/// A file of this machine, for bwrap to copy.
fn copied(path: &Path) -> io::Result<OwnedFd> {
    let file = File::open(path)?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file.into())
}

/// A file in memory that bwrap inherits, reads and closes.
fn file(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    io::Seek::rewind(&mut file)?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file.into())
}
