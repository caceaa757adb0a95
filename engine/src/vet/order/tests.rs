use alloc::vec;

use super::*;
use crate::event::finding::{GuardState, Severity};
use crate::event::measurement::MemberStatus::{Failed, Passed};
use crate::guard::bench::members;

const SEED: &str = "41";

fn suite(runner: &str, newly_passing: &[&str]) -> Suite {
    let all = [
        ("a", Passed),
        ("b", Passed),
        ("c", Passed),
        ("d", Passed),
        ("e", Passed),
    ];
    Suite {
        runner: RUNNERS.iter().find(|known| known.name == runner).unwrap(),
        members: members(&all),
        newly_passing: newly_passing.iter().map(|id| (*id).to_string()).collect(),
    }
}

/// What a run of this subject shows in a world in which some members fail there.
fn shown<'a>(step: &Step, suite: &'a Suite, failing: &dyn Fn(&str, &str) -> bool) -> Shown<'a> {
    let alone = match step.plant {
        Plant::Order(Order::Alone(number)) => suite.alone(number),
        Plant::Nothing
        | Plant::Sentinels { .. }
        | Plant::Respelled
        | Plant::RespelledProduct
        | Plant::Expectations
        | Plant::Beyond { .. }
        | Plant::Failures { .. }
        | Plant::Mutant(_)
        | Plant::Order(_)
        | Plant::Code { .. }
        | Plant::Coverage
        | Plant::Review
        | Plant::Traced
        | Plant::Frozen
        | Plant::Varied(_) => None,
    };
    let planted = match step.plant {
        Plant::Order(Order::Backwards) => Some("backwards"),
        Plant::Order(Order::Shuffled(_)) => Some(SEED),
        Plant::Order(Order::Alone(_)) => alone,
        Plant::Nothing
        | Plant::Sentinels { .. }
        | Plant::Respelled
        | Plant::RespelledProduct
        | Plant::Expectations
        | Plant::Beyond { .. }
        | Plant::Failures { .. }
        | Plant::Mutant(_)
        | Plant::Code { .. }
        | Plant::Coverage
        | Plant::Review
        | Plant::Traced
        | Plant::Frozen
        | Plant::Varied(_) => None,
    };
    let ids = suite.members.iter().map(|(id, _)| id.as_str());
    let change = |id: &str| {
        let status = match alone {
            Some(alone) if alone != id => MemberStatus::Absent,
            _ if failing(step.subject, id) => Failed,
            _ => Passed,
        };
        (status != Passed).then(|| MemberChange { id: id.into(), status })
    };
    Shown {
        subject: step.subject,
        planted,
        exited: true,
        changes: ids.filter_map(change).collect(),
        ended: "the check ended with status 1".into(),
    }
}

