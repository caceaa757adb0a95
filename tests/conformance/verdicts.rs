//! Every verdict of `explain-halt` is the one of the table in SPEC 4.6.1.
//!
//! ```text
//!   row ──clauses──> verdict of (reason, cause, still improving, measured, after t0)  ==  engine::advice::advise
//! ```

use engine::advice::advise;
use engine::event::halt::HaltReason;
use engine::event::id::{Digest, Stamp};
use engine::event::policy::Policy;
use engine::event::run::{Halted, RunOpened};
use engine::progress::{Best, DETECTORS};
use engine::{Facts, State};

use crate::support::vocabulary::{self, causes, quoted};

/// Everything that a verdict may depend on.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    cause: &'a str,
    improving: bool,
    measured: bool,
    after_t0: bool,
}

#[test]
fn every_verdict_is_the_one_of_the_table() {
    for reason in HaltReason::ALL {
        let row = row(*reason);
        for cause in causes()[reason.label()].iter().map(String::as_str).chain([""]) {
            for bits in 0..8 {
                let [improving, measured, after_t0] = [1, 2, 4].map(|bit| bits & bit != 0);
                let case = Case {
                    cause,
                    improving,
                    measured,
                    after_t0,
                };
                assert_eq!(given(*reason, case), expected(&row, case), "{reason} {case:?}");
            }
        }
    }
}

#[test]
fn detectors_are_asked_in_the_order_of_the_contract() {
    let clause = vocabulary::clause("4.5.4");
    let named: Vec<_> = quoted(&clause).collect();
    let asked: Vec<_> = DETECTORS.iter().map(|detector| detector.reason.label()).collect();
    assert_eq!(asked, named);
}

#[test]
fn a_clause_that_nobody_can_read_is_refused() {
    let case = Case {
        cause: "",
        improving: false,
        measured: true,
        after_t0: true,
    };
    assert_eq!(
        expected("`done` when unmeasured, else `investigate`", case),
        "investigate"
    );
    let strange = std::panic::catch_unwind(|| expected("`done` when the moon is full, else `investigate`", case));
    assert!(strange.is_err());
}

/// The verdict cell of this reason.
fn row(reason: HaltReason) -> String {
    let label = reason.label();
    let rows = vocabulary::rows("**4.6.1**", "**4.6.2**");
    let mut found = rows
        .into_iter()
        .filter(|[reasons, _]| quoted(reasons).any(|named| named == label));
    let [_, cell] = found.next().unwrap_or_else(|| panic!("no verdict of {label}"));
    assert!(found.next().is_none(), "two verdicts of {label}");
    cell
}

/// The first clause whose condition holds; else the one without a condition.
fn expected(cell: &str, case: Case<'_>) -> String {
    let mut otherwise = None;
    for clause in cell.split([',', ';']) {
        let verdict = quoted(clause).next().unwrap().to_owned();
        let condition = clause
            .trim()
            .trim_start_matches("else ")
            .trim_start_matches(&format!("`{verdict}`"));
        let holds = match condition.trim() {
            "" => {
                otherwise = Some(verdict);
                continue;
            }
            "when still improving" => case.improving,
            "when unmeasured" => !case.measured,
            "when still improving or unmeasured" => case.improving || !case.measured,
            "for causes that begin with `check_`" => case.cause.starts_with("check_"),
            "when the cause is `workdir_lost` after t0" => case.cause == "workdir_lost" && case.after_t0,
            other => panic!("what does {other:?} mean?"),
        };
        if holds {
            return verdict;
        }
    }
    otherwise.unwrap_or_else(|| panic!("{cell} leaves {case:?} open"))
}

fn given(reason: HaltReason, case: Case<'_>) -> String {
    let halted = Halted {
        iteration: 1,
        reason,
        cause: case.cause.to_owned(),
        sentence: reason.row().sentence.to_owned(),
        tree: Digest::ZERO,
        accepted: None,
        improving: case.improving,
    };
    advise(&facts(case), &halted).verdict.label().to_owned()
}

fn facts(case: Case<'_>) -> Facts {
    let opened = RunOpened {
        at: Stamp::default(),
        run_id: "r".to_owned(),
        engine: engine::VERSION.to_owned(),
        workdir: "/w".into(),
        boot_id: String::new(),
        policy_digest: Digest::ZERO,
        policy: Policy::default(),
        origins: Vec::new(),
        programs: Vec::new(),
        probe: None,
        zones: Vec::new(),
    };
    let mut facts = State::open(opened).facts;
    let seen = Best {
        failing: 3,
        iteration: 0,
    };
    facts.history.first = case.measured.then_some(seen);
    facts.t0 = case.after_t0.then_some(Digest::ZERO);
    *facts
}
