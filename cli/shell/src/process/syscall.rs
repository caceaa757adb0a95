//! The system calls that neither std nor rustix expresses. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::fs;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::Pid;

/// One child that has been waited for.
pub(super) struct Reaped {
    pub(super) pid: Pid,
    /// Exit status, or the signal that ended it.
    pub(super) end: Result<i32, i32>,
    /// User and system time of it and of every descendant it waited for itself, in microseconds.
    pub(super) cpu_us: u64,
    /// Largest resident size of any of those, in KiB.
    pub(super) max_rss_kb: u64,
}

/// Answer of [`reap_one`].
pub(super) enum Reap {
    One(Reaped),
    /// There are children, all of them alive.
    AllAlive,
    /// There are no children.
    NoChildren,
}

/// Waits for any child that has ended, without blocking.
pub(super) fn reap_one() -> Reap {
    let mut status: libc::c_int = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are valid for one write of their type for the whole call.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        if pid > 0 {
            // SAFETY: a zeroed rusage is a valid one (integers only), and wait4 has filled it.
            let usage = unsafe { usage.assume_init() };
            let Some(pid) = Pid::from_raw(pid) else { continue };
            return Reap::One(Reaped {
                pid,
                end: if libc::WIFEXITED(status) {
                    Ok(libc::WEXITSTATUS(status))
                } else {
                    Err(libc::WTERMSIG(status))
                },
                cpu_us: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
                max_rss_kb: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            });
        }
        if pid == 0 {
            return Reap::AllAlive;
        }
        // With these arguments only EINTR and ECHILD exist.
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Reap::NoChildren;
        }
    }
}

/// Makes sure that no descriptor from `first` on passes to a program started from here.
pub(crate) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: no memory is passed; the flag only marks descriptors, every one of them stays open and usable.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC as libc::c_uint,
        )
    };
    if done == 0 {
        return Ok(());
    }
    // Kernels before 5.11 do not know the flag: mark what is open one by one.
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(number) = number.filter(|number| *number >= first) {
            // SAFETY: no memory is passed; a number that is closed by now only yields EBADF.
            unsafe { libc::fcntl(number as libc::c_int, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Version of the kernel's Landlock; `None` where it has none, or where it is switched off.
pub(crate) fn landlock_abi() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no attributes, reads no memory and makes nothing.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}

/// The arguments of clone3 as far as cgroups came to it, in Linux 5.7 (`struct clone_args` of its `linux/sched.h`).
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Starts a program within a cgroup of version 2: a process that is moved into one waits until every processor has
/// passed a quiet state, some milliseconds. A program that cannot be executed says so on its standard error.
///
/// # Errors
/// `Unsupported` where this process has several threads; otherwise what the kernel says to it, by which nothing was
/// started.
pub(crate) fn spawn_into(cgroup: BorrowedFd<'_>, command: &mut Command) -> io::Result<Pid> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    // With others, the child would have their locks as they were and nobody to open them.
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let arguments = CloneArguments {
        flags: CLONE_INTO_CGROUP,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: u64::try_from(cgroup.as_raw_fd()).unwrap_or(u64::MAX),
        ..CloneArguments::default()
    };
    // SAFETY: without CLONE_VM and a stack this is fork: the child goes on here, in memory of its own, and alone as its
    // parent was. The structure is as large as is said and outlives the call, which writes to nothing of it.
    let made = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) };
    if made == 0 {
        let error = command.exec();
        let _unheard = writeln!(io::stderr(), "it cannot be executed: {error}");
        // SAFETY: nothing is passed, and nothing of the parent is run at the end.
        unsafe { libc::_exit(127) }
    }
    let made = i32::try_from(made).ok().filter(|made| *made > 0);
    made.and_then(Pid::from_raw).ok_or_else(io::Error::last_os_error)
}

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}
