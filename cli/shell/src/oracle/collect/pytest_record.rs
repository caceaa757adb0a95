//! The record the injected pytest plugin writes: JSON lines into members.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::oracle::{Measured, Member, Status};

/// One test while its phases are being merged.
#[derive(Default)]
struct Test {
    line: Option<u32>,
    status: Option<Status>,
    message: String,
    started: bool,
    concluded: bool,
    reruns: u32,
}

/// Everything the record says.
#[derive(Default)]
struct Record {
    sessions: u64,
    endings: Vec<i64>,
    tests: BTreeMap<String, Test>,
    containers: BTreeMap<String, (Status, String)>,
    deselected: BTreeSet<String>,
    rewritten: BTreeMap<String, String>,
    unreadable: u64,
}

/// What the record adds up to, and the statuses its sessions ended with.
pub(super) struct Summary {
    pub(super) measured: Measured,
    pub(super) sessions: u64,
    /// Exit statuses by which sessions ended, before anything later could change them.
    pub(super) endings: Vec<i64>,
}

/// Reads a record. `None` when it holds no session at all.
pub(super) fn read(bytes: &[u8]) -> Option<Summary> {
    let mut record = Record::default();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
    {
        match serde_json::from_slice::<Value>(line) {
            Ok(event) => record.take(&event),
            Err(_) => record.unreadable += 1,
        }
    }
    (record.sessions > 0).then(|| record.sum())
}

impl Record {
    fn take(&mut self, event: &Value) {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = text("id");
        match text("e") {
            "session" => self.sessions += 1,
            "finished" => self
                .endings
                .push(event.get("status").and_then(Value::as_i64).unwrap_or(-1)),
            "deselected" => {
                self.deselected.insert(id.to_string());
            }
            "container" => {
                let status = if text("outcome") == "skipped" {
                    Status::Skipped
                } else {
                    Status::Error
                };
                self.containers
                    .insert(id.to_string(), (status, text("why").to_string()));
            }
            "item" => {
                let line = event
                    .get("line")
                    .and_then(Value::as_u64)
                    .and_then(|line| u32::try_from(line).ok());
                let test = self.tests.entry(id.to_string()).or_default();
                test.line = test.line.or(line);
            }
            "start" => self.tests.entry(id.to_string()).or_default().started = true,
            "rewritten" => {
                self.rewritten.insert(id.to_string(), text("why").to_string());
            }
            "phase" => {
                let xfail = event.get("xfail").is_some();
                self.tests
                    .entry(id.to_string())
                    .or_default()
                    .phase(text("when"), text("outcome"), xfail, event);
            }
            _ => self.unreadable += 1,
        }
    }

    fn sum(mut self) -> Summary {
        let mut measured = Measured::unfinished("pytest");
        for (id, why) in std::mem::take(&mut self.rewritten) {
            measured
                .contradictions
                .push(format!("{id} raised an error and was reported as passed"));
            let test = self.tests.entry(id).or_default();
            test.raise(Status::Failed, &why);
        }
        measured.announced = Some(self.tests.len() as u64);
        measured.concluded = Some(self.tests.values().filter(|test| test.concluded).count() as u64);
        measured.finished = self.endings.len() as u64 == self.sessions;
        for (id, test) in self.tests {
            measured.retried += u64::from(test.reruns > 0);
            measured.members.push(test.member(id));
        }
        for (id, (status, why)) in self.containers {
            let name = if id.is_empty() { "collection".to_string() } else { id };
            let file = name.split("::").next().unwrap_or_default().to_string();
            measured
                .members
                .push(Member::new(name, status).saying(&why).in_file(file).as_container());
        }
        if !self.deselected.is_empty() {
            let names: Vec<&str> = self.deselected.iter().take(10).map(String::as_str).collect();
            measured.notes.push(format!(
                "{} deselected, among them {}",
                self.deselected.len(),
                names.join(", ")
            ));
        }
        if self.unreadable > 0 {
            measured
                .notes
                .push(format!("{} lines of the record could not be read", self.unreadable));
        }
        Summary {
            measured,
            sessions: self.sessions,
            endings: self.endings,
        }
    }
}

impl Test {
    fn phase(&mut self, when: &str, outcome: &str, xfail: bool, event: &Value) {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
        match (when, outcome) {
            (_, "rerun") => {
                self.reruns += 1;
                self.status = None;
                self.message.clear();
            }
            ("call", "passed") if xfail => self.raise(Status::Xpass, text("xfail")),
            ("call", "passed") => self.raise(Status::Passed, ""),
            ("call", "failed") => self.raise(Status::Failed, text("why")),
            ("setup" | "call", "skipped") if xfail => self.raise(Status::Xfail, text("xfail")),
            ("setup" | "call", "skipped") => self.raise(Status::Skipped, text("why")),
            ("teardown", "passed") => {}
            (_, "passed") => self.raise(Status::Passed, ""),
            _ => self.raise(Status::Error, text("why")),
        }
        // A worker that crashed reports its test under a phase of its own and never tears down.
        if !matches!(when, "setup" | "call") {
            self.concluded = true;
        }
    }

    /// Keeps the gravest status: subtests and tear-downs report under the name of their test.
    fn raise(&mut self, status: Status, message: &str) {
        let gravity = |status: Status| match status {
            Status::Failed => 4,
            Status::Error => 3,
            Status::Xpass | Status::Xfail => 2,
            Status::Skipped => 1,
            _ => 0,
        };
        if self.status.is_none_or(|known| gravity(status) > gravity(known)) {
            self.status = Some(status);
            self.message = message.to_string();
        }
    }

    fn member(self, id: String) -> Member {
        let file = id.split("::").next().unwrap_or_default().to_string();
        let (status, message) = match self.status {
            Some(Status::Passed) if self.reruns > 0 => (Status::FlakyPassed, String::new()),
            Some(status) if self.concluded || status.is_failing() => (status, self.message),
            _ if self.started => (Status::Error, "started, and never came to a verdict".to_string()),
            _ => (Status::Error, "collected, and never run".to_string()),
        };
        let mut member = Member::new(id, status).saying(&message).in_file(file);
        member.line = self.line;
        member
    }
}
