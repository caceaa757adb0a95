//! The text that `cargo test` and other libtest harnesses print.
//!
//! ```text
//! running 2 tests                      a block opens: 2 announced
//! test tests::adds ... ok              members
//! test tests::wrong ... FAILED
//!
//! failures:                            details: captured output, in which nothing is believed
//! ---- tests::wrong stdout ----
//! ...
//! failures:                            the list of names
//!     tests::wrong
//! test result: FAILED. 1 passed; ...   the block closes: totals to compare
//! ```
//!
//! A block that never closes is a process that ended early, whatever its exit status.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::libtest_binaries::{Binary, align, header};
use super::{Artefact, CollectError, Collector, inject_nothing};
use crate::oracle::{Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "libtest",
    doc: "`cargo test` text: stdout for the tests, stderr for the names of the binaries",
    detect: |detection| detection.find(|run| run.is("cargo", &["test"]) || run.is("cargo", &["t"])),
    inject: inject_nothing,
    collect,
};

/// One `running N tests` block.
#[derive(Default)]
struct Block {
    announced: u64,
    inline: Option<Binary>,
    members: Vec<(String, Status, String)>,
    /// Started on a line whose verdict did not follow on the same line.
    pending: Vec<String>,
    messages: BTreeMap<String, String>,
    /// Every name seen so far, with and without its suffix.
    names: HashSet<String>,
    listed: BTreeSet<String>,
    totals: Option<Totals>,
    terse: bool,
}

#[derive(Clone, Copy)]
struct Totals {
    ok: bool,
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
}

impl Totals {
    fn ran(self) -> u64 {
        [self.failed, self.ignored, self.measured]
            .into_iter()
            .fold(self.passed, u64::saturating_add)
    }
}

/// Where in a block the reader stands.
#[derive(PartialEq)]
enum Place {
    Outside,
    Members,
    Details(Option<String>),
    List,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let (stdout, stderr) = (plain::text(artefact.stdout), plain::text(artefact.stderr));
    let blocks = read(&stdout);
    let build = build_failure(&stderr).or_else(|| build_failure(&stdout));
    if blocks.is_empty() && build.is_none() {
        return Err(CollectError::Absent {
            collector: "libtest",
            what: "libtest output (`running N tests`)",
        });
    }
    let headers: Vec<Binary> = stderr.lines().filter_map(header).collect();
    let mut measured = sum(blocks, &headers);
    if let Some(message) = build {
        measured
            .members
            .push(Member::new("build", Status::Error).saying(&message).as_container());
        measured.finished = false;
    }
    Ok(measured.settled())
}

/// The first compiler error, when cargo says that something did not compile.
pub(super) fn build_failure(text: &str) -> Option<String> {
    let failed = |line: &str| {
        line.starts_with("error: could not compile") || line.starts_with("error: failed to parse manifest")
    };
    text.lines().any(failed).then(|| {
        let from = text.lines().position(|line| line.starts_with("error")).unwrap_or(0);
        text.lines().skip(from).take(40).collect::<Vec<_>>().join("\n")
    })
}

fn read(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut place = Place::Outside;
    let mut inline: Option<Binary> = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(block) = open.as_mut().filter(|_| place != Place::Outside) else {
            inline = header(line).or(inline);
            if let Some(announced) = running(line) {
                open = Some(Block {
                    announced,
                    inline: inline.clone(),
                    ..Block::default()
                });
                place = Place::Members;
            }
            continue;
        };
        match &mut place {
            Place::Members => {
                if let Some(totals) = totals(line) {
                    block.totals = Some(totals);
                } else if matches!(line, "failures:" | "successes:") {
                    place = Place::Details(None);
                } else if let Some(announced) = running(line) {
                    // The process before this one ended without closing its block.
                    blocks.extend(open.replace(Block {
                        announced,
                        inline: inline.clone(),
                        ..Block::default()
                    }));
                } else if let Some(found) = header(line) {
                    blocks.extend(open.take());
                    inline = Some(found);
                    place = Place::Outside;
                } else {
                    block.member_line(line);
                }
            }
            Place::Details(target) => {
                if let Some(name) = line
                    .strip_prefix("---- ")
                    .and_then(|rest| rest.strip_suffix(" stdout ----"))
                    && block.knows(name)
                {
                    *target = Some(name.to_string());
                } else if matches!(line, "failures:" | "successes:")
                    && lines
                        .peek()
                        .is_some_and(|next| next.strip_prefix("    ").is_some_and(|name| block.knows(name)))
                {
                    place = Place::List;
                } else if let Some(name) = target {
                    let message = block.messages.entry(name.clone()).or_default();
                    if message.len() < crate::oracle::MESSAGE_LIMIT_BYTES {
                        message.push_str(line);
                        message.push('\n');
                    }
                }
            }
            Place::List => {
                if let Some(name) = line.strip_prefix("    ") {
                    block.listed.insert(name.trim_end().to_string());
                } else if line == "failures:" {
                    place = Place::Details(None);
                } else if let Some(totals) = totals(line) {
                    block.totals = Some(totals);
                }
            }
            Place::Outside => {}
        }
        if open.as_ref().is_some_and(|block| block.totals.is_some()) {
            blocks.extend(open.take());
            place = Place::Outside;
        }
    }
    blocks.extend(open);
    blocks
}

