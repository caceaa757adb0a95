//! State interference: nobody but the governor writes into the state directory.
//!
//! Catches forged evidence, edited limits and a deleted state folder. The verdict never rests on those
//! files, so a deleted projection is rebuilt; a touched journal ends the run.

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;

pub static GUARD: Guard = Guard {
    name: "state_interference",
    catches: "a work command that writes into the loop's own state directory",
    reason: HaltReason::BlockedPathModified,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let touched = evidence.interference.iter();
    Outcome::active(
        touched
            .map(|name| GUARD.violation(name.as_str(), "changed by something else"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn a_touched_state_file_is_a_violation() {
        let mut bench = Bench::honest();
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.interference = ["journal/00000000.seg".into()].into();
        assert_eq!(check(&bench.evidence()).findings.len(), 1);
    }
}
