//! pytest and unittest, run by the interpreter that the project's own environment uses.

use super::{Detected, Project};

const TEST_DIRS: &[&str] = &["tests", "test"];

pub(super) fn pytest(project: &Project<'_>) -> Option<Detected> {
    let why = pytest_sign(project)?;
    let interpreter = interpreter(project);
    let words: Vec<&str> = interpreter.iter().copied().chain(["-m", "pytest"]).collect();
    Some(Detected::new("pytest", &words, why))
}

pub(super) fn unittest(project: &Project<'_>) -> Option<Detected> {
    if pytest_sign(project).is_some() {
        return None;
    }
    let (dir, file) = test_files(project)
        .into_iter()
        .find(|(dir, file)| reads(project, dir, file).is_some_and(|text| imports_unittest(&text)))?;
    let mut words = interpreter(project);
    words.extend(["-m", "unittest", "discover"]);
    // A directory that is no package is only found when the search starts inside it.
    if dir != "." {
        words.extend(["-s", dir]);
        if project.has(&format!("{dir}/__init__.py")) {
            words.extend(["-t", "."]);
        }
    }
    let why = format!("{} imports unittest", joined(dir, &file));
    Some(Detected::new("unittest", &words, why))
}

/// What says that the tests are written for pytest.
fn pytest_sign(project: &Project<'_>) -> Option<String> {
    if let Some(file) = project.first(&[
        "pytest.ini",
        ".pytest.ini",
        "conftest.py",
        "tests/conftest.py",
        "test/conftest.py",
    ]) {
        return Some(format!("{file} is there"));
    }
    for (file, section) in [("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")] {
        if project.text(file).is_some_and(|text| has_line(&text, section)) {
            return Some(format!("{file} has a section {section}"));
        }
    }
    if let Some(pyproject) = project.toml("pyproject.toml") {
        let tool = pyproject.get("tool");
        if tool.and_then(|tool| tool.get("pytest")).is_some() {
            return Some("pyproject.toml configures pytest".to_owned());
        }
        if names_pytest(&toml::Value::Table(pyproject)) {
            return Some("pyproject.toml depends on pytest".to_owned());
        }
    }
    for file in project.files_in(".") {
        let requirements = file.starts_with("requirements") && file.ends_with(".txt");
        if requirements && project.text(&file).is_some_and(|text| text.lines().any(is_pytest)) {
            return Some(format!("{file} names pytest"));
        }
    }
    let (dir, file) = test_files(project).into_iter().find(|(dir, file)| {
        reads(project, dir, file)
            .is_some_and(|text| imports_pytest(&text) || (!imports_unittest(&text) && has_bare_tests(&text)))
    })?;
    Some(format!("{} holds tests in the style of pytest", joined(dir, &file)))
}

/// The command that starts the project's own interpreter.
fn interpreter(project: &Project<'_>) -> Vec<&'static str> {
    if project.has("uv.lock") {
        return vec!["uv", "run", "python"];
    }
    if project.has("poetry.lock") {
        return vec!["poetry", "run", "python"];
    }
    for python in [".venv/bin/python", "venv/bin/python"] {
        if project.has(python) {
            return vec![python];
        }
    }
    vec!["python3"]
}

/// Whether a list of dependencies anywhere below names pytest, or a table has it as a key.
fn names_pytest(value: &toml::Value) -> bool {
    match value {
        toml::Value::Array(items) => items
            .iter()
            .any(|item| item.as_str().map_or_else(|| names_pytest(item), is_pytest)),
        toml::Value::Table(table) => table.iter().any(|(key, value)| key == "pytest" || names_pytest(value)),
        _ => false,
    }
}

/// Whether a requirement is for pytest itself, and not for something whose name begins so.
fn is_pytest(requirement: &str) -> bool {
    let rest = requirement.trim().strip_prefix("pytest");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
}

fn test_files(project: &Project<'_>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for dir in std::iter::once(".").chain(TEST_DIRS.iter().copied()) {
        let tests = project.files_in(dir).into_iter().filter(|file| {
            let stem = file.strip_suffix(".py");
            stem.is_some_and(|stem| stem.starts_with("test") || stem.ends_with("_test"))
        });
        found.extend(tests.map(|file| (dir, file)));
    }
    found
}

fn reads(project: &Project<'_>, dir: &str, file: &str) -> Option<String> {
    project.text(&joined(dir, file))
}

fn joined(dir: &str, file: &str) -> String {
    if dir == "." {
        file.to_owned()
    } else {
        format!("{dir}/{file}")
    }
}

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|have| have.trim() == line)
}

fn imports_unittest(text: &str) -> bool {
    imports(text, "unittest")
}

fn imports_pytest(text: &str) -> bool {
    imports(text, "pytest")
}

fn imports(text: &str, module: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        let verb = words.next();
        let name = words.next().map(|name| name.trim_end_matches(','));
        matches!(verb, Some("import" | "from")) && name.is_some_and(|name| name.split('.').next() == Some(module))
    })
}

fn has_bare_tests(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("def test_") || line.starts_with("async def test_"))
}
