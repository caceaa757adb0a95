//! A check that disagrees with itself, under a contract that takes some of that and under one that takes none.

use crate::support::story::{Project, python_with_pytest};

const CODE: &str = "def total(prices):\n    return sum(prices) - 1\n";
const HONEST: &str = "sed -i 's/ - 1$//' money.py";

/// One bug in `money.py`, and a test beside it that fails on those runs of the check for which `fails` holds.
fn project(fails: &str) -> Project {
    let tests = format!(
        "import os\n\nfrom money import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n\
         def test_service():\n    with open(os.environ['COUNT'], 'a+') as runs:\n        runs.write('run\\n')\n        \
         runs.seek(0)\n        run = len(runs.readlines())\n    assert not ({fails})\n"
    );
    let mut project = Project::committed(&[
        ("money.py", CODE),
        ("tests/test_money.py", &tests),
        ("pytest.ini", "[pytest]\npythonpath = .\n"),
        (".gitignore", "__pycache__/\n.pytest_cache/\n"),
    ]);
    let count = project.outside("count");
    std::fs::write(&count, "").unwrap();
    project.set("COUNT", count.display().to_string());
    project
}

/// Without experiments in copies, so that the runs of the check can be counted on.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut flags = vec![];
    for vet in ["t0_replay", "sentinel_pair", "oracle_mutation", "order"] {
        flags.extend(["--guard-off", vet]);
    }
    flags.extend(more);
    flags
}

#[test]
fn a_tolerated_flake_is_confirmed_by_another_turn_and_the_report_gives_both_numbers() {
    let Some(python) = python_with_pytest() else { return };
    let check = format!("{python} -m pytest -q");
    // Runs: t0, the turn, its confirmation.
    let strict = project("run == 3").run(HONEST, &check, &with(&[]));
    strict.halted(14, "check_flaky", "confirmation");

    let project = project("run == 3");
    let said = project.run(HONEST, &check, &with(&["--max-flake-rate", "0.05"]));
    said.converged(2);
    let report = project.json(&["report"]);
    let seen = &report.json["report"]["determinism"];
    assert_eq!(
        (seen["samples"].as_u64(), seen["disagreements"].as_u64()),
        (Some(3), Some(1)),
        "{seen}"
    );
    assert_eq!(seen["max_flake_ppm"], 50_000);
    // Wilson's interval for two of three.
    assert_eq!(seen["wilson_lower_ppm"], 207_659, "{seen}");
    assert!(
        seen["anytime_lower_ppm"].as_u64() < seen["wilson_lower_ppm"].as_u64(),
        "{seen}"
    );
    assert!(seen["lost"].is_null());
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn a_check_that_is_proved_flaky_under_tolerance_halts_with_its_numbers() {
    let Some(python) = python_with_pytest() else { return };
    let check = format!("{python} -m pytest -q");
    let project = project("run % 4 == 2");
    let said = project.run(
        "true",
        &check,
        &with(&[
            "--max-flake-rate",
            "0.05",
            "--no-progress-k",
            "0",
            "--max-iterations",
            "30",
        ]),
    );
    said.halted(14, "check_not_deterministic", "proved_flaky");
    assert!(
        said.why().contains("runs on an unchanged tree agreed"),
        "{}",
        said.why()
    );
    let report = project.json(&["report"]);
    assert_eq!(report.json["report"]["determinism"]["lost"], "proved_flaky");
    assert_eq!(project.json(&["verify"]).exit, 0);

    // Another life does not take it back, and works no more.
    let again = project.json(&["resume"]);
    again.halted(14, "check_not_deterministic", "proved_flaky");
    assert_eq!(again.iteration(), said.iteration());
}
