//! Lives of a run: interrupted, killed, cut short, continued, locked out.
//!
//! The scratch loop is green when `log.txt` has three lines; each iteration adds its number. Work and check stop on
//! the way when the test has put a gate there, so that the governor is met at a known point.

mod damage;
mod entry;
mod kills;
mod revisits;
mod signals;

use std::fs;
use std::path::Path;

use crate::support::{Answer, Project, Running, Sleeper, wait_until};

/// Detectors would end a loop this simple before its third iteration.
const PATIENT: &[&str] = &["--no-progress-k", "9", "--same-failure-r", "9"];

struct Loop {
    project: Project,
    sleeper: Sleeper,
}

impl Loop {
    fn new() -> Self {
        Self::of(Project::new())
    }

    fn of(project: Project) -> Self {
        let sleeper = Sleeper::new();
        let gate = format!(
            "gate() {{ [ ! -e $OUT/$1 ] || {{ touch $OUT/at; {}; }}; }}",
            sleeper.command()
        );
        project.write("log.txt", "");
        project.script(
            "work.sh",
            &format!("{gate}\ngate work-$LOOPEXEC_ITERATION\necho $LOOPEXEC_ITERATION >> log.txt"),
        );
        let count = "n=$(($(cat $OUT/checks 2>/dev/null) + 1)); echo $n > $OUT/checks";
        let verdict = "test $(wc -l < log.txt) -ge 3";
        project.script("check.sh", &format!("{gate}\n{count}\ngate check-$n\n{verdict}"));
        Self { project, sleeper }
    }

    /// The next time that a command comes here, it stays.
    fn hold(&self, gate: &str) {
        fs::write(self.project.outside.join(gate), "").unwrap();
    }

    fn release(&self, gate: &str) {
        let _ = fs::remove_file(self.project.outside.join(gate));
        let _ = fs::remove_file(self.project.outside.join("at"));
    }

    fn start(&self, more: &[&str]) -> Running {
        let args = ["run", "--check", "./check.sh", "--exec", "./work.sh"];
        self.project.start(&[&args, PATIENT, more].concat())
    }

    /// Starts and waits until a command stays at this gate.
    fn started_up_to(&self, gate: &str, more: &[&str]) -> Running {
        self.hold(gate);
        let running = self.start(more);
        wait_until(gate, || {
            self.project.outside.join("at").exists() && self.sleeper.is_up()
        });
        running
    }

    /// Starts, and kills the governor while a command is at this gate.
    fn killed_at(&self, gate: &str) {
        let _alone = super::process::alone();
        self.started_up_to(gate, &[]).kill();
        wait_until("what the dead governor ran is gone", || !self.sleeper.is_up());
        let word = self.project.run_dir().join("supervisor.json");
        wait_until("the supervisor took back its word", || !word.exists());
        self.release(gate);
    }

    fn resume(&self, more: &[&str]) -> Answer {
        self.project.loopexec(&[&["resume"], more].concat())
    }

    /// The run went on to green, under one identity, with no iteration lost or done twice.
    fn assert_whole(&self, answer: &Answer, run_id: &str) {
        assert_eq!((answer.exit, answer.text("run_id")), (Some(10), run_id), "{answer:?}");
        let closed = self.project.closed_iterations();
        let expected: Vec<u64> = (0..closed.len() as u64).collect();
        assert_eq!(closed, expected, "a hole or a double");
        let began = self.project.events_named("execute_began");
        let began: Vec<u64> = began.iter().map(|event| event["iteration"].as_u64().unwrap()).collect();
        assert_eq!(began, expected[1..], "an attempt was repeated or left out");
        let verdict = self.project.verified();
        assert_eq!(verdict["journal"]["receipt"], "matches");
        assert!(!self.sleeper.is_up());
    }

    fn run_id(&self) -> String {
        name(&self.project.run_dir())
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
