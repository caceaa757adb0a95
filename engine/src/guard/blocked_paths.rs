//! Blocked paths: what the loop must not touch, in worktree, index, commits and untracked files.
//!
//! The tree is walked and hashed by loopexec itself, so `skip-worktree`, excludes and filters of the
//! repository hide nothing.

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use crate::event::measurement::SurfaceClass;
use alloc::format;

pub static GUARD: Guard = Guard {
    name: "blocked_paths",
    catches: "a change to a path that the contract puts out of bounds",
    reason: HaltReason::BlockedPathModified,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let changed = evidence.surface(SurfaceClass::Blocked);
    Outcome::compared(
        evidence.tree(),
        changed
            .map(|c| GUARD.violation(c.path.text(), format!("{} ({} is blocked)", c.told(), c.pattern)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::measurement::{Place, SurfaceChange};

    #[test]
    fn a_changed_blocked_path_is_named_with_its_pattern() {
        let mut bench = Bench::honest();
        bench.after_exec.surface = [bench.change("tests/a.py", SurfaceClass::Blocked)].into();
        let found = check(&bench.evidence()).findings;
        assert_eq!((found.len(), found[0].subject.as_str()), (1, "tests/a.py"));
        assert_eq!(found[0].reason, HaltReason::BlockedPathModified);
    }

    #[test]
    fn a_change_that_only_index_or_commit_has_is_told_with_its_place() {
        for (place, told) in [
            (Place::Index, "modified in the index (p is blocked)"),
            (Place::Commit, "modified in the commit of HEAD (p is blocked)"),
        ] {
            let mut bench = Bench::honest();
            bench.after_exec.surface = [SurfaceChange {
                place,
                ..bench.change("tests/a.py", SurfaceClass::Blocked)
            }]
            .into();
            assert_eq!(check(&bench.evidence()).findings[0].detail, told);
        }
    }

    #[test]
    fn an_untouched_surface_passes() {
        assert!(check(&Bench::honest().evidence()).findings.is_empty());
    }
}
