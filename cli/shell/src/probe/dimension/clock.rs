//! The wall clock, by faketime: it reaches every program that asks the C library for the time.
//!
//! Several instants: a check that compares years breaks at 400 days, one that compares dates at a day, and one that
//! keeps 32 bits only past 2038.

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

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    if !site.has("faketime") {
        return Err("faketime is not installed".to_owned());
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
