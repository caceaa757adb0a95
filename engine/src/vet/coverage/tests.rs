use alloc::vec;

use super::*;
use crate::event::finding::GuardState;
use crate::vet::bench::trial;

use Adequacy::{Change, Every};

fn listed(names: &[&str]) -> Counted {
    Counted {
        total: names.len() as u64,
        first: names.iter().map(|name| String::from(*name)).collect(),
    }
}

/// Ten lines that can run, three of them changed, all of them run.
fn whole() -> Covered {
    Covered {
        format: "lcov".into(),
        files: 1,
        can_run: 10,
        ran: 10,
        changed: 3,
        ..Covered::default()
    }
}

fn none(why: &str) -> Covered {
    Covered {
        trouble: why.into(),
        ..Covered::default()
    }
}

fn shown(subject: &str, coverage: Covered) -> Trial {
    Trial {
        subject: subject.into(),
        coverage: Some(coverage),
        ..trial(0)
    }
}

fn demand(adequacy: Adequacy) -> Demand {
    Demand {
        adequacy,
        min_percent: 0,
        success_exit: 0,
        noticed: false,
    }
}

fn weighed(demand: &Demand, now: Covered) -> (Outcome, Vec<Severity>) {
    let mut t0 = shown(AT_T0, whole());
    t0.code = 1;
    let outcome = weigh(demand, &[t0, shown(NOW, now)]);
    let severities = outcome.findings.iter().map(|finding| finding.severity).collect();
    (outcome, severities)
}

#[test]
fn a_change_that_runs_is_no_finding_and_says_how_much_of_it_ran() {
    for adequacy in [Change, Every] {
        let (outcome, severities) = weighed(&demand(adequacy), whole());
        assert!(severities.is_empty());
        assert_eq!(outcome.state, GuardState::Active);
        assert_eq!(outcome.note, "3 of 3 changed lines ran");
    }
}

#[test]
fn what_is_marked_as_not_to_be_measured_is_a_violation_under_every_demand() {
    for adequacy in [Change, Every] {
        for bend in [
            (|now| now.hidden = listed(&["money.py:3-5"])) as fn(&mut Covered),
            |now| now.hidden_files = listed(&["money.py:3-5"]),
        ] {
            let mut now = whole();
            bend(&mut now);
            let (outcome, severities) = weighed(&demand(adequacy), now);
            assert_eq!(severities, [Severity::Violation]);
            assert_eq!(outcome.findings[0].subject, "money.py:3-5");
            assert_eq!(outcome.findings[0].reason, HaltReason::CheckInadequate);
            assert!(
                outcome.note.contains("marked as not to be measured"),
                "{}",
                outcome.note
            );
        }
    }
}

#[test]
fn what_moved_or_lies_idle_without_a_mark_is_a_note_unless_every_line_counts() {
    for bend in [
        (|now| now.vanished = listed(&["a.js:4"])) as fn(&mut Covered),
        |now| now.unloaded = listed(&["a.js"]),
        |now| now.lost = listed(&["a.js:9"]),
        |now| now.unrun = listed(&["a.js:2"]),
    ] {
        let mut now = whole();
        bend(&mut now);
        assert_eq!(weighed(&demand(Change), now.clone()).1, [Severity::Note]);
        assert_eq!(weighed(&demand(Every), now).1, [Severity::Violation]);
    }
}

#[test]
fn a_change_of_which_no_line_ran_is_a_violation_that_names_the_lines() {
    let now = Covered {
        changed: 2,
        unrun: listed(&["money.py:6", "money.py:9"]),
        ..whole()
    };
    let (outcome, severities) = weighed(&demand(Change), now);
    assert_eq!(severities, [Severity::Violation; 2]);
    assert_eq!(outcome.findings[1].subject, "money.py:9");
    assert_eq!(outcome.note, "0 of 2 changed lines ran");
    // Without a changed line that can run nothing can be said.
    let removed = Covered { changed: 0, ..whole() };
    assert!(weighed(&demand(Change), removed).1.is_empty());
}

#[test]
fn what_may_run_where_nobody_measures_is_no_proof() {
    let nothing_ran = Covered {
        changed: 1,
        unrun: listed(&["money.py:6"]),
        ..whole()
    };
    let beside = Covered {
        beside: listed(&["rates.json"]),
        ..nothing_ran.clone()
    };
    let (outcome, severities) = weighed(&demand(Change), beside);
    assert_eq!(severities, [Severity::Note], "the fix may be in the other file");
    assert!(outcome.note.ends_with("; not measured: rates.json"), "{}", outcome.note);
    let noticed = Demand {
        noticed: true,
        ..demand(Change)
    };
    assert_eq!(
        weighed(&noticed, nothing_ran.clone()).1,
        [Severity::Note],
        "a mutant of it is killed"
    );
    assert_eq!(weighed(&demand(Every), nothing_ran).1, [Severity::Violation]);
}

