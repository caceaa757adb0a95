//! What lies beside tests and belongs to them: their helpers, fixtures and data (SPEC 5.4.9).
//!
//! A directory belongs to the tests when it is named as such, holds a file of tests and none of the files that those
//! tests are named after. The last keeps a package out whose tests live beside its modules: there, what is no test is
//! the work.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use engine::event::policy::{Origin, Policy, Surface};

/// Names of directories that people keep tests, and what belongs to them, in. `test/` and `tests/` are blocked anyway.
const NAMES: &[&str] = &[
    "checks",
    "e2e",
    "functional_tests",
    "integration-tests",
    "integration_tests",
    "spec",
    "specs",
    "t",
    "test",
    "tests",
    "unit_tests",
    "unittests",
];

/// Where nobody keeps tests of the project's own, and much else lies.
const ELSEWHERE: &[&str] = &[
    "build",
    "dist",
    "env",
    "node_modules",
    "site-packages",
    "target",
    "vendor",
    "venv",
];

/// Directories that are looked at; a project that has more of them names its test directories itself.
pub(super) const LOOKED_AT_MAX: usize = 20_000;

/// Adds the directories of tests that the workdir has, with their origin.
pub(super) fn protect(workdir: &Path, policy: &mut Policy, origins: &mut Vec<Origin>) {
    for name in found(workdir, policy.guards.surface) {
        let pattern = format!("/{name}/");
        if !name.contains(['*', '?']) && !policy.guards.test_directories.contains(&pattern) {
            policy.guards.test_directories.push(pattern);
            origins.push(Origin {
                key: "guards.suite_dirs".into(),
                source: "workdir".into(),
            });
        }
    }
}

/// The outermost directories of tests, relative to the workdir.
fn found(workdir: &Path, surface: Surface) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut todo = vec![workdir.to_path_buf()];
    let mut looked_at = 0;
    while let Some(dir) = todo.pop() {
        looked_at += 1;
        if looked_at > LOOKED_AT_MAX {
            break;
        }
        let (below, files) = listed(&dir);
        let named = dir
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| NAMES.contains(&name));
        let inside = dir
            .strip_prefix(workdir)
            .ok()
            .and_then(Path::to_str)
            .filter(|name| !name.is_empty());
        match inside {
            Some(inside) if named && holds_tests_alone(&files, &below, surface) => {
                found.insert(inside.to_owned());
            }
            _ => todo.extend(below),
        }
    }
    found
}

/// Directories below, links not followed, and names of files.
pub(super) fn listed(dir: &Path) -> (Vec<PathBuf>, BTreeSet<String>) {
    let (mut below, mut files) = (Vec::new(), BTreeSet::new());
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if !name.starts_with('.') && !ELSEWHERE.contains(&name.as_str()) {
                    below.push(entry.path());
                }
            }
            Ok(_) => {
                files.insert(name);
            }
            Err(_) => {}
        }
    }
    (below, files)
}

/// A file of tests lies here or one level below, and none that such a file is named after.
fn holds_tests_alone(files: &BTreeSet<String>, below: &[PathBuf], surface: Surface) -> bool {
    // Under `extend` nobody could compare what those notice with what they did at the start.
    let subject = |name: &String| {
        let other = || other_subject(name).filter(|_| surface == Surface::Frozen);
        subject(name).or_else(other)
    };
    let tests = |files: &BTreeSet<String>| files.iter().filter_map(subject).collect::<Vec<_>>();
    let apart = |files: &BTreeSet<String>| tests(files).iter().all(|subject| !files.contains(subject));
    let deeper: Vec<_> = below.iter().map(|dir| listed(dir).1).collect();
    let any = !tests(files).is_empty() || deeper.iter().any(|files| !tests(files).is_empty());
    any && apart(files) && deeper.iter().all(apart)
}

/// The file that a file of tests would be named after: `price.py` of `test_price.py`; nothing when it holds none.
fn subject(name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    let stem = match suffix {
        "py" => stem.strip_prefix("test_").or_else(|| stem.strip_suffix("_test"))?,
        "go" => stem.strip_suffix("_test")?,
        "rb" => stem.strip_suffix("_spec").or_else(|| stem.strip_suffix("_test"))?,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "tsx" => [".test", ".spec", "-test", "_test", "Test", "Spec"]
            .iter()
            .find_map(|end| stem.strip_suffix(end))?,
        "java" | "kt" | "php" => stem.strip_suffix("Test")?,
        _ => return None,
    };
    Some(format!("{stem}.{suffix}"))
}

/// The same in languages that nobody here can change a product of.
fn other_subject(name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    match suffix {
        "t" | "bats" => Some(stem.to_owned()),
        "c" | "cc" | "cpp" | "sh" => {
            let ends = ["_test", "-test", "_spec", "_unittest"];
            let begins = ["test_", "test-"].iter().find_map(|begin| stem.strip_prefix(begin));
            let stem = begins.or_else(|| ends.iter().find_map(|end| stem.strip_suffix(end)))?;
            Some(format!("{stem}.{suffix}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(files: &[&str]) -> Vec<String> {
        found_under(files, Surface::Frozen)
    }

    fn found_under(files: &[&str], surface: Surface) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        found(dir.path(), surface).into_iter().collect()
    }

    #[test]
    fn helpers_and_data_beside_tests_are_found_with_them() {
        assert_eq!(
            found_in(&["shop/price.py", "checks/test_price.py", "checks/helpers.py"]),
            ["checks"]
        );
        assert_eq!(
            found_in(&["packages/a/spec/a.spec.ts", "packages/a/src/a.ts"]),
            ["packages/a/spec"]
        );
        assert_eq!(found_in(&["e2e/login/login.test.js", "e2e/pages.js"]), ["e2e"]);
    }

    #[test]
    fn helpers_of_tests_that_nobody_can_compare_are_found_where_no_test_may_change() {
        for (files, name) in [
            (["t/01-path.t", "t/lib.sh"], "t"),
            (["checks/test_str.c", "checks/helper.c"], "checks"),
            (["spec/path_spec.sh", "spec/helper.sh"], "spec"),
        ] {
            assert_eq!(found_in(&files), [name]);
            assert_eq!(found_under(&files, Surface::Extend), [""; 0]);
        }
        assert_eq!(found_in(&["t/str.c", "t/test_str.c"]), [""; 0]);
    }

    #[test]
    fn a_package_with_its_tests_beside_its_modules_is_no_directory_of_tests() {
        assert_eq!(found_in(&["money.py", "test_money.py"]), [""; 0]);
        assert_eq!(found_in(&["app/core.py", "app/test_api.py"]), [""; 0]);
        assert_eq!(found_in(&["lint/checks/rule.py", "lint/checks/test_rule.py"]), [""; 0]);
        assert_eq!(found_in(&["checks/rules.py", "checks/deep/one.py"]), [""; 0]);
        assert_eq!(
            found_in(&["node_modules/x/spec/x.spec.js", ".venv/tests/test_a.py"]),
            [""; 0]
        );
    }
}
