//! The signature of a file: what must be the same for its content to be believed unchanged.
//!
//! The change time cannot be set by a program, so it catches an edit that keeps the size and puts the
//! modification time back. What it cannot catch is a second edit within one tick of the file system's
//! clock; a signature taken so close to the edit is not *settled*, and its file is hashed again. On a file
//! system that is not known to keep change times faithfully nothing is ever settled.

use std::os::fd::AsFd;

use rustix::fs::{FileType, Stat};

use super::manifest::Kind;

/// Kernel clocks tick at 100 Hz or faster; twice that.
const TICK_NS: i128 = 20_000_000;
/// File systems that only keep whole (or even) seconds.
const COARSE_NS: i128 = 2_000_000_000;
/// File systems whose change times are the kernel's own: ext2 to 4, XFS, Btrfs, tmpfs, overlayfs, F2FS,
/// ZFS, bcachefs. Others (FUSE, 9p, network) may pass on whatever the other side says.
const FAITHFUL: [u32; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
];

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
        now.faithful && i128::from(self.ctime_s) * 1_000_000_000 + i128::from(self.ctime_ns) + slack < now.ns
    }
}

/// Nanoseconds since the epoch, on the clock that stamps files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    ns: i128,
    faithful: bool,
}

impl Now {
    /// The time on the file system that `fd` lies on.
    pub(crate) fn on(fd: impl AsFd) -> Self {
        let now = Self::anywhere();
        Self {
            faithful: is_faithful(fd),
            ..now
        }
    }

    /// The time, on a file system that is known already.
    pub(crate) fn with(faithful: bool) -> Self {
        Self {
            faithful,
            ..Self::anywhere()
        }
    }

    fn anywhere() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        Self {
            ns: i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec),
            faithful: false,
        }
    }

    /// The same time, on a file system that nothing is known of.
    pub(crate) fn elsewhere(self) -> Self {
        Self {
            faithful: false,
            ..self
        }
    }
}

/// Whether a change on the file system that `fd` lies on always carries a later time.
pub(crate) fn is_faithful(fd: impl AsFd) -> bool {
    rustix::fs::fstatfs(fd).is_ok_and(|fs| FAITHFUL.contains(&(fs.f_type as u32)))
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
        let now = Now {
            ns: 100_000_000_000,
            faithful: true,
        };
        assert!(!sig(99, 999_000_000).settled(now));
        assert!(sig(99, 900_000_000).settled(now));
        assert!(
            !sig(99, 900_000_000).settled(now.elsewhere()),
            "nothing is believed of an unknown file system"
        );
        assert!(
            !sig(101, 1).settled(now),
            "a change time in the future is never trusted"
        );
    }

    #[test]
    fn whole_seconds_are_taken_for_a_coarse_clock() {
        let now = Now {
            ns: 100_500_000_000,
            faithful: true,
        };
        assert!(!sig(99, 0).settled(now));
        assert!(sig(98, 0).settled(now));
    }
}
