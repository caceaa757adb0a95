//! A project in a fresh directory, the `loopexec` binary in it, and what it said.
//!
//! Nothing of the person who runs the tests is read: the home directory is a fresh one, and variables that would
//! configure loopexec or git are taken out.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::opinion::SecondOpinion;
use super::schema;

const LOOPEXEC: &str = env!("CARGO_BIN_EXE_loopexec");

/// A user that owns nothing.
const NOBODY: u32 = 64_646;

/// A project under test. It is removed with the value.
pub(crate) struct Project {
    // Before the directory: it reads what lies in there.
    _opinion: SecondOpinion,
    root: TempDir,
    env: BTreeMap<String, String>,
    /// Whom everything is started as, where that is another than whoever runs the tests.
    uid: Option<u32>,
}

/// What one call of loopexec said.
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) json: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// An empty project.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["work", "home/.config", "tmp"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Self {
            _opinion: SecondOpinion(root.path().join("work")),
            root,
            env: BTreeMap::new(),
            uid: None,
        }
    }

    /// Gives all of it to a user without rights, who starts everything from here on. Whoever has none stays who that is.
    pub(crate) fn of_a_user(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            let mut owned = Command::new("chown");
            let owner = format!("{NOBODY}:{NOBODY}");
            assert!(
                owned
                    .args(["-R", &owner])
                    .arg(self.root.path())
                    .status()
                    .unwrap()
                    .success()
            );
            self.uid = Some(NOBODY);
        }
        self
    }

    /// A project with these files, committed.
    pub(crate) fn committed(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project.commit();
        project
    }

    /// A project of pytest with one module, `money.py`, and its tests, committed.
    pub(crate) fn money(code: &str, tests: &str) -> Self {
        Self::committed(&[
            ("money.py", code),
            ("tests/test_money.py", tests),
            ("pytest.ini", "[pytest]\npythonpath = .\n"),
            (".gitignore", "__pycache__/\n.pytest_cache/\n"),
        ])
    }

    /// A copy of one of the projects in `tests/fixtures`, committed.
    pub(crate) fn fixture(name: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
        Self::copied(&fixtures.join(name))
    }

    /// A copy of what lies in a directory, committed.
    pub(crate) fn copied(from: &Path) -> Self {
        let project = Self::new();
        copy(from, &project.dir());
        project.commit();
        project
    }

    fn commit(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    }

    /// The directory of the project.
    pub(crate) fn dir(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// A path outside of the project that lives as long.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Sets a variable for everything that is started from here on.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.insert(name.to_owned(), value.into());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir().join(path)).unwrap_or_default()
    }

    /// Lines of a file, 0 when there is none.
    pub(crate) fn lines(&self, path: &Path) -> usize {
        fs::read_to_string(path).unwrap_or_default().lines().count()
    }

    pub(crate) fn git(&self, args: &[&str]) -> Output {
        let mut command = self.command(Path::new("git"));
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        command.args(identity).args(args).output().unwrap()
    }

    /// loopexec with these arguments, and its one JSON object.
    pub(crate) fn json(&self, args: &[&str]) -> Said {
        let mut all = vec!["--json"];
        all.extend(args);
        let mut said = self.text(&all);
        said.json = serde_json::from_str(&said.stdout).unwrap_or_else(|error| {
            panic!(
                "{args:?} gave no JSON object: {error}\nstdout: {}\nstderr: {}",
                said.stdout, said.stderr
            )
        });
        schema::holds(&said.json);
        said
    }

    /// loopexec with these arguments, for people.
    pub(crate) fn text(&self, args: &[&str]) -> Said {
        let output = self.command(Path::new(LOOPEXEC)).args(args).output().unwrap();
        let status = output.status;
        Said {
            exit: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            json: Value::Null,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `run` with a work command and a check, both for `sh -c`.
    pub(crate) fn run(&self, exec: &str, check: &str, more: &[&str]) -> Said {
        let mut args = vec!["run", "--exec", exec, "--check", check];
        args.extend(more);
        self.json(&args)
    }

    /// The events of the latest run, oldest first.
    pub(crate) fn events(&self, said: &Said) -> Vec<Value> {
        let receipt = said.json["receipt"]
            .as_str()
            .unwrap_or_else(|| panic!("no receipt in {}", said.json));
        let path = self.dir().join(receipt);
        let lines = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What one guard before green said last, as recorded; null when it did not speak.
    pub(crate) fn vetted(&self, said: &Said, guard: &str) -> Value {
        let events = self.events(said).into_iter().rev();
        let mut events = events.map(|record| record["event"].clone());
        let found = events.find(|event| event["event"] == "vetted" && event["guard"] == guard);
        found.unwrap_or_default()
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = match self.uid.map(|uid| uid.to_string()) {
            Some(uid) => {
                let mut command = Command::new("setpriv");
                command
                    .args(["--reuid", &uid, "--regid", &uid, "--clear-groups"])
                    .arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir(self.dir());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("LOOPEXEC_") || name.starts_with("GIT_") || name.starts_with("CARGO") || name == "CI" {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.root.path().join("home"));
        command.env("XDG_CONFIG_HOME", self.root.path().join("home/.config"));
        command.env("TMPDIR", self.root.path().join("tmp"));
        // Without these, a toolchain that is installed beneath the real home would not be found from the fresh one.
        for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            let known = std::env::var(name).ok();
            let usual = || Some(format!("{}/{below}", std::env::var("HOME").ok()?));
            if let Some(value) = known.or_else(usual) {
                command.env(name, value);
            }
        }
        command.envs(&self.env);
        command
    }
}

impl Said {
    /// The reason it halted for, empty when it did not.
    pub(crate) fn reason(&self) -> &str {
        self.json["halt_reason"].as_str().unwrap_or_default()
    }

    pub(crate) fn cause(&self) -> &str {
        self.json["failure_cause"].as_str().unwrap_or_default()
    }

    pub(crate) fn iteration(&self) -> u64 {
        self.json["iteration"]
            .as_u64()
            .unwrap_or_else(|| panic!("no iteration in {}", self.json))
    }

    /// Everything it said, for a failing assertion.
    pub(crate) fn all(&self) -> String {
        format!("exit {}\n{}\n{}", self.exit, self.stdout, self.stderr)
    }

    /// A halt with this reason, cause and exit code, named whole in the object.
    #[track_caller]
    pub(crate) fn halted(&self, exit: i32, reason: &str, cause: &str) -> &Self {
        assert_eq!(
            (self.exit, self.reason(), self.cause()),
            (exit, reason, cause),
            "{}",
            self.all()
        );
        assert_eq!(self.json["tool"], "loopexec", "{}", self.all());
        assert!(self.json["errors"].is_array(), "{}", self.all());
        assert!(self.json["iteration"].is_u64(), "{}", self.all());
        assert!(
            !self.json["run_id"].as_str().unwrap_or_default().is_empty(),
            "{}",
            self.all()
        );
        let advice = &self.json["advice"];
        for member in ["verdict", "why", "next"] {
            assert!(
                !advice[member].as_str().unwrap_or_default().is_empty(),
                "no advice.{member}: {}",
                self.all()
            );
        }
        self
    }

    /// Converged in this iteration.
    #[track_caller]
    pub(crate) fn converged(&self, iteration: u64) -> &Self {
        self.halted(10, "success_condition_met", "check_passed");
        assert_eq!(self.iteration(), iteration, "{}", self.all());
        self
    }

    /// The sentence of the advice.
    pub(crate) fn why(&self) -> &str {
        self.json["advice"]["why"].as_str().unwrap_or_default()
    }
}

/// A Python that has pytest, or nothing, said aloud.
pub(crate) fn python_with_pytest() -> Option<String> {
    let named = std::env::var("LOOPEXEC_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let answer = Command::new(&named).args(["-m", "pytest", "--version"]).output();
    if answer.is_ok_and(|output| output.status.success()) {
        return Some(named);
    }
    eprintln!("skipped: {named} has no pytest; name one that has it in LOOPEXEC_TEST_PYTHON");
    None
}

/// Whether a program can be started, said aloud when not.
pub(crate) fn available(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} cannot be started");
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
