//! Which lines the check runs, between a green check and the verdict.

use std::process::Command;

use crate::support::story::{Project, Said, available, python_with_pytest};

const INADEQUATE: &str = "check_inadequate";
const CODE: &str = "\
def total(prices):
    return sum(prices) - 1


def label(cents):
    if cents < 0:
        return 'minus'
    return 'plus'
";
/// Runs the tests and reports which lines ran, as coverage.py does: no package is needed for it.
const MEASURE: &str = "\
import json, os, runpy, sys

HERE = os.getcwd() + os.sep
ran = set()


def trace(frame, event, arg):
    if frame.f_code.co_filename == HERE + 'money.py':
        ran.add(frame.f_lineno)
        return trace


def lines(code):
    found = {line for _, _, line in code.co_lines() if line}
    return found.union(*(lines(part) for part in code.co_consts if hasattr(part, 'co_lines')))


sys.path.insert(0, HERE)
sys.settrace(trace)
failed = 0
for name, test in runpy.run_path('tests/test_money.py').items():
    try:
        name.startswith('test_') and test()
    except AssertionError:
        failed = 1
sys.settrace(None)
source = open('money.py').read()
can, hidden, hiding = lines(compile(source, 'money.py', 'exec')), set(), False
for number, line in enumerate(source.split('\\n'), 1):
    hiding = 'no cover' in line or hiding and line != ''
    if hiding:
        hidden.add(number)
can -= hidden
file = {'executed_lines': sorted(can & ran), 'missing_lines': sorted(can - ran), 'excluded_lines': sorted(hidden)}
json.dump({'meta': {}, 'files': {'money.py': file}}, open('cov.json', 'w'))
sys.exit(failed or not os.path.exists('done.txt'))
";
const TESTS: &str = "from money import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n";
const CHECK: &str = "python3 measure.py";
const FIX: &str = "sed -i 's/ - 1$//' money.py; touch done.txt";
/// No part of it is run by the one test.
const LABEL: &str = "sed -i \"s/cents < 0/0 > cents/\" money.py";
const HIDE: &str = "sed -i 's/^def label(cents):$/&  # pragma: no cover/' money.py";
const MEASURED: &[&str] = &["--coverage", "cov.json"];

fn money(code: &str) -> Project {
    Project::committed(&[
        ("money.py", code),
        ("measure.py", MEASURE),
        ("tests/test_money.py", TESTS),
        (".gitignore", "__pycache__/\n"),
    ])
}

/// What the guard said last, as recorded.
fn vetted(project: &Project, said: &Said) -> serde_json::Value {
    project.vetted(said, "coverage")
}

fn note(vetted: &serde_json::Value) -> &str {
    vetted["note"].as_str().unwrap_or_default()
}

#[test]
fn an_honest_fix_runs_and_so_does_what_was_moved_and_removed() {
    if !available("python3") {
        return;
    }
    let project = money(CODE);
    let said = project.run(FIX, CHECK, MEASURED);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(
        (&found["state"], note(&found)),
        (&"active".into(), "1 of 1 changed line ran"),
        "{found}"
    );
    let (t0, now) = (&found["trials"][0]["coverage"], &found["trials"][1]["coverage"]);
    assert_eq!(
        (&t0["format"], &t0["ran"], &t0["can_run"]),
        (&"coverage.py".into(), &3.into(), &6.into()),
        "{t0}"
    );
    assert_eq!(now["changed"], 1, "{now}");
    assert_eq!(project.json(&["verify"]).exit, 0);

    let moved = "printf 'def total(prices):\\n    return add(prices)\\n\\n\\ndef add(prices):\\n    return sum(prices)\\n' > money.py; touch done.txt";
    let project = money(CODE);
    let said = project.run(moved, CHECK, MEASURED);
    said.converged(1);
    let found = vetted(&project, &said);
    assert!(note(&found).contains("3 of 3 changed lines ran"), "{found}");
    assert!(
        found["findings"].as_array().unwrap().is_empty(),
        "removed code is no finding: {found}"
    );
}

#[test]
fn a_line_that_is_marked_as_not_to_be_measured_is_a_violation() {
    if !available("python3") {
        return;
    }
    let project = money(CODE);
    let said = project.run(&format!("{FIX}; {HIDE}"), CHECK, MEASURED);
    said.halted(15, INADEQUATE, "coverage");
    assert!(said.why().contains("money.py:6-8"), "{}", said.why());
    let found = vetted(&project, &said);
    assert!(
        note(&found).contains("3 unchanged lines marked as not to be measured"),
        "{found}"
    );
    let off = money(CODE);
    off.run(&format!("{FIX}; {HIDE}"), CHECK, &[]).converged(1);
}

#[test]
fn a_change_that_no_test_runs_is_a_violation_alone_and_a_note_beside_a_fix() {
    if !available("python3") {
        return;
    }
    let right = CODE.replace(" - 1", "");
    let alone = money(&right);
    let said = alone.run(&format!("touch done.txt; {LABEL}"), CHECK, MEASURED);
    said.halted(15, INADEQUATE, "coverage");
    assert!(said.why().contains("money.py:6"), "{}", said.why());

    let beside = money(CODE);
    let said = beside.run(&format!("{FIX}; {LABEL}"), CHECK, MEASURED);
    said.converged(1);
    let found = vetted(&beside, &said);
    assert_eq!(note(&found), "1 of 2 changed lines ran", "{found}");
    assert_eq!(found["findings"][0]["subject"], "money.py:6", "{found}");
    assert_eq!(found["findings"][0]["severity"], "note", "{found}");

    let strict = money(CODE);
    let every = [MEASURED, &["--adequacy", "every", "--guard-off", "code_mutation"]].concat();
    let said = strict.run(&format!("{FIX}; {LABEL}"), CHECK, &every);
    said.halted(15, INADEQUATE, "coverage");
}

