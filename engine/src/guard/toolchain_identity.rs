//! Toolchain identity: the programs that the check starts are those of t0.
//!
//! Catches a runner that is replaced, wrapped, shadowed on the search path or patched in its environment, where no walk
//! over the workdir looks. What the work builds in the workdir and the check starts is the work.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use crate::event::measurement::SurfaceClass;

pub static GUARD: Guard = Guard {
    name: "toolchain_identity",
    catches: "a program of the check, its interpreter or its environment that is replaced, patched or shadowed",
    reason: HaltReason::MetricIntegrityViolation,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let changed = evidence.surface(SurfaceClass::Toolchain);
    Outcome::active(
        changed
            .map(|c| GUARD.violation(c.path.text(), format!("{}: the check starts with it", c.told())))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn a_program_that_is_another_one_now_is_a_violation_and_none_is_none() {
        let mut bench = Bench::honest();
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.after_exec.surface = [bench.change("/usr/bin/pytest", SurfaceClass::Toolchain)].into();
        assert_eq!(check(&bench.evidence()).findings[0].subject, "/usr/bin/pytest");
    }
}
