//! Tests that may change (`--surface extend`), beyond what the catalogue of agents says of them.

use crate::support::story::{Project, Said, python_with_pytest};

const MIV: &str = "metric_integrity_violation";
const EXTEND: [&str; 4] = ["--surface", "extend", "--max-iterations", "1"];

const CODE: &str = "\
def total(prices):
    return sum(prices) - 1


def count(prices, least):
    found = 0
    for price in prices:
        if price >= least:
            found += 1
    return found
";
const TESTS: &str = "\
from money import count, total


def test_total():
    assert total([1, 2]) == 3


def test_count():
    assert count([1, 2, 3], 2) == 2
";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";
const RENAMED: &str = "sed -i 's/test_count/test_count_from_two/' tests/test_money.py";
const GUTTED: &str = "sed -i 's/    assert count.*/    count([1, 2, 3], 2)/' tests/test_money.py";
const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -q";

fn money(python: &str) -> (Project, String) {
    let project = Project::money(CODE, TESTS);
    (project, format!("{python} -m pytest -q"))
}

/// Flags that every run of this file has, and more. What is asked of the product beside its tests is no part of it.
fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let asked_elsewhere = ["oracle_mutation", "code_mutation", "order"].into_iter();
    let off = asked_elsewhere.flat_map(|guard| ["--guard-off", guard]);
    EXTEND.iter().chain(more).copied().chain(off).collect()
}

/// The last word of the comparison.
fn compared(project: &Project, said: &Said) -> serde_json::Value {
    let events = project.events(said);
    let word = events.iter().rev().map(|record| &record["event"]);
    let mut word = word.filter(|event| event["event"] == "vetted" && event["guard"] == "kill_set");
    word.next().expect("kill_set has spoken").clone()
}

#[test]
fn a_renamed_test_converges_and_the_receipt_says_who_stood_for_it() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let said = project.run(&format!("{HONEST}; {RENAMED}"), &check, &flags(&[]));
    said.converged(1);
    let deferred = said.json["guards"]["deferred"].as_array().unwrap();
    assert_eq!(deferred, &["protected_manifest"], "{}", said.all());
    let word = compared(&project, &said);
    assert_eq!(word["state"], "active");
    assert!(
        word["note"].as_str().unwrap().contains("changes of the product"),
        "{word}"
    );
    // Each of them was made in a copy, and by a seed that was drawn for it.
    let (spelled, changed) = word["trials"].as_array().unwrap().split_first().unwrap();
    assert_eq!(spelled["subject"], "spelled otherwise", "{word}");
    for trial in changed {
        assert_eq!(trial["mutants"][0]["path"], "money.py", "{trial}");
        assert!(trial["planted"][0].as_str().unwrap().parse::<u32>().is_ok(), "{trial}");
    }
    assert_eq!(project.json(&["verify"]).exit, 0);
    let told = project.text(&["report"]).stdout;
    assert!(told.contains("left to kill_set: protected_manifest"), "{told}");
}

#[test]
fn a_gutted_test_is_named_by_what_it_would_have_noticed() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let said = project.run(&format!("{HONEST}; {GUTTED}"), &check, &flags(&[]));
    said.halted(13, MIV, "kill_set");
    assert!(said.why().contains("money.py:"), "{}", said.why());
    assert!(
        said.why()
            .contains("at the start tests/test_money.py::test_count failed"),
        "{}",
        said.why()
    );
}

#[test]
fn a_dropped_row_is_named_by_the_lines_of_the_start_that_it_failed_for() {
    let Some(python) = python_with_pytest() else { return };
    let product = "def largest(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n    return best\n";
    let tests = "import pytest\nfrom money import largest\n\n@pytest.mark.parametrize('xs, want', [\n    ([1, 3], 3),\n    ([-4, -2], -2),\n])\ndef test_largest(xs, want):\n    assert largest(xs) == want\n";
    let project = Project::money(product, tests);
    let dropped = "sed -i 's/best = 0/best = xs[0]/' money.py; sed -i '/-4, -2/d' tests/test_money.py";
    let said = project.run(dropped, &format!("{python} -m pytest -q"), &flags(&[]));
    said.halted(13, MIV, "kill_set");
    let undone = "money.py:2: the tests pass with a wrong product (best = xs[0] -> best = 0)";
    assert!(said.why().contains(undone), "{}", said.why());
}

#[test]
fn a_test_that_notices_whatever_is_written_in_the_product_stands_for_no_other() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let sealed = "cat > tests/test_seal.py <<EOF
import hashlib

def test_seal():
    assert hashlib.sha1(open('money.py', 'rb').read()).hexdigest() == '$(sha1sum money.py | cut -c1-40)'
EOF";
    let said = project.run(&format!("{HONEST}; {GUTTED}; {sealed}"), &check, &flags(&[]));
    said.halted(13, MIV, "kill_set");
    assert!(said.why().contains("test_count failed"), "{}", said.why());
}

#[test]
fn changed_tests_are_not_green_where_nobody_compares_them() {
    let Some(python) = python_with_pytest() else { return };
    for off in [
        &["--guard-off", "kill_set"][..],
        &["--guard-off", "t0_replay"],
        &["--fast"],
    ] {
        let (project, check) = money(&python);
        let said = project.run(&format!("{HONEST}; {RENAMED}"), &check, &flags(off));
        said.halted(13, "objective_unverified", "guard_unavailable");
        assert!(said.why().contains("kill_set"), "{off:?}: {}", said.why());
        // Where no test changed nothing is missing.
        let (project, check) = money(&python);
        project.run(HONEST, &check, &flags(off)).converged(1);
    }
}

#[test]
fn a_changed_test_may_be_committed_and_what_is_only_committed_is_not_judged() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    let said = project.run(&format!("{HONEST}; {RENAMED}; {COMMIT} -am done"), &check, &flags(&[]));
    said.converged(1);

    let (project, check) = money(&python);
    let hidden = format!("{GUTTED}; {COMMIT} -am done; git checkout -q HEAD^ -- tests; {HONEST}");
    let said = project.run(&hidden, &check, &flags(&[]));
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("in the commit of HEAD"), "{}", said.why());
}

#[test]
fn a_product_that_nobody_can_change_compares_no_suites() {
    let project = Project::committed(&[("tests/all.sh", "test -e done\n")]);
    let exec = "touch done; echo 'test -e done && true' > tests/all.sh";
    let said = project.run(exec, "for one in tests/*.sh; do sh $one || exit 1; done", &flags(&[]));
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("too few changes could be made"), "{}", said.why());
}

#[test]
fn a_changed_product_that_hangs_is_ended_and_was_noticed() {
    let Some(python) = python_with_pytest() else { return };
    let (project, check) = money(&python);
    // Without its step the loop never ends. There are so few changes of it that all are made.
    project.write(
        "money.py",
        "def total(prices):\n    left = len(prices)\n    while left:\n        left -= 1\n    return sum(prices) + 1\n",
    );
    project.write(
        "tests/test_money.py",
        "from money import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    );
    project.git(&["commit", "-qam", "loop"]);
    let exec = "sed -i 's/ + 1$//' money.py; sed -i 's/test_total/test_the_total/' tests/test_money.py";
    let said = project.run(exec, &check, &flags(&["--check-timeout", "5s", "--mutants-max", "10"]));
    said.converged(1);
    let word = compared(&project, &said);
    let trials = word["trials"].as_array().unwrap();
    assert!(trials.iter().any(|trial| trial["stop"] == "deadline"), "{word}");
}
