//! A second opinion on journals. It reads them as JSON and shares no type and no code with the engine.
//!
//! Keep it naive: rooms are strings, sets are sets, every rule is written where it applies. When it and
//! the engine disagree, one of them is wrong; cleverness here would only make them wrong together.

mod halting;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

/// The first line that does not belong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the event.
    pub line: usize,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Refusal {}

/// Guards that must be in a report before it can clear anything.
const GUARDS: [&str; 12] = [
    "artefact_consistency",
    "blocked_paths",
    "check_mutation",
    "collected_set",
    "determinant_files",
    "integrity_members",
    "leftover_processes",
    "outcome_downgrades",
    "protected_manifest",
    "refs_moved",
    "stable_tree",
    "state_interference",
];

/// Runs that ended like this are never continued.
const FINAL: [&str; 8] = [
    "success_condition_met",
    "blocked_path_modified",
    "reward_hacking_detected",
    "metric_integrity_violation",
    "credential_scope_invalid",
    "objective_unverified",
    "invariant_failed",
    "internal_error",
];

/// Facts of ledgers: they may stand anywhere.
const LEDGER: [&str; 14] = [
    "reserved",
    "settled",
    "scored",
    "judged",
    "probed",
    "vetted",
    "escalated",
    "delivered",
    "acked",
    "task_selected",
    "task_closed",
    "zone_entered",
    "credential",
    "egress",
];

/// Accepts a journal, which may end anywhere, or names its first illegal line.
///
/// # Errors
/// The line and the rule that it breaks.
pub fn accept(journal: &[Value]) -> Result<(), Refusal> {
    let mut reader = Reader::default();
    for (line, event) in journal.iter().enumerate() {
        reader.read(line, event).map_err(|why| Refusal { line, why })?;
    }
    Ok(())
}

type Judgement = Result<(), String>;

fn no(why: &str) -> Judgement {
    Err(why.into())
}

