//! Python's unittest, whose only report is text on stderr.
//!
//! With `-v`, which is injected, every test has a line; without it there are dots, and only what failed has a name.
//!
//! ```text
//! test_adds (test_math.Adds.test_adds) ... ok
//! ...
//! FAIL: test_wrong (test_math.Adds.test_wrong)
//! ----------------------------------------------------------------------
//! Ran 2 tests in 0.001s
//!
//! FAILED (failures=1)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::{Artefact, CollectError, Collector, InjectRequest, Injection};
use crate::oracle::{MESSAGE_LIMIT_BYTES, Measured, Member, Status, plain};

pub(super) static COLLECTOR: Collector = Collector {
    name: "unittest",
    doc: "python -m unittest (and runners that print like it): text on stderr, complete with -v, which is injected",
    detect: |detection| {
        detection.find(|run| {
            matches!(run.python_module(), Some("unittest"))
                || run.program().starts_with("python")
                    && run.arguments().first().is_some_and(|word| word.ends_with("manage.py"))
                    && run.has("test")
                || run.program() == "manage.py" && run.has("test")
                || run.is("django-admin", &["test"])
        })
    },
    inject,
    collect,
};

/// Python loads it at its start, before it knows what it is to run.
const STARTER_FILE: &str = "sitecustomize.py";
const STARTER: &str = include_str!("unittest_verbose.py");

fn inject(request: &InjectRequest<'_>) -> Injection {
    if request.light {
        return Injection::default();
    }
    Injection {
        env_path: vec![("PYTHONPATH".to_string(), request.support_dir.to_string())],
        support_files: vec![(STARTER_FILE, STARTER)],
        ..Injection::default()
    }
}

#[derive(Default)]
struct Reading {
    tests: BTreeMap<String, (Status, String)>,
    /// Started on a line whose verdict has not come yet; `stack` keeps their order.
    pending: BTreeSet<String>,
    stack: Vec<String>,
    verbose: bool,
    /// `Ran N tests`, summed.
    ran: Option<u64>,
    summaries: u64,
    verdicts: u64,
    success: bool,
    stated: BTreeMap<String, u64>,
}

fn collect(artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
    let (stderr, stdout) = (plain::text(artefact.stderr), plain::text(artefact.stdout));
    let mut reading = read(&stderr);
    if reading.ran.is_none() && !reading.verbose {
        reading = read(&stdout);
    }
    if reading.ran.is_none() && !reading.verbose {
        return Err(CollectError::Absent {
            collector: "unittest",
            what: "unittest summary (`Ran N tests`)",
        });
    }
    Ok(sum(reading).settled())
}

fn read(text: &str) -> Reading {
    let mut reading = Reading {
        success: true,
        ..Reading::default()
    };
    let mut section: Option<String> = None;
    let mut previous = "";
    let mut described: Option<String> = None;
    for line in text.lines() {
        if let Some((id, status)) = headline(line).filter(|_| previous.starts_with("======")) {
            reading.note(&id, status, "");
            section = Some(id);
        } else if let Some(count) = ran(line) {
            reading.ran = Some(reading.ran.unwrap_or(0).saturating_add(count));
            reading.summaries += 1;
            section = None;
        } else if section.is_none() && reading.summaries > reading.verdicts && reading.closing(line) {
            reading.verdicts += 1;
        } else if let Some(id) = &section {
            if !line.starts_with("------")
                && !line.starts_with("======")
                && let Some((_, message)) = reading.tests.get_mut(id)
                && message.len() < MESSAGE_LIMIT_BYTES
            {
                message.push_str(line);
                message.push('\n');
            }
        } else {
            reading.member_line(line, &mut described);
        }
        previous = line;
    }
    reading
}

/// `FAIL: test_x (mod.Class.test_x) (i=1)`, with the name of the test it belongs to.
fn headline(line: &str) -> Option<(String, Status)> {
    let (word, rest) = line.split_once(": ")?;
    let status = match word {
        // Unlike an unexpected pass elsewhere, it makes the run fail.
        "FAIL" | "UNEXPECTED SUCCESS" => Status::Failed,
        "ERROR" => Status::Error,
        _ => return None,
    };
    Some((name_of(rest)?, status))
}

/// The dotted name in `test_x (mod.Class.test_x)` or, before Python 3.11, `test_x (mod.Class)`.
fn name_of(text: &str) -> Option<String> {
    let (method, rest) = text.trim().split_once(" (")?;
    let (dotted, _) = rest.split_once(')')?;
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_.<>-[]".contains(c));
    if !is_name(method) || !is_name(dotted) {
        return None;
    }
    let whole = dotted == method || dotted.ends_with(&format!(".{method}"));
    Some(if whole {
        dotted.to_string()
    } else {
        format!("{dotted}.{method}")
    })
}

/// What stands for a module that could not be imported.
const LOADER: &str = "unittest.loader.";

fn ran(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Ran ")?;
    let (count, rest) = rest.split_once(' ')?;
    (rest.starts_with("test in ") || rest.starts_with("tests in "))
        .then(|| count.parse().ok())
        .flatten()
}

fn verdict(text: &str) -> Option<(Status, String)> {
    let text = text.trim_end();
    Some(match text {
        "ok" => (Status::Passed, String::new()),
        "FAIL" => (Status::Failed, String::new()),
        "ERROR" => (Status::Error, String::new()),
        "expected failure" => (Status::Xfail, String::new()),
        "unexpected success" => (Status::Failed, text.to_string()),
        _ => (
            Status::Skipped,
            text.strip_prefix("skipped ")?.trim_matches(['\'', '"']).to_string(),
        ),
    })
}

