//! Changes of the product in copies, between a green check and the verdict: does the check notice any?

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
const TESTS: &str = "from money import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";
/// The fix, and beside it a line that no test looks at.
const TIDIED: &str = "sed -i -e 's/ - 1$//' -e \"s/cents < 0/0 > cents/\" money.py";

fn money(tests: &str) -> Project {
    Project::money(CODE, tests)
}

/// What the guard said last, as recorded.
fn vetted(project: &Project, said: &Said) -> serde_json::Value {
    project.vetted(said, "code_mutation")
}

fn check(python: &str) -> String {
    format!("{python} -m pytest -q")
}

/// Runs with one change each.
fn tried(vetted: &serde_json::Value) -> usize {
    vetted["trials"].as_array().unwrap().len()
}

#[test]
fn an_honest_fix_costs_one_run() {
    let Some(python) = python_with_pytest() else { return };
    let project = money(TESTS);
    let said = project.run(HONEST, &check(&python), &[]);
    said.converged(1);
    let vetted = vetted(&project, &said);
    assert_eq!(vetted["state"], "active", "{vetted}");
    assert_eq!(vetted["note"], "the check noticed 1 of 1 change", "{vetted}");
    assert_eq!(tried(&vetted), 1, "{vetted}");
    let mutant = &vetted["trials"][0]["mutants"][0];
    assert_eq!((&mutant["path"], &mutant["line"]), (&"money.py".into(), &2.into()));
    assert_eq!(project.json(&["verify"]).exit, 0);

    if available("cargo") {
        let project = Project::committed(&[
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
                "pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum::<u32>() + 1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn sum() {\n        assert_eq!(super::total(&[1, 2]), 3);\n    }\n}\n",
            ),
            (".gitignore", "target/\n"),
        ]);
        let said = project.run("sed -i 's/ + 1$//' src/lib.rs", "cargo test --offline", &[]);
        said.converged(1);
        let vetted = self::vetted(&project, &said);
        assert!(
            vetted["note"].as_str().unwrap().starts_with("the check noticed 1 of"),
            "{vetted}"
        );
    }
}

#[test]
fn a_check_that_notices_nothing_of_the_change_is_inadequate() {
    // What makes it green is no part of the product.
    let (check, work) = ("test -f done.txt", "touch done.txt");
    let label = "sed -i -e \"s/cents < 0/cents < 1/\" -e 's/minus/less/' money.py";
    let project = money(TESTS);
    let said = project.run(&format!("{work}; {label}"), check, &["--adequacy", "every"]);
    said.halted(15, INADEQUATE, "code_mutation");
    assert!(said.why().contains("money.py:"), "{}", said.why());
    let vetted = vetted(&project, &said);
    assert!(
        vetted["note"].as_str().unwrap().starts_with("the check noticed 0 of"),
        "{vetted}"
    );
    assert_eq!(project.json(&["verify"]).exit, 0);
    let off = money(TESTS);
    // Without members the check may be a build or a lint, which demands nothing else.
    off.run(&format!("{work}; {label}"), check, &[]).converged(1);
}

#[test]
fn an_untested_tidy_up_beside_a_fix_is_a_note_and_is_a_violation_where_every_part_must_be_noticed() {
    let Some(python) = python_with_pytest() else { return };
    let project = money(TESTS);
    let said = project.run(TIDIED, &check(&python), &[]);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(found["findings"][0]["severity"], "note", "{found}");
    assert_eq!(found["findings"][0]["subject"], "money.py:6", "{found}");
    let report = project.json(&["report"]);
    assert!(
        report.json.to_string().contains("the check stays green with"),
        "{}",
        report.json
    );

    let strict = money(TESTS);
    let said = strict.run(TIDIED, &check(&python), &["--adequacy", "every"]);
    said.halted(15, INADEQUATE, "code_mutation");
    assert!(said.why().contains("money.py:6"), "{}", said.why());
}

#[test]
fn a_fix_that_no_operator_changes_is_put_back_beside_what_nobody_tests() {
    let Some(python) = python_with_pytest() else { return };
    let project = Project::money(
        "class Basket:\n    pass\n",
        "from money import Basket\n\ndef test_basket():\n    basket = Basket()\n    basket['a'] = 1\n    assert basket['a'] == 1\n",
    );
    let mend = "printf 'VERSION = 2\nAUTHOR = \"shop\"\n\n\nclass Basket(dict):\n    pass\n' > money.py";
    let said = project.run(mend, &check(&python), &[]);
    said.converged(1);
    let found = vetted(&project, &said);
    assert_eq!(found["note"], "the check noticed 1 of 2 changes", "{found}");
    assert_eq!(found["trials"][1]["mutants"][0]["operator"], "undo", "{found}");
}

#[test]
fn a_change_that_never_ends_is_ended_and_counts_as_noticed() {
    let Some(python) = python_with_pytest() else { return };
    let looping = "def total(prices):\n    left = list(prices)\n    found = 0\n    while left:\n        found += left[0]\n        left = left[1:]\n    return found\n";
    let project = money(TESTS);
    project.write("next.py", looping);
    // Of this file only the line that ends the loop is another.
    project.write("money.py", &looping.replace("left[1:]", "left[2:]"));
    project.git(&["commit", "-qam", "a loop"]);
    let said = project.run("cp next.py money.py", &check(&python), &["--check-timeout", "20s"]);
    said.converged(1);
    let vetted = vetted(&project, &said);
    assert!(
        vetted["note"].as_str().unwrap().starts_with("the check noticed 1 of"),
        "{vetted}"
    );
}

#[test]
fn a_change_in_no_language_that_is_read_is_not_applicable() {
    let shell = Project::committed(&[("answer", "41\n")]);
    let said = shell.run("echo 42 > answer", "grep -q 42 answer", &["--adequacy", "every"]);
    said.converged(1);
    let found = vetted(&shell, &said);
    assert_eq!(found["state"], "not_applicable");
    assert!(found["note"].as_str().unwrap().contains("no changed line"), "{found}");
}
