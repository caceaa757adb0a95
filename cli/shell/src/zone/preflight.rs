//! Both zones, started once with nothing to do, before a run believes that it has them (SPEC 14.6).

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use engine::event::policy::Policy;
use engine::event::zone::ZoneSeen;

use super::account::{self, account};
use super::backend;
use super::pair::run_once;
use super::{Order, Refusal, RefusalCause, Terms, Zone, hand_over};
use crate::process::{CommandSpec, Deadlines, Input, Outcome, Wishes};
use crate::scratch::Scratch;

/// A zone that takes longer to start than this is none.
const START_LIMIT_MS: u64 = 20_000;

/// How facts begin.
const BWRAP: &str = "bwrap";

type Variables = [(OsString, OsString)];

/// What starting them showed; nothing where the contract asks for none.
pub(crate) fn see(policy: &Policy, at: &Path, env: &Variables, exe: &Path, wishes: &Wishes) -> Vec<ZoneSeen> {
    if !policy.isolation.zones {
        return Vec::new();
    }
    let prepared = Terms::of(policy, at, env).and_then(|terms| Ok((backend::examine(terms.bwrap())?, terms)));
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

fn start(terms: &Terms, zone: Zone, env: &Variables, exe: &Path, wishes: &Wishes) -> Result<ZoneSeen, Refusal> {
    let failed = |message: String| Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    };
    let scratch = Scratch::new("zone").map_err(|error| failed(error.to_string()))?;
    fs::create_dir(scratch.tree()).map_err(|error| failed(error.to_string()))?;
    hand_over(&scratch.tree(), terms.owner()).map_err(|error| failed(error.to_string()))?;
    let report = scratch.shelf().join("zone.json");
    let plan = terms.plan(Order {
        zone,
        source: scratch.tree(),
        binds: Vec::new(),
        argv: vec!["true".into()],
        inherited: env.to_vec(),
        env: Vec::new(),
        umask: None,
        input: None,
        report: report.clone(),
    });
    let spec = CommandSpec {
        argv: account::launcher(exe),
        cwd: "/".into(),
        input: Input::Bytes(postcard::to_stdvec(&plan).map_err(|error| failed(error.to_string()))?),
        deadlines: Deadlines {
            timeout_ms: Some(START_LIMIT_MS),
            ..Deadlines::default()
        },
        label: format!("{zone} zone"),
        ..CommandSpec::default()
    };
    let run = run_once(exe, env, &spec, wishes).map_err(failed)?;
    let told = String::from_utf8_lossy(run.stderr.inline.as_deref().unwrap_or(&run.stderr.head)).into_owned();
    let Some((seen, ending)) = account(&report, zone) else {
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
    if seen.refused.is_none() && run.outcome != Outcome::Exited(0) {
        return Err(failed(format!(
            "the {} zone starts, and nothing can be run in it: {ending:?}, {}",
            zone.label(),
            seen.said
        )));
    }
    Ok(seen)
}
