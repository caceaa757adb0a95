//! The real world behind the effects: it routes each to the room that can carry it out, and turns what the
//! rooms saw into observations. It judges nothing.

mod apart;
mod artefact;
mod assertions;
mod brought;
mod check;
mod command;
mod context;
mod detection;
mod execute;
pub(crate) mod hermetic;
mod ids;
pub(crate) mod in_place;
mod in_source;
pub(crate) mod late;
mod listed;
mod output;
mod outputs;
mod own;
pub(crate) mod reach;
pub(crate) mod relocated;
mod removal;
mod report_file;
mod secrets;
mod shared;
mod surface;
mod toolchain;
mod tree;
mod venv;
mod vet;
pub(crate) mod zones;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use engine::event::id::Stamp;
use engine::{Effect, Observation, State};

use crate::clock::Clock;
use crate::driver::{Meanwhile, World};
use crate::paths::RunDir;
use crate::process::{Supervisor, Wishes};
use crate::replay::Surroundings;
use crate::scratch::Scratch;
use crate::tree::Tree;
use crate::zone::degraded::Held;
use crate::zone::{Refusal, Terms};

use assertions::Assertions;
pub use check::Oracle;
pub(crate) use command::argv;
pub(crate) use detection::detection;
pub use execute::resolve_programs;
use late::Late;
use outputs::Marks;
use own::OwnFiles;
use relocated::Renamed;
pub(crate) use secrets::spellings as secret_forms;
pub use secrets::too_short;
use surface::Surfaces;
use toolchain::Toolchain;
use zones::Zones;

/// Signals that asked the run to stop, shared with the thread that waits for them.
#[derive(Clone, Debug)]
pub struct StopRequests {
    /// Number of the first signal; 0 for none.
    pub first: Arc<AtomicI32>,
    /// Ends the command that is running.
    pub wishes: Wishes,
}

/// Everything effects need.
#[derive(Debug)]
pub struct RealWorld {
    pub(crate) clock: Clock,
    pub(crate) workdir: PathBuf,
    pub(crate) run: RunDir,
    /// What commands inherit, already cleaned.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What the work command gets on top, and what a check does.
    pub(crate) work_env: Vec<(OsString, OsString)>,
    pub(crate) check_env: Vec<(OsString, OsString)>,
    /// Where checks find a temporary directory of their own.
    pub(crate) check_place: Option<Scratch>,
    /// Where the check under way reads its tree, when that is not the workdir.
    pub(crate) apart: Option<Scratch>,
    /// Values to mask in kept output.
    pub(crate) secrets: Vec<Vec<u8>>,
    pub(crate) supervisor: Supervisor,
    pub(crate) stop: StopRequests,
    /// What stands around the command of a check: nothing in a run.
    pub(crate) around: Vec<OsString>,
    pub(crate) tree: Tree,
    pub(crate) oracle: Oracle,
    pub(crate) surfaces: Surfaces,
    pub(crate) assertions: Assertions,
    pub(crate) toolchain: Toolchain,
    /// Where Python environments may be in the workdir.
    environments: venv::Candidates,
    /// Of the newest check that this life ran.
    pub(crate) renamed: Renamed,
    pub(crate) check_passed: bool,
    /// What lay beside tests before it.
    pub(crate) marks: Marks,
    /// What the agent is given.
    given: context::Given,
    pub(crate) own: OwnFiles,
    /// What is written of them while a command runs.
    late: Late,
    /// The governor's own files that somebody else changed, until the effect under way reports them.
    pub(crate) interference: BTreeSet<String>,
    /// This life has walked the tree.
    pub(crate) walked: bool,
    /// Where commands run apart from the machine; without them they run with the user's rights.
    pub(crate) zones: Option<Zones>,
    /// What holds the work where there are none; or why nothing does.
    held: Option<Result<Held, Refusal>>,
    /// What the check is run with in copies; without it no copy is made.
    pub(crate) surroundings: Option<Surroundings>,
}

