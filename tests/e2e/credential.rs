//! The one key of a life: only the work sees it, and it is worthless afterwards, whatever dies and whenever.
//!
//! The provider of keys is a script with a directory of those that are good; whoever is killed, it must be empty in the
//! end. What needs a zone is left out, aloud, where the machine starts none.

mod endings;
mod http;
mod kills;
mod lent;
mod provider;
mod scope;

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::zones::{flags, zones};
use crate::support::{Answer, Project, Running};
use provider::Provider;

/// A project whose check passes once the work has written `done`, and the provider that its keys come from.
struct Scene {
    project: Project,
    provider: Provider,
}

impl Scene {
    /// `None` where no zone starts: then there is nothing to see.
    fn new() -> Option<Self> {
        zones()?;
        let project = Project::git(&[("README", "x\n")]);
        let provider = Provider::beside(&project);
        Some(Self { project, provider })
    }

    /// The words of a run; a flag of `more` takes the place of what it would have otherwise.
    fn words<'a>(&'a self, work: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let usual = [
            ["--max-iterations", "3"],
            ["--check", "test -f done"],
            ["--exec", work],
            ["--mint-cmd", &self.provider.mint],
            ["--revoke-cmd", &self.provider.revoke],
            ["--key-ttl", "1h"],
            ["--key-cap-usd", "2.5"],
        ];
        let mut words = vec!["run"];
        words.extend(usual.iter().filter(|[flag, _]| !more.contains(flag)).flatten());
        [&words[..], flags(), more].concat()
    }

    fn start(&self, work: &str, more: &[&str]) -> Running {
        self.project.start(&self.words(work, more))
    }

    fn run(&self, work: &str, more: &[&str]) -> Answer {
        self.start(work, more).end()
    }

    /// What was recorded of keys, of all lives of the latest run.
    fn steps(&self) -> Vec<String> {
        let events = self.project.events_named("credential");
        let step = |event: &serde_json::Value| event["step"].as_str().unwrap().to_owned();
        events.iter().map(step).collect()
    }

    /// Directories that hold word of a key.
    fn marked(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.project.root.join(".loopexec/runs")).unwrap();
        let places = runs.flat_map(|run| fs::read_dir(run.unwrap().path()).unwrap());
        let places = places.map(|place| place.unwrap().path());
        places.filter(|place| place.join("credential.json").exists()).collect()
    }

    fn markers(&self) -> usize {
        self.marked().len()
    }

    /// The reapers of this project that are alive.
    fn reapers(&self) -> Vec<i32> {
        let root = self.project.root.to_string_lossy().into_owned();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("\0__reap\0") && line.contains(&root)
        })
        .collect()
    }

    fn kill_reaper(&self) {
        for pid in self.reapers() {
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
        crate::support::wait_until("the reaper is gone", || self.reapers().is_empty());
    }
}
