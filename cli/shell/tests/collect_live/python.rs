//! pytest and unittest.

use shell::oracle::collect::CollectError;
use shell::oracle::{Measured, Status};

use crate::harness::{Project, answers, status};

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
    let Ok(xdist) = std::env::var("LOOPEXEC_TEST_XDIST") else {
        eprintln!("skipped: LOOPEXEC_TEST_XDIST names no directory with the package pytest-xdist");
        return;
    };
    let alone = pytest_project(&python, "")
        .with("test_kinds.py", KINDS)
        .run("pytest")
        .measured();
    let spread = Project::new(&format!(
        "PYTHONPATH=\"{xdist}:$$PYTHONPATH\" {python} -m pytest -q -n 2"
    ))
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

/// A failing test beside a `conftest.py` that makes the session exit with 0: what is measured all the same.
fn red_behind(python: &str, conftest: &str) -> Measured {
    let run = pytest_project(python, "")
        .with("conftest.py", conftest)
        .with("test_red.py", "def test_red(): assert 0\n")
        .run("pytest");
    assert_eq!(run.exit, Some(0), "the check itself claims success");
    let seen = run.measured();
    assert_eq!(status(&seen, "test_red.py::test_red"), Status::Failed);
    seen
}

#[test]
fn a_pytest_session_whose_status_is_rewritten_contradicts_the_exit() {
    let Some(python) = python() else { return };
    let hook = "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n";
    let seen = red_behind(&python, hook);
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
    let seen = red_behind(&python, hook);
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

#[test]
fn unittest_names_every_test_though_nobody_asked_for_it_and_its_tests_see_nothing_of_that() {
    let Some(python) = python() else { return };
    let text = "import os, subprocess, sys, unittest\n\n\
                class A(unittest.TestCase):\n    \
                    def test_alone(self):\n        \
                        self.assertNotIn('PYTHONPATH', os.environ)\n        \
                        self.assertFalse([path for path in sys.path if os.path.exists(path + '/sitecustomize.py')])\n\n    \
                    def test_own_run(self):\n        \
                        run = [sys.executable, '-m', 'unittest', 'test_b']\n        \
                        said = subprocess.run(run, capture_output=True, text=True).stderr\n        \
                        self.assertTrue(said.startswith('.'), said)\n\n    \
                    @unittest.skip('later')\n    \
                    def test_later(self): pass\n";
    let other = "import unittest\nclass B(unittest.TestCase):\n    def test_b(self): pass\n";
    for words in ["", "discover -q", "test_a.A test_b"] {
        let seen = Project::new(&format!("{python} -m unittest {words}"))
            .with("test_a.py", text)
            .with("test_b.py", other)
            .run("unittest")
            .measured();
        let names: Vec<(&str, Status)> = seen.members.iter().map(|of| (of.id.as_str(), of.status)).collect();
        let expected = [
            ("test_a.A.test_alone", Status::Passed),
            ("test_a.A.test_later", Status::Skipped),
            ("test_a.A.test_own_run", Status::Passed),
            ("test_b.B.test_b", Status::Passed),
        ];
        assert_eq!(names, expected, "{words}");
        assert!(seen.complete && seen.finished, "{words}: {:?}", seen.notes);
    }
    // Where its environment is not taken, what failed has a name and all that ran are counted.
    let alone = Project::new(&format!("{python} -I -m unittest discover"))
        .with("test_b.py", other)
        .run("unittest")
        .measured();
    assert_eq!((alone.complete, alone.concluded), (false, Some(1)));
}
