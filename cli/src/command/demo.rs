//! `demo`: a whole run on a small project of its own.

use std::fs;
use std::path::{Path, PathBuf};

use engine::event::halt::HaltReason;
use engine::words::counted;
use journal::VerifyOptions;
use serde::Serialize;
use shell::config::{self, Flags, Inputs, env};
use shell::paths::{self, STATE_DIR};
use shell::record::{self, Place, Record};
use shell::scratch;
use shell::session::{self, Start};

use super::life::{self, Showing, Watcher};
use super::replay;
use crate::app::Scene;
use crate::contract;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::render;
use crate::which::workdir_flag;

/// Run the real loop on a small project of its own, from red to green, then verify and replay it
///
/// Three tests, three bugs, and a scripted agent that mends one an iteration. Needs nothing but a POSIX shell.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Args {
    /// Where to put the project; a fresh temporary directory, which is kept, when left out
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
}

const FILES: [(&str, &str); 3] = [
    ("lib.sh", include_str!("demo/lib.sh")),
    ("check.sh", include_str!("demo/check.sh")),
    ("agent.sh", include_str!("demo/agent.sh")),
];
const RUN_ID: &str = "demo";

/// The object of this command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Objects {
    demo: Shown,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Shown {
    workdir: String,
    files: Vec<&'static str>,
    iterations: u32,
    trend: Vec<u64>,
    replay: &'static str,
}

pub(crate) fn run(args: Args, scene: &Scene) -> Result<Outcome, Failure> {
    let workdir = place(args.workdir.as_deref())?;
    for (name, text) in FILES {
        let path = workdir.join(name);
        fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))?;
    }
    let finished = start(&workdir, scene)?;
    let place = record::find(&workdir, Some(RUN_ID))?;
    let recorded = Record::read(place.run.clone())?;
    red_first(&recorded)?;
    let reason = finished.state.facts.halted.as_ref().map(|halted| halted.reason);
    if reason != Some(HaltReason::SuccessConditionMet) {
        let what = reason.map_or_else(|| "no halt".to_owned(), |reason| reason.to_string());
        return Err(deviation(
            &workdir,
            &format!("the run ended with {what} instead of success_condition_met"),
        ));
    }
    let audit = record::audit(&place.run, &VerifyOptions::default(), false)?;
    if let Some(why) = audit.defect() {
        return Err(deviation(&workdir, &format!("the journal does not verify: {why}")));
    }
    let replayed = replay::of_place(&place, scene)?;
    if replayed.label() != "verified_green" {
        return Err(deviation(
            &workdir,
            "the green verdict was not reproduced on a fresh copy",
        ));
    }
    Ok(outcome(&place, &finished, &recorded, replayed.label(), scene))
}

/// A directory without anything that the demo would make. Nothing is left behind after a refusal.
fn place(wanted: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(wanted) = wanted else {
        let base = scratch::base();
        let made = tempfile::Builder::new().prefix("loopexec-demo-").tempdir_in(&base);
        let made = made.map_err(|error| Failure::io("make a directory in", &base, &error))?;
        return Ok(paths::workdir(&made.keep())?);
    };
    if !wanted.exists() {
        fs::create_dir_all(wanted).map_err(|error| Failure::io("make", wanted, &error))?;
    }
    let workdir = paths::workdir(wanted)?;
    let mut names = std::iter::once(STATE_DIR).chain(FILES.iter().map(|(name, _)| *name));
    match names.find(|name| workdir.join(name).symlink_metadata().is_ok()) {
        Some(name) => Err(Failure::workspace(format!(
            "{} has a {name} already, and the demo overwrites nothing; give it an empty directory",
            workdir.display()
        ))),
        None => Ok(workdir),
    }
}

fn start(workdir: &Path, scene: &Scene) -> Result<session::Finished, Failure> {
    // The demo is the same everywhere: settings of the surroundings are not its own.
    let variables: Vec<_> = scene
        .env
        .iter()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            !name.starts_with(env::PREFIX) || env::is_reserved(&name)
        })
        .cloned()
        .collect();
    let flags = Flags::default()
        .with("--check", "sh check.sh")
        .with("--exec", "sh agent.sh")
        .with("--collector", "tap")
        .with("--max-iterations", "6")
        .with("--protected", "check.sh");
    let names = contract::known();
    let contract = config::resolve(&Inputs {
        workdir,
        flags: &flags,
        env: &variables,
        known: contract::as_known(&names),
    })?;
    let mut watcher = Watcher::new(scene, &Showing::default());
    Ok(session::start(
        Start {
            probe: None,
            workdir: workdir.to_owned(),
            contract,
            run_id: Some(RUN_ID.to_owned()),
            env: variables,
            exe: scene.exe()?,
        },
        &mut watcher,
    )?)
}

/// A demo that begins green would show nothing.
fn red_first(record: &Record) -> Result<(), Failure> {
    let baseline = record.fold.report.rows.first().and_then(|row| row.check_exit());
    match baseline {
        Some(exit) if exit != 0 => Ok(()),
        _ => Err(deviation(record.run.path(), "the check was not red before any work")),
    }
}

fn deviation(workdir: &Path, why: &str) -> Failure {
    Failure::of(
        HaltReason::InternalError,
        "defect",
        format!(
            "the demo in {} did not go as it must: {why}; this is worth a bug report",
            workdir.display()
        ),
    )
}

fn outcome(
    place: &Place,
    finished: &session::Finished,
    record: &Record,
    replay: &'static str,
    scene: &Scene,
) -> Outcome {
    let mut answer = life::about("demo", "verified", &place.run, &finished.state, &place.workdir);
    answer.verified = Some(true);
    let answer = answer.with(&Objects {
        demo: Shown {
            workdir: place.workdir.to_string_lossy().into_owned(),
            files: FILES.iter().map(|(name, _)| *name).collect(),
            iterations: finished.state.facts.iteration,
            trend: record.fold.trend.clone(),
            replay,
        },
    });
    let at = workdir_flag(&place.workdir);
    let text = format!(
        "{}: three bugs, {}, failing {}\n  journal    verified, {} events\n  replay     {replay}\n  project    {}\n\nnow look at\n  loopexec report{at}\n  loopexec explain-halt{at}\n  loopexec verify{at}\n  cat {}\n",
        scene.out.green("verified"),
        counted(finished.state.facts.iteration.into(), "iteration"),
        render::trend(&record.fold.trend, scene.out.utf8),
        finished.events,
        place.workdir.display(),
        crate::which::quoted(&place.run.receipt().to_string_lossy()),
    );
    Outcome::new(answer, text).warning(finished.warnings.clone())
}
