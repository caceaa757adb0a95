//! `isolate`: what the two zones of a contract would be, and one pair of them.

use engine::event::halt::HaltReason;
use engine::event::policy::IsolationPolicy;
use serde::Serialize;
use shell::config::{self, Inputs};
use shell::paths;
use shell::zone::{Entered, Entry, Pair, Refusal, ZonePlan, rendered};

use crate::app::Scene;
use crate::contract::{self, DoctorFlags};
use crate::failure::Failure;
use crate::outcome::{Advice, Answer, Outcome};
use crate::render::{one_line, safe};
use crate::which::{Workdir, workdir_flag};

/// Show the two zones that work and check would run in, or run one pair of them
///
/// Without --execute nothing is started: the arguments of bwrap, or of the engine that
/// --runtime names, are printed as they would be. With it, the work runs
/// once on a copy of the tree in the agent zone, then the check on what it left in the exec zone. Your tree stays as it
/// is. `run --isolate` does the same in every iteration, and brings the changes back.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Workdir,
    /// Run one pair of zones
    #[arg(long)]
    execute: bool,
    /// Say that it may: the work may spend money and connect to what is allowed
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    contract: DoctorFlags,
}

const EXAMPLES: &str = "\
Examples:
  loopexec isolate --exec my-agent --check 'make test'    what both zones would be
  loopexec isolate --execute --confirm                    one turn of work and its check, apart from your tree
  loopexec run --isolate --check 'make test' -- my-agent  the loop itself in zones";

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    isolation: Shown,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    backend: &'static str,
    /// What that would be started with, environment and command apart.
    agent_zone_args: Vec<String>,
    exec_zone_args: Vec<String>,
    /// Names of the variables that each command would find.
    agent_zone_env: Vec<String>,
    exec_zone_env: Vec<String>,
    egress_allow: Vec<String>,
    /// Variables of the work that lead to its model, the key outside.
    gateway: Vec<String>,
    executed: bool,
    /// Null where it did not run, or did not end by itself.
    agent_zone_exit: Option<i32>,
    exec_zone_exit: Option<i32>,
    /// What was in force, as seen from inside.
    agent_zone_facts: Option<String>,
    exec_zone_facts: Option<String>,
    /// Paths that the work changed in its copy.
    changed: Vec<String>,
    /// What the key went by that was made for the work, and whether it is revoked.
    key: Option<Lent>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Lent {
    label: String,
    revoked: bool,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let workdir = paths::workdir(&args.at.workdir)?;
    if args.execute && !args.confirm {
        let message = "what is executed may spend money and cannot be taken back: add --confirm, or leave out --execute to \
                       see what would be started";
        return Err(Failure::of(HaltReason::InvariantFailed, "", message));
    }
    let names = contract::known();
    let contract = config::resolve_without_check(&Inputs {
        workdir: &workdir,
        flags: &args.contract.0,
        env: &scene.env,
        known: contract::as_known(&names),
    })?;
    let mut policy = contract.policy;
    policy.isolation.zones = true;
    if args.execute && policy.oracle.check.is_empty() {
        let message = "there is no check to run in the exec zone: name one with --check";
        return Err(Failure::of(HaltReason::WorkspaceInvalid, "check_missing", message));
    }
    if let Some((reason, cause, detail)) = engine::isolation_objection(&policy) {
        return Err(Failure::of(reason, cause, detail));
    }
    let exe = scene.exe()?;
    let pair = Pair {
        policy: &policy,
        workdir: &workdir,
        env: &scene.env,
        exe: &exe,
    };
    let [agent, exec] = pair.plans().map_err(refused)?;
    let mut shown = Shown::of(&agent, &exec, &policy.isolation);
    if !args.execute {
        let text = shown.lines();
        return Ok(Outcome::new(
            Answer::new("isolate", "ok").with(&Objects { isolation: shown }),
            text,
        ));
    }
    let entry = pair.run().map_err(refused)?;
    let fault = fault(&entry);
    shown.add(&entry);
    let mut answer = Answer::new("isolate", if fault.is_some() { "error" } else { "ok" });
    let at = workdir_flag(&workdir);
    let flags = contract::spelled(&args.contract.0);
    let (verdict, why, next) = match &fault {
        None => (
            "done",
            "Work and check ran in their zones, and the check passed.".to_owned(),
            format!("loopexec run --isolate{at}{flags}"),
        ),
        Some((_, _, why)) => ("review-needed", why.clone(), format!("loopexec isolate{at}{flags}")),
    };
    let mut text = told(&entry);
    text.push_str(&format!("{why}\nnext: {}\n", safe(&next)));
    answer.advice = Some(Advice { verdict, why, next });
    let mut exit = 0;
    if let Some((reason, cause, why)) = fault {
        answer.halt_reason = Some(reason);
        answer.failure_cause = Some(cause.to_owned());
        answer.errors.push(why);
        exit = reason.exit_code();
    }
    Ok(Outcome::new(answer.with(&Objects { isolation: shown }), text).exiting(exit))
}