fn running(line: &str) -> Option<u64> {
    let rest = line.trim_end().strip_prefix("running ")?;
    let shuffled = rest
        .split_once(" (shuffle seed: ")
        .filter(|(_, seed)| seed.ends_with(')'));
    let rest = shuffled.map_or(rest, |(rest, _)| rest);
    rest.strip_suffix(" tests")
        .or_else(|| rest.strip_suffix(" test"))?
        .parse()
        .ok()
}

fn totals(line: &str) -> Option<Totals> {
    let rest = line.strip_prefix("test result: ")?;
    let (word, rest) = rest.split_once(". ")?;
    let mut totals = Totals {
        ok: word == "ok",
        passed: 0,
        failed: 0,
        ignored: 0,
        measured: 0,
    };
    for part in rest.split("; ") {
        let Some((count, what)) = part.trim_end().split_once(' ') else {
            continue;
        };
        let Ok(count) = count.parse() else { continue };
        match what {
            "passed" => totals.passed = count,
            "failed" => totals.failed = count,
            "ignored" => totals.ignored = count,
            "measured" => totals.measured = count,
            _ => {}
        }
    }
    (matches!(word, "ok" | "FAILED") && rest.contains("passed")).then_some(totals)
}

/// The verdict at the start of `text`, with the reason of an ignored test.
fn verdict(text: &str) -> Option<(Status, &str)> {
    let text = text.trim_end();
    let timed = |rest: &str| rest.is_empty() || rest.starts_with(" <");
    if text.strip_prefix("ok").is_some_and(timed) {
        return Some((Status::Passed, ""));
    }
    if text
        .strip_prefix("FAILED")
        .is_some_and(|rest| timed(rest) || rest.starts_with(" ("))
    {
        return Some((Status::Failed, ""));
    }
    if text.starts_with("bench: ") {
        return Some((Status::Passed, ""));
    }
    let rest = text.strip_prefix("ignored")?;
    if rest.is_empty() {
        Some((Status::Ignored, ""))
    } else {
        rest.strip_prefix(", ").map(|why| (Status::Ignored, why))
    }
}

impl Block {
    fn member_line(&mut self, line: &str) {
        if let Some((name, rest)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            match verdict(rest) {
                Some((status, why)) => self.conclude(name, status, why),
                None => self.start(name),
            }
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ...")) {
            self.start(name);
        } else if let Some((status, why)) = verdict(line)
            && let Some(name) = self.pending.pop()
        {
            self.conclude(&name, status, why);
        } else if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.terse = true;
            self.conclude(name, Status::Failed, "");
        }
    }

    fn start(&mut self, name: &str) {
        self.remember(name);
        self.pending.push(name.to_string());
    }

    fn conclude(&mut self, name: &str, status: Status, why: &str) {
        self.remember(name);
        self.members.push((name.to_string(), status, why.to_string()));
    }

    fn remember(&mut self, name: &str) {
        self.names.insert(name.to_string());
        if let Some((bare, _)) = name.rsplit_once(" - ") {
            self.names.insert(bare.to_string());
        }
    }

    fn knows(&self, name: &str) -> bool {
        // In terse output only the details name a failing test.
        self.names.is_empty() || self.names.contains(name.trim_end())
    }

    fn is_listed(&self, name: &str) -> bool {
        self.listed.contains(name)
            || name
                .rsplit_once(" - ")
                .is_some_and(|(bare, _)| self.listed.contains(bare))
    }

    /// Settles tests whose verdict was torn off by other output, as far as totals and list allow.
    fn settle(&mut self) {
        let count = |members: &[(String, Status, String)], wanted| {
            members.iter().filter(|(_, status, _)| *status == wanted).count() as u64
        };
        let (failing, other): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|name| self.is_listed(name));
        self.members
            .extend(failing.into_iter().map(|name| (name, Status::Failed, String::new())));
        let room = self.totals.map_or(0, |totals| {
            totals.passed.saturating_sub(count(&self.members, Status::Passed))
        });
        if self.totals.is_some() && other.len() as u64 <= room {
            self.members
                .extend(other.into_iter().map(|name| (name, Status::Passed, String::new())));
        } else {
            self.pending = other;
        }
        if self.members.is_empty() || self.terse {
            let named: BTreeSet<String> = self.members.iter().map(|(name, ..)| name.clone()).collect();
            let unnamed = self.listed.iter().filter(|name| !named.contains(*name));
            self.members.extend(
                unnamed
                    .map(|name| (name.clone(), Status::Failed, String::new()))
                    .collect::<Vec<_>>(),
            );
            self.terse = self.terse || self.totals.is_some_and(|totals| totals.ran() > 0);
        }
    }

    fn contradictions(&self, label: &str) -> Vec<String> {
        let Some(totals) = self.totals else {
            return vec![format!(
                "{label} announced {} tests and ended without a result",
                self.announced
            )];
        };
        let mut out = Vec::new();
        let count = |wanted: Status| self.members.iter().filter(|(_, status, _)| *status == wanted).count() as u64;
        let lines = (count(Status::Passed), count(Status::Failed), count(Status::Ignored));
        let stated = (
            totals.passed.saturating_add(totals.measured),
            totals.failed,
            totals.ignored,
        );
        if !self.terse && (lines != stated || !self.pending.is_empty()) {
            out.push(format!(
                "{label} states {} passed, {} failed, {} ignored and lists {}, {}, {}",
                stated.0, stated.1, stated.2, lines.0, lines.1, lines.2
            ));
        }
        if totals.ok && (totals.failed > 0 || count(Status::Failed) > 0) {
            out.push(format!("{label} states success and lists a failure"));
        }
        out
    }
}

