//! `state.json`: the full-state profile of a run, written from the fold and never read back as truth.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use engine::State;
use engine::event::id::{Digest, PhaseName};
use engine::event::policy::{ContextFile, ModelPin, Sampling};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;

use crate::clock;
use crate::paths::{RunDir, StateDir};
use crate::world::late::Late;

/// The profile (SPEC 13.5). Absent facts are null, never left out.
#[derive(Debug, Serialize)]
pub struct Profile<'a> {
    schema: &'static str,
    pub run_id: &'a str,
    pub workdir: String,
    mode: &'static str,
    pub phase: &'static str,
    pub iteration: u32,
    status: &'static str,
    halt_reason: Option<&'static str>,
    failure_cause: Option<&'a str>,
    sentence: Option<&'a str>,
    check: String,
    check_exit: Option<i32>,
    last_green_tree: Option<Digest>,
    last_green_commit: Option<&'a str>,
    accepted_tree: Option<Digest>,
    tree: Digest,
    commit: Option<&'a str>,
    branch: Option<&'a str>,
    open_failures: Vec<&'a String>,
    open_failures_total: usize,
    cumulative_microusd: u64,
    cost_known: bool,
    declared_cost_microusd: Option<u64>,
    baseline: Baseline,
    determinism: engine_determinism::Samples,
    integrity: Integrity,
    model: &'a ModelPin,
    model_declared: bool,
    sampling: &'a Sampling,
    context_files: &'a [ContextFile],
    escalation: Option<&'static str>,
    unread: u32,
    acked_by: Option<&'a str>,
    elapsed_ms: u64,
    max_iterations: u32,
    resumes: u32,
    events: u64,
    head: Digest,
    updated_ms: u64,
}

/// Names that serde shows for the samples of the check.
mod engine_determinism {
    #[derive(Debug, serde::Serialize)]
    pub(crate) struct Samples {
        pub(crate) samples: u32,
        pub(crate) disagreements: u32,
        /// Of a probe before the run.
        pub(crate) probe_runs: u32,
        pub(crate) probe_agreeing: u32,
    }
}

#[derive(Debug, Serialize)]
struct Baseline {
    tree: Option<Digest>,
    failing: Option<u64>,
    best: Option<u64>,
    best_iteration: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Integrity {
    surface: Option<Digest>,
    violations: u32,
    members: usize,
}

/// Failing members named in the projection; the journal has all.
const FAILURES_NAMED: usize = 200;

impl<'a> Profile<'a> {
    /// The profile of a state.
    pub fn of(state: &'a State, events: u64, head: Digest) -> Self {
        let facts = &state.facts;
        let policy = facts.policy();
        let halted = facts.halted.as_ref();
        let accepted = facts.accepted.as_deref();
        let green = accepted.filter(|a| a.failing.is_empty() && facts.last_check.is_some());
        let failing = accepted.map(|a| &a.failing);
        Self {
            schema: "loopexec.state/1",
            run_id: &facts.opened.run_id,
            workdir: facts.opened.workdir.text(),
            mode: policy.mode.label(),
            phase: state.phase.name().label(),
            iteration: facts.iteration,
            status: match (halted, &facts.suspended) {
                (Some(_), _) => "halted",
                (None, Some(_)) => "interrupted",
                (None, None) => "running",
            },
            halt_reason: halted.map(|h| h.reason.label()),
            failure_cause: halted.map(|h| h.cause.as_str()),
            sentence: halted.map(|h| h.sentence.as_str()),
            check: policy.oracle.check.display(),
            check_exit: facts.check_exit(),
            last_green_tree: green.map(|a| a.tree),
            last_green_commit: green.and(facts.head.as_deref()),
            accepted_tree: accepted.map(|a| a.tree),
            tree: facts.tree,
            commit: facts.head.as_deref(),
            branch: facts.branch.as_deref(),
            open_failures: failing
                .map(|f| f.iter().take(FAILURES_NAMED).collect())
                .unwrap_or_default(),
            open_failures_total: failing.map_or(0, engine::IdSet::len),
            cumulative_microusd: facts.spend.microusd,
            cost_known: facts.spend.calls > 0 && !facts.spend.unknown,
            declared_cost_microusd: policy.pins.declared_cost_microusd,
            baseline: Baseline {
                tree: facts.t0,
                failing: facts.history.first.map(|f| f.failing),
                best: facts.history.best.map(|b| b.failing),
                best_iteration: facts.history.best.map(|b| b.iteration),
            },
            determinism: engine_determinism::Samples {
                samples: facts.determinism.samples,
                disagreements: facts.determinism.disagreements,
                probe_runs: facts.determinism.probe.runs,
                probe_agreeing: facts.determinism.probe.agreeing,
            },
            integrity: Integrity {
                surface: facts.surface,
                violations: facts.violations,
                members: facts.universe.len(),
            },
            model: &policy.pins.model,
            model_declared: policy.pins.model.id.is_some(),
            sampling: &policy.pins.sampling,
            context_files: &policy.pins.context_files,
            escalation: facts.people.escalated.map(|reason| reason.label()),
            unread: facts.people.unread,
            acked_by: facts.people.acked_by.as_deref(),
            elapsed_ms: facts.elapsed_ms,
            max_iterations: facts.bounds.max_iterations,
            resumes: facts.resumes,
            events,
            head,
            updated_ms: facts.now.wall_ms,
        }
    }
}

/// A projection that is younger than this when the next work command begins is replaced while that command runs, if
/// it lasts: a loop that is faster than anybody looks writes it no more often.
const YOUNG_MS: u64 = 100;

/// The files of the projection.
pub(super) struct Projections {
    file: PathBuf,
    latest: PathBuf,
    /// When a work command last found it written, in milliseconds of this life, and what it was like then.
    written: Option<(u64, Mark)>,
    pub(super) late: Late,
}

/// Inode, size and change time.
type Mark = (u64, u64, i64, i64);

impl Projections {
    pub(super) fn new(state_dir: &StateDir, run: &RunDir) -> Self {
        Self {
            file: run.state_file(),
            latest: state_dir.state_file(),
            written: None,
            late: Late::default(),
        }
    }

