//! The reaper: stands by while a key is good, and revokes it when the governor is gone or could not.
//!
//! It knows what to revoke from the start, so that not even the loss of the run's directory keeps it from that; from the
//! marker it learns what came later. Nothing asks whether another governor is at work by then: each life has a marker
//! and a label of its own, and two that revoke one key do no harm.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use super::marker::{self, Marker};
use super::{Desk, again, put_out_once, reaper_words};
use crate::process::{Aside, StandingBy};

/// Attempts in about ten minutes; after the last the next start has to see to it.
const ATTEMPTS: u32 = 16;

/// It is there, with the word read, when this returns.
pub(super) fn start(desk: &Desk, place: &Path) -> io::Result<Aside> {
    Aside::start(&desk.exe, &reaper_words(place), &desk.env)
}

/// Is the reaper of the key whose marker lies at `place`, in the process that was started as one.
#[must_use]
pub fn reap(place: Option<&OsStr>) -> ExitCode {
    match stand_by(Path::new(place.unwrap_or_default())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn stand_by(place: &Path) -> Result<(), String> {
    let known = Marker::read(place)?.ok_or("there is nothing to stand by for")?;
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let env: Vec<_> = std::env::vars_os().collect();
    // What leads into the tree is not in the environment it was given.
    let desk = Desk::new(&exe, &env, place);
    let standing = StandingBy::begin().map_err(|error| error.to_string())?;
    if standing.was_released() {
        return Ok(());
    }
    let mut lost = false;
    let attempt = |number: u32| {
        let marker = match Marker::read(place) {
            Ok(Some(marker)) => marker,
            // Removed without a word to this process: by a sweep in between, or with all of the run.
            _ if number > 1 && !lost && marker::is_gone(place) => return Ok(()),
            _ => {
                lost = true;
                known.clone()
            }
        };
        put_out_once(&desk, place, &marker)
    };
    again(ATTEMPTS, attempt)
}
