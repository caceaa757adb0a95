//! The process table, searched by an argument that no other process has.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nothing here takes this long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A command that sleeps for ten minutes and is unlike any other.
pub(crate) struct Sleeper(String);

impl Sleeper {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("sleep 601.{}{serial:03}", std::process::id()))
    }

    /// As a word of a shell script.
    pub(crate) fn command(&self) -> &str {
        &self.0
    }

    /// Processes whose command line is exactly this one; those that only wait to be waited for have none.
    pub(crate) fn alive(&self) -> Vec<u32> {
        let wanted = format!("{}\0", self.0.replace(' ', "\0"));
        let pids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
            .collect()
    }

    pub(crate) fn is_up(&self) -> bool {
        !self.alive().is_empty()
    }
}

/// Waits for a fact, for a bounded time.
pub(crate) fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !fact() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
