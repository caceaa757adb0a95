//! A second opinion on journals. It reads them as JSON and shares no type and no code with the engine.
//!
//! [`accept`] takes the events alone, [`receipt`] a whole `receipt.jsonl` as the product writes it.
//!
//! Keep it naive: rooms are strings, sets are sets, every rule is written where it applies. When it and
//! the engine disagree, one of them is wrong; cleverness here would only make them wrong together.

mod commands;
mod decisions;
mod receipt;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

pub use receipt::receipt;

/// The first line that does not belong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the event.
    pub line: usize,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Refusal {}

/// Guards that must be in a report before it can clear anything.
const GUARDS: [&str; 14] = [
    "artefact_consistency",
    "assertion_count",
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
    "toolchain_identity",
];

/// Guards before green, in the order in which they speak.
const VETS: [&str; 9] = [
    "t0_replay",
    "sentinel_pair",
    "oracle_mutation",
    "kill_set",
    "code_mutation",
    "coverage",
    "order",
    "hermeticity",
    "judge",
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
const LEDGER: [&str; 11] = [
    "reserved",
    "settled",
    "scored",
    "judged",
    "probed",
    "escalated",
    "delivered",
    "acked",
    "task_selected",
    "task_closed",
    "credential",
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
    /// Lives so far; the one whose check judged the turn at hand; whether this one has worked.
    life: u64,
    judged_in: u64,
    has_worked: bool,
    /// Checks of the accepted tree in this iteration, over all lives.
    revisits: u64,
    members: BTreeMap<String, String>,
    accepted: Option<(String, BTreeSet<String>)>,
    line: Line,
    violations: u64,
    /// Some run disagreed with another one on the same tree.
    disagreed: bool,
    /// So did one that was made before the run.
    probe_disagreed: bool,
    /// The check names the workdir: it would look at no copy.
    names_workdir: bool,
    /// Zones are asked for and one of them was not seen to start.
    zones_missing: bool,
    /// The zone of the last command did not start.
    zone_refused: bool,
    turn: Turn,
}

/// How the accepted tree was judged, and in which life last.
#[derive(Default)]
struct Line {
    /// The tree that its check read.
    read: String,
    /// The tree behind its check: what the check wrote is in it.
    left: String,
    exit: Value,
    members_digest: String,
    life: u64,
}

/// What is known of the iteration under way.
#[derive(Default)]
struct Turn {
    tree: String,
    /// What its check read: the newest walk before it.
    read: String,
    asked: bool,
    /// Somebody else wrote to the record of the run.
    forged: bool,
    failed: bool,
    out_of_time: bool,
    /// It connected more than it may.
    capped: bool,
    green: bool,
    exit: Value,
    members_digest: String,
    clean: bool,
    /// A guard left a change of the tests to the comparison of suites, and that one cleared it.
    deferred: bool,
    compared: bool,
    /// How many guards before green have spoken, and whether one ran the check in a copy.
    vets: usize,
    copied: bool,
    violated: BTreeSet<String>,
    broke: BTreeSet<String>,
    /// A sample agreed, disagreed or had no verdict.
    sample: String,
    rechecked: bool,
    /// A sample disagreed, and that is tolerated: not green.
    refuted: bool,
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
            let probe = &event["probe"];
            self.probe_disagreed = number(probe, "agreeing") < number(probe, "runs");
            let workdir = text(event, "workdir");
            let mut words = list(&self.policy["oracle"]["check"], "words")
                .iter()
                .filter_map(Value::as_str);
            self.names_workdir = workdir.len() > 1 && words.any(|word| word.contains(workdir));
            let zones = list(event, "zones");
            let starts = |name: &str| {
                zones
                    .iter()
                    .any(|zone| zone["zone"] == name && zone["refused"].is_null())
            };
            let refused = zones.iter().any(|zone| !zone["refused"].is_null());
            let needed = match (self.is_isolated(), self.is_held()) {
                (true, _) => &["agent", "exec"][..],
                (false, true) => &["agent"],
                (false, false) => &[],
            };
            let all_start = needed.iter().all(|zone| starts(zone));
            self.zones_missing = !needed.is_empty() && (refused || !all_start);
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
            "vetted" => self.vetted(event),
            "candidate_accepted" => self.candidate_accepted(event),
            "candidate_rejected" => self.candidate_rejected(event),
            "progress_judged" => self.progress_judged(event),
            "checkpointed" => self.checkpointed(),
            "halted" => self.halt(event),
            "run_opened" => no("a run is opened once"),
            other => no(&format!("there is no event named {other}")),
        }
    }

    /// From this rate on a disagreement is for the statistics to judge.
    fn tolerant(&self) -> bool {
        self.policy["oracle"]["max_flake_ppm"].as_u64() >= Some(50_000)
    }

    fn enter(&mut self, room: &str) -> Judgement {
        self.room = room.into();
        Ok(())
    }

    fn resumed(&mut self) -> Judgement {
        self.suspended = false;
        self.look_again = self.surface;
        self.life += 1;
        self.has_worked = false;
        if let Some(room) = self.room.strip_suffix(":revisited") {
            self.room = room.into();
        }
        if self.halted.is_empty() {
            return Ok(());
        }
        must(
            self.t0 && !FINAL.contains(&self.halted.as_str()),
            "a run that is done or compromised is not continued",
        )?;
        self.halted.clear();
        let running = std::mem::take(&mut self.running);
        if self.room.starts_with("restore") {
            // The accepted tree is not back: that is finished before anything else.
            self.attempt += u64::from(running == "restore" || self.room != "restore");
            return self.enter("restore");
        }
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
            // The next life looks before it asks again.
            "revisit" => {
                self.attempt = 1;
                Ok(())
            }
            // Asked again, or completed.
            _ => {
                self.attempt += 1;
                Ok(())
            }
        }
    }
}
