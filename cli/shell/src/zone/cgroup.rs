//! A cgroup of its own for a zone, where somebody gave this user a part of the tree of version 2.
//!
//! ```text
//!   delegated/                      what the governor was started in
//!     loopexec-governor/            the governor, once controllers are passed on: no process may stand beside them
//!     loopexec-zone-<launcher>/     one zone: memory.max, pids.max; ended as a whole by cgroup.kill
//! ```
//!
//! What is missing of it leaves the tier below, or refuses the zone where the contract asks for this one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::plan::Limits;
use super::report::Tier;

const ZONE: &str = "loopexec-zone-";
const GOVERNOR: &str = "loopexec-governor";

/// What is told of a killed cgroup changes once.
const CHANGES_MAX: u32 = 10;

/// Scratch of a zone lies in memory, in so many places.
const SCRATCHES: u64 = 3;

/// One zone's.
#[derive(Debug)]
pub(super) struct Cgroup {
    dir: PathBuf,
    pub(super) tier: Tier,
}

impl Cgroup {
    /// One that is limited, as far as may be, and empty.
    pub(super) fn make(limits: &Limits) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let base = base(&mounts, &fs::read_to_string("/proc/self/cgroup")?).ok_or(ErrorKind::Unsupported)?;
        sweep(&base);
        let dir = base.join(format!("{ZONE}{}", std::process::id()));
        fs::create_dir(&dir)?;
        // From here on it is removed by whoever holds this.
        let mut made = Self { dir, tier: Tier::Kill };
        if pass_on(&base).and_then(|()| limit(&made.dir, limits)).is_ok() {
            made.tier = Tier::Cgroup;
        }
        Ok(made)
    }

    /// What a process is started into.
    pub(super) fn door(&self) -> io::Result<File> {
        File::open(&self.dir)
    }

    /// The kernel ended something of it for want of memory.
    pub(super) fn ran_out(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("memory.events")).unwrap_or_default();
        counted(&events, "oom_kill") > 0
    }

    /// Ends everybody in it; whether nobody is left by then.
    pub(super) fn end(&self, at_most: Duration) -> bool {
        let _asked = put(&self.dir.join("cgroup.kill"), "1");
        self.is_emptied(at_most).unwrap_or(false)
    }

    fn is_emptied(&self, at_most: Duration) -> io::Result<bool> {
        let mut events = File::open(self.dir.join("cgroup.events"))?;
        let timeout: Option<Timespec> = at_most.try_into().ok();
        for _ in 0..CHANGES_MAX {
            let mut text = String::new();
            events.rewind()?;
            events.read_to_string(&mut text)?;
            if counted(&text, "populated") == 0 {
                return Ok(true);
            }
            // Ready when it says something else than it was read to say.
            if poll(&mut [PollFd::new(&events, PollFlags::PRI)], timeout.as_ref())? == 0 {
                break;
            }
        }
        Ok(false)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // One that is not empty stays, and is told of by whoever waited for it.
        let _left_to_the_next = fs::remove_dir(&self.dir);
    }
}

/// Where the governor may make others: the cgroup that it was started in.
fn base(mounts: &str, own: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounted = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        after.starts_with("cgroup2 ").then_some(before)
    })?;
    let mut fields = mounted.split(' ').skip(3);
    let (root, at) = (fields.next()?, fields.next()?);
    let below = Path::new(own).strip_prefix(root).ok()?;
    let dir = Path::new(at).join(below);
    match dir.ends_with(GOVERNOR) {
        true => dir.parent().map(Path::to_path_buf),
        false => Some(dir),
    }
}

/// Hands memory and processes on to those below, which only an otherwise empty one may.
fn pass_on(base: &Path) -> io::Result<()> {
    let control = base.join("cgroup.subtree_control");
    let has = |controllers: &str| {
        ["memory", "pids"]
            .iter()
            .all(|wanted| controllers.split_whitespace().any(|name| name == *wanted))
    };
    if has(&fs::read_to_string(&control)?) {
        return Ok(());
    }
    if !has(&fs::read_to_string(base.join("cgroup.controllers"))?) {
        return Err(ErrorKind::Unsupported.into());
    }
    if put(&control, "+memory +pids").is_ok() {
        return Ok(());
    }
    let governor = base.join(GOVERNOR);
    match fs::create_dir(&governor) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let own = fs::read_link("/proc/self/exe")?;
    for process in fs::read_to_string(base.join("cgroup.procs"))?.lines() {
        // Whoever else is in it was not put there to be moved about.
        if fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe != own) {
            return Err(ErrorKind::ResourceBusy.into());
        }
        put(&governor.join("cgroup.procs"), process)?;
    }
    put(&control, "+memory +pids")
}

fn limit(dir: &Path, limits: &Limits) -> io::Result<()> {
    let memory = limits
        .memory_bytes
        .saturating_add(limits.scratch_bytes.saturating_mul(SCRATCHES));
    put(&dir.join("memory.max"), &memory.to_string())?;
    // All of a zone goes, as it does where the watch ends it.
    put(&dir.join("memory.oom.group"), "1")?;
    // bwrap and the init are two more.
    put(&dir.join("pids.max"), &limits.processes.saturating_add(2).to_string())?;
    match put(&dir.join("memory.swap.max"), "0") {
        // A kernel without swap.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// To a file that the kernel made.
fn put(file: &Path, word: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.write_all(word.as_bytes())
}

fn counted(events: &str, name: &str) -> u64 {
    let value = events
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Those of launchers that were killed.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_left = |launcher: &str| !Path::new("/proc").join(launcher).exists();
        if name.strip_prefix(ZONE).is_some_and(is_left) {
            let _somebody_is_in_it = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_of_the_governor_is_found_by_its_mount_wherever_that_is() {
        let mounts = "24 1 0:22 / /proc rw - proc proc rw\n30 1 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let found = |own: &str| base(mounts, own).map(|dir| dir.display().to_string());
        assert_eq!(found("1:cpu:/x\n0::/\n").as_deref(), Some("/sys/fs/cgroup/unified/"));
        assert_eq!(
            found("0::/user.slice/run-1.scope\n").as_deref(),
            Some("/sys/fs/cgroup/unified/user.slice/run-1.scope")
        );
        let moved = format!("0::/run-1.scope/{GOVERNOR}\n");
        assert_eq!(found(&moved).as_deref(), Some("/sys/fs/cgroup/unified/run-1.scope"));
        assert_eq!(found("1:cpu:/x\n"), None);
        assert_eq!(base("24 1 0:22 / /proc rw - proc proc rw\n", "0::/\n"), None);
    }

    #[test]
    fn limits_are_written_to_what_the_kernel_made_and_to_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            memory_bytes: 1_000,
            processes: 7,
            open_files: 1,
            file_bytes: 1,
            scratch_bytes: 100,
            volume_bytes: 1,
            processors: None,
        };
        assert!(limit(dir.path(), &limits).is_err());
        for name in ["memory.max", "memory.oom.group", "pids.max"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        limit(dir.path(), &limits).unwrap();
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), ("1300".into(), "9".into()));
        assert!(!dir.path().join("memory.swap.max").exists());
        assert_eq!(counted("low 0\noom_kill 2\n", "oom_kill"), 2);
        assert_eq!(counted("oom_kill_group 3\n", "oom_kill"), 0);
    }
}