    /// Writes the profile, or has it written while the command runs that is about to begin; the error is a sentence,
    /// because a projection can always be rebuilt.
    pub(super) fn refresh(&mut self, state: &State, events: u64, head: Digest) -> Option<String> {
        let over = state.facts.halted.is_some() || state.facts.suspended.is_some();
        let before_work = state.phase.name() == PhaseName::Execute && !over;
        if before_work && self.is_young() {
            self.put_off(events, head);
            return None;
        }
        self.late.put(None);
        let written = write(&self.file, state, events, head);
        self.written = mark(&self.file)
            .filter(|_| before_work)
            .map(|mark| (clock::mono_ms(), mark));
        written
            .err()
            .map(|error| format!("{} could not be written: {error}", self.file.display()))
    }

    /// A command begins that none is written for. Where one waits, it has to tell of what was recorded meanwhile.
    pub(super) fn follow(&self, events: u64, head: Digest) {
        if self.late.take().is_some() {
            self.put_off(events, head);
        }
    }

    fn put_off(&self, events: u64, head: Digest) {
        let file = self.file.clone();
        self.late.put(Some(Box::new(move |state| {
            // The next one is written, or tells why not.
            let _ = write(&file, state, events, head);
        })));
    }

    /// Written a moment ago, and nobody has touched it since.
    fn is_young(&self) -> bool {
        let young = self
            .written
            .filter(|(at_ms, _)| clock::mono_ms().saturating_sub(*at_ms) < YOUNG_MS);
        young.is_some_and(|(_, was)| mark(&self.file) == Some(was))
    }

    /// `state.json` of the state directory is the newest run's: from before its first command, and never written by
    /// the governor again.
    pub(super) fn link(&self) -> Option<String> {
        self.try_link()
            .err()
            .map(|error| format!("{} could not be written: {error}", self.latest.display()))
    }

    fn try_link(&self) -> std::io::Result<()> {
        let run = self.file.parent().and_then(Path::file_name).unwrap_or_default();
        let target = Path::new("runs").join(run).join("state.json");
        let temporary = self.latest.with_extension("json.new");
        let _ = fs::remove_file(&temporary);
        symlink(target, &temporary)?;
        fs::rename(&temporary, &self.latest)
    }

    /// Digest over the profile, for the signed checkpoint.
    pub(super) fn digest(&self, state: &State) -> Digest {
        let bytes = serde_json::to_vec(&Profile::of(state, 0, Digest::ZERO)).unwrap_or_default();
        Digest(*blake3::hash(&bytes).as_bytes())
    }
}

fn write(path: &Path, state: &State, events: u64, head: Digest) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(&Profile::of(state, events, head))?;
    bytes.push(b'\n');
    replace(path, &bytes)
}

fn mark(path: &Path) -> Option<Mark> {
    let seen = fs::symlink_metadata(path).ok()?;
    Some((seen.ino(), seen.size(), seen.ctime(), seen.ctime_nsec()))
}

/// Atomic, not synced: a reader sees the old or the new file, and a crash loses nothing that counts.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("json.new");
    let mut file = fs::File::create(&temporary)?;
    file.write_all(bytes)?;
    drop(file);
    // Changing places and removing the old file costs no flush to the disk, as renaming over it does on some file
    // systems. Where the two cannot change places, because there is no old one for instance, it is renamed.
    match renameat_with(CWD, &temporary, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => fs::remove_file(&temporary),
        Err(_) => fs::rename(&temporary, path),
    }
}
