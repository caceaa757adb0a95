//! Both zones, started once with nothing to do, before a run believes that it has them (SPEC 14.6).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use engine::event::policy::Policy;
use engine::event::zone::ZoneSeen;
use rustix::fs::{CWD, Mode, mkfifoat};

use super::account::{self, Ending, account};
use super::backend;
use super::degraded::Held;
use super::pair::run_once;
use super::trial::Bait;
use super::{INIT, INIT_AT, Order, Refusal, RefusalCause, Terms, Zone, ZonePlan};
use super::{container, fall, hand_over, secret_places, trial};
use crate::process::{Captured, CommandRun, CommandSpec, Deadlines, Input, Outcome, Wishes};
use crate::scratch::Scratch;

/// A zone that takes longer to start than this is none.
const START_LIMIT_MS: u64 = 20_000;

/// How facts begin.
const BWRAP: &str = "bwrap";

type Variables = [(OsString, OsString)];

/// What starting them showed; nothing where the contract asks for none.
pub(crate) fn see(policy: &Policy, at: &Path, env: &Variables, exe: &Path, wishes: &Wishes) -> Vec<ZoneSeen> {
    if !policy.isolation.zones {
        let held = policy.isolation.degraded.then(|| {
            let held = Held::of(policy, at, &env.to_vec(), exe);
            held.and_then(|held| held.see(&env.to_vec(), wishes))
        });
        let seen = held.map(|seen| seen.unwrap_or_else(|refusal| account::refused(Zone::Agent, refusal)));
        return seen.into_iter().collect();
    }
    let terms = match Terms::of(policy, at, env) {
        Ok(terms) if terms.container().is_some() => {
            // No engine is asked for an image that a contract may not name.
            return match engine::isolation_objection(policy) {
                Some((.., detail)) => vec![account::refused(Zone::Agent, failed(detail.to_owned()))],
                None => contained(&terms, env, exe, wishes),
            };
        }
        terms => terms,
    };
    let prepared = terms.and_then(|terms| Ok((backend::examine(terms.bwrap())?, terms)));
    let (backend, terms) = match prepared {
        Ok(prepared) => prepared,
        Err(refusal) => return vec![account::refused(Zone::Agent, refusal)],
    };
    let zones = Zone::ALL.iter().map(|zone| {
        let mut seen =
            start(&terms, *zone, env, exe, wishes).unwrap_or_else(|refusal| account::refused(*zone, refusal));
        // To ask for it costs a start, which is not paid for every command.
        if let Some(rest) = seen.facts.strip_prefix(BWRAP) {
            seen.facts = format!("{BWRAP} {}{rest}", backend.version);
        }
        seen
    });
    zones.collect()
}

/// The same of an engine of containers.
fn contained(terms: &Terms, env: &Variables, exe: &Path, wishes: &Wishes) -> Vec<ZoneSeen> {
    let see = |zone: &Zone| {
        let prepared = prepare(terms, *zone, env);
        match (prepared, terms.container()) {
            (Ok((_scratch, plan)), Some(container)) => container::see(&plan, container, exe, env, wishes),
            (Err(refusal), _) => account::refused(*zone, refusal),
            (_, None) => account::blank(*zone),
        }
    };
    Zone::ALL.iter().map(see).collect()
}

/// A zone of an empty tree, and where that lies.
fn prepare(terms: &Terms, zone: Zone, env: &Variables) -> Result<(Scratch, ZonePlan), Refusal> {
    let scratch = Scratch::new("zone").map_err(|error| failed(error.to_string()))?;
    fs::create_dir(scratch.tree()).map_err(|error| failed(error.to_string()))?;
    hand_over(&scratch.tree(), terms.owner()).map_err(|error| failed(error.to_string()))?;
    let plan = terms.plan(Order {
        zone,
        source: scratch.tree(),
        binds: Vec::new(),
        argv: vec!["true".into()],
        inherited: env.to_vec(),
        env: Vec::new(),
        umask: None,
        input: None,
        report: scratch.shelf().join("zone.json"),
    });
    Ok((scratch, plan))
}

fn failed(message: String) -> Refusal {
    Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    }
}

fn start(terms: &Terms, zone: Zone, env: &Variables, exe: &Path, wishes: &Wishes) -> Result<ZoneSeen, Refusal> {
    let (_scratch, plan) = prepare(terms, zone, env)?;
    let (seen, ending, run) = once(&plan, env, exe, wishes)?;
    if seen.refused.is_none() && run.outcome != Outcome::Exited(0) {
        return Err(failed(format!(
            "the {} zone starts, and nothing can be run in it: {ending:?}, {}",
            zone.label(),
            seen.said
        )));
    }
    Ok(seen)
}

