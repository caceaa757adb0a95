//! What was decided: guards, ratchet, progress, checkpoint, halt.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{GUARDS, Judgement, Reader, VETS, list, must, no, number, text};

impl Reader {
    pub(super) fn guards_judged(&mut self, event: &Value) -> Judgement {
        must(
            matches!(self.room.as_str(), "guards" | "confirmation:guards"),
            "guards speak after a check",
        )?;
        must(
            text(event, "tree") == self.turn.tree,
            "guards judge the tree that was checked",
        )?;
        let report = &event["report"];
        let findings = list(report, "findings").iter();
        let violations = findings.filter(|finding| text(finding, "severity") == "violation");
        self.turn.violated = violations.map(|finding| text(finding, "reason").to_string()).collect();
        let ran = |name: &str| {
            let run = list(report, "guards").iter().find(|run| text(run, "guard") == name);
            run.is_some_and(|run| text(run, "state") != "unavailable")
        };
        self.turn.clean = self.turn.violated.is_empty()
            && number(report, "findings_more") == 0
            && GUARDS.iter().all(|name| ran(name));
        let deferred = list(report, "guards")
            .iter()
            .any(|run| text(run, "state") == "deferred");
        must(
            !deferred || self.policy["guards"]["surface"] == "extend",
            "nothing is left to others where tests are frozen",
        )?;
        if self.room == "confirmation:guards" {
            self.turn.clean &= !deferred || self.turn.compared;
            self.turn.confirmed = self.turn.clean;
            return self.enter(if self.turn.clean { "progress" } else { "objected" });
        }
        self.violations += u64::from(!self.turn.violated.is_empty());
        let passing = self.passing();
        let before = self
            .accepted
            .as_ref()
            .map(|(_, passing)| passing.clone())
            .unwrap_or_default();
        self.turn.broke = before.difference(&passing).cloned().collect();
        self.attempt = 1;
        (self.turn.vets, self.turn.copied) = (0, false);
        (self.turn.deferred, self.turn.compared) = (deferred, false);
        self.enter(if self.turn.green && self.turn.clean {
            "vets"
        } else {
            "decide"
        })
    }

    /// One guard before green after the other, each on the tree that was checked.
    pub(super) fn vetted(&mut self, event: &Value) -> Judgement {
        must(self.room == "vets", "guards before green follow a green and clean turn")?;
        must(
            VETS.get(self.turn.vets) == Some(&text(event, "guard")),
            "guards before green speak in their order, and once",
        )?;
        must(text(event, "tree") == self.turn.tree, "what was checked is vetted")?;
        must(
            number(event, "attempt") == self.attempt,
            "attempts are numbered without a hole",
        )?;
        let trials = list(event, "trials");
        let stopped = |by: &str| trials.iter().any(|trial| text(trial, "stop") == by);
        if stopped("run_deadline") && !stopped("cancelled") {
            return self.enter("failed");
        }
        if stopped("cancelled") {
            self.attempt += 1;
            return Ok(());
        }
        let active = text(event, "state") == "active";
        let asked = text(event, "guard") == "judge";
        if let Some(control) = trials.first().filter(|_| active && !asked && !self.turn.copied) {
            let ended = text(control, "stop") == "none" && text(control, "outcome") == "exited";
            must(
                ended
                    && control["code"] == self.turn.exit
                    && text(control, "members_digest") == self.turn.members_digest,
                "a copy teaches nothing unless it gives the verdict again",
            )?;
        }
        must(
            !active || self.turn.copied || !trials.is_empty(),
            "a guard before green is active only with something that ran",
        )?;
        if let Some(control) = trials.first().filter(|_| !asked && !self.turn.copied) {
            self.disagreed |=
                control["code"] != self.turn.exit || text(control, "members_digest") != self.turn.members_digest;
        }
        self.turn.copied |= !asked && !trials.is_empty();
        let findings = list(event, "findings").iter();
        let violations = findings.filter(|finding| text(finding, "severity") == "violation");
        let violated: Vec<String> = violations.map(|finding| text(finding, "reason").to_string()).collect();
        self.violations += u64::from(!violated.is_empty());
        self.turn.clean &= violated.is_empty() && text(event, "state") != "unavailable";
        self.turn.violated.extend(violated);
        self.turn.vets += 1;
        self.attempt = 1;
        if text(event, "guard") == "kill_set" {
            must(
                !active || self.turn.deferred,
                "suites are compared where a guard left something to that",
            )?;
            self.turn.compared = active;
        }
        if self.turn.vets < VETS.len() {
            return self.enter("vets");
        }
        if self.turn.deferred {
            // A change of the tests counts for nothing until they were compared with those of the start.
            self.turn.clean &= self.turn.compared;
            if self.turn.clean {
                let members = &self.members;
                self.turn.broke.retain(|id| members.contains_key(id));
            }
        }
        self.enter("decide")
    }

