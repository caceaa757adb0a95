//! Determinant files: names that alter a runner by merely appearing, or by changing.
//!
//! Catches start-up injection (`sitecustomize.py`, `*.pth`), a module that shadows the runner, and
//! redirection of cargo or node, also when git ignores the file.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use crate::event::measurement::SurfaceClass;

pub static GUARD: Guard = Guard {
    name: "determinant_files",
    catches: "a new or changed file whose name alters the runner, ignored files included",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let changed = evidence.surface(SurfaceClass::Determinant);
    Outcome::compared(
        evidence.tree(),
        changed
            .map(|c| GUARD.violation(c.path.text(), format!("{} ({} alters the runner)", c.told(), c.pattern)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn a_new_determinant_is_a_violation_and_none_is_none() {
        let mut bench = Bench::honest();
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.after_exec.surface = [bench.change("sitecustomize.py", SurfaceClass::Determinant)].into();
        assert_eq!(check(&bench.evidence()).findings[0].subject, "sitecustomize.py");
    }
}
