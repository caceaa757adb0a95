//! What one run of the check showed.
//!
//! ```text
//! captured run --> Artefact --> Collector::collect --> Measured --> guards, ratchet, progress
//! ```
//!
//! An [`Artefact`] is everything that was kept of exactly one run. A collector turns it into a
//! [`Measured`] without touching the world: nothing here runs, lists or re-runs a test. A member's
//! identity must survive a run in another directory, so paths below the working directory are
//! written relative to it, and build hashes never enter an id.

pub mod collect;
pub mod coverage;
pub mod normalise;
pub(crate) mod perturb;
mod plain;
pub mod suite;
pub mod trace;

use std::collections::HashMap;
use std::collections::HashSet;

/// The bytes kept of one run of the check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Artefact<'a> {
    /// Exit status; `None` when a signal or a deadline ended the command.
    pub exit: Option<i32>,
    pub stdout: &'a [u8],
    pub stderr: &'a [u8],
    /// The one report file the plan or the user named, when it exists.
    pub report: Option<&'a [u8]>,
    /// Every file found in the fresh reports directory, by its name relative to that directory.
    pub reports_dir_files: &'a [(String, Vec<u8>)],
    /// Absolute path of the directory the check ran in; empty when unknown.
    pub workdir: &'a str,
}

impl<'a> Artefact<'a> {
    /// The report file called `name`, if the run left one.
    pub fn file(&self, name: &str) -> Option<&'a [u8]> {
        self.reports_dir_files
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, bytes)| bytes.as_slice())
    }

    /// `path` relative to the working directory when it lies below it, otherwise unchanged.
    pub fn relative(&self, path: &str) -> String {
        let root = self.workdir.trim_end_matches('/');
        match path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) if !root.is_empty() => rest.to_string(),
            _ => path.to_string(),
        }
    }
}

/// How one member ended. The order is written down in journals: append only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Passed,
    /// An assertion did not hold.
    Failed,
    /// The member could not be brought to a verdict: set-up, tear-down, crash, or no conclusion.
    Error,
    Skipped,
    /// Failed, and was expected to.
    Xfail,
    /// Passed although it was expected to fail.
    Xpass,
    /// Known to the runner and not run.
    Ignored,
    Todo,
    /// Failed first and passed on a retry of the runner.
    FlakyPassed,
}

impl Status {
    /// Every status, in the written order.
    pub const ALL: [Self; 9] = [
        Self::Passed,
        Self::Failed,
        Self::Error,
        Self::Skipped,
        Self::Xfail,
        Self::Xpass,
        Self::Ignored,
        Self::Todo,
        Self::FlakyPassed,
    ];

    pub fn is_passed(self) -> bool {
        self == Self::Passed
    }

    /// Failed or in error: the statuses a runner must not answer with success.
    pub fn is_failing(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
            Self::Xfail => "xfail",
            Self::Xpass => "xpass",
            Self::Ignored => "ignored",
            Self::Todo => "todo",
            Self::FlakyPassed => "flaky-passed",
        }
    }
}

/// One test, or one container of tests that got a verdict of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: String,
    pub status: Status,
    /// The beginning of the failure text or of the reason, as the runner wrote it; at most
    /// [`MESSAGE_LIMIT_BYTES`].
    pub message: String,
    pub suite: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// A file, suite, package or build rather than a test. It counts while it is failing; its
    /// absence in another run means nothing, because a healed container is often not listed.
    pub container: bool,
}

/// How much of a failure text is kept.
pub const MESSAGE_LIMIT_BYTES: usize = 2048;

impl Member {
    pub fn new(id: impl Into<String>, status: Status) -> Self {
        Self {
            id: id.into(),
            status,
            message: String::new(),
            suite: None,
            file: None,
            line: None,
            container: false,
        }
    }

    pub fn saying(mut self, message: &str) -> Self {
        self.message = excerpt(message);
        self
    }

    pub fn of_suite(mut self, suite: impl Into<String>) -> Self {
        self.suite = Some(suite.into());
        self
    }

    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    pub fn as_container(mut self) -> Self {
        self.container = true;
        self
    }
}

