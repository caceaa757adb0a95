//! Protected manifest: tests, fixtures, runner configuration, lock files and build scripts are what they
//! were at t0.
//!
//! Under `surface = frozen` any difference is a violation. Under `extend` the sources of tests and what lies beside them
//! may change, and a test file may be added where the runner gives every file a process of its own. What any other
//! change of them does to the tests is left to `kill_set`, which compares them with those of t0. Index and commit may
//! hold what the tree holds; a test that differs there alone is compared by nobody, and nothing turns green on it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome, surface};
use crate::event::finding::GuardState;
use crate::event::halt::HaltReason;
use crate::event::measurement::{ChangeKind, Place, SurfaceChange, SurfaceClass};
use crate::pattern;
use crate::words::counted;

pub static GUARD: Guard = Guard {
    name: "protected_manifest",
    catches: "an edited test, fixture, runner configuration, lock file or build script",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

/// Runners, by collector, that start each of these files in a process of its own.
const SEPARATE: &[(&[&str], &[&str])] = &[
    (&["libtest", "nextest"], &["*.rs"]),
    (&["node", "jest", "vitest"], &["*.test.*", "*.spec.*"]),
];

/// A new file that no other test can notice.
fn stands_alone(evidence: &Evidence<'_>, change: &SurfaceChange) -> bool {
    let collector = evidence.measurement.collector.as_str();
    let files = SEPARATE
        .iter()
        .filter(|(runners, _)| runners.contains(&collector))
        .flat_map(|(_, files)| *files);
    change.kind == ChangeKind::Added && pattern::first(files.copied(), &change.path.0).is_some()
}

/// Why the path is protected, in words.
fn why(change: &SurfaceChange) -> String {
    if change.pattern == surface::COLLECTED {
        return "tests were collected from it at t0".into();
    }
    if change.pattern == surface::OWN_TESTS {
        return "tests of t0 that it holds say something else now".into();
    }
    format!("{} is protected", change.pattern)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let changed: Vec<&SurfaceChange> = evidence.surface(SurfaceClass::Protected).collect();
    let may_change = |change: &&SurfaceChange| surface::may_change(&evidence.policy.guards, change);
    // What may not change is listed first: where the list ends with what may, the rest may as well.
    let rest_may = changed.last().is_some_and(may_change);
    let (tests, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(may_change);
    let violations: Vec<_> = rest
        .iter()
        .map(|c| GUARD.violation(c.path.text(), format!("{} ({})", c.told(), why(c))))
        .collect();
    let more = evidence.after_exec.map_or(0, |seen| seen.surface_more);
    if more > 0 && violations.is_empty() && !rest_may {
        return Outcome::active(
            [GUARD.violation("surface", format!("{} changed", counted(more, "further watched path")))].into(),
        );
    }
    if !violations.is_empty() {
        return Outcome::active(violations);
    }
    if let Some(elsewhere) = tests.iter().find(|c| c.place != Place::Tree) {
        return Outcome::unavailable(format!(
            "{} was {}, and is not what the tree holds; only the tests of the tree can be judged",
            elsewhere.path.text(),
            elsewhere.told()
        ));
    }
    let seen = Outcome::compared(evidence.tree(), Vec::new());
    let edited = tests.iter().find(|c| !stands_alone(evidence, c));
    match (seen.state, edited) {
        (GuardState::Active, Some(edited)) => {
            let others = u64::try_from(tests.len() - 1).unwrap_or(u64::MAX).saturating_add(more);
            let and = if others == 0 {
                String::new()
            } else {
                format!(", and {} changed", counted(others, "other file"))
            };
            Outcome::left_to_kill_set(&format!("{} was {}{and}", edited.path.text(), edited.told()))
        }
        _ => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::measurement::GitState;
    use crate::event::policy::Surface;

    fn bench(surface: Surface, path: &str, kind: ChangeKind) -> Bench {
        let mut bench = Bench::honest();
        bench.policy.guards.surface = surface;
        bench.after_exec.surface = [SurfaceChange {
            kind,
            ..bench.change(path, SurfaceClass::Protected)
        }]
        .into();
        bench
    }

    #[test]
    fn a_frozen_surface_refuses_every_edit() {
        for kind in [
            ChangeKind::Added,
            ChangeKind::Modified,
            ChangeKind::Removed,
            ChangeKind::Mode,
        ] {
            let bench = bench(Surface::Frozen, "conftest.py", kind);
            assert_eq!(check(&bench.evidence()).findings.len(), 1, "{kind}");
        }
    }

    #[test]
    fn an_extensible_surface_takes_a_new_test_and_no_new_configuration() {
        let mut added = bench(Surface::Extend, "tests/new.rs", ChangeKind::Added);
        added.measurement.collector = "libtest".into();
        assert_eq!(check(&added.evidence()), Outcome::active(Vec::new()));
        let config = bench(Surface::Extend, "pytest.ini", ChangeKind::Added);
        assert_eq!(check(&config.evidence()).findings.len(), 1);
    }

    #[test]
    fn a_new_file_that_shares_a_process_with_other_tests_is_left_to_kill_set() {
        for path in [
            "tests/test_new.py",
            "tests/conftest.py",
            "tests/product.py",
            "tests/new.rs",
        ] {
            let mut added = bench(Surface::Extend, path, ChangeKind::Added);
            added.measurement.collector = "pytest".into();
            assert_eq!(check(&added.evidence()).state, GuardState::Deferred, "{path}");
        }
    }

    #[test]
    fn a_changed_test_under_extend_is_left_to_kill_set_and_named() {
        let mut edited = bench(Surface::Extend, "tests/test_a.py", ChangeKind::Modified);
        let more = edited.change("tests/test_b.py", SurfaceClass::Protected);
        edited.after_exec.surface.push(more);
        let outcome = check(&edited.evidence());
        assert_eq!(outcome.state, GuardState::Deferred);
        assert_eq!(
            outcome.note,
            "left to kill_set: tests/test_a.py was modified, and 1 other file changed"
        );
        // Nothing is left to anybody once something stands against the turn.
        let config = edited.change("pytest.ini", SurfaceClass::Protected);
        edited.after_exec.surface.insert(0, config);
        assert_eq!(check(&edited.evidence()).findings.len(), 1);
    }

    #[test]
    fn a_test_that_differs_in_index_or_commit_alone_or_cannot_be_listed_is_not_judged() {
        let mut edited = bench(Surface::Extend, "tests/test_a.py", ChangeKind::Modified);
        edited.after_exec.git.listed = GitState::Unavailable;
        assert_eq!(check(&edited.evidence()).state, GuardState::Unavailable);
        let mut staged = bench(Surface::Extend, "tests/test_a.py", ChangeKind::Modified);
        staged.after_exec.surface[0].place = Place::Commit;
        assert_eq!(check(&staged.evidence()).state, GuardState::Unavailable);
    }

    #[test]
    fn changes_beyond_the_list_are_still_a_violation() {
        let mut bench = Bench::honest();
        bench.after_exec.surface_more = 3;
        assert_eq!(check(&bench.evidence()).findings.len(), 1);
    }

    #[test]
    fn beyond_a_list_that_ends_with_tests_that_may_change_are_others_that_may() {
        let mut edited = bench(Surface::Extend, "tests/test_a.py", ChangeKind::Modified);
        edited.after_exec.surface_more = 3;
        assert_eq!(check(&edited.evidence()).state, GuardState::Deferred);
    }
}