#[test]
fn a_report_that_is_promised_and_not_written_leaves_the_run_unverified() {
    let project = Project::committed(&[("answer", "41\n"), ("cov.json", "{\"meta\": {}, \"files\": {}}")]);
    let said = project.run("echo 42 > answer", "grep -q 42 answer", MEASURED);
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(
        said.why().contains("cov.json: the check wrote no coverage report"),
        "{}",
        said.why()
    );
}

#[test]
fn node_measures_by_itself_where_nobody_names_a_report() {
    if !available("node") {
        return;
    }
    let project = Project::committed(&[
        (
            "money.js",
            "exports.total = (prices) => {\n  return prices.reduce((a, b) => a + b, 1);\n};\n\nexports.label = (cents) => {\n  return cents < 0 ? 'minus' : 'plus';\n};\n",
        ),
        (
            "money.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { total } = require('./money.js');\n\ntest('total', () => {\n  assert.strictEqual(total([1, 2]), 3);\n});\n",
        ),
    ]);
    let work = "sed -i -e 's/, 1);/, 0);/' -e 's/cents < 0/0 > cents/' money.js";
    let said = project.run(work, "node --test", &[]);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(note(&found), "1 of 2 changed lines ran", "{found}");
    assert_eq!(found["findings"][0]["subject"], "money.js:6", "{found}");
}

/// As much of the package `coverage` as is asked for, for one file.
const PACKAGE: &str = "\
import json, os, sys


class Coverage:
    def __init__(self, source, data_file):
        self.ran = set()

    @staticmethod
    def current():
        return None

    def trace(self, frame, event, arg):
        if frame.f_code.co_filename == os.path.abspath('money.py'):
            self.ran.add(frame.f_lineno)
            return self.trace

    def start(self):
        sys.settrace(self.trace)

    def stop(self):
        sys.settrace(None)

    def json_report(self, outfile):
        can = {number for number, line in enumerate(open('money.py'), 1) if line.strip()}
        lines = {'executed_lines': sorted(can & self.ran), 'missing_lines': sorted(can - self.ran)}
        json.dump({'meta': {}, 'files': {'money.py': lines}}, open(outfile, 'w'))
";

/// A run of pytest in an environment of its own, with pytest from where it is and what `more` (Python, given the
/// environment's `site`) puts beside it.
fn measured_in_an_environment(python: &str, more: &str, work: &str) -> (Project, Said) {
    let project = money(CODE);
    let env = project.outside("env");
    let made = format!(
        "import os, pathlib, pytest, venv\n\
         venv.create({env:?})\n\
         site = next(pathlib.Path({env:?}).glob('lib/python3*/site-packages'))\n\
         (site / 'beside.pth').write_text(os.path.dirname(os.path.dirname(pytest.__file__)))\n\
         {more}"
    );
    let made = Command::new(python).args(["-c", &made]).status().unwrap();
    assert!(made.success());
    let check = format!("{} -m pytest -q", env.join("bin/python").display());
    let fast = ["order", "oracle_mutation", "code_mutation", "sentinel_pair"].map(|name| ["--guard-off", name]);
    let said = project.run(&format!("{FIX}; {work}"), &check, fast.as_flattened());
    (project, said)
}

#[test]
fn pytest_measures_by_the_package_that_is_installed_beside_it() {
    let Some(python) = python_with_pytest() else { return };
    let package = format!(
        "(site / 'coverage').mkdir()\n\
         (site / 'coverage/__init__.py').write_text({PACKAGE:?})\n"
    );
    let (project, said) = measured_in_an_environment(&python, &package, LABEL);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(note(&found), "1 of 2 changed lines ran", "{found}");
    assert_eq!(found["trials"][1]["coverage"]["format"], "coverage.py", "{found}");
    assert_eq!(found["findings"][0]["subject"], "money.py:6", "{found}");
}

#[test]
fn the_real_coverage_package_tells_the_lines_that_ran_and_those_that_it_was_told_to_leave_out() {
    let Some(python) = python_with_pytest() else { return };
    let Ok(package) = std::env::var("LOOPEXEC_TEST_COVERAGE") else {
        eprintln!("skipped: LOOPEXEC_TEST_COVERAGE names no directory with the package coverage");
        return;
    };
    let beside = format!("(site / 'coverage').symlink_to(pathlib.Path({package:?}) / 'coverage')\n");
    let (project, said) = measured_in_an_environment(&python, &beside, LABEL);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(note(&found), "1 of 2 changed lines ran", "{found}");
    let now = &found["trials"][1]["coverage"];
    assert_eq!(
        (&now["format"], &now["ran"]),
        (&"coverage.py".into(), &3.into()),
        "{now}"
    );
    assert_eq!(found["findings"][0]["subject"], "money.py:6", "{found}");

    let (_, said) = measured_in_an_environment(&python, &beside, HIDE);
    said.halted(15, INADEQUATE, "coverage");
    assert!(said.why().contains("money.py:6-8"), "{}", said.why());
}