/// What a collector read from one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Name of the collector that read the run.
    pub collector: &'static str,
    /// Sorted by id; ids are unique, a second member of the same name is called `name#2`.
    pub members: Vec<Member>,
    /// Whether every concluded test is named in `members`. Some outputs name only what failed; then
    /// guards that compare members have nothing to compare, and must say so.
    pub complete: bool,
    /// How many tests the runner said it would run.
    pub announced: Option<u64>,
    /// How many tests came to a verdict. Fewer than announced is normal in a run that stopped at its
    /// first failure; together with exit 0 it is not.
    pub concluded: Option<u64>,
    /// Whether the runner itself said that it had come to its end.
    pub finished: bool,
    /// Tests that passed or failed only after a retry by the runner.
    pub retried: u64,
    /// Sentences about evidence that cannot all be true: totals against lines, report against exit
    /// status. An honest crash may leave some too; together with exit 0 each one is damning.
    pub contradictions: Vec<String>,
    /// Sentences about what was not seen, or seen from the side.
    pub notes: Vec<String>,
}

impl Measured {
    /// An empty measurement of a runner that has not (yet) said that it finished.
    pub fn unfinished(collector: &'static str) -> Self {
        Self {
            collector,
            members: Vec::new(),
            complete: true,
            announced: None,
            concluded: None,
            finished: false,
            retried: 0,
            contradictions: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn failing(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.status.is_failing())
    }

    pub fn member(&self, id: &str) -> Option<&Member> {
        self.members
            .binary_search_by(|member| member.id.as_str().cmp(id))
            .ok()
            .map(|at| &self.members[at])
    }

    /// Sorts the members and makes their ids unique, whatever the order the runner finished them in.
    fn settled(mut self) -> Self {
        self.members.sort_by(|a, b| {
            (&a.id, &a.file, a.line, a.status, &a.message).cmp(&(&b.id, &b.file, b.line, b.status, &b.message))
        });
        let mut taken: HashSet<String> = self.members.iter().map(|member| member.id.clone()).collect();
        let mut next: HashMap<String, u32> = HashMap::new();
        let mut last: Option<String> = None;
        for member in &mut self.members {
            if last.as_deref() != Some(member.id.as_str()) {
                last = Some(member.id.clone());
                continue;
            }
            let number = next.entry(member.id.clone()).or_insert(2);
            let unique = loop {
                let candidate = format!("{}#{number}", member.id);
                *number += 1;
                if taken.insert(candidate.clone()) {
                    break candidate;
                }
            };
            member.id = unique;
        }
        self.members.sort_by(|a, b| a.id.cmp(&b.id));
        self
    }
}

/// The first [`MESSAGE_LIMIT_BYTES`] of `text`, cut between characters.
fn excerpt(text: &str) -> String {
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let mut end = text.len().min(MESSAGE_LIMIT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_same_name_are_numbered_the_same_way_in_any_order() {
        let make = |statuses: &[Status]| {
            let mut measured = Measured::unfinished("test");
            measured.members = statuses.iter().map(|status| Member::new("a", *status)).collect();
            measured.members.push(Member::new("a#2", Status::Todo));
            measured.settled().members
        };
        let one = make(&[Status::Passed, Status::Failed, Status::Passed]);
        assert_eq!(one, make(&[Status::Failed, Status::Passed, Status::Passed]));
        let ids: Vec<_> = one.iter().map(|member| member.id.as_str()).collect();
        assert_eq!(ids, ["a", "a#2", "a#3", "a#4"]);
        assert_eq!(
            one[1].status,
            Status::Todo,
            "a name the runner gave is never taken away"
        );
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = format!("x{}", "é".repeat(MESSAGE_LIMIT_BYTES));
        let cut = excerpt(&text);
        assert_eq!(cut.len(), MESSAGE_LIMIT_BYTES - 1);
        assert!(text.starts_with(&cut));
    }

    #[test]
    fn a_path_is_relative_only_below_the_working_directory() {
        let artefact = Artefact {
            workdir: "/w/one",
            ..Artefact::default()
        };
        assert_eq!(artefact.relative("/w/one/t/a.js"), "t/a.js");
        assert_eq!(artefact.relative("/w/one-more/a.js"), "/w/one-more/a.js");
        assert_eq!(Artefact::default().relative("/a.js"), "/a.js");
    }
}
