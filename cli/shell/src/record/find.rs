//! Which run is meant.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
    let runs: Vec<RunDir> = ids.into_iter().map(|id| state.open_run(id)).collect::<Result<_, _>>()?;
    let made: Vec<Option<u64>> = runs
        .iter()
        .map(|run| ms(run.path().metadata().ok()?.created()))
        .collect();
    let youngest = youngest(&made, |at| began_ms(&runs[at]));
    Ok(youngest.and_then(|at| runs.into_iter().nth(at)))
}

/// A directory is made this long after its run began, at most.
const NEAR_MS: u64 = 60_000;

/// Which run began last, of runs whose directories were made at these times. Those times are a hint, because a copy is
/// made anew: when the runs that were made last did not begin then, every run is asked.
fn youngest(made: &[Option<u64>], began: impl Fn(usize) -> u64) -> Option<usize> {
    let hints: Option<Vec<u64>> = made.iter().copied().collect();
    let asked = hints.and_then(|hints| {
        let last = *hints.iter().max()?;
        let mut asked = Vec::new();
        for (at, made) in hints.into_iter().enumerate().filter(|(_, made)| last - made <= NEAR_MS) {
            let began = began(at);
            if made.abs_diff(began) > NEAR_MS {
                return None;
            }
            asked.push((began, at));
        }
        Some(asked)
    });
    let asked = asked.unwrap_or_else(|| (0..made.len()).map(|at| (began(at), at)).collect());
    asked.into_iter().max().map(|(_, at)| at)
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
    ms(run.journal().metadata().ok()?.modified())
}

fn ms(time: io::Result<SystemTime>) -> Option<u64> {
    let since = time.ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    /// The youngest, and how many runs were asked.
    fn told(made: &[Option<u64>], began: &[u64]) -> (Option<usize>, u32) {
        let asked = Cell::new(0);
        let youngest = youngest(made, |at| {
            asked.set(asked.get() + 1);
            began[at]
        });
        (youngest, asked.get())
    }

    #[test]
    fn however_many_runs_there_are_only_those_made_last_are_asked() {
        let began: Vec<u64> = (1..=1_000).map(|hour| hour * HOUR_MS).collect();
        let made: Vec<_> = began.iter().map(|began| Some(began + 40)).collect();
        assert_eq!(told(&made, &began), (Some(999), 1));
    }

    #[test]
    fn runs_that_were_made_together_are_told_apart_by_their_first_events() {
        let began = [HOUR_MS, 9 * HOUR_MS + 30, 9 * HOUR_MS];
        let made = [Some(HOUR_MS), Some(9 * HOUR_MS + 40), Some(9 * HOUR_MS + 50)];
        assert_eq!(told(&made, &began), (Some(1), 2));
    }

    #[test]
    fn a_copied_directory_or_one_without_a_time_misleads_nobody() {
        let began = [5 * HOUR_MS, 8 * HOUR_MS, 2 * HOUR_MS];
        let copied = [Some(5 * HOUR_MS), Some(8 * HOUR_MS), Some(20 * HOUR_MS)];
        assert_eq!(told(&copied, &began).0, Some(1));
        assert_eq!(told(&[Some(0), None, Some(0)], &began).0, Some(1));
        let never_began = [5 * HOUR_MS, 8 * HOUR_MS, 0];
        assert_eq!(told(&copied, &never_began).0, Some(1));
        assert_eq!(told(&[], &[]), (None, 0));
    }
}
