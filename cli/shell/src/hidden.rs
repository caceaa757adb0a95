//! The hidden first arguments that turn the binary into one of its own helpers, before anything of it is parsed.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::{process, zone};

/// Does what the hidden argument among `words` (those behind the name of the program) says; `None` where there is none.
pub fn dispatch(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let first = words.next()?;
    if first == process::SUPERVISE {
        return Some(process::supervise());
    }
    if first == zone::LAUNCH {
        return Some(zone::launch());
    }
    if first == zone::INIT {
        return Some(zone::init(words.next().as_deref()));
    }
    if first == zone::HOLD {
        return Some(zone::hold(words));
    }
    if first == zone::FALL {
        return Some(zone::fall(words));
    }
    if first == zone::REAP {
        return Some(zone::reap(words.next().as_deref()));
    }
    None
}
