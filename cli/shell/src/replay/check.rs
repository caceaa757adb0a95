//! The check of a contract, once, outside of any run: the same supervisor, environment and reading as in one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use engine::event::iteration::CheckPurpose;
use engine::event::measurement::CommandRun;
use engine::event::policy::Policy;
use engine::{Effect, Observation, Reading, State};

use crate::clock::Clock;
use crate::driver::World as _;
use crate::paths::{RunId, StateDir};
use crate::process::{Supervisor, SupervisorOptions};
use crate::scratch::{SUPPORT, bring_near};
use crate::session::{RunError, signals};
use crate::tree::{Options, Tree};
use crate::world::zones::Zones;
use crate::world::{RealWorld, StopRequests, hermetic};
use crate::zone::Terms;

/// What the check is run with.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The environment, as it was when the program started.
    pub env: Vec<(OsString, OsString)>,
    /// The binary that is started once more as the supervisor.
    pub exe: PathBuf,
    /// Words that stand before those of the check, when it is run; how it is read they do not touch.
    pub around: Vec<OsString>,
    /// Names of variables that were set for this run alone: a zone lets them in.
    pub set: Vec<OsString>,
}

/// One check that ended.
#[derive(Debug)]
pub struct Checked {
    pub run: CommandRun,
    pub reading: Reading,
    /// Number of the signal that cut it short; 0 for none.
    pub signal: i32,
}

/// Runs the check of `state`'s contract in `copy`. What is captured goes to `shelf`, an empty directory outside of it.
///
/// # Errors
/// Whatever keeps the check from being started; a check that fails is an answer.
pub fn check_once(copy: &Path, shelf: &Path, state: &State, with: &Surroundings) -> Result<Checked, RunError> {
    let stop = signals::watch(copy)?;
    let with = Surroundings {
        env: hermetic::settled(state.facts.policy(), state.facts.opened.at, &with.env),
        ..with.clone()
    };
    check_until(copy, shelf, state, &with, &stop, None)
}

/// The same while somebody else listens for signals, and for no longer than the time that is left.
///
/// # Errors
/// As [`check_once`].
pub(crate) fn check_until(
    copy: &Path,
    shelf: &Path,
    state: &State,
    with: &Surroundings,
    stop: &StopRequests,
    time_left_ms: Option<u64>,
) -> Result<Checked, RunError> {
    let workdir = Path::new(OsStr::from_bytes(&state.facts.opened.workdir.0));
    bring_near(workdir, copy, &state.facts.policy().oracle.check).map_err(|error| RunError::Illegal {
        seq: 0,
        why: format!("what the check names beside the workdir is not to be had beside a copy: {error}"),
    })?;
    let state_dir = StateDir::create(shelf)?;
    let run = state_dir.create_run(RunId::parse(&state.facts.opened.run_id)?)?;
    let options = SupervisorOptions {
        runtime_dir: Some(run.path().to_path_buf()),
        env: hermetic::supervised(state.facts.policy(), &with.env),
    };
    let tree = Tree::open(copy, state_dir.path(), Options::default())?;
    let supervisor = Supervisor::start(&with.exe, options)?;
    let mut world = RealWorld::new(state, Clock::system(), run, &with.env, supervisor, stop.clone(), tree);
    world.around.clone_from(&with.around);
    world.check_env = meant_for_the_check(state, with);
    world.zones = zones_of(copy, shelf, state.facts.policy(), with);
    let effect = Effect::Check {
        iteration: state.facts.iteration,
        attempt: 1,
        purpose: CheckPurpose::Confirmation,
        copy_of: None,
        time_left_ms,
    };
    let mut seen = world.perform(state, &effect, &mut |_| true);
    // A runner that refused what was injected ran nothing.
    if world.oracle.is_light() {
        seen = world.perform(state, &effect, &mut |_| true);
    }
    world.shutdown();
    match seen {
        Observation::Checked { run, reading, .. } => Ok(Checked {
            run,
            reading,
            signal: stop.first.load(Ordering::SeqCst),
        }),
        other => Err(RunError::Illegal {
            seq: 0,
            why: format!("a check was asked for and the world answered {other:?}"),
        }),
    }
}

/// Where the contract asks for zones, its check runs in one here too, and sees the copy where the copy is.
fn zones_of(copy: &Path, shelf: &Path, policy: &Policy, with: &Surroundings) -> Option<Zones> {
    let terms = policy.isolation.zones.then(|| Terms::of(policy, copy, &with.env))?;
    let support = shelf
        .parent()
        .map(|place| place.join(SUPPORT))
        .filter(|dir| dir.is_dir());
    Some(Zones::of_a_copy(terms, with.exe.clone(), support))
}

/// What is fixed for every check, as it is here, and what was set for this run: both are more than what the user happens to
/// have, which a zone chooses from.
fn meant_for_the_check(state: &State, with: &Surroundings) -> Vec<(OsString, OsString)> {
    let fixed = hermetic::fixed(state.facts.policy(), state.facts.opened.at);
    let is_meant = |name: &OsString| with.set.contains(name) || fixed.iter().any(|(known, _)| known == name);
    with.env.iter().filter(|(name, _)| is_meant(name)).cloned().collect()
}
