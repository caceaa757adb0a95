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
    let mut project = Project::money(CODE, &tests);
    let count = project.outside("count");
    std::fs::write(&count, "").unwrap();
    project.set("COUNT", count.display().to_string());
    project
}

/// Without experiments in copies, so that the runs of the check can be counted on.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut flags = vec![];
    for vet in [
        "t0_replay",
        "sentinel_pair",
        "oracle_mutation",
        "code_mutation",
        "coverage",
        "order",
    ] {
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

/// A check that counts its runs, the probe's included, and what it says; `CASES` are arms of a `case` over that number.
fn counting(cases: &str) -> (Project, String) {
    let check = format!("run=$(wc -l < \"$COUNT\"); echo run >> \"$COUNT\"; case $run in {cases} esac; test -e done");
    let mut project = Project::committed(&[("seen", "0\n")]);
    let count = project.outside("count");
    std::fs::write(&count, "").unwrap();
    project.set("COUNT", count.display().to_string());
    (project, check)
}

/// The answer of a probe of `runs` runs, kept beside the project.
fn probed(project: &Project, check: &str, runs: &str) -> String {
    let said = project.json(&[
        "probe-check",
        "--runs",
        runs,
        "--side-effect-runs",
        "0",
        "--check",
        check,
    ]);
    let kept = project.outside("probe.json");
    std::fs::write(&kept, said.json.to_string()).unwrap();
    kept.display().to_string()
}

#[test]
fn the_bound_that_a_probe_reached_is_lost_by_one_run_that_disagrees() {
    // Runs: 80 of the probe, t0, the turn, its confirmation.
    let (project, check) = counting("82) exit 1;;");
    let probe = probed(&project, &check, "80");
    let flags = with(&["--max-flake-rate", "0.05", "--probe", &probe]);
    let said = project.run("touch done", &check, &flags);
    said.halted(14, "check_not_deterministic", "bound_below_target");
    assert!(said.why().contains("80 of 81 runs"), "{}", said.why());
    let told = project.text(&["report"]).all();
    let counts = "1 repeated on one tree, 1 disagreed; 80 of 80 runs of the probe agreed; the share that agrees is at least 0.933331";
    assert!(told.contains(counts), "{told}");
    assert_eq!(project.json(&["verify"]).exit, 0);

    let (unprobed, check) = counting("2) exit 1;;");
    let said = unprobed.run("touch done", &check, &with(&["--max-flake-rate", "0.05"]));
    said.converged(2);
}

#[test]
fn a_later_life_asks_the_check_again_before_it_works_on_what_a_probe_showed() {
    // Runs: 80 of the probe, t0, the turn, and that of the second life.
    let (project, check) = counting("82) exit 3;;");
    let probe = probed(&project, &check, "80");
    let flags = with(&["--max-flake-rate", "0.05", "--probe", &probe, "--max-iterations", "1"]);
    project
        .run("echo 1 >> seen", &check, &flags)
        .halted(12, "max_iterations_reached", "unmeasured");
    let profile: serde_json::Value = serde_json::from_str(&project.read(".loopexec/state.json")).unwrap();
    assert_eq!(profile["determinism"]["probe_runs"], 80, "{profile}");
    let again = project.json(&["resume", "--max-iterations", "5"]);
    again.halted(14, "check_not_deterministic", "bound_below_target");
    assert_eq!(again.iteration(), 1, "nothing was worked");
    assert_eq!(project.read("seen"), "0\n1\n");
}

#[test]
fn a_probe_that_disagreed_halts_a_contract_that_takes_no_disagreement_before_any_work() {
    let (project, check) = counting("3) exit 0;;");
    let probe = probed(&project, &check, "10");
    let said = project.run("touch done", &check, &with(&["--probe", &probe]));
    said.halted(14, "check_flaky", "probe");
    assert!(said.why().contains("9 of 10 runs of the probe"), "{}", said.why());
    assert_eq!(said.iteration(), 0);
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn a_probe_of_another_check_and_a_file_that_is_none_are_refused_before_the_run() {
    let (project, check) = counting("999) exit 3;;");
    let probe = probed(&project, "true", "6");
    let other = project.run("touch done", &check, &["--probe", &probe]);
    assert_eq!(other.exit, 2, "{}", other.all());
    assert!(other.all().contains("is about another check"), "{}", other.all());
    let none = project.run("touch done", &check, &["--probe", "seen"]);
    assert_eq!(none.exit, 2, "{}", none.all());
    assert!(
        none.all().contains("is not what `loopexec probe-check --json` prints"),
        "{}",
        none.all()
    );
    assert_eq!(project.read("seen"), "0\n");
}
