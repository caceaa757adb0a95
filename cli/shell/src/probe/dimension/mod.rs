//! What a run of the check can be varied in, one dimension a file.
//!
//! ```text
//!   Site (the machine, the check) --plan--> variations, each a Perturbation, or why there are none
//!                                                |
//!                       joined with those of other dimensions, then put on one run (`Place`)
//! ```
//!
//! A dimension edits neither the command nor the tree: it injects by environment, stands around the command, or moves
//! the place of the run. One that cannot be varied here says why, and is then not probed. A dimension is one file and
//! one line in [`ALL`]; what to run when, and what it means, the engine decides.

pub(crate) mod clock;
mod concurrency;
mod home;
mod load;
mod locale;
mod network;
mod order;
mod path;
mod seed;
mod site;
mod timezone;
mod tmp;
mod umask;

use std::fs;
use std::path::Path;

pub(crate) use site::Site;

pub(super) use crate::oracle::perturb::Perturbation;
use crate::oracle::trace;

/// How much longer a check may take where it shares its processors.
const PATIENCE: u64 = 4;

/// One dimension.
#[derive(Debug)]
pub struct Dimension {
    /// The name users write in `--dimensions`.
    pub name: &'static str,
    /// What it varies, in a few words.
    pub doc: &'static str,
    /// It takes away what lies outside of the tree.
    pub(super) is_outside: bool,
    /// How it can be varied here; else why not.
    pub(super) plan: fn(&Site<'_>) -> Result<Varied, String>,
}

/// Every dimension, in the order of the specification, which is the order in which they are tried. Of two that stand
/// around the command the later is the outer.
pub static ALL: &[&Dimension] = &[
    &order::DIMENSION,
    &seed::DIMENSION,
    &clock::DIMENSION,
    &timezone::DIMENSION,
    &locale::DIMENSION,
    &concurrency::DIMENSION,
    &load::DIMENSION,
    &network::DIMENSION,
    &home::DIMENSION,
    &tmp::DIMENSION,
    &umask::DIMENSION,
    &path::DIMENSION,
];

/// The dimension called `name`.
pub fn by_name(name: &str) -> Option<&'static Dimension> {
    ALL.iter().copied().find(|dimension| dimension.name == name)
}

/// What a zone fixes, whatever stands around the command in it, and how.
const OF_A_ZONE: &[(&str, &str)] = &[
    ("network", "none but a loopback of its own"),
    ("home", "an empty one of its own at each start"),
    ("tmp", "an empty one of its own at each start"),
];

impl Dimension {
    /// How it can be varied here.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn vary(&self, site: &Site<'_>) -> Result<Varied, String> {
        let own = OF_A_ZONE.iter().find(|(name, _)| *name == self.name);
        if let Some((_, how)) = own.filter(|_| site.is_zoned) {
            return Err(format!("the exec zone fixes it: {how} (tier T0)"));
        }
        (self.plan)(site)
    }

    /// Its first way to vary a run, what it says of it, and what stands around the command for that alone.
    ///
    /// # Errors
    /// Why it cannot be varied here.
    pub(crate) fn plainest(&self, site: &Site<'_>) -> Result<(String, Perturbation, Option<Perturbation>), String> {
        let varied = self.vary(site)?;
        let first = varied.variations.into_iter().next();
        let first = first.ok_or_else(|| "there is no other way than this one".to_owned())?;
        Ok((first.says, first.how, varied.tool))
    }
}

/// What stands around a command whose calls are written down in `file`.
///
/// # Errors
/// Why they cannot be here, and what to do about it.
pub(crate) fn tracer(site: &Site<'_>, file: &Path) -> Result<Perturbation, String> {
    let Some(strace) = site.file_of(trace::STRACE) else {
        return Err(format!("strace is not installed: {}", trace::REMEDY));
    };
    // Older ones, and some kernels, have no filter.
    let works = |filtered: &bool| {
        let words = trace::around(&strace, file, *filtered);
        let ended = site.run([words, vec!["true".into()]].concat()).is_some();
        ended && fs::metadata(file).is_ok_and(|written| written.len() > 0)
    };
    let Some(filtered) = [true, false].into_iter().find(works) else {
        return Err(format!("strace may trace nothing here: {}", trace::REMEDY));
    };
    Ok(Perturbation {
        around: trace::around(&strace, file, filtered),
        patience: PATIENCE,
        ..Perturbation::default()
    })
}

/// One way to vary a run.
#[derive(Clone, Debug)]
pub(super) struct Variation {
    /// What is different, in a few words.
    pub says: String,
    pub how: Perturbation,
}

/// The ways to vary a run, one for each run there will be.
#[derive(Clone, Debug)]
pub(super) struct Varied {
    pub variations: Vec<Variation>,
    /// What stands around the command, with nothing varied.
    pub tool: Option<Perturbation>,
}

impl Varied {
    /// Each way once, and over again until there are as many runs as are wanted.
    fn by_turns(ways: &[Variation], site: &Site<'_>) -> Self {
        let wanted = ways.len().max(site.runs as usize);
        Self {
            variations: ways.iter().cycle().take(wanted).cloned().collect(),
            tool: None,
        }
    }

    fn with_tool(self, around: &[&str]) -> Self {
        Self {
            tool: Some(Perturbation::around(around)),
            ..self
        }
    }
}

/// One way.
fn way(says: impl Into<String>, how: Perturbation) -> Variation {
    Variation { says: says.into(), how }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_word_and_finds_its_dimension() {
        for dimension in ALL {
            assert!(dimension.name.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(!dimension.doc.is_empty());
            assert!(by_name(dimension.name).is_some_and(|found| found.name == dimension.name));
        }
        assert!(by_name("nonesuch").is_none());
        let outside: Vec<_> = ALL.iter().filter(|dimension| dimension.is_outside).collect();
        assert_eq!(outside.len(), 1, "only the network is outside");
    }
}
