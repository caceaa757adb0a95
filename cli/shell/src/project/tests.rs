use super::*;
use crate::config::{self, Flags, Inputs, Known};
use crate::paths::STATE_DIR;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

fn project(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// The best proposal, as `runner: words`.
fn best(files: &[(&str, &str)]) -> String {
    let found = detect(project(files).path());
    found
        .first()
        .map_or_else(String::new, |d| format!("{}: {}", d.runner, d.check.join(" ")))
}

#[test]
fn rust_projects_are_tested_by_cargo_or_nextest() {
    let package = ("Cargo.toml", "[package]\nname = \"a\"\n");
    assert_eq!(best(&[package]), "libtest: cargo test --no-fail-fast");
    assert_eq!(
        best(&[("Cargo.toml", "[workspace]\nmembers = []\n")]),
        "libtest: cargo test --workspace --no-fail-fast"
    );
    assert_eq!(
        best(&[package, (".config/nextest.toml", "")]),
        "nextest: cargo nextest run --no-fail-fast"
    );
    assert_eq!(best(&[("Cargo.toml", "broken [")]), "");
}

#[test]
fn every_sign_of_pytest_is_enough() {
    let signs: &[(&str, &str)] = &[
        ("pytest.ini", ""),
        ("tests/conftest.py", ""),
        ("setup.cfg", "[metadata]\nname = a\n[tool:pytest]\r\n"),
        ("tox.ini", "[tox]\n[pytest]\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        (
            "pyproject.toml",
            "[project.optional-dependencies]\ntest = [\"pytest>=8\"]\n",
        ),
        ("pyproject.toml", "[dependency-groups]\ndev = [\"ruff\", \"pytest\"]\n"),
        (
            "pyproject.toml",
            "[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n",
        ),
        ("requirements-dev.txt", "ruff\npytest==8.0\n"),
        ("tests/test_a.py", "def test_a():\n    pass\n"),
        ("test_a.py", "import unittest\nimport pytest\n"),
    ];
    for sign in signs {
        assert_eq!(best(&[*sign]), "pytest: python3 -m pytest", "{sign:?}");
    }
}

#[test]
fn what_only_sounds_like_pytest_is_not_taken_for_it() {
    for sign in [
        ("pyproject.toml", "[project]\ndependencies = [\"pytest-cov\"]\n"),
        ("requirements.txt", "pytest_mock\n# pytest\n"),
        ("notes.py", "import pytest\n"),
    ] {
        assert_eq!(best(&[sign]), "", "{sign:?}");
    }
}

#[test]
fn python_runs_by_the_projects_own_environment() {
    let sign = ("pytest.ini", "");
    assert_eq!(best(&[sign, ("uv.lock", "")]), "pytest: uv run python -m pytest");
    assert_eq!(
        best(&[sign, ("poetry.lock", "")]),
        "pytest: poetry run python -m pytest"
    );
    assert_eq!(
        best(&[sign, (".venv/bin/python", "")]),
        "pytest: .venv/bin/python -m pytest"
    );
}

#[test]
fn unittest_is_discovered_from_where_its_files_lie() {
    let test = "from unittest import TestCase\n";
    assert_eq!(best(&[("test_a.py", test)]), "unittest: python3 -m unittest discover");
    assert_eq!(
        best(&[("tests/test_a.py", test)]),
        "unittest: python3 -m unittest discover -s tests"
    );
    assert_eq!(
        best(&[("tests/test_a.py", test), ("tests/__init__.py", "")]),
        "unittest: python3 -m unittest discover -s tests -t ."
    );
}

#[test]
fn node_projects_keep_their_script_and_their_package_manager() {
    let with = |test: &str, rest: &str| format!("{{\"scripts\": {{\"test\": \"{test}\"}}{rest}}}");
    let case = |test: &str, rest: &str, more: &[(&str, &str)]| {
        let package = with(test, rest);
        let mut files = vec![("package.json", package.as_str())];
        files.extend(more);
        best(&files)
    };
    assert_eq!(case("jest --ci", "", &[]), "jest: npm test");
    assert_eq!(case("vitest run", "", &[("pnpm-lock.yaml", "")]), "vitest: pnpm test");
    assert_eq!(case("node --test", "", &[("yarn.lock", "")]), "node: yarn test");
    assert_eq!(
        case("./run.sh", ", \"packageManager\": \"pnpm@9.1.0\"", &[]),
        "script: pnpm test"
    );
    assert_eq!(
        case("./run.sh", ", \"devDependencies\": {\"jest\": \"^29\"}", &[]),
        "jest: npm test"
    );
    let placeholder = "echo \\\"Error: no test specified\\\" && exit 1";
    assert_eq!(case(placeholder, "", &[]), "");
    assert_eq!(
        case(placeholder, ", \"devDependencies\": {\"vitest\": \"1\"}", &[]),
        "vitest: npx --no-install vitest run"
    );
}

#[test]
fn go_make_and_just_are_recognised() {
    assert_eq!(best(&[("go.mod", "module a\n")]), "go: go test ./...");
    assert_eq!(
        best(&[("Makefile", "all: test\ntest: build\n\tgo vet\n")]),
        "make: make test"
    );
    assert_eq!(
        best(&[("justfile", "default:\n  ls\ntest filter='':\n  cargo test\n")]),
        "just: just test"
    );
}

#[test]
fn what_only_looks_like_a_recipe_is_none() {
    for file in [
        (
            "Makefile",
            "test := 1\ntest ::= 2\n\ttest: x\n# test:\nall: test\ntests:\n",
        ),
        ("justfile", "test := 'x'\ntests:\nall: test\ntesting x:\n"),
    ] {
        assert_eq!(best(&[file]), "", "{file:?}");
    }
}

#[test]
fn several_runners_are_all_proposed_the_specific_one_first() {
    let dir = project(&[("Makefile", "test:\n"), ("go.mod", ""), ("pytest.ini", "")]);
    let runners: Vec<&str> = detect(dir.path()).iter().map(|d| d.runner).collect();
    assert_eq!(runners, ["go", "pytest", "make"]);
}

#[test]
fn the_written_file_is_a_valid_configuration_with_the_detected_check() {
    let all = [
        ("Cargo.toml", "[package]\n"),
        ("go.mod", ""),
        ("pytest.ini", ""),
        ("package.json", "{\"scripts\":{\"test\":\"jest\"}}"),
        ("Makefile", "test:\n"),
    ];
    for end in 1..=all.len() {
        let dir = project(&all[end - 1..]);
        let done = init(dir.path()).unwrap();
        assert!(done.config_written);
        let resolved = config::resolve(&Inputs {
            workdir: dir.path(),
            flags: &Flags::default(),
            env: &[],
            known: Known::default(),
        })
        .unwrap();
        let check: Vec<String> = resolved.policy.oracle.check.words.iter().map(|w| w.text()).collect();
        assert_eq!(check, done.detected[0].check);
        assert!(!resolved.policy.oracle.check.shell);
    }
}

#[test]
fn every_commented_line_of_the_file_is_a_valid_setting_too() {
    let text = init_file(&[]);
    let is_setting = |line: &str| {
        line.split_once(" = ")
            .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
    };
    let live: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| is_setting(rest)).unwrap_or(line))
        .collect();
    let entries = config::file::parse(Path::new("loopexec.toml"), live.join("\n").as_bytes()).unwrap();
    assert_eq!(entries.len(), 7, "{live:#?}");
}

#[test]
fn an_existing_configuration_is_never_overwritten() {
    let dir = project(&[("loopexec.toml", "# mine\n"), ("go.mod", "")]);
    let done = init(dir.path()).unwrap();
    assert!(!done.config_written);
    assert_eq!(fs::read_to_string(&done.config).unwrap(), "# mine\n");
    let linked = project(&[]);
    symlink("nowhere.toml", linked.path().join("loopexec.toml")).unwrap();
    assert!(!init(linked.path()).unwrap().config_written);
    assert!(!linked.path().join("nowhere.toml").exists());
}

#[test]
fn init_makes_a_private_ignored_state_directory_and_can_be_repeated() {
    let dir = project(&[]);
    let first = init(dir.path()).unwrap();
    assert_eq!(first.detected, []);
    let state = dir.path().join(STATE_DIR);
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    let second = init(dir.path()).unwrap();
    assert!(first.config_written && !second.config_written);
}

#[test]
fn odd_files_are_neither_waited_for_nor_believed() {
    let dir = project(&[]);
    for name in ["Cargo.toml", "package.json", "Makefile"] {
        let path = dir.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    }
    fs::create_dir(dir.path().join("go.mod")).unwrap();
    assert_eq!(detect(dir.path()), []);
}
