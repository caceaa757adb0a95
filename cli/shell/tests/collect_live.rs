//! Real runners, started through a wrapper with nothing but the injected environment.
//!
//! A runner that is not on this machine is said aloud and skipped. `LOOPEXEC_TEST_PYTHON` names a
//! python that has pytest (and, for one test, pytest-xdist).

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use shell::oracle::collect::{CollectError, Detection, InjectRequest, by_name, choose};
use shell::oracle::{Artefact, Measured, Status};

struct Project {
    root: tempfile::TempDir,
    support: tempfile::TempDir,
    makefile: String,
}

struct Run {
    exit: Option<i32>,
    result: Result<Measured, CollectError>,
}

impl Run {
    fn measured(self) -> Measured {
        self.result.unwrap()
    }
}

impl Project {
    /// A project whose `make test` runs `recipe`.
    fn new(recipe: &str) -> Self {
        let makefile = format!("test:\n\t@{recipe}\n");
        let project = Self {
            root: tempfile::tempdir().unwrap(),
            support: tempfile::tempdir().unwrap(),
            makefile,
        };
        let text = project.makefile.clone();
        project.with("Makefile", &text)
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn detection(&self) -> Detection {
        Detection {
            command: "make test".into(),
            makefile: Some(self.makefile.clone()),
            ..Detection::default()
        }
    }

    fn run(&self, collector: &str) -> Run {
        let detection = self.detection();
        assert_eq!(
            choose(&detection).map(|found| found.name),
            Some(collector),
            "chosen from the recipe"
        );
        self.run_as(collector, false)
    }

    fn run_as(&self, collector: &str, light: bool) -> Run {
        let collector = by_name(collector).unwrap();
        let detection = self.detection();
        let reports = tempfile::tempdir().unwrap();
        let injection = (collector.inject)(&InjectRequest {
            detection: &detection,
            reports_dir: reports.path().to_str().unwrap(),
            support_dir: self.support.path().to_str().unwrap(),
            light,
        });
        for (name, text) in &injection.support_files {
            fs::write(self.support.path().join(name), text).unwrap();
        }
        let output = Command::new("make")
            .arg("test")
            .current_dir(self.root.path())
            .env_remove("PYTEST_ADDOPTS")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("RUST_BACKTRACE", "0")
            .envs(injection.environment(|name| std::env::var(name).ok()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let files = files_of(reports.path());
        let Output { status, stdout, stderr } = output;
        let workdir = fs::canonicalize(self.root.path()).unwrap();
        let artefact = Artefact {
            exit: status.code(),
            stdout: &stdout,
            stderr: &stderr,
            report: None,
            reports_dir_files: &files,
            workdir: workdir.to_str().unwrap(),
        };
        Run {
            exit: status.code(),
            result: (collector.collect)(&artefact),
        }
    }
}

fn files_of(directory: &Path) -> Vec<(String, Vec<u8>)> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

fn status(seen: &Measured, id: &str) -> Status {
    seen.member(id)
        .unwrap_or_else(|| panic!("no member {id} in {:#?}", seen.members))
        .status
}

fn answers(program: &str, arguments: &[&str]) -> bool {
    let asked = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.status.success())
}

/// The python with pytest, or a sentence why there is none.
fn python() -> Option<String> {
    let python = std::env::var("LOOPEXEC_TEST_PYTHON").unwrap_or_else(|_| "python3".to_string());
    if answers("make", &["--version"]) && answers(&python, &["-c", "import pytest"]) {
        return Some(python);
    }
    eprintln!("skipped: {python} has no pytest; LOOPEXEC_TEST_PYTHON can name one that has");
    None
}

fn pytest_project(python: &str, arguments: &str) -> Project {
    Project::new(&format!("{python} -m pytest -q {arguments}"))
}

const KINDS: &str = r#"
import pytest

@pytest.mark.parametrize("n", [1, 2, "a b[c]::d"])
def test_param(n):
    assert n != 2

@pytest.mark.skip(reason="later")
def test_skip():
    pass

@pytest.mark.xfail(reason="known")
def test_xfail():
    assert False

@pytest.mark.xfail
def test_xpass():
    pass
"#;

#[test]
fn pytest_behind_make_tells_every_kind_of_outcome() {
    let Some(python) = python() else { return };
    let run = pytest_project(&python, "-p no:cacheprovider")
        .with("tests/test_kinds.py", KINDS)
        .run("pytest");
    assert_ne!(run.exit, Some(0));
    let seen = run.measured();
    assert_eq!(status(&seen, "tests/test_kinds.py::test_param[1]"), Status::Passed);
    assert_eq!(status(&seen, "tests/test_kinds.py::test_param[2]"), Status::Failed);
    assert_eq!(
        status(&seen, "tests/test_kinds.py::test_param[a b[c]::d]"),
        Status::Passed
    );
    assert_eq!(status(&seen, "tests/test_kinds.py::test_skip"), Status::Skipped);
    assert_eq!(status(&seen, "tests/test_kinds.py::test_xfail"), Status::Xfail);
    assert_eq!(status(&seen, "tests/test_kinds.py::test_xpass"), Status::Xpass);
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(6), Some(6), true)
    );
    assert_eq!(seen.contradictions, Vec::<String>::new());
}

