//! Runs that are made in other surroundings, or whose calls are written down (SPEC 6.7.3). The dimensions are those of
//! the probe; which of them, the engine says.

use std::path::{Path, PathBuf};

use engine::event::candidate::{Trace, Varied};
use engine::vet::Plant;
use engine::vet::hermeticity::Under;

use super::place::Place;
use crate::oracle::perturb::Perturbation;
use crate::probe::dimension::{self, Site};
use crate::scratch::{Scratch, ScratchError};
use crate::world::{hermetic, reach};

/// How a clock that stands still is called beside the dimensions.
const FROZEN: &str = "frozen clock";

/// What surrounds one run.
#[derive(Debug, Default)]
pub(super) struct Surrounded {
    pub change: Perturbation,
    pub varied: Vec<Varied>,
    /// Where its calls are written down.
    pub trace: Option<PathBuf>,
}

impl Place<'_> {
    /// What has to surround the run of this plant, and the places for it.
    pub(super) fn surround(&self, plant: &Plant) -> Result<Surrounded, String> {
        let scratch = |error: ScratchError| error.to_string();
        self.scratch.renew_variation().map_err(scratch)?;
        let surrounded = match plant {
            Plant::Traced => self.traced()?,
            Plant::Frozen => self.frozen()?,
            Plant::Varied(under) => self.varied(*under)?,
            _ => return Ok(Surrounded::default()),
        };
        let change = &surrounded.change;
        let (tree, home, tmp) = self.places(change);
        for dir in tree.parent().into_iter().chain([home.as_path(), &tmp]) {
            self.scratch.make(dir).map_err(scratch)?;
        }
        Ok(surrounded)
    }

    /// The copy, the home and the temporary directory under a change.
    pub(super) fn places(&self, change: &Perturbation) -> (PathBuf, PathBuf, PathBuf) {
        let place = |varied: Option<&String>, usual: PathBuf| match varied {
            Some(path) => self.scratch.varied().join(path),
            None => usual,
        };
        (
            place(change.tree.as_ref(), self.scratch.tree()),
            place(change.home.as_ref(), self.scratch.home()),
            place(change.tmp.as_ref(), self.scratch.tmp()),
        )
    }

    fn traced(&self) -> Result<Surrounded, String> {
        let file = self.scratch.support().join("trace");
        let change = self.at_site(|site| dimension::tracer(site, &file))??;
        Ok(Surrounded {
            change,
            trace: Some(file),
            ..Surrounded::default()
        })
    }

    fn frozen(&self) -> Result<Surrounded, String> {
        let support = self.scratch.support();
        let at_s = i64::try_from(self.state.facts.opened.at.wall_ms / 1000).unwrap_or_default();
        let change = self.at_site(|site| dimension::clock::standing_still(site, at_s, &support))?;
        let (change, missing) = match change {
            Ok(change) => (change, String::new()),
            Err(why) => (Perturbation::default(), why),
        };
        let varied = Varied {
            dimension: FROZEN.to_owned(),
            how: format!("the clock stands at @{at_s}"),
            missing,
        };
        Ok(Surrounded {
            change,
            varied: vec![varied],
            trace: None,
        })
    }

    fn varied(&self, under: Under) -> Result<Surrounded, String> {
        self.at_site(|site| {
            let mut surrounded = Surrounded::default();
            for dimension in dimension::ALL.iter().filter(|dimension| under.takes(dimension.name)) {
                let mut varied = Varied {
                    dimension: dimension.name.to_owned(),
                    how: String::new(),
                    missing: String::new(),
                };
                match dimension.plainest(site) {
                    Ok((says, how, tool)) => {
                        let part = match under {
                            Under::ToolOf(_) => tool.unwrap_or_default(),
                            Under::All | Under::One(_) => how,
                        };
                        surrounded.change = surrounded.change.and(&part);
                        varied.how = says;
                    }
                    Err(why) => varied.missing = why,
                }
                surrounded.varied.push(varied);
            }
            surrounded
        })
    }

    /// Asks what this machine can do for a check as it runs in a copy.
    fn at_site<T>(&self, ask: impl FnOnce(&Site<'_>) -> T) -> Result<T, String> {
        let policy = self.state.facts.policy();
        let own = Scratch::environment(&self.with.env, &self.scratch.home(), &self.scratch.tmp());
        let env = hermetic::settled(policy, self.state.facts.opened.at, &own);
        let wishes = &self.world.stop.wishes;
        let site = Site::at(self.scratch.home(), policy, &env, &self.with.exe, wishes, String::new());
        site.map(|site| ask(&site)).map_err(|error| error.to_string())
    }

    /// What the traced run in `copy` touched.
    pub(super) fn touched(&self, file: &Path, copy: &Path) -> Result<Trace, String> {
        let roots = reach::roots(&self.world.workdir, self.state.facts.policy(), &self.with.env);
        reach::touched(file, copy, self.scratch.parts(), roots)
    }
}
