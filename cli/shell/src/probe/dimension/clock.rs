//! The wall clock, by faketime: it reaches every program that asks the C library for the time.
//!
//! Several instants: a check that compares years breaks at 400 days, one that compares dates at a day, and one that
//! keeps 32 bits only past 2038.

use std::ffi::OsString;
use std::path::Path;

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "clock",
    doc: "the wall clock",
    is_outside: false,
    plan,
};

const INSTANTS: &[(&str, &str)] = &[
    ("a day on", "+1d"),
    ("400 days on", "+400d"),
    ("400 days back", "-400d"),
    ("in 2038, past 32 bits", "@2038-01-19 03:20:00"),
];

/// There after a run in which a program found the clock standing.
const SIGN: &str = "clock-stood-still";

/// When a clock stands that is only tried: a day after 1970.
const TRIED_AT: &str = "86400";

/// Leaves the sign, if the clock stands where it should, and becomes the command.
const LOOK: &str = "test \"$(date +%s)\" = \"$2\" && date +%s > \"$1\"; shift 2; exec \"$@\"";

/// The words before a command whose clock stands at this second.
fn still(at: &str) -> [&str; 7] {
    [
        "env",
        "FAKETIME_FMT=%s",
        "NO_FAKE_STAT=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
        "faketime",
        "-f",
        at,
    ]
}

/// Reads the clock.
fn read<'a>(around: &[&'a str]) -> Vec<&'a str> {
    [around, &["date", "+%s"]].concat()
}

fn reads(says: &[u8], at: &str) -> bool {
    says.trim_ascii() == at.as_bytes()
}

/// A command that reads a clock which stands still, and whether that is what it read.
pub(crate) fn trial() -> (Vec<OsString>, impl Fn(&str) -> bool) {
    let words = read(&still(TRIED_AT)).iter().map(OsString::from).collect();
    (words, |says: &str| reads(says.as_bytes(), TRIED_AT))
}

/// What stands around a command whose clock stands still, this many seconds after 1970. Times of files stay as they are,
/// and so do clocks that only run: without these nothing would end that waits.
///
/// # Errors
/// Why it cannot stand still here.
pub(crate) fn standing_still(site: &Site<'_>, at_s: i64, support: &Path) -> Result<Perturbation, String> {
    if !site.has("faketime") {
        return Err(MISSING.to_owned());
    }
    let (at, sign) = (at_s.to_string(), support.join(SIGN));
    let around = still(&at);
    if !site.ask(&read(&around)).is_some_and(|says| reads(&says, &at)) {
        return Err("faketime does not work here".to_owned());
    }
    let mut change = Perturbation::around(&[&around[..], &["sh", "-c", LOOK, "sh"]].concat());
    change.around.extend([sign.into(), at.into()]);
    change.signs.push(SIGN);
    Ok(change)
}

/// Why the clock cannot be varied.
const MISSING: &str = "faketime is not installed";

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    if !site.has("faketime") {
        return Err(MISSING.to_owned());
    }
    // It may be there and reach nobody: then nothing would be varied, and everything would seem to hold.
    let (_, late) = INSTANTS.last().copied().unwrap_or_default();
    let year = site.ask(&["faketime", "-f", late, "date", "+%Y"]);
    if year.is_none_or(|year| year.trim_ascii() != b"2038") {
        return Err("faketime does not work here".to_owned());
    }
    let ways: Vec<_> = INSTANTS
        .iter()
        .map(|(says, instant)| way(*says, Perturbation::around(&["faketime", "-f", instant])))
        .collect();
    Ok(Varied::by_turns(&ways, site).with_tool(&["faketime", "-f", "+0"]))
}
