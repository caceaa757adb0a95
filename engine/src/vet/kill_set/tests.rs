use super::*;
use crate::event::measurement::MemberChange;
use crate::guard::bench::members;
use crate::vet::bench::trial;

use MemberStatus::{Absent, Failed, Passed, Skipped};

/// Two tests of now, one of which the start knew under another name.
fn suites() -> Suites {
    Suites {
        now: members(&[("a", Passed), ("new", Passed)]),
        start: members(&[("a", Passed), ("old", Passed)]),
        success_exit: 0,
        mutants: 4,
        timeout_ms: 10_000,
    }
}

/// A run with a change of the product, in which these members are not what the check of the turn said of them.
fn ran(subject: &str, code: i32, changes: &[(&str, MemberStatus)]) -> Trial {
    let change = |(id, status): &(&str, MemberStatus)| MemberChange {
        id: String::from(*id),
        status: *status,
    };
    Trial {
        subject: subject.into(),
        mutants: [Mutated {
            members: Vec::new(),
            path: "price.py".into(),
            line: 7,
            operator: "arithmetic".into(),
            from: "a + b".into(),
            to: "a - b".into(),
        }]
        .into(),
        changes: changes.iter().map(change).collect(),
        ..trial(code)
    }
}

fn noticed() -> Trial {
    ran(NOW, 1, &[("new", Failed)])
}

fn missed_now() -> Trial {
    ran(NOW, 0, &[])
}

/// The start knows no `new`, and `old` instead.
fn at_t0(code: i32, old: MemberStatus) -> Trial {
    ran(AT_T0, code, &[("new", Absent), ("old", old)])
}

#[test]
fn tests_that_notice_what_those_of_the_start_notice_are_worth_as_much() {
    let outcome = weigh(
        &suites(),
        &[noticed(), noticed(), missed_now(), at_t0(0, Passed), noticed()],
    );
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    assert_eq!(outcome.note, "4 changes of the product: 3 noticed; 1 missed by both");
}

#[test]
fn a_change_that_only_the_tests_of_the_start_notice_is_a_violation_that_names_it() {
    let outcome = weigh(&suites(), &[noticed(), missed_now(), at_t0(1, Failed)]);
    let found = &outcome.findings[0];
    assert_eq!((outcome.findings.len(), found.subject.as_str()), (1, "price.py:7"));
    assert_eq!(found.reason, HaltReason::MetricIntegrityViolation);
    assert_eq!(
        found.detail,
        "the tests pass with a wrong product (a + b -> a - b), and at the start old failed"
    );
}

#[test]
fn a_run_that_hangs_noticed_the_change_in_either_suite() {
    let hung = |subject| Trial {
        stop: StopCause::Deadline,
        ..ran(subject, 9, &[])
    };
    let outcome = weigh(&suites(), &[hung(NOW), hung(NOW), hung(NOW), hung(NOW)]);
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    let outcome = weigh(&suites(), &[missed_now(), hung(AT_T0)]);
    assert_eq!(outcome.findings.len(), 1);
}

#[test]
fn a_green_run_in_which_a_test_is_skipped_or_gone_noticed_nothing() {
    for status in [Skipped, Absent] {
        let skipped = ran(NOW, 0, &[("new", status)]);
        assert_eq!(weigh(&suites(), &[skipped, at_t0(1, Failed)]).findings.len(), 1);
    }
    // One that fails beside a green status is as good as a red one.
    let failed = ran(NOW, 0, &[("new", Failed)]);
    assert!(
        weigh(&suites(), &[failed.clone(), failed.clone(), failed])
            .findings
            .is_empty()
    );
}

#[test]
fn what_leaves_no_test_to_run_tells_nothing_and_too_little_that_tells_clears_nothing() {
    let broken = || ran(NOW, 1, &[("a", Absent), ("new", Absent)]);
    let outcome = weigh(&suites(), &[broken(), noticed(), noticed(), broken()]);
    assert_eq!(outcome.state, GuardState::Unavailable);
    assert!(
        outcome.note.contains("(2 noticed; 2 left no test to run)"),
        "{}",
        outcome.note
    );
    let blind = || [missed_now(), at_t0(0, Passed)];
    let blind: Vec<Trial> = [blind(), blind(), blind(), blind()].concat();
    assert_eq!(weigh(&suites(), &blind).state, GuardState::Unavailable);
    assert_eq!(weigh(&suites(), &[]).state, GuardState::Unavailable);
    // A product with no more than three changes in it is compared by those.
    assert_eq!(
        weigh(&suites(), &[noticed(), noticed(), noticed()]).state,
        GuardState::Active
    );
}

#[test]
fn without_members_the_status_of_the_check_is_what_notices() {
    let nothing = || Suites {
        now: Members::default(),
        start: Members::default(),
        ..suites()
    };
    let red = |subject| ran(subject, 1, &[]);
    assert_eq!(
        weigh(&nothing(), &[red(NOW), red(NOW), red(NOW), red(NOW)]).state,
        GuardState::Active
    );
    assert_eq!(weigh(&nothing(), &[missed_now(), red(AT_T0)]).findings.len(), 1);
}

#[test]
fn a_comparison_that_was_not_made_clears_nothing() {
    let outcome = weigh(&suites(), &[noticed(), noticed(), noticed(), missed_now()]);
    assert_eq!(outcome.state, GuardState::Unavailable);
    let unchanged = Trial {
        mutants: Vec::new(),
        ..noticed()
    };
    assert_eq!(weigh(&suites(), &[unchanged]).state, GuardState::Unavailable);
}
