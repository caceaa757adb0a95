//! The collectors: one captured run in, one [`Measured`] out.
//!
//! ```text
//! Detection --choose--> Collector --inject--> Injection      (before the run: environment only)
//!                           |
//! Artefact ----------------collect--> Measured | CollectError (after the run: pure)
//! ```
//!
//! A collector is one file and one line in [`ALL`]. It never runs anything, and it is total: any
//! bytes give a measurement or a [`CollectError`], never a panic. It reports what the run showed and
//! leaves judging to the guards. An artefact that was asked for and is not there is an error, never
//! an empty measurement.

mod bounds;
mod ctest;
mod detect;
mod error;
mod go;
mod go_text;
mod googletest;
mod injection;
mod jest;
mod junit;
mod libtest;
mod libtest_binaries;
mod nextest;
mod nextest_text;
mod node;
mod node_spec;
mod peel;
mod pytest;
mod pytest_record;
mod recipes;
mod rspec;
mod tap;
mod unittest;
mod variables;
mod vitest;

pub use bounds::{BOUNDS, Bounds};
pub use detect::{Detection, Invocation, Place, Text};
pub use error::CollectError;
pub use injection::{InjectRequest, Injection, ReportPlan};
pub use jest::NODE_SHIM;
pub(crate) use peel::is_assignment;
pub use pytest::PLUGIN;
pub(crate) use pytest::takes_plugins;

use super::{Artefact, Measured};

/// A reader of one format.
#[derive(Debug)]
pub struct Collector {
    /// The name users write in `--collector`.
    pub name: &'static str,
    /// One sentence: which runner it reads, and from where.
    pub doc: &'static str,
    /// How sure the command runs this runner, 1 to 100; `None` when it does not.
    pub detect: fn(&Detection) -> Option<u8>,
    /// What to add to the environment so that the unmodified command leaves an artefact.
    pub inject: fn(&InjectRequest<'_>) -> Injection,
    pub collect: fn(&Artefact<'_>) -> Result<Measured, CollectError>,
}

impl Collector {
    /// What the run showed, read within [`BOUNDS`].
    pub fn read(&self, artefact: &Artefact<'_>) -> Result<Measured, CollectError> {
        BOUNDS.admit(self.name, artefact)?;
        let measured = (self.collect)(artefact)?;
        BOUNDS.hold(self.name, &measured.members)?;
        Ok(measured)
    }
}

/// Every collector, by name.
pub static ALL: &[&Collector] = &[
    &ctest::COLLECTOR,
    &go::COLLECTOR,
    &googletest::COLLECTOR,
    &jest::COLLECTOR,
    &junit::COLLECTOR,
    &libtest::COLLECTOR,
    &nextest::COLLECTOR,
    &node::COLLECTOR,
    &pytest::COLLECTOR,
    &rspec::COLLECTOR,
    &tap::COLLECTOR,
    &unittest::COLLECTOR,
    &vitest::COLLECTOR,
];

/// No change to the environment: the runner's ordinary output is what gets read.
fn inject_nothing(_: &InjectRequest<'_>) -> Injection {
    Injection::default()
}

/// The collector called `name`.
pub fn by_name(name: &str) -> Option<&'static Collector> {
    ALL.iter().copied().find(|collector| collector.name == name)
}

/// The collectors whose runner the command seems to run, the surest first. More than one means that
/// the check runs several runners, of which one collector reads only its own.
pub fn candidates(detection: &Detection) -> Vec<(u8, &'static Collector)> {
    let mut found: Vec<_> = ALL
        .iter()
        .filter_map(|collector| (collector.detect)(detection).map(|sure| (sure, *collector)))
        .collect();
    found.sort_by_key(|(sure, _)| std::cmp::Reverse(*sure));
    found
}

/// The surest collector for the command, if any runner was recognised.
pub fn choose(detection: &Detection) -> Option<&'static Collector> {
    candidates(detection).first().map(|(_, collector)| *collector)
}

/// A text collector for output nobody announced: only for output that is well-formed from end to end,
/// finished, free of contradictions and not empty. TAP of several scripts is one report where each point has a name of its
/// own.
pub fn recognise(artefact: &Artefact<'_>) -> Option<&'static Collector> {
    if artefact.stdout.is_empty() && artefact.stderr.is_empty() {
        return None;
    }
    [
        &go::COLLECTOR,
        &node::COLLECTOR,
        &nextest::COLLECTOR,
        &libtest::COLLECTOR,
        &tap::COLLECTOR,
        &unittest::COLLECTOR,
        &ctest::COLLECTOR,
    ]
    .into_iter()
    .find(|collector| {
        collector.read(artefact).is_ok_and(|seen| {
            seen.finished
                && seen.contradictions.is_empty()
                && seen.concluded.is_some_and(|concluded| concluded > 0)
                && seen.announced.is_none_or(|announced| Some(announced) == seen.concluded)
                && !(collector.name == "tap" && says_it_again(&seen))
        })
    })
}

/// Whether a name comes twice: a check that tries again after a failure shows other tests than one that need not.
fn says_it_again(seen: &Measured) -> bool {
    let mut ids = seen.members.iter().map(|member| member.id.as_str());
    ids.any(|id| id.strip_suffix("#2").is_some_and(|first| seen.member(first).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_alphabetical_and_every_name_finds_its_collector() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(
            ALL.iter()
                .all(|collector| by_name(collector.name).is_some_and(|found| found.name == collector.name))
        );
        assert!(ALL.iter().all(|collector| !collector.doc.is_empty()));
        assert!(by_name("nonesuch").is_none());
    }
}
