//! State interference: nobody but the governor writes into the state directory.
//!
//! Catches forged evidence, edited limits and a deleted state folder. The verdict never rests on those
//! files, so a deleted projection is rebuilt; a touched journal ends the run.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use alloc::string::String;

pub static GUARD: Guard = Guard {
    name: "state_interference",
    catches: "a work command or a check that writes into the loop's own state directory",
    reason: HaltReason::BlockedPathModified,
    check,
};

/// Ends the name of a directory that is gone with all that was in it.
pub const REMOVED: &str = "(removed)";

fn check(evidence: &Evidence<'_>) -> Outcome {
    let work = evidence
        .exec_interference
        .iter()
        .map(|name| touched("work command", name));
    let check = evidence.check_interference.iter().map(|name| touched("check", name));
    Outcome::active(work.chain(check).collect())
}

/// What this guard says of a file that changed while one command ran.
pub(super) fn touched(owner: &str, name: &str) -> Finding {
    GUARD.violation(name, format!("changed while the {owner} ran"))
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
    fn a_state_file_touched_by_the_work_or_by_the_check_is_a_violation() {
        let mut bench = Bench::honest();
        assert!(check(&bench.evidence()).findings.is_empty());
        bench.exec_interference = ["journal/00000000.seg".into()].into();
        bench.check_interference = ["LOCK".into()].into();
        let found = check(&bench.evidence()).findings;
        let subjects: alloc::vec::Vec<_> = found.iter().map(|f| f.subject.as_str()).collect();
        assert_eq!(subjects, ["journal/00000000.seg", "LOCK"]);
    }

    #[test]
    fn the_journal_is_reached_by_its_files_and_by_removing_what_holds_it() {
        let reached = |name: &str| reached_journal(&[name.into()]);
        assert!(reached(".loopexec/runs/r/journal/00000000.seg"));
        assert!(reached(".loopexec/ (removed)") && reached(".loopexec/runs/r/ (removed)"));
        assert!(!reached(".loopexec/runs/r/receipt.jsonl") && !reached(".loopexec/runs/journal-7/state.json"));
    }
}
