//! Starting bwrap, in the cgroup of its zone where there is one to be had.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};

use super::bwrap;
use super::cgroup::Cgroup;
use super::control::{Line, Order};
use super::launch::refuse;
use super::plan::{Network, ZonePlan};
use super::report::{Refusal, Tier};
use crate::process::spawn_into;

/// Why a zone is not made where the contract asks for a cgroup.
const NO_CGROUP: &str = "no cgroup of version 2 with memory and pids is delegated to loopexec here; start it by `systemd-run \
                         --user --scope -p Delegate=yes`, or leave out --require-cgroup";

/// A bwrap that is on its way.
pub(super) struct Started {
    pub(super) bwrap: Bwrap,
    pub(super) cgroup: Option<Cgroup>,
    pub(super) line: Line,
    /// What bwrap and init say when something is wrong.
    pub(super) words: io::PipeReader,
}

impl Started {
    /// With the arguments of that file, and as that user and group.
    pub(super) fn spawn(plan: &ZonePlan, user: Option<(u32, u32)>, arguments: &OwnedFd) -> Result<Self, Refusal> {
        let failed = |error: io::Error| refuse(format!("bwrap cannot be started: {error}"));
        let (line, given) = Line::pair().map_err(failed)?;
        let (words, said) = io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&words, true).map_err(|error| failed(error.into()))?;
        let mut command = Command::new(&plan.bwrap);
        command
            .args(["--args", &arguments.as_raw_fd().to_string()])
            .args(bwrap::command())
            .env_clear()
            .stdin(given)
            .stdout(Stdio::null())
            .stderr(said)
            .current_dir("/");
        if let Some((user, group)) = user {
            // With the first of them other groups go too.
            command.uid(user).gid(group);
        }
        let (bwrap, cgroup) = match enclosed(plan, &mut command) {
            Some((bwrap, cgroup)) => (bwrap, Some(cgroup)),
            None if plan.require_cgroup => return Err(refuse(NO_CGROUP.to_owned())),
            None => (free(&mut command).map_err(failed)?, None),
        };
        // Ours of their ends.
        drop(command);
        let listen = matches!(plan.network, Network::Proxy(_));
        // Refused, bwrap has ended already, and its words say why.
        let _unheard = line.send(&Order::Look { listen }, &[]);
        Ok(Self {
            bwrap: Bwrap::of(bwrap).map_err(failed)?,
            cgroup,
            line,
            words,
        })
    }
}

/// Starts it in a cgroup of its own; `None` where none is to be had, or none that is enough.
fn enclosed(plan: &ZonePlan, command: &mut Command) -> Option<(Pid, Cgroup)> {
    let cgroup = Cgroup::make(&plan.limits).ok()?;
    if plan.require_cgroup && cgroup.tier != Tier::Cgroup {
        return None;
    }
    let bwrap = spawn_into(cgroup.door().ok()?.as_fd(), command).ok()?;
    Some((bwrap, cgroup))
}

fn free(command: &mut Command) -> io::Result<Pid> {
    let bwrap = command.spawn()?.id();
    let bwrap = i32::try_from(bwrap).ok().and_then(Pid::from_raw);
    bwrap.ok_or_else(|| io::Error::other("it has no process number"))
}

/// The process from outside of the zone that waits for its first one.
pub(super) struct Bwrap {
    pid: Pid,
    process: OwnedFd,
}

impl Bwrap {
    /// A child that nobody has waited for.
    fn of(pid: Pid) -> io::Result<Self> {
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self { pid, process })
    }

    pub(super) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.process, Signal::KILL)?)
    }

    /// Returns when it is gone.
    pub(super) fn wait(&self) {
        let ended = || waitid(WaitId::PidFd(self.process.as_fd()), WaitIdOptions::EXITED);
        while ended().is_err_and(|error| error == Errno::INTR) {}
    }
}
