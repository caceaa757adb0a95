//! Runs of the check in copies, for the guards before green. Which run comes next is the engine's word; what it
//! means too.

mod changes;
mod coverage;
mod drawn;
mod expected;
pub(super) mod ignored;
mod installed;
mod library;
mod mutants;
mod outside;
mod place;
mod retarget;
mod review;
mod sentinel;
mod surroundings;
mod titled;
mod undone;

use std::time::{Duration, SystemTime};

use engine::vet::{Plant, Ran, Request};
use engine::{Observation, State};

use super::RealWorld;
use super::surface::Suites;
use crate::clock;
pub(super) use ignored::bring_along;
use place::Place;
pub(super) use retarget::moved;

impl RealWorld {
    pub(super) fn vet(&mut self, state: &State, request: &Request) -> Observation {
        let started_ms = clock::mono_ms();
        let mut trials: Vec<Ran> = Vec::new();
        let mut trouble = String::new();
        let suites = match self.suites(state) {
            Ok(suites) => suites,
            Err(why) => return self.vetted(started_ms, trials, why),
        };
        if let Some(why) = self.unrecorded(state, request) {
            return self.vetted(started_ms, trials, why);
        }
        // Once for all runs of this request.
        let mut drawn = None;
        let floor = coverage::Floor::default();
        while let Some(step) = request.step(&trials) {
            let left = request.time_left_ms.map(|left| {
                let spent = clock::mono_ms().saturating_sub(started_ms);
                left.saturating_sub(spent)
            });
            let ran = if step.plant == Plant::Review {
                self.review(state, request, step, left).map(Some)
            } else {
                Place::new(self, state, &suites).and_then(|place| place.run(request, step, left, &mut drawn, &floor))
            };
            match ran {
                Ok(Some(ran)) => trials.push(ran),
                Ok(None) => break,
                Err(why) => {
                    trouble = why;
                    break;
                }
            }
        }
        self.vetted(started_ms, trials, trouble)
    }

    /// Why the candidate is not all that was judged green: part of that lies where no tree looks. Once for a turn.
    fn unrecorded(&self, state: &State, request: &Request) -> Option<String> {
        if !request.control {
            return None;
        }
        let opened = SystemTime::UNIX_EPOCH + Duration::from_millis(state.facts.opened.at.wall_ms);
        match outside::leads_out(&self.tree, &self.workdir, request, opened) {
            Ok(None) => {}
            Ok(Some(why)) | Err(why) => return Some(why),
        }
        let edited = installed::edited(&self.workdir, opened)?;
        Some(format!(
            "{} was edited since the run began, in a package that is installed where no tree looks; install it again, \
             or have the tree hold what it needs",
            edited.display()
        ))
    }

    /// Files that hold the tests of t0, whatever their names.
    fn suites(&mut self, state: &State) -> Result<Suites, String> {
        let Some(digest) = state.facts.surface else {
            return Ok(Suites::default());
        };
        let blobs = self.run.blobs();
        let known = self.surfaces.base(&blobs, digest);
        let known = known.map_err(|error| format!("{}: {error}", blobs.display()))?;
        Ok(known.suites().clone())
    }

    fn vetted(&mut self, started_ms: u64, trials: Vec<Ran>, trouble: String) -> Observation {
        Observation::Vetted {
            at: self.clock.stamp(),
            trials,
            trouble,
            cost_us: clock::mono_ms().saturating_sub(started_ms).saturating_mul(1_000),
        }
    }
}
