//! Protected manifest: tests, fixtures, runner configuration, lock files and build scripts are what they
//! were at t0.
//!
//! Under `surface = frozen` any difference is a violation. Under `extend` a test file may be added where the
//! runner gives every file a process of its own. Where files share one, a new file can bend the product for
//! all the others; that, and a test that was changed or removed, needs evidence that is not collected yet:
//! the guard says that it could not judge, and nothing turns green on it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Evidence, Guard, Outcome, surface};
use crate::event::halt::HaltReason;
use crate::event::measurement::{ChangeKind, SurfaceChange, SurfaceClass};
use crate::event::policy::{GuardPolicy, Surface};
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

/// A source of tests that the contract lets the agent touch.
pub(crate) fn may_change(policy: &GuardPolicy, change: &SurfaceChange) -> bool {
    let sources = surface::TEST_DIRECTORIES.iter().chain(surface::TEST_SOURCES).copied();
    let tests = policy.test_directories.iter().map(String::as_str).chain(sources);
    let test = change.pattern == surface::COLLECTED || pattern::first(tests, &change.path.0).is_some();
    policy.surface == Surface::Extend && test
}

/// Why the path is protected, in words.
fn why(change: &SurfaceChange) -> String {
    if change.pattern == surface::COLLECTED {
        return "tests were collected from it at t0".into();
    }
    format!("{} is protected", change.pattern)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let changed: Vec<&SurfaceChange> = evidence.surface(SurfaceClass::Protected).collect();
    let (tests, rest): (Vec<_>, Vec<_>) = changed
        .into_iter()
        .partition(|c| may_change(&evidence.policy.guards, c));
    let violations: Vec<_> = rest
        .iter()
        .map(|c| GUARD.violation(c.path.text(), format!("{} ({})", c.told(), why(c))))
        .collect();
    let more = evidence.after_exec.map_or(0, |seen| seen.surface_more);
    if more > 0 && violations.is_empty() {
        return Outcome::active(
            [GUARD.violation("surface", format!("{} changed", counted(more, "further watched path")))].into(),
        );
    }
    if violations.is_empty()
        && let Some(edited) = tests.iter().find(|c| !stands_alone(evidence, c))
    {
        return Outcome::unavailable(format!(
            "{} was {}; what it does to the other tests can be judged only by replay against t0",
            edited.path.text(),
            edited.told()
        ));
    }
    Outcome::compared(evidence.tree(), violations)
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::finding::GuardState;

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
    fn a_new_file_that_shares_a_process_with_other_tests_is_not_judged_and_not_green() {
        for path in [
            "tests/test_new.py",
            "tests/conftest.py",
            "tests/product.py",
            "tests/new.rs",
        ] {
            let mut added = bench(Surface::Extend, path, ChangeKind::Added);
            added.measurement.collector = "pytest".into();
            assert_eq!(check(&added.evidence()).state, GuardState::Unavailable, "{path}");
        }
    }

    #[test]
    fn a_changed_test_under_extend_is_not_judged_and_not_green() {
        let edited = bench(Surface::Extend, "tests/test_a.py", ChangeKind::Modified);
        assert_eq!(check(&edited.evidence()).state, GuardState::Unavailable);
    }

    #[test]
    fn changes_beyond_the_list_are_still_a_violation() {
        let mut bench = Bench::honest();
        bench.after_exec.surface_more = 3;
        assert_eq!(check(&bench.evidence()).findings.len(), 1);
    }
}
