//! Keys of lives that are over, found by the next one or by the doctor.

use std::path::{Path, PathBuf};

use super::marker::{self, Marker};
use super::{Desk, put_out};
use crate::paths::{RunDir, StateDir};

/// A start is not held up for long; the marker stays for the next one.
const ATTEMPTS: u32 = 2;

/// What became of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) run_id: String,
    /// Its label, or where word of it lies when that cannot be read.
    pub(crate) key: String,
    /// Why it may still be good.
    pub(crate) failed: Option<String>,
}

/// Revokes what is left. Only for who holds the lock of the state directory.
pub(crate) fn sweep(state: &StateDir, desk: &Desk) -> Vec<Swept> {
    let runs = state.run_ids().unwrap_or_default().into_iter();
    let left = runs.filter_map(|id| state.open_run(id).ok()).map(|run| Left::of(&run));
    left.chain([Left::outside(state)])
        .flat_map(|left| left.sweep(desk))
        .collect()
}

/// The markers of one run, as they were at one moment. A life that begins later has another one.
pub(crate) struct Left {
    run_id: String,
    places: Vec<PathBuf>,
}

impl Left {
    pub(crate) fn of(run: &RunDir) -> Self {
        Self {
            run_id: run.id().to_string(),
            places: marker::places(run.path()),
        }
    }

    /// Those of keys that no run asked for.
    pub(crate) fn outside(state: &StateDir) -> Self {
        Self {
            run_id: "isolate".to_owned(),
            places: marker::places(state.path()),
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.places.is_empty()
    }

    /// Revokes them. Only for who knows that nobody governed the run after they were looked for.
    pub(crate) fn sweep(&self, desk: &Desk) -> Vec<Swept> {
        let swept = self.places.iter().map(|place| swept(&self.run_id, place, desk));
        swept.flatten().collect()
    }
}

/// `None` where somebody else has seen to it in between.
fn swept(run_id: &str, place: &Path, desk: &Desk) -> Option<Swept> {
    let (key, failed) = match Marker::read(place) {
        Ok(None) => return None,
        Ok(Some(marker)) => {
            let failed = put_out(desk, place, &marker, ATTEMPTS).err();
            (marker.label, failed)
        }
        Err(why) => (place.display().to_string(), Some(why)),
    };
    let run_id = run_id.to_owned();
    Some(Swept { run_id, key, failed })
}
