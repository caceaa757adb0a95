//! Sentinels: tests that must fail, and one that must pass, in the suite of a copy.
//!
//! They stand in a file that the check is known to read where one can be found, so that they share its process and
//! whatever the product does to it. Their names are drawn anew for each copy.

use std::fs;
use std::io;
use std::path::Path;

/// What is known of the suite in a copy.
pub(super) struct Suite<'a> {
    pub(super) copy: &'a Path,
    /// Files of the tree that were there at t0 too, by path.
    pub(super) files: &'a [&'a str],
    /// Members that pass.
    pub(super) passing: &'a [&'a str],
}

/// What is drawn for one copy.
struct Draw {
    /// In every name.
    mark: String,
    /// Two values that differ.
    value: u32,
    other: u32,
}

impl Draw {
    fn new() -> io::Result<Self> {
        let mut random = [0_u8; 12];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let mark = random[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let value = u32::from_le_bytes([random[6], random[7], random[8], 0]);
        Ok(Self {
            mark,
            value,
            other: value + 1 + u32::from(random[9]),
        })
    }

    /// A template with the name of each test and the values in it.
    fn fill(&self, template: &str) -> String {
        template
            .replace("MARK", &self.mark)
            .replace("VALUE", &self.value.to_string())
            .replace("OTHER", &self.other.to_string())
    }
}

/// Plants the sentinels of `runner` and gives their names, the one that must pass first. None where nothing can stand.
///
/// # Errors
/// When the copy cannot be written to.
pub(super) fn plant(runner: &str, suite: &Suite<'_>) -> io::Result<Vec<String>> {
    let draw = Draw::new()?;
    let Some(Sentinel { path, text, fails }) = sentinel(runner, suite) else {
        return Ok(Vec::new());
    };
    let path = suite.copy.join(draw.fill(&path));
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    fs::write(&path, format!("{before}\n{}", draw.fill(text)))?;
    let fails = (1..=fails).map(|n| format!("lx{}_fails_{n}", draw.mark));
    Ok([format!("lx{}_holds", draw.mark)].into_iter().chain(fails).collect())
}

/// Where a sentinel goes and what it is.
struct Sentinel {
    /// A file that is added to, or made.
    path: String,
    text: &'static str,
    /// Tests in it that must fail.
    fails: u32,
}

fn sentinel(runner: &str, suite: &Suite<'_>) -> Option<Sentinel> {
    match runner {
        "pytest" => {
            let path = suite.collected(".py", "::")?;
            Some(added(path, PYTEST, 2))
        }
        "unittest" => Some(added(suite.module()?, UNITTEST, 3)),
        "libtest" | "nextest" => Some(added(suite.integration_test()?, RUST, 2)),
        "go" => {
            let path = suite.files.iter().find(|path| path.ends_with("_test.go"))?;
            suite.holds(path, "testing").then(|| added((*path).to_owned(), GO, 2))
        }
        "node" => {
            let path = suite.script(&["node:test"])?;
            Some(if suite.is_module(&path) {
                added(path, NODE_MODULE, 3)
            } else {
                added(path, NODE_SCRIPT, 3)
            })
        }
        "jest" => Some(added(suite.script(&["expect("])?, JEST, 2)),
        "vitest" => Some(added(suite.script(&["vitest", "expect("])?, VITEST, 2)),
        _ => None,
    }
}

fn added(path: String, text: &'static str, fails: u32) -> Sentinel {
    Sentinel { path, text, fails }
}

impl Suite<'_> {
    /// The file of a passing member whose id begins with its path.
    fn collected(&self, ending: &str, parted: &str) -> Option<String> {
        let paths = self
            .passing
            .iter()
            .filter_map(|id| id.split_once(parted))
            .map(|(path, _)| path);
        let mut known = paths.filter(|path| path.ends_with(ending) && self.files.contains(path));
        known.next().map(str::to_owned)
    }

    /// The file of the module that a passing member's dotted id begins with.
    fn module(&self) -> Option<String> {
        let file = |id: &&str| {
            let mut name = *id;
            while let Some((front, _)) = name.rsplit_once('.') {
                let path = format!("{}.py", front.replace('.', "/"));
                let below = format!("/{path}");
                let found = self.files.iter().find(|file| **file == path || file.ends_with(&below));
                if let Some(found) = found {
                    return Some((*found).to_owned());
                }
                name = front;
            }
            None
        };
        self.passing.iter().find_map(file)
    }

