//! Assertion count: no test asserts less than it did at t0, and neither do all together (SPEC 5.3.10).
//!
//! Catches assertions that were taken out of a test that keeps its name. Where tests have files of their own the
//! protected manifest is quicker; it says nothing of a product file that holds its own tests, nor of one that the
//! contract exempts. A tautology or an early return keeps the count and is left to the guards before green.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::id::Bytes;
use crate::event::measurement::TreeSeen;
use crate::event::policy::Surface;
use crate::words::counted;

pub static GUARD: Guard = Guard {
    name: "assertion_count",
    catches: "a test that keeps its name and asserts less, in a product file too",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.after_check.assertions.files_t0 == 0 {
        return Outcome::not_applicable("no file held a test in a language that is read");
    }
    // What the check judged, and what it left behind.
    let walks = evidence.after_exec.into_iter().chain([evidence.after_check]);
    let mut broken = None;
    for seen in walks {
        let findings = fallen(seen, lost(evidence));
        if let Some(first) = findings.first() {
            if evidence.policy.guards.surface == Surface::Extend {
                return Outcome::unavailable(format!(
                    "{}: {}; whether other tests demand the same can be judged only by replay against t0",
                    first.subject, first.detail
                ));
            }
            return Outcome::active(findings);
        }
        let unknown = &seen.assertions.unknown;
        broken = broken.or_else(|| unknown.iter().find(|one| !watched(seen, &one.path)));
    }
    match broken {
        Some(one) => Outcome::unavailable(format!("assertions of {} are unknown: {}", one.path.text(), one.why)),
        None => Outcome::active(Vec::new()),
    }
}

/// A watched path that changed is judged by the guards of the surface, which name it.
fn watched(seen: &TreeSeen, path: &Bytes) -> bool {
    seen.surface.iter().any(|change| change.path == *path)
}

/// A member that is no longer collected takes its assertions with it, and is named by the guard that looks for it.
fn lost(evidence: &Evidence<'_>) -> bool {
    let gone = |id: &String| evidence.members.status(id).is_none();
    evidence.green() && evidence.collected() && evidence.universe.iter().any(gone)
}

/// Tests that assert less, or all tests together.
fn fallen(seen: &TreeSeen, lost: bool) -> Vec<Finding> {
    let told = |from: u64, to: u64| format!("{to} of {} left", counted(from, "assertion"));
    let assertions = &seen.assertions;
    let own = assertions.fallen.iter().filter(|test| !watched(seen, &test.path));
    let mut findings: Vec<Finding> = own
        .map(|test| {
            let subject = format!("{} in {}", test.name, test.path.text());
            GUARD.violation(subject, told(test.from.into(), test.to.into()))
        })
        .collect();
    let unexplained = findings.is_empty() && seen.surface.is_empty() && !lost;
    if unexplained && assertions.total < assertions.total_t0 {
        findings.push(GUARD.violation("all tests", told(assertions.total_t0, assertions.total)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::super::bench::members;
    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::measurement::{AssertionsFallen, AssertionsSeen, AssertionsUnknown, MemberStatus, SurfaceClass};

    fn seen(total: u64) -> AssertionsSeen {
        AssertionsSeen {
            files_t0: 2,
            total_t0: 5,
            total,
            ..AssertionsSeen::default()
        }
    }

    fn fallen() -> AssertionsFallen {
        AssertionsFallen {
            path: "src/lib.rs".into(),
            name: "tests::a".into(),
            from: 2,
            to: 1,
        }
    }

    fn bench(now: AssertionsSeen) -> Bench {
        let mut bench = Bench::honest();
        bench.after_exec.assertions = now;
        bench.after_check.assertions = seen(5);
        bench
    }

    #[test]
    fn a_test_that_asserts_less_is_named_though_others_assert_more() {
        let outcome = check(
            &bench(AssertionsSeen {
                fallen: [fallen()].into(),
                ..seen(9)
            })
            .evidence(),
        );
        let found = &outcome.findings[0];
        assert_eq!(
            (outcome.findings.len(), found.subject.as_str()),
            (1, "tests::a in src/lib.rs")
        );
        assert_eq!(found.detail, "1 of 2 assertions left");
    }

    #[test]
    fn a_total_that_fell_is_a_violation_and_one_that_grew_is_none() {
        assert_eq!(check(&bench(seen(4)).evidence()).findings[0].subject, "all tests");
        let outcome = check(&bench(seen(6)).evidence());
        assert_eq!((outcome.state, outcome.findings.len()), (GuardState::Active, 0));
    }

    #[test]
    fn what_another_guard_names_is_not_named_twice() {
        let mut edited = bench(AssertionsSeen {
            fallen: [fallen()].into(),
            ..seen(4)
        });
        edited.after_exec.surface = [edited.change("src/lib.rs", SurfaceClass::Protected)].into();
        assert!(check(&edited.evidence()).findings.is_empty());
        edited.after_exec.surface = [edited.change("tests/b.rs", SurfaceClass::Protected)].into();
        assert_eq!(check(&edited.evidence()).findings.len(), 1);

        let mut gone = bench(seen(4));
        gone.members = members(&[("a", MemberStatus::Passed)]);
        assert!(check(&gone.evidence()).findings.is_empty());
    }

    #[test]
    fn what_the_check_left_behind_is_judged_too() {
        let mut bench = bench(seen(5));
        bench.after_check.assertions = seen(3);
        assert_eq!(check(&bench.evidence()).findings.len(), 1);
    }

    #[test]
    fn a_file_that_no_longer_parses_is_unknown_and_never_zero() {
        let broken = AssertionsUnknown {
            path: "src/lib.rs".into(),
            why: "it does not parse near line 3".into(),
        };
        let unknown = AssertionsSeen {
            unknown: [broken].into(),
            ..seen(5)
        };
        let outcome = check(&bench(unknown.clone()).evidence());
        assert_eq!(outcome.state, GuardState::Unavailable);
        assert!(outcome.note.contains("src/lib.rs"), "{}", outcome.note);
        // What fell elsewhere is known all the same.
        let both = AssertionsSeen {
            fallen: [fallen()].into(),
            ..unknown
        };
        assert_eq!(check(&bench(both).evidence()).findings.len(), 1);
    }

    #[test]
    fn tests_that_were_moved_under_extend_are_not_judged_and_not_green() {
        let mut bench = bench(AssertionsSeen {
            fallen: [fallen()].into(),
            ..seen(5)
        });
        bench.policy.guards.surface = Surface::Extend;
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
    }

    #[test]
    fn nothing_that_can_be_read_at_the_start_is_out_of_reach() {
        let mut bench = bench(AssertionsSeen::default());
        bench.after_check.assertions = AssertionsSeen::default();
        assert_eq!(check(&bench.evidence()).state, GuardState::NotApplicable);
    }
}
