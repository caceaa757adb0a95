//! A life of a run: from a contract, or from a journal that stopped, to a halt or a suspension.

use std::ffi::OsString;
use std::path::PathBuf;

use engine::State;
use engine::event::Event;
use engine::event::id::Digest;
use engine::event::run::Amended;

use crate::config::Resolved;
use crate::paths::RunDir;

pub use error::RunError;

mod error;

/// What a new run is made from.
#[derive(Debug)]
pub struct Start {
    /// The canonical workdir.
    pub workdir: PathBuf,
    pub contract: Resolved,
    /// Chosen by the user; a used id is refused. A fresh, sortable one when absent.
    pub run_id: Option<String>,
    /// The environment, as it was when the program started.
    pub env: Vec<(OsString, OsString)>,
    /// The binary that is started once more as the supervisor.
    pub exe: PathBuf,
}

/// What a run is continued from.
#[derive(Debug)]
pub struct Resume {
    pub workdir: PathBuf,
    /// The newest run of the workdir when absent.
    pub run_id: Option<String>,
    /// Raised limits; `at` is filled in.
    pub amendment: Option<Amended>,
    /// A head that the journal is known to have had.
    pub expect_head: Option<Digest>,
    pub env: Vec<(OsString, OsString)>,
    pub exe: PathBuf,
}

/// How a life ended.
#[derive(Debug)]
pub struct Finished {
    pub run: RunDir,
    /// `state.facts.halted` or `state.facts.suspended` says why.
    pub state: State,
    /// Head of the journal's chain after the last event.
    pub head: Digest,
    /// Number of events in the journal.
    pub events: u64,
    /// Things that went wrong beside the run itself (a projection that could not be written, ...).
    pub warnings: Vec<String>,
}

/// Told of every event once it is durable, with the state after the newest one.
pub trait Watch {
    /// The run directory is known; nothing has happened yet.
    fn opened(&mut self, run: &RunDir, state: &State);
    /// One durable event.
    fn event(&mut self, seq: u64, event: &Event);
    /// A long effect begins (`execute`, `check`, `restore`), or something worth a line happened.
    fn effect(&mut self, effect: &engine::Effect);
}

/// Runs a loop to its halt or suspension.
pub fn start(_: Start, _: &mut dyn Watch) -> Result<Finished, RunError> {
    Err(RunError::Unsupported)
}

/// Continues a loop.
pub fn resume(_: Resume, _: &mut dyn Watch) -> Result<Finished, RunError> {
    Err(RunError::Unsupported)
}
