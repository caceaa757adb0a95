//! The time that the guards before green may take together (SPEC 5.6.13).

use crate::support::story::{Project, python_with_pytest};

const HONEST: &str = "sed -i 's/ - 1$//' money.py";

fn project() -> Project {
    Project::money(
        "def total(prices):\n    return sum(prices) - 1\n",
        "from money import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    )
}

#[test]
fn what_does_not_fit_into_the_guards_time_is_not_green_and_the_halt_says_how_to_give_more() {
    let Some(python) = python_with_pytest() else { return };
    let project = project();
    let check = format!("{python} -m pytest -q");
    let said = project.run(HONEST, &check, &["--guard-budget", "1ms"]);
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("--guard-budget"), "{}", said.why());
    assert_eq!(project.vetted(&said, "sentinel_pair")["state"], "unavailable");
    // The first run was the last: nothing begins once the time is over.
    assert_eq!(
        project.vetted(&said, "t0_replay")["trials"].as_array().unwrap().len(),
        1
    );
    assert!(
        project.vetted(&said, "sentinel_pair")["trials"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn a_contract_may_leave_out_what_does_not_fit_and_a_reader_is_told() {
    let Some(python) = python_with_pytest() else { return };
    let project = project();
    let check = format!("{python} -m pytest -q");
    let flags = ["--guard-budget", "1ms", "--over-budget", "leave-out"];
    let said = project.run(HONEST, &check, &flags);
    said.converged(1);
    assert_eq!(project.vetted(&said, "order")["state"], "off");
    let told = project.text(&["report"]).all();
    assert!(told.contains("; off: sentinel_pair,"), "{told}");
    let note = project.vetted(&said, "order")["note"].clone();
    assert!(note.as_str().unwrap().contains("--guard-budget"), "{note}");
    assert_eq!(project.json(&["verify"]).exit, 0);
}
