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
    let python = "class Some(Base):\n    def test_a(self):\n        pass\n\nif __name__ == '__main__':\n    main()\n";
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
        (
            "pytest",
            &[("t.py", python)],
            "t.py::Some::test_a[1]",
            "raises(ValueError):\n        pass\n\nif __name__",
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
