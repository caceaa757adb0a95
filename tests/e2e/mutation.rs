//! Expected values that are changed in copies, between a green check and the verdict.

use crate::support::story::{Project, Said, available, python_with_pytest};

const INADEQUATE: &str = "check_inadequate";

const TESTS: &str = "\
from money import total

def test_total():
    assert total([1, 2]) == 3

def test_none():
    assert total([]) == 0
";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";

fn money(tests: &str) -> Project {
    Project::money("def total(prices):\n    return sum(prices) - 1\n", tests)
}

fn crate_of(tests: &str) -> Project {
    Project::committed(&[
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
            "#[derive(Clone, Copy, Debug)]\npub struct Cents(pub u32);\n\nimpl PartialEq for Cents {\n    fn eq(&self, other: &Self) -> bool {\n        self.0 == other.0\n    }\n}\n\npub fn total(prices: &[u32]) -> Cents {\n    Cents(prices.iter().sum::<u32>() + 1)\n}\n",
        ),
        ("tests/money.rs", tests),
        (".gitignore", "target/\n"),
    ])
}

const CRATE_TESTS: &str = "use money::{total, Cents};\n\n#[test]\nfn sum() {\n    assert_eq!(total(&[1, 2]), Cents(3));\n}\n\n#[test]\nfn list() {\n    for (prices, want) in [([1, 2], Cents(3)), ([2, 2], Cents(4))] {\n        assert_eq!(total(&prices), want);\n    }\n}\n";

/// What the guard said last, as recorded.
fn vetted(project: &Project, said: &Said) -> serde_json::Value {
    project.vetted(said, "oracle_mutation")
}

fn check(python: &str) -> String {
    format!("{python} -m pytest -q")
}