fn sum(blocks: Vec<Block>, headers: &[Binary]) -> Measured {
    let mut measured = Measured::unfinished("libtest");
    let inline = blocks.iter().any(|block| block.inline.is_some());
    let (aligned, note) = align(if inline { &[] } else { headers }, blocks.len());
    measured.notes.extend(note);
    measured.finished = !blocks.is_empty();
    let (mut announced, mut concluded) = (0u64, 0u64);
    let single = blocks.len() == 1;
    for (at, (mut block, binary)) in blocks.into_iter().zip(aligned).enumerate() {
        let binary = block.inline.take().or(binary);
        let label = match &binary {
            Some(binary) => binary.label.clone(),
            None if single => String::new(),
            None => format!("binary {}", at + 1),
        };
        block.settle();
        // Where nobody names them, what is ignored is no test that ran.
        let (ignored, ran) = match block.totals {
            Some(totals) if block.terse => (totals.ignored, totals.ran().saturating_sub(totals.ignored)),
            _ => (0, block.members.len() as u64),
        };
        announced = announced.saturating_add(block.announced.saturating_sub(ignored));
        concluded = concluded.saturating_add(ran);
        measured.finished &= block.totals.is_some();
        measured.complete &= !block.terse;
        measured
            .contradictions
            .extend(block.contradictions(if label.is_empty() { "the test binary" } else { &label }));
        measured.members.extend(block.into_members(&label, binary.as_ref()));
    }
    if !measured.complete {
        measured
            .notes
            .push("terse output names only the failing tests".to_string());
    }
    measured.announced = Some(announced);
    measured.concluded = Some(concluded);
    measured
}

impl Block {
    fn into_members(self, label: &str, binary: Option<&Binary>) -> Vec<Member> {
        let lost = "started, and never came to a verdict";
        let pending = self
            .pending
            .into_iter()
            .map(|name| (name, Status::Error, lost.to_string()));
        let members = self.members.into_iter().chain(pending);
        members
            .map(|(name, status, why)| {
                let bare = name.rsplit_once(" - ").map_or(name.as_str(), |(bare, _)| bare);
                let message = self
                    .messages
                    .get(&name)
                    .or_else(|| self.messages.get(bare))
                    .unwrap_or(&why);
                let (stable, line) = without_line(&name);
                let id = if label.is_empty() {
                    stable.clone()
                } else {
                    format!("{label} {stable}")
                };
                let mut member = Member::new(id, status).saying(message);
                member.suite = (!label.is_empty()).then(|| label.to_string());
                member.file = binary.and_then(|binary| binary.source.clone());
                if line.is_some() {
                    member.file = stable.split_once(" - ").map(|(file, _)| file.to_string());
                }
                member.line = line;
                member
            })
            .collect()
    }
}

/// A doc-test's name without `(line N)`: an edit above it must not make it another test.
fn without_line(name: &str) -> (String, Option<u32>) {
    let Some(at) = name.find(" (line ").filter(|_| name.contains(" - ")) else {
        return (name.to_string(), None);
    };
    let rest = &name[at + " (line ".len()..];
    let Some((digits, tail)) = rest.split_once(')') else {
        return (name.to_string(), None);
    };
    match digits.parse() {
        Ok(line) => (format!("{}{tail}", &name[..at]), Some(line)),
        Err(_) => (name.to_string(), None),
    }
}
