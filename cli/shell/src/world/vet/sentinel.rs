//! Sentinels: tests that must fail, and one that must pass, in the suite of a copy.
//!
//! They stand in a file that the check is known to read where one can be found, so that they share its process and
//! whatever the product does to it. Their names are drawn anew for each copy, behind that of a test of the suite's own: what
//! selects that one by a part of its name selects them too. What selects it by its whole name is told by a body that fails in
//! its place.

mod stand_in;
mod suite;
mod template;

use std::fs;
use std::io;

pub(super) use suite::Suite;

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

    /// A template with what was drawn in it, and the names that the suite has.
    fn fill(&self, template: &str, name: &str, class: &str) -> String {
        let text = template
            .replace("MARK", &self.mark)
            .replace("VALUE", &self.value.to_string())
            .replace("OTHER", &self.other.to_string());
        let parts: Vec<String> = text.split("NAME").map(|part| part.replace("CLASS", class)).collect();
        parts.join(name)
    }
}

/// Plants the sentinels of `runner` and gives their names, the one that must pass first. None where nothing can stand.
///
/// # Errors
/// When the copy cannot be written to.
pub(super) fn plant(runner: &str, suite: &Suite<'_>) -> io::Result<Vec<String>> {
    let draw = Draw::new()?;
    let Some(sentinel) = sentinel(runner, suite) else {
        return Ok(Vec::new());
    };
    let Sentinel {
        path,
        name,
        class,
        text,
        fails,
    } = sentinel;
    let path = suite.copy.join(path.replace("MARK", &draw.mark));
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    fs::write(&path, inserted(&before, &draw.fill(&text, &name, &class)))?;
    let fails = (1..=fails).map(|n| format!("lx{}_fails_{n}", draw.mark));
    Ok([format!("lx{}_holds", draw.mark)].into_iter().chain(fails).collect())
}

/// Puts a body that fails in place of members and gives their ids. None where it is not known how.
///
/// # Errors
/// When the copy cannot be written to.
pub(super) fn plant_in_place(runner: &str, suite: &Suite<'_>) -> io::Result<Vec<String>> {
    stand_in::plant(runner, suite, &Draw::new()?)
}

/// The text behind what is there, and before the line of a Python file that runs it.
fn inserted(before: &str, text: &str) -> String {
    let runs = before
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
        .find(|(_, line)| line.starts_with("if __name__"));
    match runs {
        Some((at, _)) => format!("{}\n{text}\n{}", &before[..at], &before[at..]),
        None => format!("{before}\n{text}"),
    }
}

/// Whether a Python file itself defines a class of that name; of a nested one, the outermost.
fn defines(text: &str, class: &str) -> bool {
    let outer = class.split('.').next().unwrap_or(class);
    text.lines().any(|line| {
        let rest = line.strip_prefix("class ").and_then(|rest| rest.strip_prefix(outer));
        rest.is_some_and(|rest| rest.starts_with(['(', ':', ' ']))
    })
}

/// Where a sentinel goes and what it is.
struct Sentinel {
    /// A file that is added to, or made.
    path: String,
    /// What its tests are called after.
    name: String,
    /// A class that the suite has, for those that stand in it.
    class: String,
    text: String,
    /// Tests in it that must fail.
    fails: u32,
}

fn sentinel(runner: &str, suite: &Suite<'_>) -> Option<Sentinel> {
    match runner {
        "pytest" => pytest(suite),
        "unittest" => unittest(suite),
        "libtest" | "nextest" => {
            let path = suite.integration_test()?;
            let (around, name) = suite.rust().unwrap_or((Vec::new(), "it"));
            let open: String = around.iter().map(|name| format!("mod {name} {{")).collect();
            let text = format!(
                "\nmod lxMARK {{{open}\n{}\n{}}}\n",
                template::RUST,
                "}".repeat(around.len())
            );
            Some(added(path, name, &text, 2))
        }
        "go" => {
            let any = || {
                let path = suite.files.iter().find(|path| path.ends_with("_test.go"))?;
                Some(((*path).to_owned(), "Test".to_owned()))
            };
            let (path, name) = suite.go().or_else(any)?;
            suite
                .holds(&path, "testing")
                .then(|| added(path, &name, template::GO, 2))
        }
        "node" => {
            let (path, title) = suite.script(&["node:test"])?;
            let text = if suite.is_module(&path) {
                template::NODE_MODULE
            } else {
                template::NODE_SCRIPT
            };
            Some(added(path, &title, text, 3))
        }
        "jest" | "vitest" => {
            let (words, text): (&[&str], _) = match runner {
                "jest" => (&["expect("], template::JEST),
                _ => (&["vitest", "expect("], template::VITEST),
            };
            let (path, title) = suite.script(words)?;
            Some(added(path, &title, text, 2))
        }
        _ => None,
    }
}

/// Beside a test function if there is one, and in the class of a test if it has one.
fn pytest(suite: &Suite<'_>) -> Option<Sentinel> {
    let function = suite.pytest().find(|(_, test)| test.class.is_none());
    let Some((_, test)) = function.or_else(|| suite.pytest().next()) else {
        let (path, name) = suite.doctest()?;
        return Some(added(path, &name, template::DOCTEST, 2));
    };
    let text = suite.text(&test.path);
    let mut beside = suite.pytest().filter(|(_, other)| other.path == test.path);
    let class = beside.find_map(|(_, other)| other.class.filter(|class| defines(&text, class)));
    let sentinel = added(test.path, &test.name, template::PYTEST, 2);
    Some(match class {
        Some(class) => sentinel.within(class, template::PYTEST_CLASS, 1),
        None => sentinel,
    })
}

