use alloc::vec;

use super::*;
use crate::event::finding::{GuardState, Severity};

fn trace(reached: &[(Reach, &str)]) -> Trace {
    let reached = reached.iter().map(|(act, place)| Reached {
        act: *act,
        program: "/bin/sh".into(),
        place: (*place).into(),
        times: 2,
    });
    Trace {
        reached: reached.collect(),
        processes: 3,
        randomness: 1,
        ..Trace::default()
    }
}

fn varied(under: Under, missing: &[&str]) -> Vec<Varied> {
    let taken = DIMENSIONS.iter().filter(|name| under.takes(name));
    taken
        .map(|name| Varied {
            dimension: (*name).into(),
            how: format!("another {name}"),
            missing: if missing.contains(name) {
                "no tool".into()
            } else {
                String::new()
            },
        })
        .collect()
}

/// Makes every run that is asked for, in a world that says what each shows: the same, or this status.
fn play(trace: &Trace, missing: &[&str], world: &dyn Fn(&Step, usize) -> Option<i32>) -> (String, Outcome) {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let made: Vec<Vec<Varied>> = steps
            .iter()
            .map(|step| {
                if let Plant::Varied(under) = step.plant {
                    varied(under, missing)
                } else {
                    vec![]
                }
            })
            .collect();
        let shown: Vec<Shown<'_>> = steps
            .iter()
            .zip(&made)
            .enumerate()
            .map(|(nth, (step, varied))| {
                let other = world(step, nth);
                Shown {
                    subject: step.subject,
                    same: other.is_none(),
                    came_to: (other.or(Some(0)), Digest::ZERO),
                    trace: (step.subject == TRACED).then_some(trace),
                    varied,
                    differs: other.map_or_else(String::new, |code| format!("status {code}")),
                }
            })
            .collect();
        match walk(&shown) {
            Next::Over(outcome) => {
                let subjects: Vec<&str> = steps.iter().map(|step| step.subject).collect();
                return (subjects.join(", "), outcome);
            }
            Next::Step(step) => steps.push(step),
        }
        assert!(steps.len() < 20, "it goes on for ever");
    }
}

fn breaks_under(step: &Step, name: &str) -> bool {
    matches!(step.plant, Plant::Varied(under @ (Under::All | Under::One(_))) if under.takes(name))
}

fn objections(outcome: &Outcome) -> Vec<(HaltReason, &str)> {
    let violations = outcome
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Violation);
    violations
        .map(|finding| (finding.reason, finding.subject.as_str()))
        .collect()
}

#[test]
fn a_check_that_touches_and_minds_nothing_costs_two_runs_and_says_which_tiers_it_reached() {
    let (made, outcome) = play(&trace(&[]), &["clock"], &|_, _| None);
    assert_eq!(made, "traced, varied");
    assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    for words in [
        "T2 under network, home",
        "T1 not reached",
        "not probed: clock (no tool)",
        "kernel randomness (1 call)",
    ] {
        assert!(outcome.note.contains(words), "{}", outcome.note);
    }
    let (_, frozen) = play(&trace(&[]), &[], &|_, _| None);
    assert!(
        frozen.note.contains("T1 by an offset clock") && !frozen.note.contains("not probed"),
        "{}",
        frozen.note
    );
}

#[test]
fn where_nothing_could_be_varied_no_tier_is_claimed() {
    let (_, outcome) = play(&trace(&[]), &DIMENSIONS, &|_, _| None);
    assert!(
        outcome.note.contains("T2 not reached") && outcome.note.contains("T1 not reached"),
        "{}",
        outcome.note
    );
}

#[test]
fn what_is_touched_is_named_whatever_the_verdict_and_nothing_more_is_run() {
    for act in [Reach::Connected, Reach::Read, Reach::Executed] {
        for verdict in [None, Some(1)] {
            let (made, outcome) = play(&trace(&[(act, "/home/u/answers")]), &[], &|_, _| verdict);
            assert_eq!(made, "traced");
            assert_eq!(
                objections(&outcome),
                [(HaltReason::HermeticityViolation, "/home/u/answers")]
            );
            assert!(outcome.findings[0].detail.contains("/bin/sh") && outcome.findings[0].detail.contains("2 times"));
        }
    }
}

#[test]
fn what_is_written_elsewhere_is_a_note_and_no_violation() {
    let (made, outcome) = play(&trace(&[(Reach::Wrote, "/tmp/log")]), &[], &|_, _| None);
    assert_eq!(made, "traced, varied");
    assert!(objections(&outcome).is_empty());
    assert_eq!(
        (outcome.findings[0].subject.as_str(), outcome.state),
        ("/tmp/log", GuardState::Active)
    );
}

#[test]
fn a_trace_that_proves_nothing_leaves_nothing_green() {
    let unread = Trace {
        unread: 1,
        ..trace(&[])
    };
    let empty = Trace::default();
    let state = |trace: &Trace, traced: Option<i32>| {
        let (made, outcome) = play(trace, &[], &|_, _| traced);
        assert_eq!(made, "traced");
        outcome.state
    };
    assert_eq!(state(&unread, None), GuardState::Unavailable);
    assert_eq!(state(&empty, None), GuardState::Unavailable);
    assert_eq!(state(&trace(&[]), Some(1)), GuardState::Unavailable);
}

#[test]
fn the_dimension_that_it_minds_is_named_once_its_tool_is_known_to_be_innocent() {
    for (number, name) in DIMENSIONS.iter().enumerate() {
        let (made, outcome) = play(&trace(&[]), &[], &|step, _| breaks_under(step, name).then_some(1));
        assert_eq!(objections(&outcome), [(HaltReason::CheckNotHermetic, *name)], "{made}");
        assert!(outcome.findings[0].detail.contains("status 1"));
        let alone = made.matches(ALONE).count();
        assert_eq!(alone, number + 1, "{made}");
        assert!(made.ends_with(TOOL), "{made}");
    }
}

#[test]
fn a_tool_that_breaks_the_check_by_itself_proves_nothing() {
    let network = |step: &Step, _| matches!(step.plant, Plant::Varied(under) if under.takes("network")).then_some(1);
    let (_, outcome) = play(&trace(&[]), &[], &network);
    assert_eq!(outcome.state, GuardState::Unavailable);
    assert!(outcome.note.contains("network"), "{}", outcome.note);
}

#[test]
fn what_only_breaks_together_is_named_together_and_what_was_not_in_force_is_not() {
    let (_, outcome) = play(&trace(&[]), &["clock", "locale"], &|step, _| {
        matches!(step.plant, Plant::Varied(Under::All)).then_some(1)
    });
    let all = "network with home with tmp with path with timezone";
    assert_eq!(objections(&outcome), [(HaltReason::CheckNotHermetic, all)]);
}

#[test]
fn what_does_not_show_twice_is_no_evidence_and_nothing_green() {
    let (made, outcome) = play(&trace(&[]), &[], &|step, _| match step.subject {
        VARIED => Some(1),
        AGAIN => Some(2),
        _ => None,
    });
    assert_eq!(made, "traced, varied, varied again");
    assert_eq!(outcome.state, GuardState::Unavailable);
}