#[test]
fn an_honest_fix_notices_every_other_value() {
    let Some(python) = python_with_pytest() else { return };
    let project = money(TESTS);
    let said = project.run(HONEST, &check(&python), &[]);
    said.converged(1);
    let vetted = vetted(&project, &said);
    assert_eq!((&vetted["state"], &vetted["note"]), (&"active".into(), &"".into()));
    let trials = vetted["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 1, "honest work costs one run: {trials:?}");
    assert_eq!(trials[0]["mutants"].as_array().unwrap().len(), 2);
    assert!(vetted["cost_us"].as_u64().unwrap() > 0);
    assert_eq!(project.json(&["verify"]).exit, 0);

    if available("cargo") {
        let project = crate_of(CRATE_TESTS);
        let said = project.run("sed -i 's/ + 1)/)/' src/lib.rs", "cargo test --offline", &[]);
        said.converged(1);
        let vetted = self::vetted(&project, &said);
        assert_eq!(vetted["note"], "", "{vetted}");
        let mutants = &vetted["trials"][0]["mutants"];
        assert_eq!(mutants[0]["path"], "tests/money.rs", "{vetted}");
        assert_eq!(
            mutants[1]["to"], "4)), ([2, 2], Cents(5",
            "every row of a table: {vetted}"
        );
    }
}

#[test]
fn an_answer_that_is_equal_to_everything_is_no_adequate_check() {
    let Some(python) = python_with_pytest() else { return };
    let cheat = "printf 'class Any:\\n    def __eq__(self, other): return True\\n\\ndef total(prices): return Any()\\n' > money.py";
    let project = money(TESTS);
    let said = project.run(cheat, &check(&python), &[]);
    said.halted(15, INADEQUATE, "oracle_mutation");
    assert!(said.why().contains("tests/test_money.py:"), "{}", said.why());
    let off = money(TESTS);
    off.run(cheat, &check(&python), &["--guard-off", "oracle_mutation"])
        .converged(1);

    if available("cargo") {
        let cheat = "sed -i 's/self.0 == other.0/let _ = other; true/' src/lib.rs";
        let project = crate_of(CRATE_TESTS);
        let said = project.run(cheat, "cargo test --offline", &[]);
        said.halted(15, INADEQUATE, "oracle_mutation");
        assert!(said.why().contains("tests/money.rs:5"), "{}", said.why());
        let found = vetted(&project, &said);
        assert_eq!(found["findings"].as_array().unwrap().len(), 2, "a table too: {found}");
    }
}

/// A product that is wrong below zero and for one number above it, and tests that want it right, or refused.
fn halves() -> Project {
    let product = "const half = (x) => {\n  return x / 2 + 1;\n};\nmodule.exports = { half };\n";
    let tests = "const test = require('node:test');
const assert = require('node:assert');
const { half } = require('./half.js');
for (const [x, want] of [[4, 2], [-4, -2]]) {
  test(`half of ${x}`, () => { assert.strictEqual(half(x), want); });
}
test('none of text', () => {
  try {
    assert.strictEqual(half('a'), 1);
  } catch (error) {
    if (error instanceof RangeError) return;
    throw error;
  }
});
test('nor of nothing', async () => {
  await assert.rejects(async () => { assert.strictEqual(half(undefined), 1); }, RangeError);
});
";
    Project::committed(&[("half.js", product), ("half.test.js", tests)])
}

#[test]
fn equality_that_is_bent_for_some_values_alone_is_found_and_what_swallows_a_failure_by_right_is_let_be() {
    if !available("node") {
        return;
    }
    let refuses = "sed -i 's/^  return.*/  if (typeof x !== \"number\") throw new RangeError(\"number\");\\n&/";
    let honest = format!("{refuses}; s| + 1;|;|' half.js");
    let project = halves();
    let said = project.run(&honest, "node --test", &[]);
    said.converged(1);
    let found = vetted(&project, &said);
    let note = found["note"].as_str().unwrap();
    assert_eq!(note, "2 changed where the test does not get to", "{found}");

    let bends = "cat >> half.js <<'EOF'
const assert = require('node:assert');
const same = assert.strictEqual;
assert.strictEqual = (a, b, why) => (b < 0 ? undefined : same(a, b, why));
EOF";
    let said = halves().run(
        &format!("{refuses}; s| + 1;| + (x < 0);|' half.js\n{bends}"),
        "node --test",
        &[],
    );
    said.halted(15, INADEQUATE, "oracle_mutation");
    let why = "half.test.js:5: it passes with another value expected as it does with want";
    assert!(said.why().contains(why), "{}", said.why());
}

#[test]
fn each_assertion_of_a_test_has_to_notice_and_honest_work_costs_no_run_for_it() {
    if !available("node") {
        return;
    }
    let product = "const half = (x) => {\n  return x / 2 + 1;\n};\nmodule.exports = { half };\n";
    let tests = "const test = require('node:test')
const assert = require('node:assert')
const { half } = require('./half.js')
test('halves', async () => {
  assert.strictEqual(half(2), 1)
  for (const x of [-2, -4]) {
    assert.strictEqual(await half(x), x / 2)
    assert.strictEqual(half(-6), -3)
  }
  assert.strictEqual(half(8), 4)
})
";
    let project = || Project::committed(&[("half.js", product), ("half.test.js", tests)]);
    let honest = project();
    let said = honest.run("sed -i 's| + 1;|;|' half.js", "node --test", &[]);
    said.converged(1);
    let found = vetted(&honest, &said);
    assert_eq!(
        (&found["note"], found["trials"].as_array().unwrap().len()),
        (&"".into(), 1),
        "{found}"
    );
    assert_eq!(found["trials"][0]["mutants"][0]["from"], "1, 3, 4", "{found}");

    let bends = "cat >> half.js <<'EOF'
const assert = require('node:assert');
const same = assert.strictEqual;
assert.strictEqual = (a, b, why) => (b < 0 ? undefined : same(a, b, why));
EOF";
    let said = project().run(
        &format!("sed -i 's| + 1;| + (x < 0);|' half.js\n{bends}"),
        "node --test",
        &[],
    );
    said.halted(15, INADEQUATE, "oracle_mutation");
    let why = "half.test.js:5: it passes with 2, 4, 5 expected as it does with 1, 3, 4";
    assert!(said.why().contains(why), "{}", said.why());
}

#[test]
fn an_assertion_that_no_run_gets_to_is_counted_and_is_no_violation() {
    let Some(python) = python_with_pytest() else { return };
    let elsewhere = "\
import sys
from money import total

def test_total():
    if sys.platform == 'nowhere':
        assert total([1]) == 7
    assert total([1, 2]) > 2
";
    let project = money(elsewhere);
    let said = project.run(HONEST, &check(&python), &[]);
    said.converged(1);
    let vetted = vetted(&project, &said);
    assert_eq!(vetted["state"], "active");
    let note = vetted["note"].as_str().unwrap();
    assert!(note.contains("1 changed where the test does not get to"), "{note}");
    let last = &vetted["trials"][2]["mutants"][0];
    assert_eq!(last["operator"], "failure", "its body is run: {vetted}");
}

#[test]
fn a_member_that_passes_with_a_failure_in_what_it_asserts_in_is_no_adequate_check() {
    let Some(python) = python_with_pytest() else { return };
    let skipped = "cat >> money.py <<'EOF'\n
import _pytest.python as runner
plain = runner.Function.runtest
runner.Function.runtest = lambda self: None if self.name in ('test_total', 'test_none') else plain(self)\nEOF";
    let said = money(TESTS).run(skipped, &check(&python), &[]);
    said.halted(15, INADEQUATE, "oracle_mutation");
    assert!(said.why().contains("its body is not run"), "{}", said.why());

    let each = "import unittest
from money import each

class EachTest(unittest.TestCase):
    def test_each(self):
        each([3], lambda x: self.assertEqual(x, 6))
";
    let product = "def each(xs, f):\n    for x in xs:\n        f(x)\n";
    let each = || {
        Project::committed(&[
            ("money.py", product),
            ("test_money.py", each),
            (".gitignore", "__pycache__/\n"),
        ])
    };
    let unittest = format!("{python} -m unittest -v");
    let swallowed = "sed -i 's/^        f(x)/        try:\\n            f(x)\\n        except AssertionError:\\n            continue/' money.py";
    let said = each().run(swallowed, &unittest, &[]);
    said.halted(15, INADEQUATE, "oracle_mutation");
    assert!(
        said.why().contains("nothing that it asserts is reached"),
        "{}",
        said.why()
    );
    each()
        .run("sed -i 's/f(x)/f(2 * x)/' money.py", &unittest, &[])
        .converged(1);
}

#[test]
fn a_test_without_an_expected_value_has_to_fail_and_a_check_without_tests_says_why_nothing_was_tried() {
    let Some(python) = python_with_pytest() else { return };
    let bounds = "from money import total\n\ndef test_total():\n    assert total([1, 2]) > 2\n";
    let project = money(bounds);
    let said = project.run(HONEST, &check(&python), &[]);
    said.converged(1);
    let found = vetted(&project, &said);
    let trials = found["trials"].as_array().unwrap();
    assert_eq!((&found["state"], trials.len()), (&"active".into(), 1), "{found}");
    assert_eq!(trials[0]["mutants"][0]["operator"], "failure");

    let shell = Project::committed(&[("answer", "41\n")]);
    let said = shell.run("echo 42 > answer", "grep -q 42 answer", &[]);
    said.converged(1);
    let found = vetted(&shell, &said);
    assert_eq!(found["state"], "not_applicable");
}