/// In a class of its own, and in the class of a test.
fn unittest(suite: &Suite<'_>) -> Option<Sentinel> {
    let Some((_, test)) = suite.unittest().next() else {
        // Nobody names what passes.
        let path = suite
            .source_with("import unittest")
            .or_else(|| suite.source_with("from unittest"))?;
        return Some(added(path, "test", template::UNITTEST, 3));
    };
    let class = test.class.filter(|class| defines(&suite.text(&test.path), class));
    let sentinel = added(test.path, &test.name, template::UNITTEST, 3);
    Some(match class {
        Some(class) => sentinel.within(class, template::UNITTEST_CLASS, 2),
        None => sentinel,
    })
}

fn added(path: String, name: &str, text: &str, fails: u32) -> Sentinel {
    Sentinel {
        path,
        name: name.to_owned(),
        class: String::new(),
        text: text.to_owned(),
        fails,
    }
}

impl Sentinel {
    /// With tests in a class of the suite's own too.
    fn within(self, class: String, text: &str, fails: u32) -> Self {
        Self {
            text: self.text + text,
            fails: self.fails + fails,
            class,
            ..self
        }
    }
}

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
            "x = 1\n\ndef test_x_lx",
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
            "// it\n\nmod lx",
        ),
        (
            "nextest",
            &[("Cargo.toml", "[workspace]"), ("a/Cargo.toml", "[package]")],
            "x",
            "#[test]",
        ),
        ("go", &[("a/a_test.go", "import \"testing\"")], "x", "func Test_lx"),
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
    fn what_selects_a_test_by_a_part_of_its_name_or_by_its_class_selects_sentinels() {
        let python =
            "class Some(Base):\n    def test_a(self):\n        pass\n\nif __name__ == '__main__':\n    main()\n";
        let cases: &[Case<'_>] = &[
            ("pytest", &[("t.py", python)], "t.py::Some::test_a", "\nSome.test_a_lx"),
            ("unittest", &[("t.py", python)], "t.Some.test_a", "\nSome.test_a_lx"),
            (
                "unittest",
                &[("a/test_t.py", python)],
                "__main__.Some.test_a",
                "\nSome.test_a_lx",
            ),
            (
                "unittest",
                &[("test_t.py", "from unittest import *\n")],
                "",
                "self.assertEqual(",
            ),
            ("pytest", &[("a.py", "x = 1\n")], "a.py::a.total", "def total_lx"),
            (
                "libtest",
                &[("a/tests/b.rs", ""), ("tests/b.rs", "")],
                "b tests/b.rs area::adds",
                "{mod area {",
            ),
            (
                "libtest",
                &[("a/tests/a.rs", ""), ("a/tests/b.rs", "// b")],
                "b tests/b.rs adds",
                "// b\n\nmod lx",
            ),
            (
                "go",
                &[
                    ("a_test.go", ""),
                    ("b/b_test.go", "import \"testing\"\nfunc TestSum(t *testing.T) {"),
                ],
                "x.org/m/b TestSum/none",
                "func TestSum_lx",
            ),
            (
                "node",
                &[
                    ("test/a.js", "'node:test'"),
                    ("test/b.js", "'node:test' describe('sums', () => it('adds'"),
                ],
                "sums > adds",
                "adds'\n\n{\n  const lxTest = require('node:test');",
            ),
            (
                "jest",
                &[("a.test.js", "expect("), ("b.test.js", "expect(")],
                "b.test.js > sums > adds",
                "test('sums adds lx",
            ),
        ];
        for (runner, files, member, word) in cases {
            let (_, text) = planted(runner, files, &[member]).unwrap_or_else(|| panic!("{runner} has no place"));
            assert!(text.contains(word), "{runner} {member}: {text}");
            let main = text.find("if __name__").unwrap_or(text.len());
            assert!(
                text.find("_fails_1").unwrap() < main,
                "{runner}: behind what runs it: {text}"
            );
        }
    }

    #[test]
    fn a_body_that_fails_takes_the_place_of_a_test_that_its_file_defines_and_of_no_other() {
        let python = "from base import *\n\ndef test_a():\n    pass\n\nclass Some(Base):\n    async def test_b(self):\n        pass\n";
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("t.py"), python).unwrap();
        let ids = [
            "t.py::Other::test_b",
            "t.py::Some::test_a",
            "t.py::Some::test_b",
            "t.py::t.test_a",
            "t.py::test_a",
            "t.py::test_a[1]",
            "t.py::test_c",
        ];
        let suite = Suite {
            copy: dir.path(),
            files: &["t.py"],
            passing: &ids,
        };
        let planted = plant_in_place("pytest", &suite).unwrap();
        assert_eq!(planted, ["t.py::Some::test_a", "t.py::Some::test_b", "t.py::test_a"]);
        let text = fs::read_to_string(dir.path().join("t.py")).unwrap();
        assert!(
            text.contains("\nSome.test_b = lx") && text.contains("\ndef test_a():\n    raise"),
            "{text}"
        );
        assert_eq!(plant_in_place("node", &suite).unwrap(), [""; 0]);
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