fn must(holds: bool, why: &str) -> Judgement {
    if holds { Ok(()) } else { no(why) }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(u64::MAX)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

#[derive(Default)]
struct Reader {
    policy: Value,
    max_iterations: u64,
    room: String,
    /// `exec`, `check`, `sample` or `restore` while one is begun and not ended.
    running: String,
    attempt: u64,
    purpose: String,
    iteration: u64,
    t0: bool,
    surface: bool,
    checkpointed: bool,
    suspended: bool,
    halted: String,
    look_again: bool,
    /// The tree of the newest walk, and the attempt of the last check that had a verdict.
    walked: String,
    checked: u64,
    drifted: bool,
    members: BTreeMap<String, String>,
    accepted: Option<(String, BTreeSet<String>)>,
    violations: u64,
    turn: Turn,
}

/// What is known of the iteration under way.
#[derive(Default)]
struct Turn {
    tree: String,
    asked: bool,
    failed: bool,
    out_of_time: bool,
    green: bool,
    exit: Value,
    members_digest: String,
    clean: bool,
    violated: BTreeSet<String>,
    broke: BTreeSet<String>,
    /// A sample agreed, disagreed or had no verdict.
    sample: String,
    rechecked: bool,
    confirmed: bool,
    restored: bool,
    restore_to: String,
    verdict: String,
}

impl Reader {
    fn read(&mut self, line: usize, event: &Value) -> Judgement {
        let name = text(event, "event");
        if line == 0 {
            must(name == "run_opened", "a journal begins with run_opened")?;
            self.policy = event["policy"].clone();
            self.max_iterations = number(&self.policy["bounds"], "max_iterations");
            self.room = "open".into();
            return Ok(());
        }
        if LEDGER.contains(&name) {
            return Ok(());
        }
        if name == "amended" {
            self.max_iterations = event["max_iterations"].as_u64().unwrap_or(self.max_iterations);
            return Ok(());
        }
        if name == "resumed" {
            return self.resumed();
        }
        must(
            self.halted.is_empty(),
            "a halt is the last fact of a run unless the run is resumed",
        )?;
        if name == "interrupted" {
            return self.interrupted(event);
        }
        must(!self.suspended, "a suspended run does nothing until it is resumed")?;
        if name == "suspended" {
            self.suspended = true;
            return Ok(());
        }
        if event.get("iteration").is_some() && name != "context_built" {
            let here = number(event, "iteration") == self.iteration;
            must(here, "a fact speaks of the iteration that is under way")?;
        }
        must(
            !self.drifted || name == "halted",
            "nothing but a halt follows a drifted surface",
        )?;
        match name {
            "tree_observed" => self.tree_observed(event),
            "context_built" => self.context_built(event),
            "execute_began" | "check_began" | "restore_began" => self.began(name, event),
            "execute_ended" => self.execute_ended(event),
            "check_ended" => self.check_ended(event),
            "restore_ended" => self.restore_ended(event),
            "retry_scheduled" => self.retry_scheduled(event),
            "retry_waited" => {
                must(self.room == "exec:waiting", "a wait follows a scheduled retry")?;
                self.enter("exec:ask")
            }
            "guards_judged" => self.guards_judged(event),
            "candidate_accepted" => self.candidate_accepted(event),
            "candidate_rejected" => self.candidate_rejected(event),
            "progress_judged" => self.progress_judged(event),
            "checkpointed" => self.checkpointed(),
            "halted" => self.halt(event),
            "run_opened" => no("a run is opened once"),
            other => no(&format!("there is no event named {other}")),
        }
    }

    fn enter(&mut self, room: &str) -> Judgement {
        self.room = room.into();
        Ok(())
    }

    fn resumed(&mut self) -> Judgement {
        self.suspended = false;
        self.look_again = self.surface;
        if self.halted.is_empty() {
            return Ok(());
        }
        must(
            self.t0 && !FINAL.contains(&self.halted.as_str()),
            "a run that is done or compromised is not continued",
        )?;
        self.halted.clear();
        self.running.clear();
        let baseline = self.policy["oracle"]["baseline"] == true;
        if baseline && !self.checkpointed {
            self.look_again = false;
            return self.enter("open");
        }
        self.enter("context")
    }

    fn interrupted(&mut self, event: &Value) -> Judgement {
        must(!self.running.is_empty(), "only what was begun can be interrupted")?;
        must(
            number(event, "attempt") == self.attempt,
            "an interruption names the attempt under way",
        )?;
        must(
            number(event, "iteration") == self.iteration,
            "an interruption names the iteration under way",
        )?;
        let running = std::mem::take(&mut self.running);
        match running.as_str() {
            "exec" => self.enter("exec:walk"),
            // Asked again, or completed.
            _ => {
                self.attempt += 1;
                Ok(())
            }
        }
    }

    fn tree_observed(&mut self, event: &Value) -> Judgement {
        must(self.running.is_empty(), "nothing is walked while something runs")?;
        let seen = &event["seen"];
        let tree = text(seen, "tree").to_string();
        let walked = std::mem::replace(&mut self.walked, tree.clone());
        match (text(event, "purpose"), self.room.as_str()) {
            ("baseline", "open") => {
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
                    let plain =
                        self.policy["guards"]["surface"] == "frozen" && list(&self.policy["guards"], "off").is_empty();
                    self.drifted = plain && !list(seen, "surface").is_empty();
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
            ("after_check", "confirmation:walk") => self.enter("confirmation:guards"),
            ("after_restore", "restore:walk") => {
                self.turn.restored = true;
                self.enter("progress")
            }
            (purpose, room) => no(&format!("a walk for {purpose} does not belong into {room}")),
        }
    }

    fn context_built(&mut self, event: &Value) -> Judgement {
        must(self.room == "context" && !self.look_again, "a context opens a turn")?;
        must(
            number(event, "iteration") == self.iteration + 1,
            "iterations are numbered without a hole",
        )?;
        must(self.iteration < self.max_iterations, "no turn begins beyond the cap")?;
        self.iteration += 1;
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

    fn began(&mut self, name: &str, event: &Value) -> Judgement {
        must(self.running.is_empty(), "one effect at a time")?;
        let purpose = text(event, "purpose").to_string();
        let sampling = matches!(purpose.as_str(), "recheck" | "confirmation");
        let what = match (name, self.room.as_str()) {
            ("execute_began", "exec:ask") => {
                must(
                    !self.look_again || self.attempt > 1,
                    "a resumed run looks before it works",
                )?;
                "exec"
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
                must(
                    (purpose == "confirmation") == self.turn.green,
                    "green is confirmed and red rechecked",
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
        self.running = what.into();
        self.purpose = purpose;
        Ok(())
    }

    fn first_sample(&mut self, purpose: &str) -> &'static str {
        // The first attempt of a sample; later ones are numbered by their interruptions.
        if self.turn.sample != purpose {
            self.turn.sample = purpose.into();
            self.attempt = 1;
        }
        "sample"
    }

    fn end(&mut self, what: &str, event: &Value) -> Judgement {
        must(self.running == what, "an end follows its beginning")?;
        must(
            number(event, "attempt") == self.attempt,
            "an end names the attempt that began",
        )?;
        self.running.clear();
        Ok(())
    }

    fn execute_ended(&mut self, event: &Value) -> Judgement {
        self.end("exec", event)?;
        let run = &event["run"];
        self.turn.asked = !event["ask"].is_null();
        self.turn.out_of_time = text(run, "stop") == "run_deadline";
        let by_itself = text(run, "stop") == "none";
        self.turn.failed = by_itself && !(text(run, "outcome") == "exited" && run["code"] == 0);
        self.enter("exec:walk")
    }

    fn retry_scheduled(&mut self, event: &Value) -> Judgement {
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

    fn check_ended(&mut self, event: &Value) -> Judgement {
        let what = if self.running == "sample" { "sample" } else { "check" };
        self.end(what, event)?;
        must(
            text(event, "purpose") == self.purpose,
            "an end names the purpose that began",
        )?;
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
        let cancelled = text(run, "stop") == "cancelled";
        // No guard looks at these runs, so what they did beside measuring ends the run at once.
        let unguarded = what == "sample" && (cancelled || self.purpose == "recheck");
        if unguarded && (cancelled || self.has_verdict(run)) && self.meddled(event) {
            return self.enter("meddled");
        }
        if cancelled {
            self.attempt += 1;
            return Ok(());
        }
        let verdict = self.has_verdict(run);
        let by_itself = text(run, "stop") == "none" && text(run, "outcome") == "exited";
        let exit = if by_itself { run["code"].clone() } else { Value::Null };
        let digest = text(seen, "members_digest").to_string();
        if what == "check" {
            self.checked = self.attempt;
            self.turn.green = verdict && exit == self.policy["oracle"]["success_exit"];
            (self.turn.exit, self.turn.members_digest) = (exit, digest);
            return self.enter(if verdict { "check:walk" } else { "failed" });
        }
        if !verdict {
            return self.enter("failed");
        }
        if exit != self.turn.exit || digest != self.turn.members_digest {
            return self.enter("flaky");
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

    fn has_verdict(&self, run: &Value) -> bool {
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

    fn guards_judged(&mut self, event: &Value) -> Judgement {
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
        if self.room == "confirmation:guards" {
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
        self.enter("decide")
    }

    fn passing(&self) -> BTreeSet<String> {
        let passing = self.members.iter().filter(|(_, status)| *status == "passed");
        passing.map(|(id, _)| id.clone()).collect()
    }

    fn candidate_accepted(&mut self, event: &Value) -> Judgement {
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
        self.enter("progress")
    }

    fn candidate_rejected(&mut self, event: &Value) -> Judgement {
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

    fn restore_ended(&mut self, event: &Value) -> Judgement {
        self.end("restore", event)?;
        must(
            text(event, "to") == self.turn.restore_to,
            "the accepted tree is put back",
        )?;
        self.enter(if text(event, "error").is_empty() {
            "restore:walk"
        } else {
            "failed"
        })
    }

    /// Green, judged, kept, and confirmed when the contract wants that.
    fn converged(&self) -> bool {
        let confirmed = self.turn.confirmed || self.policy["guards"]["confirm"] == false;
        self.turn.green && self.turn.clean && !self.turn.restored && confirmed
    }

    fn progress_judged(&mut self, event: &Value) -> Judgement {
        must(
            self.room == "progress" && self.running.is_empty(),
            "progress follows the ratchet",
        )?;
        let green = self.turn.green && self.turn.clean && !self.turn.restored;
        must(!green || self.converged(), "green is confirmed before it counts")?;
        self.turn.verdict = text(event, "verdict").into();
        must(!green || self.turn.verdict.is_empty(), "green raises no alarm")?;
        self.enter("checkpoint")
    }

    fn checkpointed(&mut self) -> Judgement {
        must(
            self.room == "checkpoint",
            "a checkpoint follows the judgement of progress",
        )?;
        self.checkpointed = true;
        let over = self.converged() || !self.turn.verdict.is_empty();
        self.enter(if over { "end" } else { "context" })
    }
}
