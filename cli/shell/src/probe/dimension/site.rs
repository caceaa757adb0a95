//! What a dimension may know before it says how it can be varied: the check, and what this machine has.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::process::{CommandSpec, Deadlines, Outcome, Supervisor, Wishes, which};

/// More time than any tool needs to say whether it works.
const ANSWER_LIMIT_MS: u64 = 20_000;

/// The place and the check of a probe.
#[derive(Debug)]
pub(in super::super) struct Site<'a> {
    /// How many runs are wanted under each.
    pub runs: u32,
    /// The collector that read the check; empty for none.
    pub collector: String,
    /// A plugin that is injected into pytest can be found by it.
    pub takes_plugins: bool,
    /// What the check inherits with nothing varied.
    pub env: &'a [(OsString, OsString)],
    /// How many processors the check has.
    pub processors: usize,
    pub is_root: bool,
    pub workdir: PathBuf,
    pub wishes: &'a Wishes,
    pub supervisor: RefCell<Supervisor>,
}

impl Site<'_> {
    /// The value that the check inherits.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Whether there is such a program.
    pub(crate) fn has(&self, program: &str) -> bool {
        which(OsStr::new(program), &self.workdir, self.variable("PATH")).is_ok()
    }

    /// What a command prints, if it ends well.
    pub(crate) fn ask(&self, words: &[&str]) -> Option<Vec<u8>> {
        let spec = CommandSpec {
            argv: words.iter().map(OsString::from).collect(),
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
