//! What a dimension may know before it says how it can be varied: the check, and what this machine has.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use engine::event::policy::Policy;
use rustix::process::geteuid;

use super::super::processors;
use crate::oracle::perturb::order;
use crate::process::{
    CommandSpec, Deadlines, Outcome, Supervisor, SupervisorOptions, Wishes, host_environment, host_program,
};
use crate::session::RunError;
use crate::world::{detection, hermetic};

/// More time than any tool needs to say whether it works.
const ANSWER_LIMIT_MS: u64 = 20_000;

/// The place and the check of a probe.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    /// How many runs are wanted under each.
    pub runs: u32,
    /// The collector that read the check; empty for none.
    pub collector: String,
    /// What is injected into its runner takes effect.
    pub is_open: bool,
    /// What the check inherits with nothing varied.
    pub env: &'a [(OsString, OsString)],
    /// How many processors the check has.
    pub processors: usize,
    pub is_root: bool,
    /// The check runs in a zone.
    pub is_zoned: bool,
    pub workdir: PathBuf,
    pub wishes: &'a Wishes,
    pub supervisor: RefCell<Supervisor>,
}

impl<'a> Site<'a> {
    /// A place where the check would find `env`, for one run under each dimension.
    pub(crate) fn at(
        dir: PathBuf,
        policy: &Policy,
        env: &'a [(OsString, OsString)],
        exe: &Path,
        wishes: &'a Wishes,
        collector: String,
    ) -> Result<Self, RunError> {
        let options = SupervisorOptions {
            runtime_dir: None,
            env: host_environment(&hermetic::offered(policy, env)),
        };
        Ok(Self {
            runs: 1,
            is_open: order::is_open(&collector, &detection(&dir, &policy.oracle.check), &dir, env),
            collector,
            env,
            processors: processors(),
            is_root: geteuid().is_root(),
            is_zoned: policy.isolation.zones,
            workdir: dir,
            wishes,
            supervisor: Supervisor::start(exe, options)?.into(),
        })
    }
}

impl Site<'_> {
    /// The value that the check inherits.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Whether there is such a program.
    pub(crate) fn has(&self, program: &str) -> bool {
        self.file_of(program).is_some()
    }

    /// The file of a program that is the governor's to start.
    pub(crate) fn file_of(&self, program: &str) -> Option<PathBuf> {
        host_program(program, self.variable("PATH")).ok()
    }

    /// What a command prints, if it ends well.
    pub(crate) fn ask(&self, words: &[&str]) -> Option<Vec<u8>> {
        self.run(words.iter().map(OsString::from).collect())
    }

    /// The same of words that need not be text.
    pub(crate) fn run(&self, argv: Vec<OsString>) -> Option<Vec<u8>> {
        let spec = CommandSpec {
            argv,
            cwd: self.workdir.clone(),
            deadlines: Deadlines {
                timeout_ms: Some(ANSWER_LIMIT_MS),
                ..Deadlines::default()
            },
            label: "probe".to_owned(),
            ..CommandSpec::default()
        };
        let run = self.supervisor.borrow_mut().run(&spec, self.wishes).ok()?;
        (run.outcome == Outcome::Exited(0)).then(|| run.stdout.inline.unwrap_or(run.stdout.head))
    }
}
