use alloc::vec;

use super::*;
use crate::event::finding::{GuardState, Severity};
use crate::event::zone::{Fixture, ZoneName};

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
    play_by(&Evidence::Trace, None, trace, missing, world)
}

/// The same in a zone that fixed this, as it saw itself.
fn play_in_zone(fixed: &[Fixture], missing: &[&str], world: &dyn Fn(&Step, usize) -> Option<i32>) -> (String, Outcome) {
    let zone = ZoneSeen {
        zone: ZoneName::Exec,
        facts: "bwrap".into(),
        fixed: fixed.to_vec(),
        refused: None,
        said: String::new(),
        left_inside: 0,
        egress: vec![],
    };
    let evidence = Evidence::Zone {
        lets_out: tiers::lets_out(Some(&zone)),
    };
    play_by(&evidence, Some(&zone), &Trace::default(), missing, world)
}

fn play_by(
    evidence: &Evidence,
    zone: Option<&ZoneSeen>,
    trace: &Trace,
    missing: &[&str],
    world: &dyn Fn(&Step, usize) -> Option<i32>,
) -> (String, Outcome) {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let made: Vec<Vec<Varied>> = steps
            .iter()
            .map(|step| {
                if let Plant::Varied(under) = step.plant {
                    return varied(under, missing);
                }
                let frozen = Varied {
                    dimension: "frozen".into(),
                    how: "it stands".into(),
                    missing: if missing.contains(&FROZEN) { "no sign" } else { "" }.into(),
                };
                (step.plant == Plant::Frozen).then_some(frozen).into_iter().collect()
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
        let outcome = match walk(evidence, &shown) {
            Next::Over(outcome) => outcome,
            Next::Holds(findings) => Outcome {
                note: told_of_tiers(&Oracle::default(), zone, &shown),
                ..Outcome::active(findings)
            },
            Next::Step(step) => {
                drop(shown);
                steps.push(step);
                assert!(steps.len() < 20, "it goes on for ever");
                continue;
            }
        };
        let subjects: Vec<&str> = steps.iter().map(|step| step.subject).collect();
        return (subjects.join(", "), outcome);
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
        "T0 partly: outside of an exec zone nothing fixes network",
        "T1 not probed: no tool",
        "T2 partly: under other network, home",
        "not probed: clock (no tool)",
        "kernel randomness (1 call)",
    ] {
        assert!(outcome.note.contains(words), "{}", outcome.note);
    }
}

#[test]
fn a_clock_that_stands_still_is_one_run_more_and_what_it_changes_is_held_against_nobody() {
    let (made, held) = play(&trace(&[]), &[], &|_, _| None);
    assert_eq!(made, "traced, varied, frozen");
    assert!(
        held.note.contains("T1 held") && !held.note.contains("not probed"),
        "{}",
        held.note
    );
    let (made, broke) = play(&trace(&[]), &[], &|step, _| (step.plant == Plant::Frozen).then_some(1));
    assert_eq!(
        (made.as_str(), broke.state),
        ("traced, varied, frozen", GuardState::Active)
    );
    assert!(objections(&broke).is_empty());
    assert!(
        broke
            .note
            .contains("T1 broke: with a clock that stands still, status 1"),
        "{}",
        broke.note
    );
    let (_, unseen) = play(&trace(&[]), &[FROZEN], &|_, _| None);
    assert!(unseen.note.contains("T1 not probed: no sign"), "{}", unseen.note);
}

#[test]
fn in_a_zone_nothing_is_traced_and_what_the_zone_saw_of_itself_is_the_evidence() {
    let of_zone = ["network", "home", "tmp"];
    let (made, outcome) = play_in_zone(Fixture::ALL, &of_zone, &|_, _| None);
    assert_eq!((made.as_str(), outcome.state), ("varied, frozen", GuardState::Active));
    for words in [
        "T0 held",
        "T1 held",
        "T2 held: under other path, timezone, locale, clock",
        "as T0 fixes it: network, home, tmp",
        "not traced",
    ] {
        assert!(outcome.note.contains(words), "{}", outcome.note);
    }
    let (made, broken) = play_in_zone(Fixture::ALL, &of_zone, &|step, _| {
        breaks_under(step, "locale").then_some(1)
    });
    assert_eq!(
        objections(&broken),
        [(HaltReason::CheckNotHermetic, "locale")],
        "{made}"
    );
}

#[test]
fn a_zone_that_does_not_show_what_it_fixed_leaves_nothing_green() {
    for open in [Fixture::Network, Fixture::Root, Fixture::Home, Fixture::Tmp] {
        let fixed: Vec<Fixture> = Fixture::ALL.iter().copied().filter(|known| *known != open).collect();
        let (made, outcome) = play_in_zone(&fixed, &[], &|_, _| None);
        assert_eq!((made.as_str(), outcome.state), ("", GuardState::Unavailable));
        assert!(outcome.note.contains(open.label()), "{}", outcome.note);
    }
}

#[test]
fn where_nothing_could_be_varied_no_tier_is_claimed() {
    let (_, outcome) = play(&trace(&[]), &DIMENSIONS, &|_, _| None);
    assert!(
        outcome.note.contains("T2 not probed") && outcome.note.contains("T1 not probed"),
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
    assert_eq!(made, "traced, varied, frozen");
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