#[test]
fn lines_that_only_the_tests_of_now_run_do_run_and_hide_nothing() {
    let replayed = Covered {
        changed: 3,
        unrun: listed(&["a.py:1", "a.py:2", "a.py:3"]),
        ..whole()
    };
    let trials = |now: Covered| [shown(AT_T0, whole()), shown(NOW, now), shown(OWN_TESTS, whole())];
    let outcome = weigh(&demand(Every), &trials(replayed.clone()));
    assert!(outcome.findings.is_empty(), "{outcome:?}");
    let hiding = Covered {
        hidden: listed(&["a.py:7"]),
        ..replayed
    };
    assert_eq!(weigh(&demand(Change), &trials(hiding)).findings.len(), 1);
}

#[test]
fn fewer_lines_than_the_contract_wants_is_a_violation_by_whole_numbers() {
    for (min_percent, objects) in [(0, false), (66, false), (67, true), (100, true)] {
        let demand = Demand {
            min_percent,
            ..demand(Change)
        };
        let now = Covered {
            can_run: 3,
            ran: 2,
            ..whole()
        };
        assert_eq!(!weighed(&demand, now).1.is_empty(), objects, "{min_percent}");
    }
}

#[test]
fn a_report_that_was_promised_and_is_not_there_is_unavailable_and_a_red_run_too() {
    let t0 = shown(AT_T0, whole());
    let missing = weigh(&demand(Change), &[t0.clone(), shown(NOW, none("it wrote no cov.json"))]);
    assert_eq!(
        (missing.state, missing.note.as_str()),
        (GuardState::Unavailable, "it wrote no cov.json")
    );
    let mut red = shown(NOW, whole());
    red.code = 1;
    assert_eq!(
        weigh(&demand(Change), &[t0.clone(), red]).state,
        GuardState::Unavailable
    );
    let unasked = Trial {
        coverage: None,
        ..shown(NOW, whole())
    };
    let outcome = weigh(&demand(Change), &[t0, unasked]);
    assert_eq!(
        (outcome.state, outcome.note.as_str()),
        (GuardState::Unavailable, "the run was not measured")
    );
}

#[test]
fn without_a_floor_only_the_change_is_judged_and_that_is_said() {
    let t0 = shown(AT_T0, none("it wrote no cov.json"));
    let outcome = weigh(&demand(Change), &[t0.clone(), shown(NOW, whole())]);
    assert_eq!(outcome.state, GuardState::Active);
    assert_eq!(
        outcome.note,
        "3 of 3 changed lines ran; not compared with the start: it wrote no cov.json"
    );
    // Where nobody was asked to write one there is nothing to compare.
    assert_eq!(weigh(&demand(Change), &[t0]).state, GuardState::NotApplicable);
    assert_eq!(weigh(&demand(Change), &[]).state, GuardState::NotApplicable);
}

#[test]
fn a_violation_stands_before_every_note() {
    let now = Covered {
        lost: listed(&["a.py:1"; 16]),
        unrun: listed(&["a.py:2"]),
        changed: 1,
        ..whole()
    };
    let (_, severities) = weighed(&demand(Change), now);
    assert_eq!(severities[0], Severity::Violation);
}

#[test]
fn the_start_is_measured_first_and_the_own_tests_only_where_they_may_tell_something() {
    let ran = |coverage: Covered| {
        let step = Step {
            subject: "any",
            base: Base::Start,
            plant: Plant::Coverage,
        };
        Ran {
            step,
            run: crate::guard::bench::run(0),
            reading: crate::effect::Reading::nothing(),
            planted: vec![],
            mutants: vec![],
            hunks: vec![],
            unmutated: vec![],
            coverage: Some(coverage),
            trace: None,
            varied: vec![],
            review: None,
        }
    };
    let next = |named: bool, tests_may_change: bool, covered: &[&Covered]| {
        let measuring = Measuring {
            named,
            tests_may_change,
            timeout_ms: None,
        };
        let ran: Vec<Ran> = covered.iter().map(|covered| ran((*covered).clone())).collect();
        step(&measuring, &ran).map(|step| step.subject)
    };
    let (whole, none) = (whole(), none("no report"));
    let unrun = Covered {
        unrun: listed(&["a.py:1"]),
        ..whole.clone()
    };
    assert_eq!(next(true, false, &[]), Some(AT_T0));
    assert_eq!(next(false, false, &[&whole]), Some(NOW));
    assert_eq!(next(false, false, &[&none]), None, "nobody was asked to write one");
    assert_eq!(
        next(true, false, &[&none]),
        Some(NOW),
        "the red start may have broken before it wrote"
    );
    assert_eq!(next(true, true, &[&whole, &unrun]), Some(OWN_TESTS));
    assert_eq!(next(true, true, &[&whole, &whole]), None);
    assert_eq!(next(true, false, &[&whole, &unrun]), None);
    assert_eq!(next(true, true, &[&whole, &unrun, &whole]), None);
}
