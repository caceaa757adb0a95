//! Check-time mutation: the check leaves the surface as it found it.
//!
//! Catches a build script, a fixture or product code that rewrites tests while they run. What the check
//! wrote in the baseline is part of t0.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;

pub static GUARD: Guard = Guard {
    name: "check_mutation",
    catches: "a watched path that changes while the check runs",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(before) = evidence.after_exec else {
        return Outcome::not_applicable("the baseline defines the surface");
    };
    let fresh = evidence
        .after_check
        .surface
        .iter()
        .filter(|change| !before.surface.contains(change));
    Outcome::compared(
        evidence.after_check,
        fresh
            .map(|c| GUARD.violation(c.path.text(), format!("{} while the check ran", c.told())))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::measurement::{GitState, SurfaceClass};

    #[test]
    fn only_what_changed_during_the_check_is_its_mutation() {
        let mut bench = Bench::honest();
        let edited = bench.change("tests/a.py", SurfaceClass::Blocked);
        bench.after_exec.surface = [edited.clone()].into();
        bench.after_check.surface = [edited, bench.change("conftest.py", SurfaceClass::Protected)].into();
        let found = check(&bench.evidence()).findings;
        assert_eq!((found.len(), found[0].subject.as_str()), (1, "conftest.py"));
    }

    #[test]
    fn a_check_after_which_nobody_can_read_the_index_is_not_judged() {
        let mut bench = Bench::honest();
        bench.after_check.git.listed = GitState::Unavailable;
        assert_eq!(check(&bench.evidence()).state, GuardState::Unavailable);
    }
}
