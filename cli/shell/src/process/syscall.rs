//! The system calls that neither std nor rustix expresses. The only unsafe code of the crate.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;

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
    for entry in std::fs::read_dir("/proc/self/fd")? {
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

fn microseconds(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}
