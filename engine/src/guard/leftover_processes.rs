//! Leftover processes: nothing of the work or of the check still runs when its verdict is read.
//!
//! What was found and ended is a note. What could not be ended may still write, so nothing that is
//! measured beside it can be trusted.

use alloc::format;

use super::{Evidence, Guard, Outcome};
use crate::event::finding::{Finding, Severity};
use crate::event::halt::HaltReason;
use crate::event::measurement::Survivor;

pub static GUARD: Guard = Guard {
    name: "leftover_processes",
    catches: "a process that outlives its command and could change the tree behind the check's back",
    reason: HaltReason::ObjectiveUnverified,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let work = evidence.exec_survivors.iter().map(|s| left("work command", s));
    let check = evidence.check_survivors.iter().map(|s| left("check", s));
    Outcome::active(work.chain(check).collect())
}

/// What this guard says of a process that one command left.
pub(super) fn left(owner: &str, survivor: &Survivor) -> Finding {
    let subject = format!("{} (pid {})", survivor.command.text(), survivor.pid);
    if survivor.ended {
        GUARD.finding(Severity::Note, subject, format!("left behind by the {owner}; ended"))
    } else {
        GUARD.violation(subject, format!("left behind by the {owner}; could not be ended"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn an_ended_survivor_is_a_note_and_a_living_one_a_violation() {
        let mut bench = Bench::honest();
        bench.exec_survivors = [bench.survivor(true), bench.survivor(false)].into();
        let severities: alloc::vec::Vec<_> = check(&bench.evidence()).findings.iter().map(|f| f.severity).collect();
        assert_eq!(severities, [Severity::Note, Severity::Violation]);
    }
}