impl RealWorld {
    /// A world for one life of a run.
    pub fn new(
        state: &State,
        clock: Clock,
        run: RunDir,
        env: &[(OsString, OsString)],
        supervisor: Supervisor,
        stop: StopRequests,
        tree: Tree,
    ) -> Self {
        let workdir = tree.workdir().to_path_buf();
        let policy = state.facts.policy();
        Self {
            oracle: Oracle::new(&workdir, &policy.oracle),
            surfaces: Surfaces::default(),
            assertions: Assertions::default(),
            toolchain: Toolchain::default(),
            environments: venv::Candidates::default(),
            renamed: Renamed::default(),
            check_passed: false,
            marks: Marks::default(),
            given: context::Given::default(),
            own: OwnFiles::new(&workdir, &run),
            late: Late::default(),
            interference: BTreeSet::new(),
            walked: false,
            surroundings: None,
            zones: None,
            held: None,
            secrets: secrets::of(policy, env),
            env: hermetic::offered(policy, env),
            work_env: hermetic::withheld(policy, env),
            check_env: Vec::new(),
            check_place: None,
            apart: None,
            clock,
            workdir,
            run,
            supervisor,
            stop,
            around: Vec::new(),
            tree,
        }
    }

    /// This world may run the check in copies too.
    #[must_use]
    pub fn with_copies(self, surroundings: Surroundings) -> Self {
        Self {
            surroundings: Some(surroundings),
            ..self
        }
    }

    /// What is put there is written while a command runs.
    #[must_use]
    pub(crate) fn with_late(self, late: Late) -> Self {
        Self { late, ..self }
    }

    /// Where the contract asks for zones, commands run in them from here on.
    #[must_use]
    pub fn with_zones(mut self, state: &State, env: &[(OsString, OsString)], exe: &Path) -> Self {
        let policy = state.facts.policy();
        let terms = policy.isolation.zones.then(|| Terms::of(policy, &self.workdir, env));
        self.zones = terms.map(|terms| Zones::new(terms, exe.to_path_buf()));
        let isolation = &policy.isolation;
        let is_held = isolation.degraded && !isolation.zones;
        self.held = is_held.then(|| Held::of(policy, &self.workdir, &env.to_vec(), exe));
        self
    }

    /// From here on checks find fixed what the contract fixes.
    pub fn with_fixed_checks(mut self, state: &State) -> Self {
        let policy = state.facts.policy();
        self.check_env = hermetic::fixed(policy, state.facts.opened.at);
        if !policy.oracle.pass_env.iter().any(|name| name == "TMPDIR") {
            // Without such a place a check keeps the one that the user has.
            self.check_place = Scratch::beside(&self.workdir, "check").ok();
        }
        self
    }

    /// Ends the supervisor. What it parented is gone when this returns.
    pub fn shutdown(self) {
        self.supervisor.shutdown();
    }
}

impl World for RealWorld {
    fn perform(&mut self, state: &State, effect: &Effect, meanwhile: &mut dyn FnMut(Meanwhile) -> bool) -> Observation {
        let mut is_told = !effect.runs_a_command();
        let seen = self.carry_out(state, effect, &mut |what| {
            is_told |= what == Meanwhile::Tell;
            meanwhile(what)
        });
        // Nothing could be begun. What is written now is the governor's all the same.
        if !is_told {
            self.own.keep_up(meanwhile);
        }
        seen
    }

    fn stamp(&mut self) -> Stamp {
        self.clock.stamp()
    }

    fn stop_asked(&mut self) -> Option<i32> {
        match self.stop.first.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal),
        }
    }
}

impl RealWorld {
    fn carry_out(
        &mut self,
        state: &State,
        effect: &Effect,
        meanwhile: &mut dyn FnMut(Meanwhile) -> bool,
    ) -> Observation {
        match effect {
            Effect::ObserveTree { base, purpose, .. } => self.observe_tree(state, *base, *purpose),
            Effect::BuildContext(request) => self.build_context(state, request),
            Effect::Execute {
                iteration,
                attempt,
                time_left_ms,
            } => self.execute(state, *iteration, *attempt, *time_left_ms, meanwhile),
            Effect::Wait { delay_ms, .. } => self.wait(*delay_ms),
            Effect::Check {
                iteration,
                attempt,
                copy_of,
                time_left_ms,
                ..
            } => self.check(state, *iteration, *attempt, *copy_of, *time_left_ms, meanwhile),
            // Whoever looks on is not kept waiting for all of its commands.
            Effect::Restore { .. } | Effect::Vet(_) if !self.own.keep_up(&mut *meanwhile) => {
                Observation::Waited { at: self.clock.stamp() }
            }
            Effect::Restore { to, .. } => self.restore(*to),
            Effect::Vet(request) => self.vet(state, request),
        }
    }
}
