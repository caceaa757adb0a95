//! What is asked of the world, and what it answered: walks, work, checks, samples.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Judgement, Reader, Turn, list, must, no, number, text};

impl Reader {
    pub(super) fn tree_observed(&mut self, event: &Value) -> Judgement {
        must(self.running.is_empty(), "nothing is walked while something runs")?;
        let seen = &event["seen"];
        let tree = text(seen, "tree").to_string();
        let walked = std::mem::replace(&mut self.walked, tree.clone());
        match (text(event, "purpose"), self.room.as_str()) {
            ("baseline", "open") => {
                must(
                    !self.zones_missing,
                    "nothing is looked at without the zones that are asked for",
                )?;
                self.t0 = true;
                self.surface = true;
                self.accepted = None;
                self.turn = Turn {
                    tree: tree.clone(),
                    ..Turn::default()
                };
                if self.policy["oracle"]["baseline"] == true {
                    self.attempt = 1;
                    return self.enter("check");
                }
                self.accepted = Some((tree, BTreeSet::new()));
                self.enter("context")
            }
            ("resume", room) => {
                must(self.look_again, "only a resumed run looks again")?;
                let before_work = room == "context" || (room == "exec:ask" && self.attempt == 1);
                let before_sample = matches!(room, "decide" | "progress");
                let before_check = room == "check" && self.iteration > 0;
                must(
                    before_work || before_check || before_sample,
                    "a run looks again before it works",
                )?;
                self.look_again = false;
                if before_check {
                    self.turn.tree = tree;
                } else if before_sample {
                    // A sample repeats a run on the same tree; another tree is checked anew.
                    if tree == walked {
                        return Ok(());
                    }
                    self.turn = Turn {
                        tree,
                        ..Turn::default()
                    };
                    self.attempt = self.checked + 1;
                    return self.enter(if self.iteration == 0 { "open" } else { "check" });
                } else {
                    self.drifted = self.drifts(seen);
                }
                Ok(())
            }
            ("after_exec", "exec:walk") => {
                self.turn.tree = tree;
                self.look_again = false;
                self.attempt = 1;
                self.enter("check")
            }
            ("after_check", "check:walk") => {
                if self.iteration == 0 {
                    self.turn.tree = tree;
                }
                self.enter("guards")
            }
            ("after_check", "context:revisited" | "exec:ask:revisited") => {
                self.drifted = self.drifts(seen);
                self.line.left = tree;
                let back = self.room.replace(":revisited", "");
                self.enter(&back)
            }
            ("after_check", "confirmation:walk") => self.enter("confirmation:guards"),
            ("after_restore", "restore:walk") => {
                self.turn.restored = true;
                self.enter("progress")
            }
            (purpose, room) => no(&format!("a walk for {purpose} does not belong into {room}")),
        }
    }

    fn drifts(&self, seen: &Value) -> bool {
        let plain = self.policy["guards"]["surface"] == "frozen" && list(&self.policy["guards"], "off").is_empty();
        plain && !list(seen, "surface").is_empty()
    }

    /// t0 was measured, an agent is about to work for the first time in this life, the accepted tree is
    /// in place, and no check of this life has judged it.
    fn must_revisit(&self) -> bool {
        let measured = self.policy["oracle"]["baseline"] == true;
        let agent = !list(&self.policy["exec"], "words").is_empty();
        let before_work = self.room == "context" || self.room == "exec:ask" && self.attempt == 1;
        let accepted = self.accepted.as_ref().map_or("", |(tree, _)| tree);
        let in_place = self.walked == accepted || self.walked == self.line.left;
        measured && agent && before_work && !self.has_worked && self.line.life < self.life && in_place
    }

    pub(super) fn context_built(&mut self, event: &Value) -> Judgement {
        must(self.room == "context" && !self.look_again, "a context opens a turn")?;
        must(
            !self.must_revisit(),
            "a resumed run checks the accepted tree before it works",
        )?;
        must(
            number(event, "iteration") == self.iteration + 1,
            "iterations are numbered without a hole",
        )?;
        must(self.iteration < self.max_iterations, "no turn begins beyond the cap")?;
        self.iteration += 1;
        self.revisits = 0;
        self.attempt = 1;
        self.turn = Turn {
            failed: !text(event, "error").is_empty(),
            ..Turn::default()
        };
        let agent = !list(&self.policy["exec"], "words").is_empty();
        self.enter(if agent && !self.turn.failed {
            "exec:ask"
        } else {
            "exec:walk"
        })
    }

