//! A check that reads another tree than the one in the workdir: a fresh copy of what it read before (SPEC 4.4.2).
//!
//! It keeps the user's home, and what else surrounds a check of the workdir. A copy for a guard before green has a home of
//! its own, for it asks another question: not whether the same run says the same, but whether another one does.

use std::ffi::OsString;

use engine::State;
use engine::event::id::Digest;

use super::RealWorld;
use super::vet::{bring_along, moved};
use crate::scratch::{Scratch, bring_near};
use crate::tree::TreeId;

/// What the copy is for, in the names of its directories.
const PURPOSE: &str = "recheck";

impl RealWorld {
    /// Lays `tree` out, with what no tree holds beside it. Until [`Self::rejoin`], the check is run and read there.
    pub(super) fn part(&mut self, state: &State, tree: Digest) -> Result<(), String> {
        let failed = |why: String| format!("no fresh copy could be made of the tree that was checked first: {why}");
        let scratch = Scratch::beside(&self.workdir, PURPOSE).map_err(|error| failed(error.to_string()))?;
        let copy = scratch.tree();
        let recorded = self.tree.manifest(TreeId(tree.0));
        let recorded = recorded.map_err(|error| failed(error.to_string()))?;
        let laid_out = self.tree.materialise_manifest(&recorded, &copy);
        laid_out.map_err(|error| failed(error.to_string()))?;
        let opened_ms = state.facts.opened.at.wall_ms;
        bring_along(&self.workdir, &copy, &recorded, opened_ms).map_err(|error| failed(error.to_string()))?;
        let near = bring_near(&self.workdir, &copy, &state.facts.policy().oracle.check);
        near.map_err(|error| failed(error.to_string()))?;
        self.apart = Some(scratch);
        Ok(())
    }

    /// The copy is not needed any more.
    pub(super) fn rejoin(&mut self) {
        self.apart = None;
    }

    /// What a check gets on top of what it inherits; in a copy, paths into the workdir lead into that.
    pub(super) fn meant_for_the_check(&self) -> Vec<(OsString, OsString)> {
        let Some(copy) = self.apart.as_ref().map(Scratch::tree) else {
            return self.check_env.clone();
        };
        let here = [self.env.clone(), self.check_env.clone()].concat();
        let there = moved(here.clone(), &self.workdir, &copy);
        let changed = here.iter().zip(&there).filter(|(old, new)| old != new);
        let own = changed.map(|(_, new)| new.clone());
        self.check_env.iter().cloned().chain(own).collect()
    }
}
