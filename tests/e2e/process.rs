//! Commands and their trees: bounded, captured, provably gone.
//!
//! Every test starts real processes. Long sleepers carry a unique number as their argument, by which the process
//! table is searched for them.

mod deaths;
mod inheritance;
mod output;
mod start;
mod stops;
mod survivors;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shell::process::{
    Cancel, CaptureSpec, CommandRun, CommandSpec, Deadlines, Input, Outcome, ProcessError, StopCause, Supervisor,
    SupervisorOptions, Wishes, leftovers, which, wishes,
};

const LOOPEXEC: &str = env!("CARGO_BIN_EXE_loopexec");

const NOBODY: Vec<u32> = Vec::new();

fn supervisor() -> Supervisor {
    Supervisor::start(Path::new(LOOPEXEC), SupervisorOptions::default()).unwrap()
}

fn run(spec: &CommandSpec) -> CommandRun {
    supervisor().run(spec, &Wishes::never()).unwrap()
}

fn sh(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["sh", "-c", script].map(OsString::from).to_vec(),
        cwd: std::env::temp_dir(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        label: "command".to_owned(),
        ..CommandSpec::default()
    }
}

fn text(run: &CommandRun) -> String {
    String::from_utf8(run.stdout.inline.clone().unwrap()).unwrap()
}

/// A command that sleeps for ten minutes and is unlike any other.
fn unique_sleeper() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "sleep 600.{}{:03}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Orphans of dead governors and supervisors all come to the one process these tests share: one such test at a time.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processes whose command line is exactly this sleeper.
fn alive(sleeper: &str) -> Vec<u32> {
    let wanted = format!("{}\0", sleeper.replace(' ', "\0"));
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .collect()
}

/// False for a process that is gone or only waits to be waited for.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !fact() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
