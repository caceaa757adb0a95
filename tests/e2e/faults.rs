//! Failing calls, deaths and power cuts under the shipped binary.
//!
//! ```text
//!   run --events, with a fault | every line that was read of it is acknowledged
//!     journal: begins with these lines -> resume, until it halts -> verify, nobody is left
//! ```
//!
//! The scratch loop is green when `log.txt` has two lines; each iteration adds one.

mod calls;
mod power;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use journal::Journal;
use serde_json::Value;

use crate::support::cli::LOOPEXEC;
use crate::support::{schema, wait_until};

/// A loop in a folder of its own.
struct Scene {
    base: PathBuf,
}

/// What a run that met a fault was heard to say.
#[derive(Debug)]
struct Heard {
    /// Absent when a signal ended it.
    exit: Option<i32>,
    acked: Vec<(usize, Value)>,
    /// The object behind the events; null when it did not come to that.
    answer: Value,
    errors: String,
}

impl Heard {
    /// By a signal, or through a starter that tells of one.
    fn killed(&self) -> bool {
        matches!(self.exit, None | Some(137))
    }
}

impl Scene {
    fn new(base: &Path) -> Self {
        let scene = Self { base: base.to_owned() };
        for name in ["work", "home", "out"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(scene.work().join("log.txt"), "").unwrap();
        fs::write(scene.work().join("work.sh"), "echo $LOOPEXEC_ITERATION >> log.txt\n").unwrap();
        fs::write(scene.work().join("check.sh"), "test $(wc -l < log.txt) -ge 2\n").unwrap();
        scene
    }

    fn work(&self) -> PathBuf {
        self.base.join("work")
    }

    /// The binary in its workdir, started by another program that becomes it or watches it.
    fn command(&self, starter: &[&str], args: &[&str]) -> Command {
        let words = [starter, &[LOOPEXEC], args].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.base.join("home"))
            .env("OUT", self.base.join("out"))
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, starter: &[&str], id: &str) -> Command {
        let args = [
            "run",
            "--events",
            "--run-id",
            id,
            "--check",
            "sh check.sh",
            "--exec",
            "sh work.sh",
        ];
        let patient = ["--no-progress-k", "9", "--same-failure-r", "9"];
        self.command(starter, &[&args[..], &patient].concat())
    }

    /// The run `r`, with a fault that its starter makes.
    fn faulty(&self, starter: &[&str]) -> Heard {
        heard(&self.run(starter, "r").output().unwrap())
    }

    /// The events of a run, as its journal holds them; none when there is no journal.
    fn recorded(&self, id: &str) -> Result<Vec<Value>, String> {
        let reader = match Journal::open_read(&self.work().join(".loopexec/runs").join(id).join("journal")) {
            Err(journal::Error::Missing { .. }) => return Ok(Vec::new()),
            other => other.map_err(|error| error.to_string())?,
        };
        let events = reader.events().map(|item| match item {
            Ok((_, event)) => Ok(serde_json::to_value(event).unwrap()),
            Err(error) => Err(error.to_string()),
        });
        events.collect()
    }

    /// Whatever the fault left, nothing that was heard is lost and the loop comes to its end. Gives the reason.
    fn settles(&self, heard: &Heard, context: &str) -> String {
        wait_until(&format!("{context}: nobody is left"), || self.alive().is_empty());
        let found = self
            .recorded("r")
            .unwrap_or_else(|why| panic!("{context}: a torn journal is refused: {why}"));
        for (seq, event) in &heard.acked {
            assert_eq!(
                found.get(*seq),
                Some(event),
                "{context}: event {seq} was told and is lost: {heard:?}"
            );
        }
        // What cannot be said any more is in the record.
        let silent = heard.answer.is_null() && heard.errors.is_empty();
        let in_record = heard.killed() || is_over(&found);
        assert!(!silent || in_record, "{context}: it ended without a word: {heard:?}");
        let mut last = None;
        if !found.is_empty() && !is_over(&found) {
            let output = self.command(&[], &["--json", "resume", "r"]).output().unwrap();
            last = Some(said(&output));
        }
        let mut whole = self.recorded("r").unwrap();
        assert_eq!(
            whole[..found.len()],
            found,
            "{context}: a later life keeps what it finds"
        );
        if found.is_empty() {
            // Nothing had begun: another run does.
            let again = heard_of(self, "again");
            assert_eq!(again.exit, Some(10), "{context}: {heard:?} {again:?}");
            whole = self.recorded("again").unwrap();
        }
        let end = whole.last().unwrap();
        assert_eq!(end["event"], "halted", "{context}: {heard:?} then {last:?}");
        let run = if found.is_empty() { "again" } else { "r" };
        let verified = self.command(&[], &["--json", "verify", run]).output().unwrap();
        assert_eq!(verified.status.code(), Some(0), "{context}: {verified:?}");
        assert!(self.alive().is_empty(), "{context}");
        end["reason"].as_str().unwrap().to_owned()
    }

    /// Processes of this scene: all of them have inherited its `OUT`.
    fn alive(&self) -> Vec<u32> {
        let wanted = format!("OUT={}", self.base.join("out").display());
        let pids = fs::read_dir("/proc").unwrap();
        let pids = pids.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|word| word == wanted.as_bytes())
        })
        .collect()
    }
}

fn heard_of(scene: &Scene, id: &str) -> Heard {
    heard(&scene.run(&[], id).output().unwrap())
}

fn is_over(events: &[Value]) -> bool {
    events.last().is_some_and(|event| event["event"] == "halted")
}

/// The lines that came to their end, without what is no event.
fn heard(output: &Output) -> Heard {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let records = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    // A line that could not be written may be missing between two that could.
    let (mut acked, mut answer) = (Vec::new(), Value::Null);
    for mut record in records.filter(|record| record["schema"] != "loopexec.events/1") {
        match record.as_object_mut().and_then(|members| members.remove("seq")) {
            Some(seq) => acked.push((seq.as_u64().unwrap() as usize, record)),
            None => answer = record,
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{errors}");
    assert_eq!(output.status.signal().filter(|signal| *signal != 9), None, "{errors}");
    let exit = output.status.code();
    Heard {
        exit,
        acked,
        answer,
        errors,
    }
}

fn said(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    schema::holds(&json);
    json
}
