//! What tests and their runner lead to, wherever it lies (SPEC 5.4.11, 5.4.12).
//!
//! ```text
//!   tests, manifests, configuration --name--> helpers, data, hooks --> protected, as tests or as what decides over them
//! ```
//!
//! A name alone proves nothing: what tests lead to is mostly the work. So each kind wants a second sign that a file is
//! there for the tests: it uses a library that only tests use, it is compiled for tests alone, or it lies where expected
//! results are kept and no source of the work speaks of it.

mod data;
mod go;
mod hooks;
mod makefile;
mod rust;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use engine::event::policy::{Origin, Policy};
use engine::guard::surface;
use engine::pattern;

use super::beside::{LOOKED_AT_MAX, listed};
use crate::foreign;

/// Longer sources are no one's helpers.
const SOURCE_MAX_BYTES: u64 = 1 << 20;
/// What is read of all sources together.
const ALL_MAX_BYTES: u64 = 64 << 20;
/// What is read, by the end of its name.
const SOURCES: &[&str] = &[
    "cjs", "cts", "go", "js", "json", "jsx", "mjs", "mts", "py", "rs", "toml", "ts", "tsx",
];

/// Every kind of leading; a further one is a file and a line.
const KINDS: &[fn(&Project, &mut Found)] = &[
    go::find,
    rust::find,
    script::find,
    hooks::find,
    makefile::find,
    data::find,
];

/// The files of the workdir, by their path in it, and the text of those that may say something.
pub(super) struct Project {
    workdir: PathBuf,
    files: BTreeSet<String>,
    texts: BTreeMap<String, String>,
    directories: Vec<String>,
}

/// Patterns of what was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Part of the tests: may change where tests may.
    tests: BTreeSet<String>,
    /// Decides over the tests.
    decides: BTreeSet<String>,
}

/// Adds what the tests of the workdir lead to, with its origin. What lies beside tests is known by now.
pub(super) fn protect(workdir: &Path, policy: &mut Policy, origins: &mut Vec<Origin>) {
    let project = Project::read(workdir, &policy.guards.test_directories);
    let mut found = Found::default();
    for find in KINDS {
        find(&project, &mut found);
    }
    let guards = &mut policy.guards;
    for (key, list, patterns) in [
        ("guards.suite_dirs", &mut guards.test_directories, found.tests),
        ("guards.protected", &mut guards.protected, found.decides),
    ] {
        for pattern in patterns.into_iter().filter(|pattern| !pattern.contains(['*', '?'])) {
            if !list.contains(&pattern) {
                list.push(pattern);
                origins.push(Origin {
                    key: key.into(),
                    source: "workdir".into(),
                });
            }
        }
    }
}

impl Project {
    fn read(workdir: &Path, directories: &[String]) -> Self {
        let mut project = Self {
            workdir: workdir.to_path_buf(),
            files: BTreeSet::new(),
            texts: BTreeMap::new(),
            directories: directories.to_vec(),
        };
        let (mut todo, mut looked_at, mut left) = (vec![workdir.to_path_buf()], 0, ALL_MAX_BYTES);
        while let Some(dir) = todo.pop().filter(|_| looked_at < LOOKED_AT_MAX) {
            looked_at += 1;
            let (below, names) = listed(&dir);
            todo.extend(below);
            for name in names {
                let path = dir.join(&name);
                let Some(relative) = path.strip_prefix(workdir).ok().and_then(Path::to_str) else {
                    continue;
                };
                if let Some(text) = text(&path, left) {
                    left = left.saturating_sub(text.len() as u64);
                    project.texts.insert(relative.to_owned(), text);
                }
                project.files.insert(relative.to_owned());
            }
        }
        project
    }

    /// A file of tests, or one that lies among them.
    fn is_test(&self, path: &str) -> bool {
        let own = self.directories.iter().map(String::as_str);
        let named = path == "conftest.py" || path.ends_with("/conftest.py");
        named || surface::test_source(path.as_bytes()) || pattern::first(own, path.as_bytes()).is_some()
    }

    /// Whether it is a file of the project, or of what the project builds.
    fn has(&self, path: &str) -> bool {
        let is_built = || !path.contains("node_modules/") && self.workdir.join(path).is_file();
        self.files.contains(path) || is_built()
    }

    /// The text of a file whatever its name, when it is one that somebody wrote.
    fn text_of(&self, path: &str) -> String {
        let bytes = foreign::read(&self.workdir.join(path), SOURCE_MAX_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sources with one of these endings.
    fn sources<'a>(&'a self, endings: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let wanted = |path: &str| ending(path).is_some_and(|ending| endings.contains(&ending));
        let all = self.texts.iter().filter(move |(path, _)| wanted(path));
        all.map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

impl Found {
    fn part_of_tests(&mut self, path: &str) {
        self.tests.insert(format!("/{path}"));
    }

    fn decides(&mut self, path: &str) {
        self.decides.insert(format!("/{path}"));
    }
}

fn text(path: &Path, left: u64) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let size = fs::symlink_metadata(path).ok().filter(|seen| seen.is_file())?.len();
    if !SOURCES.contains(&ending) || size > SOURCE_MAX_BYTES.min(left) {
        return None;
    }
    let bytes = foreign::read(path, SOURCE_MAX_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn ending(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, ending)| ending)
}

/// The directory of a path; empty for that of the workdir.
fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// The path that `name` means in `dir`; nothing when it leads out of the workdir.
fn joined(dir: &str, name: &str) -> Option<String> {
    let mut path = PathBuf::new();
    for part in Path::new(dir).join(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    path.to_str().filter(|path| !path.is_empty()).map(ToOwned::to_owned)
}

/// Texts between quotes, on one line each: enough to see what a source names.
fn quoted(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find(['"', '\'', '`']) {
            let (quote, behind) = rest[at..].split_at(1);
            let Some(end) = behind.find(quote) else { break };
            found.push(&behind[..end]);
            rest = &behind[end + 1..];
        }
    }
    found
}

/// Words of a path, in small letters.
fn words(path: &str) -> Vec<String> {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Words in the path of what is there for tests.
const FOR_TESTS: &[&str] = &[
    "assert",
    "assertions",
    "asserts",
    "check",
    "checks",
    "expect",
    "fixture",
    "fixtures",
    "helper",
    "helpers",
    "matchers",
    "mock",
    "mocks",
    "spec",
    "support",
    "test",
    "testhelper",
    "testhelpers",
    "testing",
    "testkit",
    "tests",
    "testsupport",
    "testutil",
    "testutils",
];

fn is_named_for_tests(path: &str) -> bool {
    words(path).iter().any(|word| FOR_TESTS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a project of these files: as part of the tests, and as deciding over them.
    pub(super) fn found(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut policy = Policy::default();
        let before = policy.guards.protected.len();
        protect(&dir.path().canonicalize().unwrap(), &mut policy, &mut Vec::new());
        (
            policy.guards.test_directories,
            policy.guards.protected.split_off(before),
        )
    }

    #[test]
    fn a_path_is_joined_without_leaving_the_workdir() {
        assert_eq!(joined("a/b", "../c.js").as_deref(), Some("a/c.js"));
        assert_eq!(joined("", "./c.js").as_deref(), Some("c.js"));
        for name in ["../c", "/etc/passwd", "."] {
            assert_eq!(joined("", name), None, "{name}");
        }
    }

    #[test]
    fn quotes_are_read_line_by_line() {
        assert_eq!(quoted("a 'b' \"c'd\"\nit's `e`"), ["b", "c'd"]);
    }
}
