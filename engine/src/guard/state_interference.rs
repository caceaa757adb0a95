//! State interference: nobody but the governor writes into the state directory.
//!
//! Catches forged evidence, edited limits and a deleted state folder. The verdict never rests on those
//! files, so a deleted projection is rebuilt; a touched journal ends the run.

use super::{Evidence, Guard, Outcome};
use crate::event::halt::HaltReason;
use alloc::string::String;

pub static GUARD: Guard = Guard {
    name: "state_interference",
    catches: "a work command that writes into the loop's own state directory",
    reason: HaltReason::BlockedPathModified,
    check,
};

/// Ends the name of a directory that is gone with all that was in it.
pub const REMOVED: &str = "(removed)";

fn check(evidence: &Evidence<'_>) -> Outcome {
    let touched = evidence.interference.iter();
    Outcome::active(
        touched
            .map(|name| GUARD.violation(name.as_str(), "changed by something else"))
            .collect(),
    )
}

/// Whether what was touched holds the record of the run, which no restore brings back.
pub(crate) fn reached_journal(touched: &[String]) -> bool {
    touched
        .iter()
        .any(|name| name.ends_with(REMOVED) || name.split('/').any(|part| part == "journal"))
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

    #[test]
    fn the_journal_is_reached_by_its_files_and_by_removing_what_holds_it() {
        let reached = |name: &str| reached_journal(&[name.into()]);
        assert!(reached(".loopexec/runs/r/journal/00000000.seg"));
        assert!(reached(".loopexec/ (removed)") && reached(".loopexec/runs/r/ (removed)"));
        assert!(!reached(".loopexec/runs/r/receipt.jsonl") && !reached(".loopexec/runs/journal-7/state.json"));
    }
}
