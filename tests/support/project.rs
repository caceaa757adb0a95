//! The scratch project, its record, and the binary at work on it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::opinion::{SecondOpinion, accepts_the_receipt};
use super::{Answer, Running, wait_until};

const LOOPEXEC: &str = env!("CARGO_BIN_EXE_loopexec");

pub(crate) struct Project {
    // Before the directory: it reads what lies in there.
    _opinion: SecondOpinion,
    _dir: TempDir,
    /// The workdir.
    pub(crate) root: PathBuf,
    /// `$OUT` of every command.
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
    env: BTreeMap<String, String>,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::named("project")
    }

    pub(crate) fn named(name: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (root, outside, home) = (at(name), at("outside"), at("home"));
        for path in [&root, &outside, &home] {
            fs::create_dir(path).unwrap();
        }
        let root = root.canonicalize().unwrap();
        Self {
            _opinion: SecondOpinion(root.clone()),
            root,
            outside,
            home,
            _dir: dir,
            env: BTreeMap::new(),
        }
    }

    /// A repository whose one commit holds these files.
    pub(crate) fn git(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        project.run_git(&["init", "-q", "-b", "main"]);
        for (name, text) in files {
            project.write(name, text);
        }
        project.run_git(&["add", "-A"]);
        project.run_git(&["commit", "-q", "--allow-empty", "-m", "start"]);
        project
    }

    /// Adds a variable to the environment of the binary.
    pub(crate) fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.root.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap_or_default()
    }

    /// What commands wrote to `$OUT`.
    pub(crate) fn told(&self, name: &str) -> String {
        fs::read_to_string(self.outside.join(name)).unwrap_or_default()
    }

    fn clean_command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("OUT", &self.outside)
            .stdin(Stdio::null())
            .current_dir(&self.root);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Ann");
            command.env(format!("GIT_{role}_EMAIL"), "ann@example.com");
        }
        command
    }

    /// Runs git in the workdir and gives what it printed.
    pub(crate) fn run_git(&self, args: &[&str]) -> String {
        let out = self.clean_command("git").args(args).output().unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "git {args:?}: {stderr}");
        String::from_utf8(out.stdout).unwrap().trim_end().to_owned()
    }

    /// Starts the binary with `--json`.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        self.start_under(&[], args)
    }

    /// The same, started by another program that becomes it.
    pub(crate) fn start_under(&self, starter: &[&str], args: &[&str]) -> Running {
        Running::new(self.spawn(starter, args))
    }

    /// The same, with nobody at the other end of its standard output.
    pub(crate) fn start_unheard(&self, args: &[&str]) -> Running {
        let mut child = self.spawn(&[], args);
        drop(child.stdout.take());
        Running::new(child)
    }

    fn spawn(&self, starter: &[&str], args: &[&str]) -> Child {
        let words = [starter, &[LOOPEXEC]].concat();
        let mut command = self.clean_command(words[0]);
        command.args(&words[1..]);
        command.arg("--json").args(args).envs(&self.env);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs the binary to its end.
    pub(crate) fn loopexec(&self, args: &[&str]) -> Answer {
        self.start(args).end()
    }

    /// What the binary prints for people.
    pub(crate) fn printed(&self, args: &[&str]) -> String {
        let said = self
            .clean_command(LOOPEXEC)
            .args(args)
            .envs(&self.env)
            .output()
            .unwrap();
        [said.stdout, said.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat()
    }

    /// `verify` of the latest run: it must find nothing.
    pub(crate) fn verified(&self) -> Value {
        let answer = self.loopexec(&["verify"]);
        assert_eq!(answer.exit, Some(0), "{answer:?}");
        assert_eq!(answer.json["verified"], true);
        accepts_the_receipt(&self.run_dir().join("receipt.jsonl"));
        answer.json
    }

    /// The directory of the latest run.
    pub(crate) fn run_dir(&self) -> PathBuf {
        let runs = self.root.join(".loopexec/runs");
        let mut all: Vec<_> = fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all.pop().unwrap()
    }

    /// The events of the latest run, as its receipt tells them; a line that is being written is left out.
    pub(crate) fn events(&self) -> Vec<Value> {
        let runs = fs::read_dir(self.root.join(".loopexec/runs"));
        if runs.map_or(0, Iterator::count) == 0 {
            return Vec::new();
        }
        let text = fs::read_to_string(self.run_dir().join("receipt.jsonl")).unwrap_or_default();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.map(|record| record["event"].clone()).collect()
    }

    /// The events of one name.
    pub(crate) fn events_named(&self, name: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["event"] == name);
        events
    }

    /// Iterations that were closed, in order. 0 is the baseline.
    pub(crate) fn closed_iterations(&self) -> Vec<u64> {
        let closed = self.events_named("checkpointed");
        closed
            .iter()
            .map(|event| event["iteration"].as_u64().unwrap())
            .collect()
    }

    /// Waits until a command wrote this file below `$OUT`.
    pub(crate) fn wait_told(&self, name: &str) {
        wait_until(&format!("a command writes {name}"), || self.outside.join(name).exists());
    }

    /// The newest segment of the latest run's journal.
    pub(crate) fn segment(&self) -> PathBuf {
        let journal = self.run_dir().join("journal");
        let names = fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().path());
        names
            .filter(|path| path.extension().is_some_and(|x| x == "seg"))
            .max()
            .unwrap()
    }
}

/// Where the last batch of a segment begins, and how many bytes of it are live (SPEC 12.3).
pub(crate) fn last_batch(segment: &Path) -> (usize, usize) {
    let bytes = fs::read(segment).unwrap();
    let mut starts = (4096..bytes.len()).step_by(4096).rev();
    let start = starts.find(|at| bytes[*at..].starts_with(b"LXB1")).unwrap();
    let live = bytes[start + 60..start + 64].try_into().unwrap();
    (start, u32::from_le_bytes(live) as usize)
}
