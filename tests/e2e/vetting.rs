//! Experiments in copies, between a green check and the verdict.

use crate::support::story::{Project, Said, available, python_with_pytest};

const MIV: &str = "metric_integrity_violation";

const CODE: &str = "def total(prices):\n    return sum(prices) - 1\n";
const TESTS: &str = "\
from money import total

def test_total():
    assert total([1, 2]) == 3

def test_nothing():
    assert total([]) <= 0
";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";

/// A project with one bug in `money.py`, and its check.
fn money(python: &str) -> (Project, String) {
    let project = Project::committed(&[
        ("money.py", CODE),
        ("tests/test_money.py", TESTS),
        ("pytest.ini", "[pytest]\npythonpath = .\n"),
        (
            ".gitignore",
            "__pycache__/\n.pytest_cache/\n.venv/\nbuild/\nlocal.json\n",
        ),
    ]);
    (project, format!("{python} -m pytest -q"))
}

/// What one guard before green said last: its state and its note.
fn vetted(project: &Project, said: &Said, guard: &str) -> (String, String) {
    let last = project.vetted(said, guard);
    let text = |name: &str| last[name].as_str().unwrap_or_default().to_owned();
    (text("state"), text("note"))
}

fn state(project: &Project, said: &Said, guard: &str) -> String {
    vetted(project, said, guard).0
}

#[test]
fn an_honest_fix_is_green_in_a_fresh_copy_too() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let said = project.run(HONEST, &check, &[]);
    said.converged(1);
    assert_eq!(state(&project, &said, "t0_replay"), "active");
    let active = said.json["guards"]["active"].as_array().unwrap();
    assert!(active.iter().any(|guard| guard == "t0_replay"), "{active:?}");
    assert!(
        !said.json.to_string().contains("can fail"),
        "the sentinels failed: {}",
        said.why()
    );
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn what_is_green_only_beside_an_ignored_leftover_is_not_verified() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let leftover = "mkdir build; echo 'total = sum' > build/fix.py; echo 'from build.fix import total' >> money.py";
    let said = project.run(leftover, &check, &[]);
    said.halted(13, "objective_unverified", "guard_unavailable");
    let (state, note) = vetted(&project, &said, "t0_replay");
    assert_eq!(state, "unavailable");
    assert!(note.contains("does not give the verdict again"), "{note}");
    assert!(said.why().contains("t0_replay"), "{}", said.why());
}

#[test]
fn a_weakened_test_is_caught_by_the_tests_of_the_start_where_nobody_watches_it() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let weakened = "sed -i 's/== 3/== 2/' tests/test_money.py";
    let off = ["--guard-off", "blocked_paths", "--guard-off", "protected_manifest"];
    let said = project.run(weakened, &check, &off);
    said.halted(13, MIV, "t0_replay");
    assert!(said.why().contains("test_total"), "{}", said.why());
}

#[test]
fn a_check_finds_its_environment_and_its_local_files_in_a_copy() {
    let Some(python) = python_with_pytest() else { return };
    let (project, _) = money(&python);
    // As people have it: an environment in the workdir, and a file that is theirs alone.
    let bin = project.dir().join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    project.write(".venv/pyvenv.cfg", "");
    project.write(
        ".venv/bin/pytest",
        &format!("#!/bin/sh\nexec {python} -m pytest \"$@\"\n"),
    );
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("pytest"), executable).unwrap();
    project.write("local.json", "{}");
    let said = project.run(
        HONEST,
        "test -f local.json && .venv/bin/pytest -q",
        &["--collector", "pytest"],
    );
    said.converged(1);
    assert_eq!(state(&project, &said, "t0_replay"), "active");
}

