//! Where runs of a probe happen, one at a time: a scratch place that is made ready anew before each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use engine::event::id::{Bytes, Digest, Stamp};
use engine::event::measurement::StopCause;
use engine::event::policy::Policy;
use engine::event::run::RunOpened;
use engine::event::zone::ZoneSeen;
use engine::probe::Verdict;
use engine::{State, VERSION};

use super::dimension::Perturbation;
use super::{Plan, ProbeError};
use crate::clock;
use crate::process::Wishes;
use crate::replay::{Surroundings, check_until};
use crate::scratch::{Scratch, copy_tree};
use crate::world::StopRequests;

/// Name of every run of a probe, in places that nobody sees.
const RUN_ID: &str = "probe";

/// When the probe as a whole has to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clockwork {
    until_ms: Option<u64>,
}

impl Clockwork {
    pub(super) fn starting(limit_ms: Option<u64>) -> Self {
        let until_ms = limit_ms.map(|limit| clock::mono_ms().saturating_add(limit));
        Self { until_ms }
    }

    fn left_ms(self) -> Option<u64> {
        self.until_ms.map(|until| until.saturating_sub(clock::mono_ms()))
    }

    fn is_over(self) -> bool {
        self.left_ms() == Some(0)
    }
}

/// What is new for a run; the rest is as the run before left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Renewed {
    pub tree: bool,
    pub surroundings: bool,
}

/// One run.
#[derive(Debug)]
pub(super) struct Ran {
    pub verdict: Verdict,
    pub exit: Option<i32>,
    pub output: Digest,
    pub stderr: String,
    /// Processes that outlived it.
    pub survivors: u32,
    /// Name of the collector that read it; empty for none.
    pub collector: String,
    /// A sign of the change that is not there.
    pub missing_sign: Option<&'static str>,
    pub zone: Option<ZoneSeen>,
    pub duration_ms: u64,
}

/// Why a run was not made, or came to nothing.
#[derive(Debug)]
pub(super) enum Ended {
    Interrupted,
    OutOfTime,
}

pub(super) struct Place<'a> {
    scratch: Scratch,
    master: PathBuf,
    policy: &'a Policy,
    with: Surroundings,
    stop: &'a StopRequests,
    clockwork: Clockwork,
}

impl<'a> Place<'a> {
    pub(super) fn new(
        master: &Scratch,
        plan: &'a Plan,
        with: &Surroundings,
        stop: &'a StopRequests,
        clockwork: Clockwork,
    ) -> Result<Self, ProbeError> {
        Ok(Self {
            scratch: Scratch::beside(&plan.workdir, "probe")?,
            master: master.tree(),
            policy: &plan.policy,
            with: with.clone(),
            stop,
            clockwork,
        })
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.scratch.tree()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch.home()
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.scratch.tmp()
    }

    pub(super) fn support(&self) -> PathBuf {
        self.scratch.support()
    }

    pub(super) fn parts(&self) -> [PathBuf; 6] {
        self.scratch.parts()
    }

    pub(super) fn wishes(&self) -> &Wishes {
        &self.stop.wishes
    }

    pub(super) fn was_interrupted(&self) -> bool {
        self.stop.first.load(Ordering::SeqCst) != 0
    }

    pub(super) fn renew(&self, renewed: Renewed) -> Result<(), ProbeError> {
        if renewed.tree {
            self.scratch.clear_tree()?;
            copy_tree(&self.master, &self.scratch.tree(), true, || !self.was_interrupted())?;
        }
        if renewed.surroundings {
            self.scratch.renew_surroundings()?;
        }
        Ok(self.scratch.renew_shelf()?)
    }

    /// Makes the place ready and runs the check in it, once.
    pub(super) fn run(&self, renewed: Renewed) -> Result<Result<Ran, Ended>, ProbeError> {
        if let Some(ended) = self.has_ended() {
            return Ok(Err(ended));
        }
        self.renew(renewed)?;
        self.check(&Perturbation::default())
    }

    /// Makes the place ready for a run under a change, all of it new.
    pub(super) fn renew_for(&self, change: &Perturbation) -> Result<(), ProbeError> {
        self.scratch.clear_tree()?;
        self.scratch.renew_surroundings()?;
        self.scratch.renew_variation()?;
        let tree = self.tree_under(change);
        if let Some(parent) = tree.parent() {
            self.scratch.make(parent)?;
        }
        copy_tree(&self.master, &tree, true, || !self.was_interrupted())?;
        if !change.home_is_missing {
            self.scratch.make(&self.home_under(change))?;
        }
        self.scratch.make(&self.tmp_under(change))?;
        self.scratch.write_support(|dir| change.support(dir))?;
        Ok(self.scratch.renew_shelf()?)
    }