impl Shown {
    fn of(agent: &ZonePlan, exec: &ZonePlan, policy: &IsolationPolicy) -> Self {
        let names = |plan: &ZonePlan| {
            plan.env
                .iter()
                .map(|(name, _)| name.to_string_lossy().into_owned())
                .collect()
        };
        let args = |plan: &ZonePlan| {
            rendered(plan)
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        Self {
            backend: policy.runtime.label(),
            agent_zone_args: args(agent),
            exec_zone_args: args(exec),
            agent_zone_env: names(agent),
            exec_zone_env: names(exec),
            egress_allow: policy.egress_allow.clone(),
            gateway: policy.gateway.clone(),
            executed: false,
            agent_zone_exit: None,
            exec_zone_exit: None,
            agent_zone_facts: None,
            exec_zone_facts: None,
            changed: Vec::new(),
            key: None,
        }
    }

    fn add(&mut self, entry: &Entry) {
        self.executed = true;
        self.agent_zone_exit = entry.agent.as_ref().and_then(|zone| zone.exit);
        self.exec_zone_exit = entry.exec.exit;
        self.agent_zone_facts = entry.agent.as_ref().map(|zone| zone.seen.facts.clone());
        self.exec_zone_facts = Some(entry.exec.seen.facts.clone());
        let text = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
        self.key = entry.key.as_ref().map(|key| Lent {
            label: key.label.clone(),
            revoked: key.failed.is_none(),
        });
        self.changed = entry.changed.iter().map(text).collect();
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        let zones = [
            ("agent", &self.agent_zone_args, &self.agent_zone_env),
            ("exec", &self.exec_zone_args, &self.exec_zone_env),
        ];
        for (name, args, env) in zones {
            text.push_str(&format!("{name} zone: {}", self.backend));
            for word in args {
                // One option a line, with what belongs to it.
                text.push_str(if word.starts_with("--") { "\n    " } else { " " });
                text.push_str(&safe(word));
            }
            text.push_str(&format!("\n    environment: {}\n", safe(&env.join(" "))));
        }
        let places: Vec<&str> = self
            .egress_allow
            .iter()
            .chain(&self.gateway)
            .map(String::as_str)
            .collect();
        let reached = if places.is_empty() {
            "nothing".to_owned()
        } else {
            places.join(", ")
        };
        text.push_str(&format!(
            "the agent zone may connect to {}; the exec zone to nothing\n",
            safe(&reached)
        ));
        text
    }
}

/// What both commands said and how they ended.
fn told(entry: &Entry) -> String {
    let mut text = String::new();
    let zones = entry
        .agent
        .iter()
        .map(|zone| ("work", zone))
        .chain([("check", &entry.exec)]);
    for (name, zone) in zones {
        for stream in [&zone.stdout, &zone.stderr] {
            text.extend(
                String::from_utf8_lossy(stream)
                    .lines()
                    .map(|line| format!("  {}\n", safe(line))),
            );
        }
        text.push_str(&format!(
            "{name}: {}; in force: {}\n",
            ended(zone),
            safe(&zone.seen.facts)
        ));
    }
    if let Some(key) = &entry.key {
        let state = key.failed.as_ref().map_or("revoked", |_| "NOT revoked");
        text.push_str(&format!("key: {}, {state}\n", safe(&key.label)));
    }
    for path in &entry.changed {
        text.push_str(&format!("changed: {}\n", one_line(&String::from_utf8_lossy(path))));
    }
    text
}

fn ended(zone: &Entered) -> String {
    match zone.exit {
        Some(code) => format!("exit status {code}"),
        None if zone.seen.said.is_empty() => "it did not end by itself".to_owned(),
        None => safe(&zone.seen.said),
    }
}

/// Why the pair is no success.
fn fault(entry: &Entry) -> Option<(HaltReason, &'static str, String)> {
    if let Some((label, why)) = entry
        .key
        .as_ref()
        .and_then(|key| Some((&key.label, key.failed.as_ref()?)))
    {
        let why = format!(
            "The key {label} could not be revoked and may still be good: {why}; loopexec goes on trying for some minutes, \
             and the next run or doctor tries again."
        );
        return Some((HaltReason::CredentialScopeInvalid, "credential_not_revocable", why));
    }
    let zones = entry.agent.iter().map(|zone| (zone, "work_command_failed", "the work"));
    let mut zones = zones.chain([(&entry.exec, "check_killed", "the check")]);
    zones.find_map(|(zone, cause, name)| match (zone.seen.refused, zone.exit) {
        (Some(refusal), _) => Some((refusal.reason(), refusal.label(), zone.seen.said.clone())),
        (None, Some(0)) => None,
        (None, Some(code)) => {
            let why = format!("In its zone {name} exited with status {code}.");
            Some((HaltReason::ExecutionFailure, "work_command_failed", why))
        }
        (None, None) => Some((
            HaltReason::ExecutionFailure,
            cause,
            format!("In its zone {name} was cut short: {}.", ended(zone)),
        )),
    })
}

fn refused(refusal: Refusal) -> Failure {
    let cause = refusal.cause;
    Failure::of(cause.reason(), cause.label(), refusal.message)
}
