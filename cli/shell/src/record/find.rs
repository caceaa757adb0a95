//! Which run is meant.

use std::path::{Path, PathBuf};

use engine::event::Event;
use journal::Journal;

use super::RecordError;
use crate::paths::{self, PathError, RunDir, RunId, StateDir};

/// A run and the directories it lies in.
#[derive(Clone, Debug)]
pub struct Place {
    /// Canonical.
    pub workdir: PathBuf,
    pub state: StateDir,
    pub run: RunDir,
}

/// The run of this name, or the one that was started last. Nothing is made or locked.
///
/// # Errors
/// No state, no such run, or what stands in the way.
pub fn find(workdir: &Path, run_id: Option<&str>) -> Result<Place, RecordError> {
    let id = run_id.map(RunId::parse).transpose()?;
    let workdir = paths::workdir(workdir)?;
    let no_state = || RecordError::NoState {
        workdir: workdir.clone(),
    };
    let state = StateDir::open(&workdir)?.ok_or_else(no_state)?;
    let run = match id {
        Some(id) => match state.open_run(id) {
            Err(PathError::NoSuchRun { run_id, .. }) => {
                return Err(RecordError::NoRun { workdir, run_id });
            }
            other => other?,
        },
        None => latest(&state)?.ok_or_else(no_state)?,
    };
    Ok(Place { workdir, state, run })
}

/// The run whose first event is the youngest. A run that died before its first event counts only when there is no
/// other.
pub(crate) fn latest(state: &StateDir) -> Result<Option<RunDir>, PathError> {
    let mut ids = state.run_ids()?;
    // A run that has no rival need not be asked when it began.
    if ids.len() == 1 {
        return ids.pop().map(|id| state.open_run(id)).transpose();
    }
    let mut best: Option<((u64, RunId), RunDir)> = None;
    for id in ids {
        let run = state.open_run(id.clone())?;
        let began = (began_ms(&run), id);
        if best.as_ref().is_none_or(|(known, _)| *known < began) {
            best = Some((began, run));
        }
    }
    Ok(best.map(|(_, run)| run))
}

/// Wall time of the first event; zero when there is none. A damaged journal must not hide behind an older one: what
/// the file system says about its directory stands in.
fn began_ms(run: &RunDir) -> u64 {
    let first = match Journal::open_read(&run.journal()) {
        Ok(reader) => reader.events().next(),
        Err(journal::Error::Missing { .. }) => None,
        Err(error) => Some(Err(error)),
    };
    match first {
        None => 0,
        Some(Ok((_, Event::RunOpened(opened)))) => opened.at.wall_ms,
        Some(_) => made_ms(run).unwrap_or(0),
    }
}

fn made_ms(run: &RunDir) -> Option<u64> {
    let time = run.journal().metadata().ok()?.modified().ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
