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

/// The comparison with a product that is spelled otherwise, which nobody minds.
fn compared(trials: &[Trial]) -> Outcome {
    weighed(&suites(), trials)
}

fn weighed(suites: &Suites, trials: &[Trial]) -> Outcome {
    weigh(suites, &[&[spelled(SPELLED, 0, &[])], trials].concat())
}

fn spelled(subject: &str, code: i32, changes: &[(&str, MemberStatus)]) -> Trial {
    Trial {
        mutants: Vec::new(),
        ..ran(subject, code, changes)
    }
}

/// Nobody at t0 minds either.
fn nobody_minds() -> Trial {
    spelled(SPELLED_AT_T0, 0, &[("new", Absent), ("old", Passed)])
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
    let outcome = compared(&[noticed(), noticed(), missed_now(), at_t0(0, Passed), noticed()]);
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    assert_eq!(outcome.note, "4 changes of the product: 3 noticed; 1 missed by both");
}

#[test]
fn a_change_that_only_the_tests_of_the_start_notice_is_a_violation_that_names_it() {
    let outcome = compared(&[noticed(), missed_now(), at_t0(1, Failed), nobody_minds()]);
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
    let outcome = compared(&[hung(NOW), hung(NOW), hung(NOW), hung(NOW)]);
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    let outcome = compared(&[missed_now(), hung(AT_T0), nobody_minds()]);
    assert_eq!(outcome.findings.len(), 1);
}

#[test]
fn a_green_run_in_which_a_test_is_skipped_or_gone_noticed_nothing() {
    for status in [Skipped, Absent] {
        let skipped = ran(NOW, 0, &[("new", status)]);
        assert_eq!(compared(&[skipped, at_t0(1, Failed), nobody_minds()]).findings.len(), 1);
    }
    // One that fails beside a green status is as good as a red one.
    let failed = ran(NOW, 0, &[("new", Failed)]);
    assert!(compared(&[failed.clone(), failed.clone(), failed]).findings.is_empty());
}

#[test]
fn what_leaves_no_test_to_run_tells_nothing_and_too_little_that_tells_clears_nothing() {
    let broken = || ran(NOW, 1, &[("a", Absent), ("new", Absent)]);
    let outcome = compared(&[broken(), noticed(), noticed(), broken()]);
    assert_eq!(outcome.state, GuardState::Unavailable);
    assert!(
        outcome.note.contains("(2 noticed; 2 left no test to run)"),
        "{}",
        outcome.note
    );
    let blind = || [missed_now(), at_t0(0, Passed)];
    let blind: Vec<Trial> = [blind(), blind(), blind(), blind()].concat();
    assert_eq!(compared(&blind).state, GuardState::Unavailable);
    assert_eq!(compared(&[]).state, GuardState::Unavailable);
    assert_eq!(compared(&[noticed()]).state, GuardState::Unavailable);
    let missed = [noticed(), missed_now(), at_t0(0, Passed)];
    assert_eq!(compared(&missed).state, GuardState::Unavailable);
}

#[test]
fn a_small_product_is_compared_by_all_the_changes_that_are_in_it() {
    assert_eq!(compared(&[noticed(), noticed(), noticed()]).state, GuardState::Active);
    let outcome = compared(&[noticed(), noticed()]);
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    assert_eq!(outcome.note, "2 changes of the product: 2 noticed");
    let weaker = compared(&[noticed(), missed_now(), at_t0(1, Failed), nobody_minds()]);
    assert_eq!(weaker.findings.len(), 1);
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
        weighed(&nothing(), &[red(NOW), red(NOW), red(NOW), red(NOW)]).state,
        GuardState::Active
    );
    assert_eq!(
        weighed(&nothing(), &[missed_now(), red(AT_T0), spelled(SPELLED_AT_T0, 0, &[])])
            .findings
            .len(),
        1
    );
}

#[test]
fn a_comparison_that_was_not_made_clears_nothing() {
    let outcome = compared(&[noticed(), noticed(), noticed(), missed_now()]);
    assert_eq!(outcome.state, GuardState::Unavailable);
    let unchanged = Trial {
        mutants: Vec::new(),
        ..noticed()
    };
    assert_eq!(compared(&[unchanged]).state, GuardState::Unavailable);
}

#[test]
fn who_minds_how_the_product_is_spelled_notices_nothing_now_and_at_the_start() {
    let sealed = || ran(NOW, 1, &[("new", Failed)]);
    let with = |trials: &[Trial]| {
        let first = spelled(SPELLED, 1, &[("new", Failed)]);
        weigh(&suites(), &[&[first], trials].concat())
    };
    let gutted = with(&[sealed(), at_t0(1, Failed), nobody_minds()]);
    assert_eq!(gutted.findings.len(), 1, "what was sealed is missed: {gutted:?}");
    assert!(
        with(&[sealed()]).findings.is_empty(),
        "nobody knows what the start notices"
    );

    // A digest that a test of t0 knew too, under another name.
    let minded = || spelled(SPELLED_AT_T0, 1, &[("new", Absent), ("old", Failed)]);
    let both = with(&[
        sealed(),
        at_t0(1, Failed),
        minded(),
        noticed_by_a(),
        noticed_by_a(),
        noticed_by_a(),
    ]);
    assert!(both.findings.is_empty(), "{both:?}");
    assert_eq!(both.note, "4 changes of the product: 3 noticed; 1 missed by both");
}

fn noticed_by_a() -> Trial {
    ran(NOW, 1, &[("a", Failed), ("new", Failed)])
}