/// Starts the zone of a plan, and waits for its end.
fn once(
    plan: &ZonePlan,
    env: &Variables,
    exe: &Path,
    wishes: &Wishes,
) -> Result<(ZoneSeen, Ending, CommandRun), Refusal> {
    let zone = plan.zone;
    let spec = CommandSpec {
        argv: account::launcher(exe),
        cwd: "/".into(),
        input: Input::Bytes(postcard::to_stdvec(plan).map_err(|error| failed(error.to_string()))?),
        deadlines: Deadlines {
            timeout_ms: Some(START_LIMIT_MS),
            ..Deadlines::default()
        },
        label: format!("{zone} zone"),
        ..CommandSpec::default()
    };
    let run = run_once(exe, env, &spec, wishes).map_err(failed)?;
    let Some((seen, ending)) = account(&plan.report, zone) else {
        let told = begun(&run.stderr);
        return Err(failed(format!(
            "the {} zone did not start: its launcher {}{}",
            zone.label(),
            run.outcome,
            told.lines()
                .next()
                .map(|line| format!(", it said {line:?}"))
                .unwrap_or_default()
        )));
    };
    Ok((seen, ending, run))
}

/// What a command of the exec zone prints.
pub(crate) fn says(
    policy: &Policy,
    at: &Path,
    env: &Variables,
    exe: &Path,
    wishes: &Wishes,
    argv: Vec<OsString>,
) -> Result<String, Refusal> {
    let (_scratch, mut plan) = prepare(&Terms::of(policy, at, env)?, Zone::Exec, env)?;
    plan.argv = argv;
    let (seen, _, run) = once(&plan, env, exe, wishes)?;
    match seen.refused {
        Some(cause) => Err(Refusal {
            cause,
            message: seen.said,
        }),
        None => Ok(begun(&run.stdout)),
    }
}

/// Who outlives a governor that is killed while its zone is at work, a line each.
pub(crate) fn outliving(
    policy: &Policy,
    at: &Path,
    env: &Variables,
    exe: &Path,
    wishes: &Wishes,
) -> Result<Vec<String>, Refusal> {
    let terms = Terms::of(policy, at, env)?;
    let (scratch, mut plan) = prepare(&terms, Zone::Agent, env)?;
    let pipe = scratch.tree().join(fall::PIPE);
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.to_string()))?;
    hand_over(&scratch.tree(), terms.owner()).map_err(|error| failed(error.to_string()))?;
    plan.argv = [INIT_AT, INIT, fall::STAY].map(OsString::from).to_vec();
    let spec = CommandSpec {
        argv: fall::command(exe, pipe),
        cwd: "/".into(),
        input: Input::Bytes(postcard::to_stdvec(&plan).map_err(|error| failed(error.to_string()))?),
        deadlines: Deadlines {
            timeout_ms: Some(START_LIMIT_MS + 2 * fall::PATIENCE_MS),
            ..Deadlines::default()
        },
        label: "stand-in governor".to_owned(),
        ..CommandSpec::default()
    };
    let run = run_once(exe, env, &spec, wishes).map_err(failed)?;
    match run.outcome {
        Outcome::Exited(0) => Ok(begun(&run.stdout).lines().map(str::to_owned).collect()),
        _ => Err(failed(begun(&run.stderr).trim_end().to_owned())),
    }
}

/// The beginning of what a command printed.
fn begun(stream: &Captured) -> String {
    String::from_utf8_lossy(stream.inline.as_deref().unwrap_or(&stream.head)).into_owned()
}

/// What could be reached from inside of each zone that must not be, a sentence each.
pub(crate) fn reached(
    policy: &Policy,
    at: &Path,
    env: &Variables,
    exe: &Path,
    wishes: &Wishes,
) -> Result<Vec<(Zone, Vec<String>)>, Refusal> {
    let terms = Terms::of(policy, at, env)?;
    let tried = Zone::ALL.iter().map(|zone| {
        let (scratch, mut plan) = prepare(&terms, *zone, env)?;
        // A file beside the tree that everybody may read, where places of credentials are not there to be tried.
        let beside = scratch.shelf().join("beside");
        fs::write(&beside, "").map_err(|error| failed(error.to_string()))?;
        let home = env
            .iter()
            .rev()
            .find(|(name, _)| name == "HOME")
            .map(|(_, home)| home.as_os_str());
        let places = secret_places::there(secret_places::homes(home).iter().map(PathBuf::as_path));
        let files: Vec<PathBuf> = [beside].into_iter().chain(places).collect();
        let bait = Bait::lay(&files).map_err(|error| failed(error.to_string()))?;
        plan.argv = trial::command();
        plan.env.extend(bait.variables());
        let (seen, _, run) = once(&plan, env, exe, wishes)?;
        if let Some(cause) = seen.refused {
            let message = seen.said;
            return Err(Refusal { cause, message });
        }
        let told = begun(&run.stdout);
        let mut reached: Vec<String> = told.lines().map(str::to_owned).collect();
        if reached.is_empty() && run.outcome != Outcome::Exited(0) {
            reached.push(format!(
                "nobody knows what: the program that tries {} {}",
                run.outcome, seen.said
            ));
        }
        Ok((*zone, reached))
    });
    tried.collect()
}
