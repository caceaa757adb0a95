use super::*;
use crate::event::finding::GuardState;
use crate::event::measurement::MemberChange;
use crate::guard::bench::members;
use crate::vet::bench;
use crate::vet::bench::trial;

use MemberStatus::{Absent, Failed, Passed};

fn known() -> Members {
    members(&[("a", Passed), ("b", Passed)])
}

fn mutated(operator: &str, of: &[&str]) -> Mutated {
    Mutated {
        members: of.iter().map(|id| String::from(*id)).collect(),
        path: "t.py".into(),
        line: 3,
        operator: operator.into(),
        from: "2".into(),
        to: "3".into(),
    }
}

/// A run with a mutant in these members, in which these others are not what they were.
fn ran(of: &[&[&str]], changes: &[(&str, MemberStatus)]) -> Trial {
    ran_with("expectation", of, changes)
}

fn ran_with(operator: &str, of: &[&[&str]], changes: &[(&str, MemberStatus)]) -> Trial {
    let change = |(id, status): &(&str, MemberStatus)| MemberChange {
        id: String::from(*id),
        status: *status,
    };
    Trial {
        mutants: of.iter().map(|of| mutated(operator, of)).collect(),
        changes: changes.iter().map(change).collect(),
        ..trial(i32::from(!changes.is_empty()))
    }
}

#[test]
fn a_member_that_passes_with_another_value_and_fails_right_behind_it_is_a_violation() {
    let first = ran(&[&["a"], &["b"]], &[("b", Failed)]);
    let behind = ran_with("failure_behind", &[&["a"]], &[("a", Failed)]);
    let outcome = weigh(&known(), 2, &[first, behind]);
    assert_eq!(outcome.findings.len(), 1);
    let found = &outcome.findings[0];
    assert_eq!(
        (found.subject.as_str(), found.reason),
        ("a", HaltReason::CheckInadequate)
    );
    assert_eq!(found.detail, "t.py:3: it passes with 3 expected as it does with 2");
}

#[test]
fn each_row_of_a_test_answers_for_itself_and_one_that_does_not_get_to_the_value_is_let_be() {
    let first = ran(&[&["a", "b"]], &[("b", Failed)]);
    let outcome = weigh(&known(), 2, core::slice::from_ref(&first));
    assert_eq!((outcome.findings.len(), outcome.note.as_str()), (0, ""));
    let behind = |changes| ran_with("failure_behind", &[&["a", "b"]], changes);
    let never = weigh(&known(), 2, &[first.clone(), behind(&[("b", Failed)])]);
    assert_eq!((never.findings.len(), never.note.as_str()), (0, ""));
    let fooled = weigh(&known(), 2, &[first, behind(&[("a", Failed), ("b", Failed)])]);
    assert_eq!(fooled.findings.len(), 1);
    assert_eq!(fooled.findings[0].subject, "a");
}

#[test]
fn what_is_never_reached_or_not_shown_is_said_and_is_no_violation() {
    let never = weigh(&known(), 3, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[])]);
    assert_eq!((never.state, never.findings.len()), (GuardState::Active, 0));
    assert_eq!(
        never.note,
        "1 changed where the test does not get to; 2 members left alone"
    );
    let reached = ran_with(FAILS, &[&["a"]], &[("a", Failed)]);
    let never = weigh(&known(), 1, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[]), reached]);
    assert_eq!(
        (never.findings.len(), never.note.as_str()),
        (0, "1 changed where the test does not get to")
    );
    // Gone is no proof that the failure was noticed.
    let gone = weigh(&known(), 1, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[("a", Absent)])]);
    assert_eq!(gone.findings.len(), 0);
    let lost = weigh(&known(), 1, &[ran(&[&["a"]], &[("a", Absent)])]);
    assert_eq!(lost.note, "1 killed by an error: the member was not shown");
}

#[test]
fn a_member_that_passes_with_a_failure_in_it_is_a_violation_and_is_named_once() {
    for (operator, so) in [
        (FAILS, "its body is not run, or not to its end"),
        (FAILS_WITHIN, "nothing that it asserts is reached"),
    ] {
        let (first, opposite) = (ran(&[&["a"]], &[]), ran(&[&["a"]], &[]));
        let failing = ran_with(operator, &[&["a"], &["a"], &["b"]], &[("b", Failed)]);
        let outcome = weigh(&known(), 2, &[first, opposite, failing]);
        assert_eq!(outcome.findings.len(), 1, "{outcome:?}");
        assert_eq!(outcome.findings[0].subject, "a");
        assert!(outcome.findings[0].detail.contains(so), "{outcome:?}");
    }
    // No value could be changed in any of them.
    let alone = weigh(&known(), 1, &[ran_with(FAILS, &[&["a"]], &[])]);
    assert_eq!(alone.findings.len(), 1);
}

#[test]
fn where_nothing_was_changed_it_does_not_apply() {
    assert_eq!(weigh(&known(), 2, &[]).state, GuardState::NotApplicable);
}

/// A run of this plant, with changes in these members of which these pass.
fn made(plant: Plant, operator: &str, of: &[&str], passing: &[&str]) -> Ran {
    let status = |id: &&str| if passing.contains(id) { Passed } else { Failed };
    Ran {
        mutants: ran_with(operator, &of.iter().map(core::slice::from_ref).collect::<Vec<_>>(), &[]).mutants,
        ..bench::ran(plant, of.iter().map(|id| (String::from(*id), status(id))).collect())
    }
}

#[test]
fn a_second_run_is_made_for_what_survived_and_a_third_for_who_was_never_seen_to_fail() {
    let members = ["a", "b", "c"].map(String::from);
    let next = |ran: &[Ran]| step(&members, ran).map(|step| step.plant);
    let of = |ids: &[&str]| ids.iter().map(|id| String::from(*id)).collect::<Vec<_>>();
    let values = |passing: &[&str]| made(Plant::Expectations, "expectation", &["a", "b"], passing);
    assert_eq!(next(&[]), Some(Plant::Expectations));
    assert_eq!(next(&[values(&["b"])]), Some(Plant::Beyond { of: of(&["b"]) }));
    assert_eq!(next(&[values(&[])]), Some(Plant::Failures { of: of(&["c"]) }));

    let beyond = |passing: &[&str]| made(Plant::Beyond { of: of(&["b"]) }, "failure_behind", &["b"], passing);
    assert_eq!(
        next(&[values(&["b"]), beyond(&["b"])]),
        Some(Plant::Failures { of: of(&["b", "c"]) })
    );
    assert_eq!(
        next(&[values(&["b"]), beyond(&[])]),
        None,
        "it was fooled, and nothing else matters"
    );
    let failures = made(Plant::Failures { of: of(&["c"]) }, FAILS, &["c"], &["c"]);
    assert_eq!(next(&[values(&[]), failures]), None);
    let at_once = made(Plant::Expectations, FAILS, &["a", "b", "c"], &["b"]);
    assert_eq!(next(&[at_once]), None, "nobody had a value that could be changed");
}