    pub(super) fn passing(&self) -> BTreeSet<String> {
        let passing = self.members.iter().filter(|(_, status)| *status == "passed");
        passing.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn candidate_accepted(&mut self, event: &Value) -> Judgement {
        must(
            self.room == "decide" && self.running.is_empty(),
            "acceptance follows the guards",
        )?;
        must(
            text(event, "tree") == self.turn.tree,
            "the tree that was judged is accepted",
        )?;
        must(self.turn.violated.is_empty(), "nothing is accepted after a violation")?;
        must(self.turn.clean || !self.turn.green, "green needs every guard")?;
        must(
            self.turn.broke.is_empty(),
            "the accepted passing set never loses a member",
        )?;
        let passing = self.passing();
        must(
            number(event, "passing") == passing.len() as u64,
            "the passing set is counted right",
        )?;
        self.accepted = Some((self.turn.tree.clone(), passing));
        self.line = super::Line {
            read: self.turn.read.clone(),
            left: self.walked.clone(),
            exit: self.turn.exit.clone(),
            members_digest: self.turn.members_digest.clone(),
            life: self.judged_in,
        };
        self.enter("progress")
    }

    pub(super) fn candidate_rejected(&mut self, event: &Value) -> Judgement {
        must(
            self.room == "decide" && self.running.is_empty(),
            "rejection follows the guards",
        )?;
        must(
            text(event, "tree") == self.turn.tree,
            "the tree that was judged is rejected",
        )?;
        let Some((tree, _)) = &self.accepted else {
            return no("there is a tree to put back");
        };
        must(text(event, "restore_to") == tree, "the accepted tree is put back")?;
        match text(event, "cause") {
            "violation" => {
                must(!self.turn.violated.is_empty(), "a violation was found")?;
                must(
                    self.policy["guards"]["on_violation"] == "restore",
                    "the contract puts violations back",
                )?;
                let max = number(&self.policy["guards"], "violations_max");
                must(self.violations < max, "violations are bounded")?;
                must(!self.turn.forged, "no restore brings a record back that was written to")?;
            }
            "regressed" => {
                must(self.turn.violated.is_empty(), "a violation outranks a regression")?;
                must(self.turn.rechecked, "a regression is rechecked before it is believed")?;
                let named = list(event, "subjects").iter().filter_map(Value::as_str);
                let named: BTreeSet<String> = named.map(str::to_string).collect();
                must(
                    !named.is_empty() && named.is_subset(&self.turn.broke),
                    "a regression names what broke",
                )?;
                must(
                    number(event, "subjects_total") == self.turn.broke.len() as u64,
                    "what broke is counted right",
                )?;
            }
            _ => return no("a score needs a scorer"),
        }
        self.turn.restore_to.clone_from(tree);
        self.attempt = 1;
        self.enter("restore")
    }

    pub(super) fn restore_ended(&mut self, event: &Value) -> Judgement {
        self.end("restore", event)?;
        must(
            text(event, "to") == self.turn.restore_to,
            "the accepted tree is put back",
        )?;
        self.enter(if text(event, "error").is_empty() {
            "restore:walk"
        } else {
            "restore:failed"
        })
    }

    /// Green, judged, kept, and confirmed when the contract wants that.
    pub(super) fn converged(&self) -> bool {
        let confirmed = self.turn.confirmed || self.policy["guards"]["confirm"] == false;
        self.turn.green && self.turn.clean && !self.turn.restored && !self.turn.refuted && confirmed
    }

    pub(super) fn progress_judged(&mut self, event: &Value) -> Judgement {
        must(
            self.room == "progress" && self.running.is_empty(),
            "progress follows the ratchet",
        )?;
        let green = self.turn.green && self.turn.clean && !self.turn.restored && !self.turn.refuted;
        must(!green || self.converged(), "green is confirmed before it counts")?;
        self.turn.verdict = text(event, "verdict").into();
        must(!green || self.turn.verdict.is_empty(), "green raises no alarm")?;
        self.enter("checkpoint")
    }

    pub(super) fn checkpointed(&mut self) -> Judgement {
        must(
            self.room == "checkpoint",
            "a checkpoint follows the judgement of progress",
        )?;
        self.checkpointed = true;
        let over = self.converged() || !self.turn.verdict.is_empty();
        self.enter(if over { "end" } else { "context" })
    }

    pub(super) fn halt(&mut self, event: &Value) -> Judgement {
        let (reason, cause) = (text(event, "reason"), text(event, "cause"));
        if cause != "foreign_answer" {
            must(self.running.is_empty(), "what was begun is ended before a halt")?;
        }
        if !matches!(cause, "workdir_lost" | "foreign_answer") {
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

    /// A key that would have no zone, no end, no cap, or nobody to revoke it.
    fn asks_for_an_unfit_key(&self) -> bool {
        const GRACE_MS: u64 = 3_600_000;
        let isolation = &self.policy["isolation"];
        let absent = |name: &str| isolation[name].is_null() || isolation[name] == 0;
        let timeout = self.policy["bounds"]["timeout_ms"].as_u64();
        let outlives =
            timeout.is_some_and(|timeout| number(isolation, "key_ttl_ms") > timeout.saturating_add(GRACE_MS));
        let unbounded = ["revoke", "key_ttl_ms", "key_cap_microusd"].into_iter().any(absent);
        !absent("mint") && (unbounded || outlives || !self.is_isolated())
    }

    pub(super) fn may_halt(&self, reason: &str, cause: &str) -> bool {
        if self.drifted {
            return matches!(reason, "blocked_path_modified" | "metric_integrity_violation");
        }
        match (self.room.as_str(), reason) {
            ("end", "success_condition_met") => self.converged(),
            ("end", reason) => !self.converged() && self.turn.verdict == reason,
            ("open", "execution_failure") => matches!(cause, "check_not_found" | "exec_not_found"),
            ("open", "credential_scope_invalid") if self.asks_for_an_unfit_key() => cause.starts_with("credential_"),
            ("open", "isolation_unsatisfiable" | "credential_scope_invalid") => self.zones_missing,
            ("check" | "failed", "isolation_unsatisfiable" | "credential_scope_invalid") => self.zone_refused,
            ("open", reason) => matches!(reason, "workspace_invalid" | "invariant_failed" | "check_inadequate"),
            ("context", "max_iterations_reached") => self.iteration >= self.max_iterations,
            ("context", "budget_exceeded") => true,
            ("exec:ask" | "exec:walk", "budget_exceeded") => cause == "spend",
            ("context", "comprehension_debt_exceeded") => number(&self.policy["thresholds"], "comprehension_every") > 0,
            ("check", "human_required") => self.turn.asked,
            ("check", "budget_exceeded") => self.turn.out_of_time || self.turn.capped,
            ("check", "execution_failure") => {
                self.iteration > 0 && !self.turn.asked && !self.turn.out_of_time && !self.turn.capped
            }
            ("failed", "execution_failure" | "budget_exceeded") => true,
            ("restore:failed", "execution_failure") => true,
            ("flaky", "check_flaky") => true,
            (room, "check_flaky") if cause == "probe" => {
                trust_is_asked(room) && self.probe_disagreed && !self.tolerant()
            }
            (room, "check_not_deterministic") => {
                trust_is_asked(room) && self.tolerant() && (self.disagreed || self.probe_disagreed)
            }
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

/// Where a run asks whether the check is still to be trusted.
fn trust_is_asked(room: &str) -> bool {
    matches!(room, "decide" | "progress" | "context" | "exec:ask") || room.ends_with(":revisited")
}