    /// A file of integration tests, or a new one beside the sources of the first package.
    fn integration_test(&self) -> Option<String> {
        let is_test = |path: &&&str| path.ends_with(".rs") && path.split('/').rev().nth(1) == Some("tests");
        if let Some(path) = self.files.iter().find(is_test) {
            return Some((*path).to_owned());
        }
        let mut manifests: Vec<&str> = self
            .files
            .iter()
            .copied()
            .filter(|path| path.ends_with("Cargo.toml"))
            .collect();
        manifests.sort_by_key(|path| path.matches('/').count());
        let package = manifests.into_iter().find(|path| self.holds(path, "[package]"))?;
        let dir = package.trim_end_matches("Cargo.toml");
        fs::create_dir_all(self.copy.join(format!("{dir}tests"))).ok()?;
        Some(format!("{dir}tests/lxMARK.rs"))
    }

    /// A file of tests in JavaScript or TypeScript in which all of these stand.
    fn script(&self, words: &[&str]) -> Option<String> {
        let is_script = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let ending = name.rsplit('.').next().unwrap_or_default();
            matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "jsx" | "tsx") && path.contains("test")
                || name.contains(".spec.")
        };
        let scripts = self.files.iter().copied().filter(is_script);
        let mut fitting = scripts.filter(|path| words.iter().all(|word| self.holds(path, word)));
        fitting.next().map(str::to_owned)
    }

    fn is_module(&self, path: &str) -> bool {
        let import = |line: &str| line.starts_with("import ") || line.starts_with("export ");
        let text = fs::read_to_string(self.copy.join(path)).unwrap_or_default();
        !path.ends_with(".cjs") && (path.ends_with(".mjs") || text.lines().any(import))
    }

    fn holds(&self, path: &str, word: &str) -> bool {
        fs::read_to_string(self.copy.join(path)).is_ok_and(|text| text.contains(word))
    }
}

const PYTEST: &str = "
def test_lxMARK_holds():
    assert VALUE == VALUE

def test_lxMARK_fails_1():
    assert VALUE == OTHER

def test_lxMARK_fails_2():
    import pytest as lx
    with lx.raises(ValueError):
        pass
";

// Sorted by name when they run: what must pass before what must fail.
const UNITTEST: &str = "
import unittest as lx_unittest

class LxMARK(lx_unittest.TestCase):
    def test_a_lxMARK_holds(self):
        self.assertEqual(VALUE, VALUE)

    def test_b_lxMARK_fails_1(self):
        self.assertEqual(VALUE, OTHER)

    def test_c_lxMARK_fails_2(self):
        self.assertTrue(VALUE == OTHER)

    def test_d_lxMARK_fails_3(self):
        assert VALUE == OTHER
";

const RUST: &str = "
#[test]
fn lxMARK_holds() {
    assert_eq!(VALUE_u64, VALUE_u64);
}

#[test]
fn lxMARK_fails_1() {
    assert_eq!(VALUE_u64, OTHER_u64);
}

#[test]
fn lxMARK_fails_2() {
    assert!(VALUE_u64 == OTHER_u64);
}
";