#[test]
fn pytest_with_xdist_gives_the_same_members() {
    let Some(python) = python() else { return };
    if !answers(&python, &["-c", "import xdist"]) {
        eprintln!("skipped: {python} has no pytest-xdist");
        return;
    }
    let alone = pytest_project(&python, "")
        .with("test_kinds.py", KINDS)
        .run("pytest")
        .measured();
    let spread = pytest_project(&python, "-n 2")
        .with("test_kinds.py", KINDS)
        .run("pytest")
        .measured();
    let verdicts = |seen: &Measured| {
        seen.members
            .iter()
            .map(|member| (member.id.clone(), member.status))
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&alone), verdicts(&spread));
    assert_eq!(
        (spread.announced, spread.concluded, spread.finished),
        (Some(6), Some(6), true)
    );
}

#[test]
fn a_pytest_module_that_cannot_be_imported_is_a_failing_container() {
    let Some(python) = python() else { return };
    let project = pytest_project(&python, "")
        .with("test_ok.py", "def test_ok(): pass\n")
        .with("test_bad.py", "import nonesuch_module\n");
    let seen = project.run("pytest").measured();
    let broken = seen.member("test_bad.py").unwrap();
    assert!(broken.container && broken.status == Status::Error && broken.message.contains("nonesuch_module"));
    assert_eq!(
        status(&seen, "test_ok.py::test_ok"),
        Status::Error,
        "collected, and not run, is not passed"
    );
}

#[test]
fn a_hard_exit_in_the_middle_of_pytest_leaves_unconcluded_members() {
    let Some(python) = python() else { return };
    let text = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass\n";
    let run = pytest_project(&python, "").with("test_exit.py", text).run("pytest");
    assert_eq!(run.exit, Some(0), "the check itself claims success");
    let seen = run.measured();
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(3), Some(1), false)
    );
    assert_eq!(status(&seen, "test_exit.py::test_a"), Status::Passed);
    assert_eq!(status(&seen, "test_exit.py::test_b"), Status::Error);
    assert_eq!(status(&seen, "test_exit.py::test_c"), Status::Error);
}

#[test]
fn a_pytest_session_whose_status_is_rewritten_contradicts_the_exit() {
    let Some(python) = python() else { return };
    let hook = "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n";
    let project = pytest_project(&python, "")
        .with("conftest.py", hook)
        .with("test_red.py", "def test_red(): assert 0\n");
    let run = project.run("pytest");
    assert_eq!(run.exit, Some(0), "the check itself claims success");
    let seen = run.measured();
    assert_eq!(status(&seen, "test_red.py::test_red"), Status::Failed);
    assert!(
        seen.contradictions.iter().any(|sentence| sentence.contains("status 1")),
        "{:?}",
        seen.contradictions
    );
}

#[test]
fn a_pytest_report_that_is_rewritten_stays_a_failure() {
    let Some(python) = python() else { return };
    let hook = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = 'passed'\n";
    let project = pytest_project(&python, "")
        .with("conftest.py", hook)
        .with("test_red.py", "def test_red(): assert 0\n");
    let run = project.run("pytest");
    assert_eq!(run.exit, Some(0), "the check itself claims success");
    let seen = run.measured();
    assert_eq!(status(&seen, "test_red.py::test_red"), Status::Failed);
    assert!(!seen.contradictions.is_empty());
}

