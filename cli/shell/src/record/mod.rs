//! A recorded run, read without changing anything: no lock, no repair, no directory made.
//!
//! ```text
//!   find --> RunDir --> Record::read --> Fold { state, report, judged, accepted line }
//!                            `-- what stopped the reading, when something did
//! ```
//!
//! A run that is at work is read like any other. A damaged journal is folded as far as it is good, and
//! the damage is named beside the fold. [`audit()`] is the whole examination; [`Record`] only reads.

mod ack;
mod audit;
mod find;
mod fold;
mod follow;
mod foreign;
mod hygiene;
mod workspace;

use std::fmt;
use std::path::PathBuf;

use engine::State;
use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::Digest;
use journal::{Journal, VerifyOptions};

use crate::lock::{self, Holder, LockError};
use crate::paths::{PathError, RunDir, StateDir};

pub use ack::{AckError, Acknowledge, acknowledge};
pub use audit::{Audit, Decisions, ReceiptState, SignatureState, audit};
pub(crate) use find::latest;
pub use find::{Place, find};
pub use fold::{AcceptedTree, Fold, Judged};
pub use follow::Follow;
pub use foreign::{ForeignReceipt, ForeignRow, foreign_receipt};
pub use hygiene::{Finding, Grade, Hygiene, inspect};
pub use workspace::inspect_workspace;

/// Why a recorded run cannot be read at all.
#[derive(Debug)]
pub enum RecordError {
    /// There is no state directory, or no run in it.
    NoState {
        workdir: PathBuf,
    },
    /// There is no run of this name.
    NoRun {
        workdir: PathBuf,
        run_id: String,
    },
    Path(PathError),
    Lock(LockError),
    Journal(journal::Error),
}

impl RecordError {
    /// The halt reason whose class the exit code takes.
    pub const fn reason(&self) -> HaltReason {
        match self {
            Self::Journal(journal::Error::Corrupt(_) | journal::Error::RolledBack { .. }) => {
                HaltReason::ObjectiveUnverified
            }
            Self::NoState { .. } | Self::NoRun { .. } | Self::Path(_) | Self::Lock(_) | Self::Journal(_) => {
                HaltReason::WorkspaceInvalid
            }
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoState { workdir } => write!(
                f,
                "no recorded run state in {}; start a run with `loopexec run`, or name the place with --workdir",
                workdir.display()
            ),
            Self::NoRun { workdir, run_id } => write!(
                f,
                "no recorded run state for {run_id:?} in {}; `loopexec status` names the latest run",
                workdir.display()
            ),
            Self::Path(error) => error.fmt(f),
            Self::Lock(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<PathError> for RecordError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl From<LockError> for RecordError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<journal::Error> for RecordError {
    fn from(error: journal::Error) -> Self {
        Self::Journal(error)
    }
}

/// One recorded run and what its events fold to.
#[derive(Debug)]
pub struct Record {
    pub run: RunDir,
    pub fold: Fold,
    /// Chain value of the last event that could be read.
    pub head: Digest,
    /// Why the reading stopped before the end; the fold holds everything before that place.
    pub damage: Option<journal::Error>,
}

impl Record {
    /// Folds everything that can be read.
    ///
    /// # Errors
    /// The journal cannot be opened. Damage further in is in [`Record::damage`].
    pub fn read(run: RunDir) -> Result<Self, RecordError> {
        Self::read_with(run, |_, _| {})
    }

    /// As [`Record::read`], and shows every event on the way.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn read_with(run: RunDir, mut visit: impl FnMut(u64, &Event)) -> Result<Self, RecordError> {
        let reader = Journal::open_read(&run.journal())?;
        let mut fold = Fold::default();
        let mut damage = None;
        let mut events = reader.events();
        for item in events.by_ref() {
            match item {
                Ok((seq, event)) => {
                    fold.add(seq, &event);
                    visit(seq, &event);
                }
                Err(error) => damage = Some(error),
            }
        }
        if matches!(damage, Some(journal::Error::Corrupt(_))) {
            // A reader shows nothing of a damaged segment; the whole examination shows what is good of it.
            let shown = fold.events;
            fold = up_to_defect(&run, |seq, event| {
                if seq >= shown {
                    visit(seq, event);
                }
            })?;
        }
        if let Some((seq, _)) = fold.illegal {
            fold.state = state_before(&run, seq)?;
        }
        let head = match &damage {
            None => events.head().leaf,
            Some(_) => Digest::ZERO,
        };
        Ok(Self {
            run,
            fold,
            head,
            damage,
        })
    }
}

/// Folds a damaged journal as far as it is good.
fn up_to_defect(run: &RunDir, mut visit: impl FnMut(u64, &Event)) -> Result<Fold, RecordError> {
    let mut fold = Fold::default();
    let mut take = |seq: u64, event: &Event| {
        fold.add(seq, event);
        visit(seq, event);
        Ok(())
    };
    Journal::verify(&run.journal(), &VerifyOptions::default(), Some(&mut take))?;
    Ok(fold)
}

/// The state just before event `seq`.
fn state_before(run: &RunDir, seq: u64) -> Result<Option<State>, RecordError> {
    let mut state: Option<State> = None;
    let mut take = |at: u64, event: &Event| {
        if at >= seq {
            return Err(String::new());
        }
        let next = match state.take() {
            None => State::first(event),
            Some(state) => state.apply(event),
        };
        state = next.ok();
        Ok(())
    };
    Journal::verify(&run.journal(), &VerifyOptions::default(), Some(&mut take))?;
    Ok(state)
}

/// Who is at work on this very run now, if anybody.
///
/// # Errors
/// The lock file cannot be looked at.
pub fn governor(state: &StateDir, run: &RunDir) -> Result<Option<Holder>, RecordError> {
    let holder = lock::holder(state)?;
    Ok(holder.filter(|holder| holder.run_id == run.id().as_str()))
}