impl Reading {
    fn member_line(&mut self, line: &str, described: &mut Option<String>) {
        let (head, tail) = match line.split_once(" ... ") {
            Some((head, tail)) => (head, tail),
            None => match line.strip_suffix(" ...") {
                Some(head) => (head, ""),
                None => {
                    if let Some((status, why)) = verdict(line)
                        && let Some(id) = self.last_pending()
                    {
                        self.note(&id, status, &why);
                    } else {
                        *described = name_of(line);
                    }
                    return;
                }
            },
        };
        // A test with a docstring is named on one line and described, with its verdict, on the next.
        let Some(id) = name_of(head).or_else(|| described.take()) else {
            return;
        };
        self.verbose = true;
        *described = None;
        match verdict(tail) {
            Some((status, why)) => self.note(&id, status, &why),
            None => {
                self.stack.push(id.clone());
                self.pending.insert(id);
            }
        }
    }

    fn last_pending(&mut self) -> Option<String> {
        while let Some(id) = self.stack.pop() {
            if self.pending.contains(&id) {
                return Some(id);
            }
        }
        None
    }

    /// Keeps the gravest status: subtests report under the name of their test.
    fn note(&mut self, id: &str, status: Status, why: &str) {
        self.pending.remove(id);
        let known = self.tests.entry(id.to_string()).or_insert((status, why.to_string()));
        let gravity = |status: Status| match status {
            Status::Error => 3,
            Status::Failed => 2,
            Status::Passed => 0,
            _ => 1,
        };
        if gravity(status) > gravity(known.0) {
            known.0 = status;
        }
    }

    /// `OK (skipped=1)`, `FAILED (failures=1, errors=2)`, `NO TESTS RAN`.
    fn closing(&mut self, line: &str) -> bool {
        let (word, counts) = line
            .split_once(" (")
            .map_or((line, ""), |(word, rest)| (word, rest.trim_end_matches(')')));
        match word {
            "OK" | "NO TESTS RAN" => {}
            "FAILED" => self.success = false,
            _ => return false,
        }
        for (name, count) in counts.split(", ").filter_map(|part| part.split_once('=')) {
            if let Ok(count) = count.parse::<u64>() {
                let stated = self.stated.entry(name.to_string()).or_default();
                *stated = stated.saturating_add(count);
            }
        }
        true
    }
}

impl Reading {
    fn stated(&self, name: &str) -> u64 {
        self.stated.get(name).copied().unwrap_or(0)
    }

    fn count(&self, wanted: Status) -> u64 {
        self.tests.values().filter(|(status, _)| *status == wanted).count() as u64
    }

    fn finished(&self) -> bool {
        self.summaries > 0 && self.summaries == self.verdicts
    }

    /// A verdict glued to a test's own output: whatever failed has a section of its own, so when every
    /// other verdict is accounted for, it can only have been `ok`. Where some are not and more could be those, nobody
    /// knows which are.
    fn settle_glued(&mut self) {
        if !self.finished() {
            return;
        }
        let skipped = self.stated("skipped").saturating_sub(self.count(Status::Skipped));
        let xfail = self
            .stated("expected failures")
            .saturating_sub(self.count(Status::Xfail));
        let pending = std::mem::take(&mut self.pending);
        let status = match skipped.saturating_add(xfail) {
            0 => Status::Passed,
            open if open >= pending.len() as u64 => Status::Skipped,
            _ => {
                self.verbose = false;
                return;
            }
        };
        let settled = pending.into_iter().map(|id| (id, (status, String::new())));
        self.tests.extend(settled);
    }

    /// Tests that ran and counted, where nobody names them: not those that were skipped or expected to fail, and not
    /// a module that could not be loaded, which unittest counts as one.
    fn counted(&self, ran: u64) -> u64 {
        let unloaded = self.tests.keys().filter(|id| id.starts_with(LOADER)).count() as u64;
        let left_out = [self.stated("skipped"), self.stated("expected failures"), unloaded];
        left_out.into_iter().fold(ran, u64::saturating_sub)
    }
}

fn sum(mut reading: Reading) -> Measured {
    reading.settle_glued();
    let mut measured = Measured::unfinished("unittest");
    measured.finished = reading.finished();
    measured.complete = reading.verbose || reading.ran == Some(0);
    let concluded = reading.ran.unwrap_or(reading.tests.len() as u64);
    measured.concluded = Some(if measured.complete {
        concluded
    } else {
        reading.counted(concluded)
    });
    measured.announced = reading
        .verbose
        .then(|| concluded.saturating_add(reading.pending.len() as u64));
    let failing = reading.count(Status::Failed) + reading.count(Status::Error);
    if !measured.finished {
        measured.contradictions.push("the test run never summed up".to_string());
    } else if reading.success && failing > 0 {
        measured
            .contradictions
            .push("the summary says OK and a test failed".to_string());
    } else if !reading.success && failing == 0 {
        measured
            .contradictions
            .push("the summary says FAILED and no failing test is named".to_string());
    }
    if !measured.complete {
        measured
            .notes
            .push("without -v, only failing tests are named".to_string());
        if reading.stated("skipped") > 0 {
            measured
                .notes
                .push(format!("{} skipped without a name", reading.stated("skipped")));
        }
    }
    for (id, (status, message)) in reading.tests {
        // A class or module that could not be set up, or a module that could not be imported.
        let container = ["setUpClass", "setUpModule", "tearDownClass", "tearDownModule"]
            .iter()
            .any(|part| id.ends_with(part))
            || id.starts_with(LOADER);
        let mut member = Member::new(id, status).saying(&message);
        member.container = container;
        measured.members.push(member);
    }
    for id in reading.pending {
        measured
            .members
            .push(Member::new(id, Status::Error).saying("started, and never came to a verdict"));
    }
    measured
}
