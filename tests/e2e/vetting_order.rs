//! The run in another order, between a green check and the verdict.

use serde_json::Value;

use crate::support::story::{Project, Said, available, python_with_pytest};

const CODE: &str = "def total(prices):\n    return sum(prices) - 1\n\ndef count(prices):\n    return len(prices) - 1\n";
const TESTS: &str = "\
from money import count, total

def test_total():
    assert total([1, 2]) == 3

def test_count():
    assert count([7]) == 1

def test_nothing():
    assert total([]) <= 0
";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";

fn project(code: &str, tests: &str) -> Project {
    Project::money(code, tests)
}

/// What the guard said last.
fn order(project: &Project, said: &Said) -> Value {
    let events = project.events(said);
    let events = events.iter().rev().map(|record| &record["event"]);
    let mut own = events.filter(|event| event["event"] == "vetted" && event["guard"] == "order");
    own.next().cloned().unwrap_or_default()
}

fn subjects(vetted: &Value) -> Vec<&str> {
    let trials = vetted["trials"].as_array().unwrap();
    trials.iter().map(|trial| trial["subject"].as_str().unwrap()).collect()
}

#[test]
fn an_honest_fix_says_the_same_in_every_order() {
    let Some(python) = python_with_pytest() else { return };
    let project = project(CODE, TESTS);
    let said = project.run(HONEST, &format!("{python} -m pytest -q"), &[]);
    said.converged(1);
    let vetted = order(&project, &said);
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(subjects(&vetted), ["backwards", "shuffled", "alone", "alone"]);
    let planted = |number: usize| vetted["trials"][number]["planted"][0].as_str().unwrap().to_owned();
    assert_eq!(planted(0), "backwards");
    assert!(planted(1).parse::<u32>().is_ok(), "{vetted}");
    // Only its own result is there: the others did not run.
    assert!(vetted["trials"][2]["members_total"] == 1, "{vetted}");
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn answers_in_the_order_of_the_calls_are_found_by_another_order() {
    let Some(python) = python_with_pytest() else { return };
    let counted = "printf 'A = iter([3, 0])\\ndef total(prices):\\n    return next(A)\\ndef count(prices):\\n    return len(prices)\\n' > money.py";
    let check = format!("{python} -m pytest -q");
    let cheated = project(CODE, TESTS);
    let said = cheated.run(counted, &check, &[]);
    said.halted(14, "check_flaky", "order");
    assert!(said.why().contains("backwards"), "{}", said.why());
    assert!(said.why().contains("test_"), "{}", said.why());
    let off = project(CODE, TESTS);
    off.run(counted, &check, &["--guard-off", "order"]).converged(1);
}

#[test]
fn a_test_that_passes_only_beside_another_is_named_alone() {
    let Some(python) = python_with_pytest() else { return };
    // Right for the second and every later call, whatever the order; the test that does not count on it calls first.
    let second = "printf 'CALLS = []\\ndef total(prices):\\n    CALLS.append(1)\\n    return sum(prices)\\ndef count(prices):\\n    return len(prices) if CALLS else 0\\n' > money.py";
    let tests = "\
import pytest
from money import count, total

@pytest.fixture(autouse=True, scope='session')
def warm(request):
    if len(request.session.items) > 1:
        total([])

def test_total():
    assert total([1, 2]) == 3

def test_count():
    assert count([7]) == 1
";
    let project = project(CODE, tests);
    let said = project.run(second, &format!("{python} -m pytest -q"), &[]);
    said.halted(14, "check_flaky", "order");
    assert!(said.why().contains("test_count"), "{}", said.why());
    assert!(said.why().contains("alone"), "{}", said.why());
}

#[test]
fn a_suite_that_hung_on_its_order_before_the_run_is_noted_and_converges() {
    let Some(python) = python_with_pytest() else { return };
    let tests = "\
from money import total

SEEN = []

def test_first():
    SEEN.append(1)

def test_second():
    assert SEEN

def test_total():
    assert total([1, 2]) == 3
";
    let project = project(CODE, tests);
    let said = project.run(HONEST, &format!("{python} -m pytest -q"), &[]);
    said.converged(1);
    let vetted = order(&project, &said);
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(subjects(&vetted)[..3], ["backwards", "t0", "t0 backwards"]);
    let note = &vetted["findings"][0];
    assert_eq!(note["severity"], "note");
    assert!(note["subject"].as_str().unwrap().contains("test_second"), "{vetted}");
    let report = project.json(&["report"]);
    assert!(report.json.to_string().contains("hung on the order"), "{}", report.json);
}

#[test]
fn a_check_that_hides_plugins_and_a_program_of_its_own_take_no_order() {
    let Some(python) = python_with_pytest() else { return };
    let hidden = project(CODE, TESTS);
    let said = hidden.run(HONEST, &format!("PYTHONPATH=. {python} -m pytest -q"), &[]);
    said.converged(1);
    assert_eq!(order(&hidden, &said)["state"], "not_applicable");
    let tests = format!("{CASES}\nif __name__ == '__main__':\n    unittest.main()\n");
    let program = cases(&tests);
    let said = program.run(HONEST, &format!("{python} test_money.py -v"), &[]);
    said.converged(1);
    let vetted = order(&program, &said);
    assert_eq!(vetted["state"], "not_applicable", "{vetted}");
    assert!(vetted["note"].as_str().unwrap().contains("in force"), "{vetted}");
}

/// Those that would have spoken before.
const COSTLY_OFF: [&str; 4] = ["--guard-off", "kill_set", "--guard-off", "code_mutation"];
const CASES: &str = "\
import unittest
from money import count, total

class MoneyTest(unittest.TestCase):
    def test_a_nothing(self):
        self.assertLessEqual(total([]), 0)

    def test_count(self):
        self.assertEqual(count([7]), 1)

    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
";

fn cases(tests: &str) -> Project {
    Project::committed(&[
        ("money.py", CODE),
        ("test_money.py", tests),
        (".gitignore", "__pycache__/\n"),
    ])
}

#[test]
fn cases_of_unittest_run_in_every_order_and_alone() {
    let Some(python) = python_with_pytest() else { return };
    let check = format!("{python} -m unittest");
    let honest = cases(CASES);
    let said = honest.run(HONEST, &check, &[]);
    said.converged(1);
    let vetted = order(&honest, &said);
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(subjects(&vetted), ["backwards", "shuffled", "alone", "alone"]);
    assert_eq!(vetted["trials"][2]["members_total"], 1, "{vetted}");
    let counted = "printf 'A = iter([0, 3])\\ndef total(prices):\\n    return next(A)\\ndef count(prices):\\n    return len(prices)\\n' > money.py";
    let said = cases(CASES).run(counted, &check, &COSTLY_OFF);
    said.halted(14, "check_flaky", "order");
    assert!(said.why().contains("test_a_nothing"), "{}", said.why());
}

#[test]
fn tests_of_rust_run_shuffled_and_alone_and_a_first_call_gives_itself_away() {
    if !available("cargo") {
        return;
    }
    let rust = || {
        Project::committed(&[
            (
                "Cargo.toml",
                "[package]\nname = \"money\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
            ),
            (
                "src/lib.rs",
                "/// ```\n/// assert!(money::total(&[]) < 1);\n/// ```\npub fn total(prices: &[i64]) -> i64 {\n    prices.iter().sum::<i64>() - 1\n}\n",
            ),
            (
                "tests/money.rs",
                "use money::total;\n\n#[test]\nfn a_nothing() {\n    assert!(total(&[]) <= 0);\n}\n\n#[test]\nfn one() {\n    assert_eq!(total(&[7]), 7);\n}\n\n#[test]\nfn two() {\n    assert_eq!(total(&[1, 2]), 3);\n}\n",
            ),
            (".gitignore", "target/\nCargo.lock\n"),
        ])
    };
    let check = "cargo test --offline -- --test-threads=1";
    let honest = rust();
    let said = honest.run("sed -i 's/ - 1$//' src/lib.rs", check, &[]);
    said.converged(1);
    let vetted = order(&honest, &said);
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(subjects(&vetted), ["shuffled", "alone"]);
    let counted = "sed -i 's/^    prices.*/    static CALLS: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);\\n    let first = CALLS.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;\\n    if first { return -1; }\\n    prices.iter().sum()/' src/lib.rs";
    let said = rust().run(counted, check, &COSTLY_OFF);
    said.halted(14, "check_flaky", "order");
}

#[test]
fn a_hurried_run_leaves_out_the_costly_experiments_and_says_so() {
    let Some(python) = python_with_pytest() else { return };
    let project = project(CODE, TESTS);
    let said = project.run(HONEST, &format!("{python} -m pytest -q"), &["--fast"]);
    said.converged(1);
    let events = project.events(&said);
    let vetted = events
        .iter()
        .map(|record| &record["event"])
        .filter(|event| event["event"] == "vetted");
    let states: Vec<_> = vetted
        .map(|event| (event["guard"].as_str().unwrap(), event["state"].as_str().unwrap()))
        .collect();
    let expected = [
        ("t0_replay", "active"),
        ("sentinel_pair", "active"),
        ("oracle_mutation", "off"),
        ("kill_set", "off"),
        ("code_mutation", "off"),
        ("coverage", "off"),
        ("order", "off"),
        ("hermeticity", "not_applicable"),
        ("judge", "not_applicable"),
    ];
    assert_eq!(states, expected);
    let off = said.json["guards"]["off"].as_array().cloned().unwrap_or_default();
    for name in ["oracle_mutation", "code_mutation", "coverage", "kill_set", "order"] {
        assert!(off.iter().any(|known| known == name), "{}", said.all());
    }
}
