//! The signature of a file: what must be the same for its content to be believed unchanged.
//!
//! The change time cannot be set by a program, so it catches an edit that keeps the size and puts the
//! modification time back. What it cannot catch is a second edit within one tick of the file system's
//! clock; a signature taken so close to the edit is not *settled*, and its file is hashed again.

use rustix::fs::{FileType, Stat};

use super::manifest::Kind;

/// Kernel clocks tick at 100 Hz or faster; twice that.
const TICK_NS: i128 = 20_000_000;
/// File systems that only keep whole (or even) seconds.
const COARSE_NS: i128 = 2_000_000_000;

/// Device, inode, size, mode and change time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sig {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mode: u32,
    pub(crate) ctime_s: i64,
    pub(crate) ctime_ns: u32,
}

impl Sig {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the widths of these fields differ between architectures"
    )]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mode: stat.st_mode as u32,
            ctime_s: stat.st_ctime as i64,
            ctime_ns: stat.st_ctime_nsec as u32,
        }
    }

    pub(crate) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    /// What a manifest calls this; `None` for what it does not hold.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self.file_type() {
            FileType::RegularFile => Some(Kind::File),
            FileType::Symlink => Some(Kind::Symlink),
            _ => None,
        }
    }

    /// Permission bits as a manifest holds them.
    pub(crate) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// True when any change after `now` must show in the change time. `now` is taken before the file
    /// is read.
    pub(crate) fn settled(&self, now: Now) -> bool {
        let slack = if self.ctime_ns == 0 { COARSE_NS } else { TICK_NS };
        i128::from(self.ctime_s) * 1_000_000_000 + i128::from(self.ctime_ns) + slack < now.0
    }
}

/// Nanoseconds since the epoch, on the clock that stamps files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now(i128);

impl Now {
    pub(crate) fn read() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        Self(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sig(ctime_s: i64, ctime_ns: u32) -> Sig {
        Sig {
            dev: 1,
            ino: 1,
            size: 1,
            mode: 0o100_644,
            ctime_s,
            ctime_ns,
        }
    }

    #[test]
    fn a_change_just_before_the_scan_is_not_settled() {
        let now = Now(100_000_000_000);
        assert!(!sig(99, 999_000_000).settled(now));
        assert!(sig(99, 900_000_000).settled(now));
        assert!(
            !sig(101, 1).settled(now),
            "a change time in the future is never trusted"
        );
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        let now = Now(100_500_000_000);
        assert!(!sig(99, 0).settled(now));
        assert!(sig(98, 0).settled(now));
    }
}
