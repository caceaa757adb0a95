//! Probing: the check, again and again, each time in a fresh copy of the workdir.
//!
//! ```text
//!   workdir --copied once--> master --copied for every run--> place { tree, home, tmp }
//!                                                                  |
//!     block fresh    one place a run, as many at once as wanted    |  the first run alone: a check that
//!     block shared   a new tree a run, one home and tmp for all    |  cannot be started costs one copy
//!     block rerun    one tree for all, a new home and tmp a run    |
//!     traced         one run of a hermetic check under strace,     |
//!                    and one whose clock stands still              |
//!     vary           one change a run, all of it new               v
//!                                                             engine::probe::judge
//! ```
//!
//! The workdir is read once and never written to. All places are removed at the end, whatever the end is. Start with
//! [`probe()`].

mod block;
pub mod dimension;
mod error;
pub mod kept;
mod place;
mod traced;
mod vary;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;

use engine::event::policy::Policy;
use engine::probe::{Class, Probe};
use engine::vet::hermeticity;

use crate::clock::Clock;
use crate::replay::Surroundings;
use crate::scratch::{Copied, Scratch, copy_tree};
use crate::session::signals;
use crate::world::{StopRequests, hermetic};

pub use error::ProbeError;

use dimension::Dimension;
use place::{Clockwork, Place};

/// What is probed, and how often.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Canonical.
    pub workdir: PathBuf,
    /// The contract that the check, its reading and its limits come from.
    pub policy: Policy,
    pub runs: u32,
    /// Runs of each of the other two blocks; 0 leaves them out.
    pub side_effect_runs: u32,
    /// Runs at once in the first block.
    pub jobs: usize,
    /// No more runs once one disagreed.
    pub until_disagreement: bool,
    pub with_git: bool,
    /// What is varied, one after the other and then all at once; nothing for no such runs.
    pub dimensions: Vec<&'static Dimension>,
    /// Runs under each of them, at least.
    pub dimension_runs: u32,
}

/// What the runs showed.
#[derive(Debug)]
pub struct Probed {
    pub probe: Probe,
    pub copied: Copied,
    /// Below the copy, by any run without a reset.
    pub written_in_tree: Vec<PathBuf>,
    /// Below the shared home and temporary directory.
    pub written_in_home: Vec<PathBuf>,
    pub written_in_tmp: Vec<PathBuf>,
    /// In what ways each dimension was varied, in the order of their runs.
    pub ways: Vec<Vec<String>>,
    /// Name of the collector that read the first run; empty for none.
    pub collector: String,
    /// The longest run without a change.
    pub longest_ms: u64,
    /// Processes that outlived a run of the check; none is left.
    pub survivors: u32,
    /// The probe's own time was over before all runs were done.
    pub out_of_time: bool,
    /// The beginning of what the check wrote on standard error where it disagreed or came to no verdict: untrusted.
    pub stderr: String,
}

/// As many runs at once as there are processors for this program.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs the check as often as planned.
///
/// # Errors
/// No copy could be made, a check could not be started, or a signal ended the probe.
pub fn probe(plan: &Plan, with: &Surroundings) -> Result<Probed, ProbeError> {
    let with = &Surroundings {
        env: hermetic::settled(&plan.policy, Clock::system().stamp(), &with.env),
        ..with.clone()
    };
    let jobs = plan
        .jobs
        .clamp(1, usize::try_from(plan.runs.max(1)).unwrap_or(usize::MAX));
    // One dimension runs the check twice at once.
    let places = if plan.dimensions.is_empty() { jobs } else { jobs.max(2) };
    let stops = signals::watch_for(&plan.workdir, places)?;
    let Some(stop) = stops.first() else {
        return Err(ProbeError::Interrupted { signal: 0 });
    };
    let seen = with_stops(plan, with, &stops, jobs);
    match stop.first.load(Ordering::SeqCst) {
        0 => seen,
        // Whatever else it was that failed then.
        signal => Err(ProbeError::Interrupted { signal }),
    }
}

fn with_stops(plan: &Plan, with: &Surroundings, stops: &[StopRequests], jobs: usize) -> Result<Probed, ProbeError> {
    let clockwork = Clockwork::starting(plan.policy.bounds.timeout_ms);
    let goes_on = || stops.iter().all(|stop| stop.first.load(Ordering::SeqCst) == 0);
    let master = Scratch::beside(&plan.workdir, "master")?;
    let copied = copy_tree(&plan.workdir, &master.tree(), plan.with_git, goes_on)?;
    let mut seen = Probed::nothing(copied);
    let places: Vec<Place<'_>> = stops
        .iter()
        .map(|stop| Place::new(&master, plan, with, stop, clockwork))
        .collect::<Result<_, _>>()?;
    block::fresh(places.get(..jobs).unwrap_or(&places), plan, &mut seen)?;
    if let (Some(place), true) = (places.first(), is_worth_more(&seen)) {
        block::shared(place, plan, &mut seen)?;
        block::rerun(place, plan, &mut seen)?;
        if hermeticity::declared(&plan.policy) {
            traced::run(place, plan, with, &mut seen)?;
            traced::frozen(place, plan, with, &mut seen)?;
        }
        if !plan.dimensions.is_empty() {
            vary::all(&places, plan, with, &mut seen)?;
        }
    }
    Ok(seen)
}

/// Side effects can only be told from flakiness where there is none.
fn is_worth_more(seen: &Probed) -> bool {
    let fresh = &seen.probe.fresh;
    let has_verdict = |class: &Class| matches!(class, Class::Green | Class::Red);
    !seen.out_of_time
        && fresh.tally().is_unanimous()
        && fresh.reference().is_some_and(|reference| has_verdict(&reference.class))
}

impl Probed {
    fn nothing(copied: Copied) -> Self {
        Self {
            probe: Probe::default(),
            copied,
            written_in_tree: Vec::new(),
            written_in_home: Vec::new(),
            written_in_tmp: Vec::new(),
            ways: Vec::new(),
            collector: String::new(),
            longest_ms: 0,
            survivors: 0,
            out_of_time: false,
            stderr: String::new(),
        }
    }
}

/// Whether a command speaks of the workdir by its own path: then it would leave the copy.
pub fn names_the_workdir(policy: &Policy, workdir: &Path) -> bool {
    let path = workdir.as_os_str().as_encoded_bytes();
    let command = policy.oracle.check.words.iter();
    path.len() > 1
        && command
            .into_iter()
            .any(|word| word.0.windows(path.len()).any(|part| part == path))
}