    pub(super) fn began(&mut self, name: &str, event: &Value) -> Judgement {
        must(self.running.is_empty(), "one effect at a time")?;
        let purpose = text(event, "purpose").to_string();
        let sampling = matches!(purpose.as_str(), "recheck" | "confirmation");
        let what = match (name, self.room.as_str()) {
            ("execute_began", "exec:ask") => {
                must(
                    !self.look_again || self.attempt > 1,
                    "a resumed run looks before it works",
                )?;
                must(
                    !self.must_revisit(),
                    "a resumed run checks the accepted tree before it works",
                )?;
                self.has_worked = true;
                "exec"
            }
            ("check_began", "context" | "exec:ask") if purpose == "resume" => {
                must(!self.look_again, "a resumed run looks before it checks")?;
                must(
                    self.must_revisit(),
                    "the accepted tree is checked once in a later life, and before the work",
                )?;
                self.revisits += 1;
                self.attempt = self.revisits;
                "revisit"
            }
            ("check_began", "check") if !sampling => {
                must(
                    !self.look_again || self.iteration == 0,
                    "a resumed run looks before it checks",
                )?;
                must(
                    (purpose == "baseline") == (self.iteration == 0),
                    "iteration 0 is the baseline",
                )?;
                must(
                    !self.turn.asked && !self.turn.out_of_time,
                    "a turn that must halt is not checked",
                )?;
                let halting = self.policy["failures"]["on_exec_failure"] == "halt";
                must(
                    !(self.turn.failed && halting),
                    "a failed turn is not checked when the contract says halt",
                )?;
                "check"
            }
            ("check_began", "decide") if purpose == "recheck" => {
                must(!self.look_again, "a resumed run looks before it checks")?;
                must(!self.turn.broke.is_empty(), "a recheck follows a regression")?;
                self.first_sample(&purpose)
            }
            ("check_began", "progress") if sampling => {
                must(!self.look_again, "a resumed run looks before it checks")?;
                must(!self.turn.restored, "a tree that was put back is not sampled")?;
                let confirms = self.turn.green && self.policy["guards"]["confirm"] != false;
                must(
                    (purpose == "confirmation") == confirms,
                    "green is confirmed, and what is not is rechecked",
                )?;
                self.first_sample(&purpose)
            }
            ("restore_began", "restore") => {
                must(
                    text(event, "to") == self.turn.restore_to,
                    "the accepted tree is put back",
                )?;
                "restore"
            }
            (name, room) => return no(&format!("{name} does not belong into {room}")),
        };
        must(
            number(event, "attempt") == self.attempt,
            "attempts are numbered without a hole",
        )?;
        if name == "check_began" {
            self.reads(what, event)?;
        }
        self.running = what.into();
        self.purpose = purpose;
        Ok(())
    }

    /// The first check reads what is there; what repeats it reads the same, elsewhere when it is not there any more.
    fn reads(&mut self, what: &str, event: &Value) -> Judgement {
        if what == "check" {
            self.turn.read = self.walked.clone();
        }
        let read = match what {
            "revisit" => &self.line.read,
            _ => &self.turn.read,
        };
        let elsewhere = read != &self.walked && (self.is_isolated() || !self.names_workdir);
        let copied = event["copy_of"].as_str();
        must(
            copied == elsewhere.then_some(read.as_str()),
            "a check is repeated on the tree that it read first",
        )
    }