    /// Why no run is to be begun, if so.
    pub(super) fn has_ended(&self) -> Option<Ended> {
        match (self.was_interrupted(), self.clockwork.is_over()) {
            (true, _) => Some(Ended::Interrupted),
            (false, true) => Some(Ended::OutOfTime),
            (false, false) => None,
        }
    }

    /// Runs the check, once, in the place as it is.
    pub(super) fn check(&self, change: &Perturbation) -> Result<Result<Ran, Ended>, ProbeError> {
        let mut policy = self.policy.clone();
        change.stretch(&mut policy.bounds);
        self.check_by(&policy, change)
    }

    /// The same for at most so long, whatever the contract says.
    pub(super) fn check_within(
        &self,
        timeout_ms: u64,
        change: &Perturbation,
    ) -> Result<Result<Ran, Ended>, ProbeError> {
        let mut policy = self.policy.clone();
        policy.bounds.check_timeout_ms = Some(timeout_ms);
        self.check_by(&policy, change)
    }

    fn check_by(&self, policy: &Policy, change: &Perturbation) -> Result<Result<Ran, Ended>, ProbeError> {
        let tree = self.tree_under(change);
        let state = state(&tree, policy);
        let left = self.clockwork.left_ms();
        let env = self.environment(change);
        let with = Surroundings {
            set: Perturbation::changed(&self.environment(&Perturbation::default()), &env),
            env,
            exe: self.with.exe.clone(),
            around: change.around.clone(),
        };
        let checked = check_until(&tree, &self.scratch.shelf(), &state, &with, self.stop, left)?;
        let verdict = match Verdict::of(&checked.run, &checked.reading, &state.facts) {
            Some(verdict) => verdict,
            None if checked.signal != 0 => return Ok(Err(Ended::Interrupted)),
            None if checked.run.stop == StopCause::RunDeadline => return Ok(Err(Ended::OutOfTime)),
            // Nobody else ends a command of a probe.
            None => Verdict::of_a_lost_workdir(),
        };
        Ok(Ok(Ran {
            verdict,
            exit: checked.run.exited(),
            output: checked.reading.output_digest,
            stderr: String::from_utf8_lossy(&checked.run.stderr.head.0).into_owned(),
            survivors: u32::try_from(checked.run.survivors.len()).unwrap_or(u32::MAX),
            collector: checked.reading.collector,
            duration_ms: checked.run.duration_ms,
            zone: checked.run.zone,
            missing_sign: change.missing_sign(&self.scratch.support()),
        }))
    }

    /// What the check inherits under a change.
    pub(super) fn environment(&self, change: &Perturbation) -> Vec<(OsString, OsString)> {
        let env = Scratch::environment(&self.with.env, &self.home_under(change), &self.tmp_under(change));
        change.environment(env, &self.scratch.support())
    }

    fn tree_under(&self, change: &Perturbation) -> PathBuf {
        let varied = change.tree.as_ref();
        varied.map_or_else(|| self.tree(), |path| self.scratch.varied().join(path))
    }

    fn home_under(&self, change: &Perturbation) -> PathBuf {
        let varied = change.home.as_ref();
        varied.map_or_else(|| self.home(), |path| self.scratch.varied().join(path))
    }

    fn tmp_under(&self, change: &Perturbation) -> PathBuf {
        let varied = change.tmp.as_ref();
        varied.map_or_else(|| self.tmp(), |path| self.scratch.varied().join(path))
    }
}

/// The state of a run that has only its contract.
fn state(workdir: &Path, policy: &Policy) -> State {
    State::open(RunOpened {
        at: Stamp::default(),
        run_id: RUN_ID.into(),
        engine: VERSION.into(),
        workdir: Bytes(workdir.as_os_str().as_encoded_bytes().to_vec()),
        boot_id: String::new(),
        policy_digest: Digest::ZERO,
        policy: policy.clone(),
        origins: Vec::new(),
        programs: Vec::new(),
        probe: None,
        zones: Vec::new(),
    })
}