#[test]
fn pytest_tests_deselected_by_configuration_are_missing_and_said() {
    let Some(python) = python() else { return };
    let project = pytest_project(&python, "")
        .with("pytest.ini", "[pytest]\naddopts = -k 'not slow'\n")
        .with("test_some.py", "def test_quick(): pass\ndef test_slow(): assert 0\n");
    let seen = project.run("pytest").measured();
    assert_eq!(seen.members.len(), 1);
    assert!(seen.member("test_some.py::test_slow").is_none());
    assert!(
        seen.notes
            .iter()
            .any(|note| note.starts_with("1 deselected") && note.contains("test_slow"))
    );
}

#[test]
fn pytest_sessions_started_by_tests_leave_no_trace_and_sessions_in_a_row_add_up() {
    let Some(python) = python() else { return };
    let outer = "import subprocess, sys\ndef test_outer(tmp_path):\n    (tmp_path / 'test_inner.py').write_text('def test_inner(): assert 0')\n    assert subprocess.run([sys.executable, '-m', 'pytest', '--junitxml=', str(tmp_path)]).returncode == 1\n";
    let project = Project::new(&format!(
        "{python} -m pytest test_one.py && {python} -m pytest test_two.py"
    ))
    .with("test_one.py", outer)
    .with("test_two.py", "def test_two(): pass\n");
    let seen = project.run("pytest").measured();
    let ids: Vec<_> = seen.members.iter().map(|member| member.id.as_str()).collect();
    assert_eq!(ids, ["test_one.py::test_outer", "test_two.py::test_two"]);
    assert!(seen.finished && seen.contradictions.is_empty());
}

#[test]
fn a_test_that_closes_every_descriptor_does_not_silence_the_record() {
    let Some(python) = python() else { return };
    let text = "import os\ndef test_closes(): os.closerange(3, 200)\ndef test_after(): assert 0\n";
    let seen = pytest_project(&python, "-s")
        .with("test_close.py", text)
        .run("pytest")
        .measured();
    assert_eq!(status(&seen, "test_close.py::test_closes"), Status::Passed);
    assert_eq!(status(&seen, "test_close.py::test_after"), Status::Failed);
}

#[test]
fn a_check_that_replaces_the_python_path_is_measured_without_the_plugin() {
    let Some(python) = python() else { return };
    let seen = Project::new(&format!("PYTHONPATH=src {python} -m pytest -q"))
        .with("test_kinds.py", KINDS)
        .run("pytest")
        .measured();
    assert_eq!(status(&seen, "test_kinds.py::test_xpass"), Status::Xpass);
    assert_eq!(status(&seen, "test_kinds.py::test_xfail"), Status::Xfail);
    assert_eq!(seen.announced, None);

    let hidden = Project::new(&format!("sh ./run.sh # {python} -m pytest"))
        .with("run.sh", &format!("PYTHONPATH=src exec {python} -m pytest -q\n"))
        .with("test_kinds.py", KINDS);
    assert!(matches!(
        hidden.run_as("pytest", false).result,
        Err(CollectError::InjectionRefused { .. })
    ));
    assert_eq!(hidden.run_as("pytest", true).measured().members.len(), 6);
}

#[test]
fn unittest_behind_make_is_read_from_stderr() {
    let Some(python) = python() else { return };
    let text = "import unittest\nclass A(unittest.TestCase):\n    def test_good(self): pass\n    def test_bad(self): self.fail('no')\n";
    let seen = Project::new(&format!("{python} -m unittest -v"))
        .with("test_a.py", text)
        .run("unittest")
        .measured();
    assert_eq!(status(&seen, "test_a.A.test_good"), Status::Passed);
    assert_eq!(status(&seen, "test_a.A.test_bad"), Status::Failed);
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(2), Some(2), true)
    );
}

