//! What earlier lives left behind is seen to before another one begins: their processes, and their keys. And what is to be
//! said of the one that begins.

use std::ffi::OsString;

use engine::State;

use super::RunError;
use crate::paths::StateDir;
use crate::process::leftovers::{self, Leftover};
use crate::world::{hermetic, too_short};
use crate::zone::credential::{Desk, Swept, sweep};

/// How long leftovers of an earlier life may take to end.
const LEFTOVERS_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

/// Processes that an earlier life could not end are ended before anything starts.
pub(super) fn end_leftovers(state_dir: &StateDir) -> Result<u32, RunError> {
    let mut ended = 0;
    for id in state_dir.run_ids()? {
        let run = state_dir.runs().join(id.as_str());
        if run.join("supervisor.json").exists() {
            ended += all_ended(leftovers::end(&run, LEFTOVERS_LIMIT)?)?;
        }
    }
    Ok(ended)
}

/// How many were ended. Beside one that was not, nothing that is measured can be trusted.
pub(super) fn all_ended(outcome: leftovers::Ended) -> Result<u32, RunError> {
    match outcome.remaining.into_iter().next() {
        Some(Leftover { pid, command, .. }) => Err(RunError::StillRunning { pid, command }),
        None => Ok(u32::try_from(outcome.ended.len()).unwrap_or(u32::MAX)),
    }
}

/// Keys of lives that are over are revoked. What there is to say of them, for people: a start does not fail for another
/// run's key.
pub(super) fn sweep_keys(state_dir: &StateDir, desk: &Desk) -> Vec<String> {
    let swept = sweep(state_dir, desk).into_iter();
    swept
        .map(|Swept { run_id, key, failed }| match failed {
            None => format!("the key {key} of run {run_id}, which was not governed to its end, is revoked now"),
            Some(why) => format!(
                "the key {key} of run {run_id} may still be good: {why}; the next run, resume or doctor tries again"
            ),
        })
        .collect()
}

/// What of the contract does not do what somebody may think.
pub(super) fn warnings(state: &State, env: &[(OsString, OsString)]) -> Vec<String> {
    let policy = state.facts.policy();
    let short = too_short(&policy.secrets, env).into_iter();
    let short =
        short.map(|name| format!("the value of {name} is too short to be told from ordinary text and is not masked"));
    let withheld = hermetic::withheld(policy, env);
    let names: Vec<_> = withheld.iter().map(|(name, _)| name.to_string_lossy()).collect();
    let withheld = (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("withheld from the check: {names}; `--check-env NAME` passes one on")
    });
    let held = state.facts.degraded();
    let held = held.map(|held| format!("the work has no zone; {held}"));
    short.chain(withheld).chain(held).collect()
}
