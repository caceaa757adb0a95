//! What each room may end in.

use serde_json::Value;

use super::{Judgement, Reader, must, number, text};

impl Reader {
    pub(super) fn halt(&mut self, event: &Value) -> Judgement {
        let (reason, cause) = (text(event, "reason"), text(event, "cause"));
        if !matches!(cause, "workdir_lost" | "foreign_answer") {
            must(self.running.is_empty(), "what was begun is ended before a halt")?;
            must(
                self.may_halt(reason, cause),
                &format!("nothing in {} calls for {reason}", self.room),
            )?;
        }
        must(
            reason != "success_condition_met" || !matches!(cause, "workdir_lost" | "foreign_answer"),
            "no loss is a success",
        )?;
        self.halted = reason.into();
        self.drifted = false;
        Ok(())
    }

    fn may_halt(&self, reason: &str, cause: &str) -> bool {
        if self.drifted {
            return matches!(reason, "blocked_path_modified" | "metric_integrity_violation");
        }
        match (self.room.as_str(), reason) {
            ("end", "success_condition_met") => self.converged(),
            ("end", reason) => !self.converged() && self.turn.verdict == reason,
            ("open", reason) => matches!(reason, "workspace_invalid" | "invariant_failed" | "check_inadequate"),
            ("context", "max_iterations_reached") => self.iteration >= self.max_iterations,
            ("context", "budget_exceeded") => true,
            ("context", "comprehension_debt_exceeded") => number(&self.policy["thresholds"], "comprehension_every") > 0,
            ("check", "human_required") => self.turn.asked,
            ("check", "budget_exceeded") => self.turn.out_of_time,
            ("check", "execution_failure") => self.iteration > 0 && !self.turn.asked && !self.turn.out_of_time,
            ("failed", "execution_failure" | "budget_exceeded") => true,
            ("flaky", "check_flaky") => true,
            ("meddled", "blocked_path_modified") => cause == "state_interference",
            ("meddled", "objective_unverified") => cause == "leftover_processes",
            ("decide" | "objected", "objective_unverified") => {
                let unverified = self.turn.green && !self.turn.clean || cause == "failures_cmd";
                unverified || self.turn.violated.contains(reason)
            }
            ("decide" | "objected", reason) => self.turn.violated.contains(reason),
            ("progress", "check_inadequate") => {
                self.iteration == 0 && self.turn.green && self.policy["oracle"]["require_red"] == true
            }
            _ => false,
        }
    }
}