fn crate_project(recipe: &str) -> Project {
    Project::new(recipe)
        .with("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .with("src/lib.rs", "/// ```\n/// assert!(true);\n/// ```\npub fn f() {}\n#[test] fn good() {}\n#[test] #[ignore] fn later() {}\n#[test] fn bad() { assert_eq!(1, 2, \"one is not two\"); }\n")
        .with("tests/it.rs", "#[test] fn outer() {}\n#[test] fn leaves() { std::process::exit(0) }\n")
}

#[test]
fn cargo_test_behind_make_is_keyed_by_binary_and_notices_an_early_exit() {
    if !answers("cargo", &["--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no cargo or no make");
        return;
    }
    let project = crate_project("cargo test --offline --no-fail-fast --target-dir target");
    let seen = project.run("libtest").measured();
    assert_eq!(status(&seen, "demo src/lib.rs good"), Status::Passed);
    assert_eq!(status(&seen, "demo src/lib.rs later"), Status::Ignored);
    let bad = seen.member("demo src/lib.rs bad").unwrap();
    assert!(bad.status == Status::Failed && bad.message.contains("one is not two"));
    assert_eq!(status(&seen, "doc-tests demo src/lib.rs - f"), Status::Passed);
    assert!(!seen.finished && seen.announced > seen.concluded);
    assert!(
        seen.contradictions
            .iter()
            .any(|sentence| sentence.contains("it tests/it.rs")),
        "{:?}",
        seen.contradictions
    );
}

#[test]
fn nextest_behind_make_is_read_from_its_injected_json() {
    if !answers("cargo", &["nextest", "--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no cargo-nextest or no make");
        return;
    }
    let project = crate_project("cargo nextest run --offline --no-fail-fast --target-dir target");
    let seen = project.run("nextest").measured();
    assert_eq!(status(&seen, "demo::demo good"), Status::Passed);
    assert_eq!(
        status(&seen, "demo::demo later"),
        Status::Ignored,
        "only the injected JSON names ignored tests"
    );
    assert_eq!(status(&seen, "demo::demo bad"), Status::Failed);
    assert_eq!(
        status(&seen, "demo::it leaves"),
        Status::Passed,
        "a process of its own may end itself unseen"
    );
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(5), Some(5), true)
    );
    assert_eq!(seen.contradictions, Vec::<String>::new());
}

#[test]
fn node_behind_make_is_read_from_tap_or_from_the_reporter_it_asked_for() {
    if !answers("node", &["--test-reporter=tap", "--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no node with a test runner or no make");
        return;
    }
    let text = "const { test, describe } = require('node:test');\ntest('good', () => {});\ndescribe('group', () => { test('bad # 1', () => { throw new Error('no'); }); });\ntest('later', { skip: true }, () => {});\n";
    for recipe in ["node --test .", "node --test --test-reporter=spec ."] {
        let seen = Project::new(recipe)
            .with("a.test.js", text)
            .with("b.test.js", "process.exit(0)")
            .run("node")
            .measured();
        assert_eq!(status(&seen, "good"), Status::Passed);
        assert_eq!(status(&seen, "group > bad # 1"), Status::Failed);
        assert_eq!(status(&seen, "later"), Status::Skipped);
        assert!(
            seen.member("b.test.js").unwrap().container,
            "a file that exits early is no test"
        );
        assert!(
            seen.finished && seen.contradictions.is_empty(),
            "{recipe}: {:?}",
            seen.contradictions
        );
        assert_eq!(seen.announced, seen.concluded, "{recipe}");
    }
}

#[test]
fn the_node_preload_changes_jest_and_vitest_alone() {
    if !answers("node", &["--version"]) {
        eprintln!("skipped: there is no node");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let shim = write("shim dir/shim.cjs", shell::oracle::collect::NODE_SHIM);
    let echo = "console.log(JSON.stringify(process.argv.slice(2)));";
    let arguments = |script: &str, given: &[&str]| {
        let path = write(script, echo);
        let output = Command::new("node")
            .arg(path)
            .args(given)
            .env("NODE_OPTIONS", format!("--require \"{}\"", shim.display()))
            .env("LOOPEXEC_NODE_REPORT", "/r/report.json")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    assert_eq!(
        arguments("bin/jest.js", &["--ci"]),
        r#"["--ci","--json","--outputFile=/r/report.json"]"#
    );
    assert_eq!(arguments("bin/jest.js", &["--json"]), r#"["--json"]"#);
    assert_eq!(
        arguments("bin/vitest.mjs.js", &["run"]),
        r#"["run"]"#,
        "only the runner's own entry point is meant"
    );
    assert_eq!(arguments("bin/other.js", &["a"]), r#"["a"]"#);
}
