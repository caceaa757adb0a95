//! A project of its own for each test, and the binary run in it as a user would.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::schema;

pub(crate) const LOOPEXEC: &str = env!("CARGO_BIN_EXE_loopexec");

/// What one command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The one object on standard output; fails when there is anything else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(
            self.out.ends_with('\n') && self.out.lines().count() == 1,
            "not one line: {self:?}"
        );
        let value: Value = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        for name in ["schema", "tool", "version", "status", "errors"] {
            assert!(!value[name].is_null(), "no {name}: {self:?}");
        }
        assert_eq!(value["tool"], "loopexec");
        assert!(value["errors"].is_array(), "{self:?}");
        schema::holds(&value);
        value
    }

    /// Fails unless the exit code is this.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// A project in a directory of its own, with its own home.
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Self { dir }
    }

    /// Three counted bugs: the check fails `n` tests until `fixed` says that they are mended, one a line.
    pub(crate) fn counting() -> Self {
        let project = Self::new();
        project.file(
            "check.sh",
            "have=$(cat fixed 2>/dev/null || echo 0)\necho 1..3\nbad=0\nfor n in 1 2 3; do\n  if [ $n -le $have ]; then echo \"ok $n - t$n\"; else echo \"not ok $n - t$n\"; bad=1; fi\ndone\nexit $bad\n",
        );
        project.file(
            "fix.sh",
            "have=$(cat fixed 2>/dev/null || echo 0)\necho $((have + 1)) > fixed\n",
        );
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().unwrap()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A place beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> &Self {
        fs::write(self.at(name), text).unwrap();
        self
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// The binary, in the project, in an environment that is the same everywhere.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(LOOPEXEC);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", self.dir.path().join("home"))
            .env("TMPDIR", self.dir.path())
            .env("LANG", "C.UTF-8");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    /// A line of words, split at spaces.
    pub(crate) fn say(&self, line: &str) -> Said {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.run(&words)
    }

    /// A converged run called `name` of a [`Project::counting`] project.
    pub(crate) fn converged(&self, name: &str) -> Said {
        let words = [
            "run",
            "--json",
            "--run-id",
            name,
            "--check",
            "sh check.sh",
            "--collector",
            "tap",
            "--exec",
            "sh fix.sh",
        ];
        self.run(&words).exits(10)
    }

    pub(crate) fn journal(&self, run: &str) -> PathBuf {
        self.at(".loopexec/runs").join(run).join("journal")
    }
}

/// A process whose standard output is read line by line.
pub(crate) struct Live {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Live {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line with `text` in it; fails when the output ends without one.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "no line with {text:?}");
            if line.contains(text) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Everything that is left, and the exit status.
    pub(crate) fn end(mut self) -> Said {
        let mut out = String::new();
        while self.lines.read_line(&mut out).unwrap() > 0 {}
        let output = self.child.wait_with_output().unwrap();
        Said {
            out,
            ..Said::of(&output)
        }
    }
}

/// Waits for a fact, within a bound that no honest machine needs.
#[track_caller]
pub(crate) fn wait_until(what: &str, fact: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !fact() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Makes a named pipe: who opens it waits for the other side.
pub(crate) fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Compares with a golden file, or rewrites it with `LOOPEXEC_REGENERATE=1`.
#[track_caller]
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden/cli")
        .join(name);
    if std::env::var_os("LOOPEXEC_REGENERATE").is_some_and(|value| value == "1") {
        fs::write(&path, text).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept
        .lines()
        .zip(text.lines())
        .enumerate()
        .find(|(_, (old, new))| old != new);
    assert!(
        kept == text,
        "{name} differs (LOOPEXEC_REGENERATE=1 rewrites it): {differs:?}"
    );
}
