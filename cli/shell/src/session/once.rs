//! The check of a contract, once, in another directory: what replay runs.

use std::ffi::OsString;
use std::path::Path;

use engine::event::iteration::CheckPurpose;
use engine::event::measurement::CommandRun;
use engine::{Effect, Observation, Reading, State};

use super::{RunError, signals};
use crate::driver::World;
use crate::paths::{RunId, StateDir};
use crate::process::{Supervisor, SupervisorOptions};
use crate::tree::{Options, Tree};
use crate::world::RealWorld;

/// Runs the recorded check in `dir` as a run would, and reads it. Whatever it needs beside the directory is
/// made in a place of its own and removed afterwards.
///
/// # Errors
/// The place could not be made or the check could not be accounted for.
pub fn check_once(
    dir: &Path,
    state: &State,
    env: &[(OsString, OsString)],
    exe: &Path,
) -> Result<(CommandRun, Reading), RunError> {
    let io = |doing, error| RunError::Io { doing, path: dir.to_path_buf(), error };
    let beside = tempfile::Builder::new()
        .prefix("loopexec-check-")
        .tempdir()
        .map_err(|error| io("make a place beside", error))?;
    let state_dir = StateDir::create(beside.path())?;
    let run = state_dir.create_run(RunId::parse(&state.facts.opened.run_id)?)?;
    let tree = Tree::open(dir, state_dir.path(), Options::default())?;
    let stop = signals::watch(dir)?;
    let supervisor = Supervisor::start(exe, SupervisorOptions::default())?;
    let mut world = RealWorld::new(state, run, env, supervisor, stop, tree);
    let effect = Effect::Check {
        iteration: state.facts.iteration,
        attempt: 1,
        purpose: CheckPurpose::Recheck,
        time_left_ms: None,
    };
    let seen = world.perform(state, &effect);
    world.shutdown();
    match seen {
        Observation::Checked { run, reading, .. } => Ok((run, reading)),
        _ => Err(RunError::Illegal { seq: 0, why: "the check gave no answer".into() }),
    }
}