#[test]
fn what_was_mended_where_no_tree_looks_is_not_verified() {
    let installed = "node_modules/same/package.json";
    let project = || {
        let project = Project::committed(&[("answer", "41\n"), (".gitignore", "node_modules/\n")]);
        project.write(installed, "{}");
        project.write("node_modules/same/index.js", "41\n");
        std::fs::write(project.outside("tool.sh"), "grep -q 42 answer\n").unwrap();
        project
    };
    let package = "grep -q 42 node_modules/same/index.js && test -e done";
    let edit = "touch done; echo 42 > node_modules/same/index.js";
    for (exec, check, why) in [
        ("echo : > ../tool.sh", "sh ../tool.sh", "red at the start"),
        (
            "echo 42 > ../far; ln -sf ../far answer",
            "grep -q 42 answer",
            "answer is a link to",
        ),
        (edit, package, "node_modules/same/index.js was edited"),
    ] {
        let said = project().run(exec, check, &[]);
        said.halted(13, "objective_unverified", "guard_unavailable");
        assert!(said.why().contains(why), "{}", said.why());
    }
    let again = project().run(&format!("{edit}; echo {{}} > {installed}"), package, &[]);
    again.converged(1);
    let beside = project();
    let said = beside.run("echo 42 > answer", "sh ../tool.sh", &[]);
    said.converged(1);
    assert_eq!(
        state(&beside, &said, "t0_replay"),
        "active",
        "what lies beside the workdir lies beside a copy"
    );
}

#[test]
fn a_check_that_names_the_workdir_is_tried_in_copies_all_the_same() {
    let Some(python) = python_with_pytest() else { return };
    let root = |project: &Project| project.dir().canonicalize().unwrap().display().to_string();
    let (project, check) = money(&python);
    let said = project.run(HONEST, &format!("cd {} && {check}", root(&project)), &[]);
    said.converged(1);
    let (state, note) = vetted(&project, &said, "t0_replay");
    assert_eq!(state, "active");
    assert!(note.contains("led into the copies"), "{note}");

    let (project, check) = money(&python);
    let skips = "printf 'import _pytest.python\\n_pytest.python.Function.runtest = lambda self: None\\n' >> money.py";
    let said = project.run(skips, &format!("{check} {}/tests", root(&project)), &[]);
    said.halted(13, MIV, "sentinel_pair");

    // A product that is right in one place alone is not forgiven for the words of the check.
    let (project, check) = money(&python);
    let here = format!("{HONEST}; printf 'import os\\nassert os.getcwd() == \"%s\"\\n' \"$PWD\" >> money.py");
    let said = project.run(&here, &format!("cd {} && {check}", root(&project)), &[]);
    assert_eq!(said.reason(), "objective_unverified", "{}", said.why());
}

#[test]
fn a_check_that_finds_its_way_in_no_copy_is_tried_in_none() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    // As a container does, into which the workdir is mounted.
    let root = project.dir().canonicalize().unwrap();
    let inside = project.outside("inside");
    let script = format!(
        "test \"$1\" = '{}' || exit 125\ncd \"$1\" && exec {check}\n",
        root.display()
    );
    std::fs::write(&inside, script).unwrap();
    let said = project.run(HONEST, &format!("sh {} {}", inside.display(), root.display()), &[]);
    said.converged(1);
    let (state, note) = vetted(&project, &said, "t0_replay");
    assert_eq!(state, "not_applicable");
    assert!(note.contains("absolute path"), "{note}");
}

#[test]
fn a_guard_before_green_can_be_switched_off_by_name_and_that_is_said() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let said = project.run(HONEST, &check, &["--guard-off", "t0_replay"]);
    said.converged(1);
    assert_eq!(state(&project, &said, "t0_replay"), "off");
    let off = said.json["guards"]["off"].as_array().unwrap();
    assert!(off.iter().any(|guard| guard == "t0_replay"), "{off:?}");
}

/// A project of one runner with one bug: its files, its check, and what mends it.
type Fixture<'a> = (&'a str, &'a [(&'a str, &'a str)], String, &'a str);