    pub(super) fn first_sample(&mut self, purpose: &str) -> &'static str {
        // The first attempt of a sample; later ones are numbered by their interruptions.
        if self.turn.sample != purpose {
            self.turn.sample = purpose.into();
            self.attempt = 1;
        }
        "sample"
    }

    pub(super) fn end(&mut self, what: &str, event: &Value) -> Judgement {
        must(self.running == what, "an end follows its beginning")?;
        must(
            number(event, "attempt") == self.attempt,
            "an end names the attempt that began",
        )?;
        self.running.clear();
        Ok(())
    }

    pub(super) fn execute_ended(&mut self, event: &Value) -> Judgement {
        self.end("exec", event)?;
        let run = &event["run"];
        self.in_its_zone(run, "agent")?;
        self.turn.capped = matches!(text(run, "stop"), "egress_cap" | "volume_cap");
        self.turn.asked = !event["ask"].is_null();
        let mut touched = list(event, "interference").iter().filter_map(Value::as_str);
        self.turn.forged |= touched.any(|name| name.contains("journal/") || name.ends_with("(removed)"));
        self.turn.out_of_time = text(run, "stop") == "run_deadline";
        let by_itself = text(run, "stop") == "none";
        self.turn.failed = by_itself && !(text(run, "outcome") == "exited" && run["code"] == 0);
        self.enter("exec:walk")
    }

    /// A contract that isolates lets nothing run outside of its zone.
    fn in_its_zone(&mut self, run: &Value, name: &str) -> Judgement {
        let zone = &run["zone"];
        self.zone_refused = text(run, "outcome") == "zone_refused";
        let ran = matches!(text(run, "outcome"), "exited" | "signaled");
        must(
            !self.is_isolated() || !ran || zone["zone"] == name,
            "what a contract isolates runs in its zone",
        )?;
        let asked = self.is_isolated() || self.is_held() && name == "agent" && self.zone_refused;
        must(asked || zone.is_null(), "nothing runs in a zone that nobody asked for")
    }

    pub(super) fn is_isolated(&self) -> bool {
        self.policy["isolation"]["zones"] == true
    }

    /// Work that is held without a zone.
    pub(super) fn is_held(&self) -> bool {
        self.policy["isolation"]["degraded"] == true
    }

    pub(super) fn retry_scheduled(&mut self, event: &Value) -> Judgement {
        must(
            self.room == "exec:walk" && self.running.is_empty(),
            "a retry follows an attempt",
        )?;
        must(
            self.policy["failures"]["on_exec_failure"] == "retry",
            "the contract retries",
        )?;
        must(self.turn.failed && !self.turn.asked, "only a failure is retried")?;
        must(
            self.attempt <= number(&self.policy["failures"], "exec_retries_max"),
            "retries are bounded",
        )?;
        must(
            number(event, "attempt") == self.attempt + 1,
            "attempts are numbered without a hole",
        )?;
        must(number(event, "delay_ms") <= 60_000, "a backoff is at most a minute")?;
        self.attempt += 1;
        self.turn.failed = false;
        self.enter("exec:waiting")
    }

    pub(super) fn check_ended(&mut self, event: &Value) -> Judgement {
        let what = match self.running.as_str() {
            "sample" => "sample",
            "revisit" => "revisit",
            _ => "check",
        };
        self.end(what, event)?;
        must(
            text(event, "purpose") == self.purpose,
            "an end names the purpose that began",
        )?;
        self.in_its_zone(&event["run"], "exec")?;
        let seen = &event["measurement"];
        for change in list(seen, "changes") {
            let (id, status) = (text(change, "id").to_string(), text(change, "status"));
            if status == "absent" {
                self.members.remove(&id);
            } else {
                self.members.insert(id, status.into());
            }
        }
        must(
            self.members.len() as u64 == number(seen, "members_total"),
            "the changes add up to the members",
        )?;
        let run = &event["run"];
        if what == "revisit" {
            // Attempts of the work are counted by themselves.
            self.attempt = 1;
        }
        let cancelled = text(run, "stop") == "cancelled";
        // No guard looks at these runs, so what they did beside measuring ends the run at once.
        let unguarded = what != "check" && (cancelled || self.purpose != "confirmation");
        if unguarded && (cancelled || self.has_verdict(run)) && self.meddled(event) {
            return self.enter("meddled");
        }
        if cancelled {
            self.attempt += u64::from(what != "revisit");
            return Ok(());
        }
        let verdict = self.has_verdict(run);
        let by_itself = text(run, "stop") == "none" && text(run, "outcome") == "exited";
        let exit = if by_itself { run["code"].clone() } else { Value::Null };
        let digest = text(seen, "members_digest").to_string();
        if what == "check" {
            self.checked = self.attempt;
            self.judged_in = self.life;
            self.turn.green = verdict && exit == self.policy["oracle"]["success_exit"];
            self.turn.refuted = false;
            (self.turn.exit, self.turn.members_digest) = (exit, digest);
            return self.enter(if verdict { "check:walk" } else { "failed" });
        }
        if !verdict {
            return self.enter("failed");
        }
        if what == "revisit" {
            if exit != self.line.exit || digest != self.line.members_digest {
                if !self.tolerant() {
                    return self.enter("flaky");
                }
                self.disagreed = true;
            }
            self.line.life = self.life;
            let room = format!("{}:revisited", self.room);
            return self.enter(&room);
        }
        if exit != self.turn.exit || digest != self.turn.members_digest {
            if !self.tolerant() {
                return self.enter("flaky");
            }
            (self.disagreed, self.turn.refuted, self.turn.rechecked) = (true, self.room == "progress", true);
            return Ok(());
        }
        self.turn.rechecked = true;
        if self.purpose == "confirmation" {
            return self.enter("confirmation:walk");
        }
        Ok(())
    }

    fn meddled(&self, event: &Value) -> bool {
        let off = list(&self.policy["guards"], "off");
        let on = |guard: &str| !off.iter().any(|name| name == guard);
        let stays = list(&event["run"], "survivors").iter().any(|s| s["ended"] == false);
        let touched = !list(event, "interference").is_empty();
        stays && on("leftover_processes") || touched && on("state_interference")
    }

    pub(super) fn has_verdict(&self, run: &Value) -> bool {
        let red_timeout = self.policy["failures"]["on_check_timeout"] == "red";
        match text(run, "stop") {
            "none" => {}
            "deadline" | "idle" | "first_output" => return red_timeout,
            _ => return false,
        }
        let code = run["code"].as_i64().unwrap_or(127);
        let strange = code == 126 || code == 127 || (129..=192).contains(&code);
        text(run, "outcome") == "exited" && (!strange || run["code"] == self.policy["oracle"]["success_exit"])
    }
}