const GO: &str = "
func TestA_lxMARK_holds(t *testing.T) {
\tif VALUE != VALUE {
\t\tt.Fatal(\"VALUE\")
\t}
}

func TestB_lxMARK_fails_1(t *testing.T) {
\tt.Errorf(\"VALUE is not OTHER\")
}

func TestC_lxMARK_fails_2(t *testing.T) {
\tt.Fatal(\"VALUE is not OTHER\")
}
";

const NODE_SCRIPT: &str = "
{
  const lxTest = require('node:test');
  const lxAssert = require('node:assert');
  lxTest('lxMARK_holds', () => lxAssert.strictEqual(VALUE, VALUE));
  lxTest('lxMARK_fails_1', () => lxAssert.strictEqual(VALUE, OTHER));
  lxTest('lxMARK_fails_2', () => lxAssert.equal(VALUE, OTHER));
  lxTest('lxMARK_fails_3', () => lxAssert.deepStrictEqual([VALUE], [OTHER]));
}
";

const NODE_MODULE: &str = "
import lxTest from 'node:test';
import lxAssert from 'node:assert';
lxTest('lxMARK_holds', () => lxAssert.strictEqual(VALUE, VALUE));
lxTest('lxMARK_fails_1', () => lxAssert.strictEqual(VALUE, OTHER));
lxTest('lxMARK_fails_2', () => lxAssert.equal(VALUE, OTHER));
lxTest('lxMARK_fails_3', () => lxAssert.deepStrictEqual([VALUE], [OTHER]));
";

const JEST: &str = "
test('lxMARK_holds', () => { expect(VALUE).toBe(VALUE); });
test('lxMARK_fails_1', () => { expect(VALUE).toBe(OTHER); });
test('lxMARK_fails_2', () => { expect([VALUE]).toEqual([OTHER]); });
";

const VITEST: &str = "
import { test as lxTest, expect as lxExpect } from 'vitest';
lxTest('lxMARK_holds', () => { lxExpect(VALUE).toBe(VALUE); });
lxTest('lxMARK_fails_1', () => { lxExpect(VALUE).toBe(OTHER); });
lxTest('lxMARK_fails_2', () => { lxExpect([VALUE]).toEqual([OTHER]); });
";

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy with these files, in which these members pass: where the sentinels stand and what the file says then.
    fn planted(runner: &str, files: &[(&str, &str)], passing: &[&str]) -> Option<(Vec<String>, String)> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let known: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let suite = Suite {
            copy: dir.path(),
            files: &known,
            passing,
        };
        let names = plant(runner, &suite).unwrap();
        let holds = names.first()?;
        let mut open = vec![dir.path().to_path_buf()];
        while let Some(at) = open.pop() {
            for entry in fs::read_dir(at).unwrap().flatten() {
                if entry.path().is_dir() {
                    open.push(entry.path());
                } else if let Some(text) = fs::read_to_string(entry.path())
                    .ok()
                    .filter(|text| text.contains(holds))
                {
                    return Some((names, text));
                }
            }
        }
        panic!("{names:?} stand nowhere");
    }

    /// One project for each runner: its files, a passing member, and a word of the sentinel.
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);

    const CASES: &[Case<'_>] = &[
        (
            "pytest",
            &[("a.py", ""), ("tests/t.py", "x = 1")],
            "tests/t.py::test_x",
            "x = 1\n\ndef test_lx",
        ),
        (
            "unittest",
            &[("tests/test_t.py", "x = 1")],
            "tests.test_t.T.test_x",
            "x = 1\n\nimport unittest",
        ),
        (
            "libtest",
            &[("tests/t.rs", "// it"), ("Cargo.toml", "[package]")],
            "x",
            "// it\n\n#[test]",
        ),
        (
            "nextest",
            &[("Cargo.toml", "[workspace]"), ("a/Cargo.toml", "[package]")],
            "x",
            "#[test]",
        ),
        ("go", &[("a/a_test.go", "import \"testing\"")], "x", "func TestB_lx"),
        (
            "node",
            &[("t.test.js", "require('node:test')")],
            "x",
            "const lxTest = require",
        ),
        (
            "node",
            &[("t.test.js", "import test from 'node:test'\n")],
            "x",
            "import lxTest from",
        ),
        ("jest", &[("__tests__/a.js", "expect(1).toBe(1)")], "x", "expect(["),
        (
            "vitest",
            &[("a.test.ts", "import 'vitest'; expect(1)")],
            "x",
            "lxExpect([",
        ),
    ];

    #[test]
    fn each_runner_has_tests_that_fail_and_one_that_holds_beside_its_own() {
        for (runner, files, member, word) in CASES {
            let (names, text) = planted(runner, files, &[member]).unwrap_or_else(|| panic!("{runner} has no place"));
            assert!(names.len() >= 3, "{runner}: {names:?}");
            assert!(
                names.iter().all(|name| text.contains(name.as_str())),
                "{runner}: {text}"
            );
            assert!(text.contains(word), "{runner}: {text}");
            assert!(
                !text.contains("MARK") && !text.contains("VALUE") && !text.contains("OTHER"),
                "{runner}: {text}"
            );
        }
        let runners: Vec<&str> = CASES.iter().map(|case| case.0).collect();
        for runner in engine::vet::sentinel_pair::RUNNERS {
            assert!(runners.contains(runner), "{runner} has no template");
        }
    }

    #[test]
    fn no_two_copies_have_the_same_names() {
        let names = || planted("pytest", &[("t.py", "")], &["t.py::test_x"]).unwrap().0;
        assert_ne!(names(), names());
    }

    #[test]
    fn a_suite_without_a_known_file_has_no_place() {
        assert_eq!(planted("pytest", &[("t.py", "")], &["u.py::test_x"]), None);
        assert_eq!(planted("unittest", &[("t.py", "")], &["__main__.T.test_x"]), None);
        assert_eq!(planted("node", &[("a.js", "require('node:test')")], &["x"]), None);
        assert_eq!(planted("make", &[("Makefile", "")], &["x"]), None);
    }
}