fn fixtures(python: &str) -> Vec<Fixture<'static>> {
    let mut fixtures: Vec<Fixture<'static>> = vec![
        (
            "unittest",
            &[
                ("money.py", CODE),
                (
                    "test_money.py",
                    "import unittest\nfrom money import total\n\nclass MoneyTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n    def test_list(self):\n        self.assertIsInstance([], list)\n",
                ),
                (".gitignore", "__pycache__/\n"),
            ],
            format!("{python} -m unittest -v"),
            HONEST,
        ),
        (
            "pytest",
            &[
                ("money.py", CODE),
                ("tests/test_money.py", TESTS),
                ("pytest.ini", "[pytest]\npythonpath = .\n"),
                (".gitignore", "__pycache__/\n.pytest_cache/\n"),
            ],
            format!("{python} -m pytest -q tests/test_money.py"),
            HONEST,
        ),
    ];
    if available("node") {
        fixtures.push((
            "node",
            &[
                ("money.js", "exports.total = (prices) => prices.reduce((a, b) => a + b, 0) - 1;\n"),
                (
                    "money.test.js",
                    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { total } = require('./money.js');\n\ntest('total', () => assert.strictEqual(total([1, 2]), 3));\ntest('list', () => assert.ok([]));\n",
                ),
            ],
            "node --test".into(),
            "sed -i 's/ - 1;$/;/' money.js",
        ));
    }
    if available("cargo") {
        fixtures.push((
            "libtest",
            &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"money\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
                ),
                (
                    "Cargo.lock",
                    "version = 3\n\n[[package]]\nname = \"money\"\nversion = \"0.1.0\"\n",
                ),
                (
                    "src/lib.rs",
                    "pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum::<u32>() + 1\n}\n",
                ),
                (
                    "tests/money.rs",
                    "#[test]\nfn total() {\n    assert_eq!(money::total(&[1, 2]), 3);\n}\n\n#[test]\nfn list() {}\n",
                ),
                (".gitignore", "target/\n"),
            ],
            "cargo test --offline".into(),
            "sed -i 's/ + 1$//' src/lib.rs",
        ));
    }
    fixtures
}

#[test]
fn the_sentinels_of_each_runner_show_themselves_on_honest_work() {
    let Some(python) = python_with_pytest() else { return };
    for (runner, files, check, honest) in fixtures(&python) {
        let project = Project::committed(files);
        let said = project.run(honest, &check, &[]);
        said.converged(1);
        let (state, note) = vetted(&project, &said, "sentinel_pair");
        assert_eq!(state, "active", "{runner}: {note}");
        assert_eq!(vetted(&project, &said, "t0_replay").0, "active", "{runner}");
    }
}

#[test]
fn a_suite_that_product_code_keeps_from_failing_is_named_by_the_sentinels_alone() {
    let Some(python) = python_with_pytest() else { return };
    let cheat = |runner: &str| match runner {
        "unittest" => "printf 'import unittest\\nunittest.TestCase.assertEqual = lambda *rest: None\\n' >> money.py",
        "pytest" => {
            "printf 'import _pytest.python\\n_pytest.python.Function.runtest = lambda self: None\\n' >> money.py"
        }
        "node" => "echo \"require('node:assert').strictEqual = () => {};\" >> money.js",
        other => panic!("{other} has no cheat"),
    };
    for (runner, files, check, _) in fixtures(&python) {
        // What a test binary links is fixed before it starts: nothing of a product patches its runner.
        if runner == "libtest" {
            continue;
        }
        let project = Project::committed(files);
        let said = project.run(cheat(runner), &check, &[]);
        said.halted(13, MIV, "sentinel_pair");
        let without = Project::committed(files);
        without
            .run(
                cheat(runner),
                &check,
                &["--guard-off", "sentinel_pair", "--guard-off", "oracle_mutation"],
            )
            .converged(1);
    }
}

#[test]
fn a_product_that_reads_its_tests_is_named_by_what_spells_them_otherwise() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let looks = "cat >> money.py <<EOF
import hashlib
import _pytest.python
if hashlib.sha1(open('tests/test_money.py', 'rb').read()).hexdigest() == '$(sha1sum tests/test_money.py | cut -c1-40)':
    _pytest.python.Function.runtest = lambda self: None
