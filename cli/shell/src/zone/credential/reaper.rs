//! The reaper: stands by while a key is good, and revokes it when the governor is gone or could not.
//!
//! It knows what to revoke from the start, so that not even the loss of the run's directory keeps it from that; from the
//! marker it learns what came later. Nothing asks whether another governor is at work by then: each life has a marker
//! and a label of its own, and two that revoke one key do no harm.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::marker::{self, Marker};
use super::{Desk, put_out_once, reaper_words};
use crate::process::{Aside, StandingBy};

/// Attempts in about ten minutes; after the last the next start has to see to it.
const ATTEMPTS: u32 = 16;
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// It is there, with the word read, when this returns.
pub(super) fn start(desk: &Desk, place: &Path) -> io::Result<Aside> {
    Aside::start(&desk.exe, &reaper_words(place), &desk.env)
}

/// Is the reaper, in the process that was started as one.
#[must_use]
pub fn reap() -> ExitCode {
    match stand_by() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn stand_by() -> Result<(), String> {
    let place: PathBuf = std::env::args_os().nth(2).unwrap_or_default().into();
    let known = Marker::read(&place)?.ok_or("there is nothing to stand by for")?;
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let env: Vec<_> = std::env::vars_os().collect();
    // What leads into the tree is not in the environment it was given.
    let desk = Desk::new(&exe, &env, &place);
    let standing = StandingBy::begin().map_err(|error| error.to_string())?;
    if standing.was_released() {
        return Ok(());
    }
    let mut lost = false;
    let mut pause = PAUSE;
    for attempt in 1..=ATTEMPTS {
        let marker = match Marker::read(&place) {
            Ok(Some(marker)) => marker,
            // Removed without a word to this process: by a sweep in between, or with all of the run.
            _ if attempt > 1 && !lost && marker::is_gone(&place) => return Ok(()),
            _ => {
                lost = true;
                known.clone()
            }
        };
        if put_out_once(&desk, &place, &marker).is_ok() {
            return Ok(());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Err("it could not be revoked".to_owned())
}