/// The subjects that are run, and what they come to.
fn play(suite: &Suite, bend: &dyn Fn(&mut Shown<'_>), failing: &dyn Fn(&str, &str) -> bool) -> (String, Outcome) {
    let (mut made, mut runs) = (String::new(), Vec::new());
    loop {
        match walk(suite, &runs) {
            Next::Over(outcome) => return (made, outcome),
            Next::Step(step) => {
                assert!(runs.len() < 12, "{made}");
                let seeded = step.plant == Plant::Order(Order::Shuffled(Some(41)));
                assert_eq!(
                    seeded,
                    step.subject == "t0 shuffled",
                    "the start is shuffled by the same seed"
                );
                let mut run = shown(&step, suite, failing);
                bend(&mut run);
                made.push_str(if made.is_empty() { "" } else { ", " });
                made.push_str(step.subject);
                runs.push(run);
            }
        }
    }
}

fn said(outcome: &Outcome) -> Vec<(Severity, &str, &str)> {
    let findings = outcome.findings.iter();
    findings
        .map(|finding| (finding.severity, finding.subject.as_str(), finding.detail.as_str()))
        .collect()
}

#[test]
fn every_order_and_some_of_the_newly_passing_alone_are_run_on_the_candidate_and_nothing_else() {
    let cases = [
        ("pytest", &["b"][..], "backwards, shuffled, alone"),
        (
            "pytest",
            &["a", "b", "c", "d"],
            "backwards, shuffled, alone, alone, alone",
        ),
        ("pytest", &[], "backwards, shuffled"),
        ("go", &["b"], "shuffled"),
        ("libtest", &["a", "b"], "shuffled, alone"),
        ("unittest", &["b"], "backwards, shuffled, alone"),
    ];
    for (runner, newly_passing, expected) in cases {
        let (made, outcome) = play(&suite(runner, newly_passing), &|_| {}, &|_, _| false);
        assert_eq!(made, expected);
        assert_eq!(outcome, Outcome::active(vec![]));
    }
}

#[test]
fn a_member_that_ends_otherwise_in_another_order_is_named_with_the_seed() {
    let backwards = |subject: &str, id: &str| subject == "backwards" && id == "b";
    let (made, outcome) = play(&suite("pytest", &["b"]), &|_| {}, &backwards);
    assert_eq!(made, "backwards, t0, t0 backwards");
    let expected = "it is failed backwards, and was not in the check";
    assert_eq!(said(&outcome), [(Severity::Violation, "b", expected)]);

    let shuffled = |subject: &str, id: &str| subject == "shuffled" && id == "c";
    let (made, outcome) = play(&suite("go", &[]), &|_| {}, &shuffled);
    assert_eq!(made, "shuffled, t0, t0 shuffled");
    let expected = "it is failed shuffled by seed 41, and was not in the check";
    assert_eq!(said(&outcome), [(Severity::Violation, "c", expected)]);
}

#[test]
fn a_suite_that_hung_on_its_order_at_the_start_is_a_note() {
    let old = |subject: &str, id: &str| subject.ends_with("backwards") && id == "b";
    let (made, outcome) = play(&suite("pytest", &["c"]), &|_| {}, &old);
    assert_eq!(made, "backwards, t0, t0 backwards, shuffled, alone");
    assert_eq!(outcome.state, GuardState::Active);
    assert!(matches!(said(&outcome)[..], [(Severity::Note, "b", _)]), "{outcome:?}");

    // One more than at the start: then all of them are held against it.
    let more = |subject: &str, id: &str| old(subject, id) || (subject, id) == ("backwards", "c");
    let (_, outcome) = play(&suite("pytest", &["c"]), &|_| {}, &more);
    let severities: Vec<Severity> = outcome.findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Violation, Severity::Violation]);

    // It failed at the start whatever the order: that says nothing of the order.
    let red = |subject: &str, id: &str| id == "b" && (subject == "backwards" || subject.starts_with("t0"));
    let (_, outcome) = play(&suite("pytest", &["b"]), &|_| {}, &red);
    assert!(
        matches!(said(&outcome)[..], [(Severity::Violation, "b", _)]),
        "{outcome:?}"
    );
}

#[test]
fn an_order_that_is_not_in_force_is_tried_on_the_start() {
    let nowhere = |shown: &mut Shown<'_>| shown.planted = None;
    let (made, outcome) = play(&suite("pytest", &["b"]), &nowhere, &|_, _| false);
    assert_eq!(made, "backwards, t0 backwards");
    assert_eq!(outcome.state, GuardState::NotApplicable);

    let at_the_start = |shown: &mut Shown<'_>| {
        if shown.subject == "backwards" {
            shown.planted = None;
        }
    };
    let (_, outcome) = play(&suite("pytest", &["b"]), &at_the_start, &|_, _| false);
    assert_eq!(outcome.state, GuardState::Unavailable);
    assert!(outcome.note.contains("backwards any more"), "{}", outcome.note);
}

#[test]
fn a_newly_passing_member_that_fails_alone_is_named() {
    let alone = |subject: &str, id: &str| subject == "alone" && id == "b";
    let (_, outcome) = play(&suite("pytest", &["b"]), &|_| {}, &alone);
    let expected = "it passes in the check and is failed when it runs alone";
    assert_eq!(said(&outcome), [(Severity::Violation, "b", expected)]);

    let hidden = |shown: &mut Shown<'_>| {
        if shown.subject == "alone" {
            shown.planted = None;
        }
    };
    let (_, outcome) = play(&suite("pytest", &["b"]), &hidden, &|_, _| false);
    assert_eq!(said(&outcome), [(Severity::Note, "b", "it could not be run alone")]);
}

#[test]
fn a_run_that_does_not_end_by_itself_leaves_the_guard_without_a_result() {
    for subject in ["backwards", "shuffled", "alone"] {
        let ended = |shown: &mut Shown<'_>| shown.exited = shown.subject != subject;
        let (_, outcome) = play(&suite("pytest", &["b"]), &ended, &|_, _| false);
        assert_eq!(outcome.state, GuardState::Unavailable, "{subject}");
    }
}