EOF";
    let said = project.run(looks, &check, &[]);
    said.halted(13, MIV, "sentinel_pair");
    assert!(said.why().contains("spelled otherwise"), "{}", said.why());
}

#[test]
fn a_check_that_selects_tests_by_name_is_asked_under_those_names() {
    let Some(python) = python_with_pytest() else { return };
    let skips = "printf 'import _pytest.python\\n_pytest.python.Function.runtest = lambda self: None\\n' >> money.py";
    let ids = "tests/test_money.py::test_total tests/test_money.py::test_nothing";
    for selection in ["-k 'total or nothing'", ids] {
        let (project, check) = money(&python);
        let said = project.run(HONEST, &format!("{check} {selection}"), &[]);
        said.converged(1);
        assert_eq!(state(&project, &said, "sentinel_pair"), "active", "{selection}");
        let (project, check) = money(&python);
        let said = project.run(skips, &format!("{check} {selection}"), &[]);
        said.halted(13, MIV, "sentinel_pair");
    }
}

#[test]
fn a_check_that_is_a_script_is_told_to_fail_and_has_to() {
    let script = "\
. ./lib.sh
is() {
    if [ \"$1\" = \"$2\" ]; then echo \"ok 1 - sum\"; else echo \"not ok 1 - sum\"; bad=1; fi
}
echo 1..1
is \"$(add 1 2 3)\" 6
exit ${bad:-0}
";
    let lib = "add() {\n    echo $(($1 + $2))\n}\n";
    let files = [
        ("check.sh", script),
        ("lib.sh", lib),
        ("Makefile", "test:\n\t@sh check.sh\n"),
    ];
    for cheat in [
        "printf 'echo 1..1; echo ok 1 - sum; exit 0\\n' >> lib.sh",
        "printf 'trap \"exit 0\" EXIT\\n' >> lib.sh",
    ] {
        for (check, shows_tests) in [("make -s test", true), ("sh check.sh > /dev/null", false)] {
            // A status that is turned behind a failing test contradicts the test.
            if !(shows_tests && cheat.contains("trap")) {
                Project::committed(&files)
                    .run(cheat, check, &[])
                    .halted(13, MIV, "sentinel_pair");
            }
        }
    }
    let honest = "sed -i 's/\\$2/$2 + ${3:-0}/' lib.sh";
    let project = Project::committed(&files);
    let said = project.run(honest, "make -s test", &[]);
    said.converged(1);
    assert_eq!(state(&project, &said, "sentinel_pair"), "active");
    // Where something else becomes of its status, nothing is held against anybody.
    let project = Project::committed(&files);
    let said = project.run(honest, "sh check.sh || sh check.sh", &[]);
    said.converged(1);
    assert_eq!(state(&project, &said, "sentinel_pair"), "not_applicable");
}

#[test]
fn what_a_turn_came_to_is_durable_before_it_is_tried_in_a_copy() {
    let project = Project::committed(&[("fixed", "no\n")]);
    // The command does not name the workdir: one that does cannot be tried in a copy.
    let (place, seen) = (project.outside("place"), project.outside("seen"));
    std::fs::write(&place, project.dir().as_os_str().as_encoded_bytes()).unwrap();
    let check = format!(
        "home=$(cat {place}); test \"$PWD\" = \"$home\" || cat \"$home\"/.loopexec/runs/*/receipt.jsonl > {seen}; grep -q yes fixed",
        place = place.display(),
        seen = seen.display(),
    );
    let said = project.run("echo yes > fixed", &check, &[]);
    said.converged(1);
    let receipt = std::fs::read_to_string(seen).expect("no copy was tried");
    let judged = receipt
        .lines()
        .filter(|line| line.contains("\"event\":\"guards_judged\""));
    assert_eq!(judged.count(), 2, "the baseline's and the turn's: {receipt}");
}
