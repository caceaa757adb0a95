//! What is changed in one copy: in the product by a small change, and in the tests by what they demand.

use std::path::Path;
use std::{fs, io};

use engine::event::candidate::{Hunk, Mutated};
use engine::event::id::Bytes;
use engine::event::policy::Policy;
use engine::guard::surface;
use engine::vet::sentinel_pair::SCRIPT;
use engine::vet::{Experiment, Request};
use syntax::Language;

use super::drawn::{Drawn, Trees};
use super::expected::{self, Changed, Demand};
use super::library::Sources;
use super::mutants::{self, Part, Picked, Product};
use super::place::Place;
use super::sentinel::{self, Suite, script};
use crate::oracle::perturb::order;
use crate::tree::{Entry, Kind, Manifest, TreeId};
use crate::world::detection;

/// Files that are spelled otherwise.
const RESPELLED_MAX: usize = 1_024;

impl Place<'_> {
    pub(super) fn product<'b>(&'b self, candidate: &'b Manifest) -> Product<'b> {
        Product {
            tree: &self.world.tree,
            manifest: candidate,
            suites: self.suites,
            policy: &self.state.facts.policy().guards,
        }
    }

    /// One small change of the candidate's product, in lines that the tree of t0 does not have.
    pub(super) fn mutant(
        &self,
        request: &Request,
        candidate: &Manifest,
        hunk: usize,
        nth: usize,
    ) -> Result<Option<Planted>, String> {
        let Experiment::CodeMutants(trying) = &request.experiment else {
            return Err("a change of the product was asked for and nobody said how many".to_owned());
        };
        let tree = &self.world.tree;
        let start = tree.manifest(TreeId(request.start.0));
        let start = start.map_err(|error| error.to_string())?;
        let product = self.product(candidate);
        let max = usize::try_from(trying.mutants_max).unwrap_or(usize::MAX);
        let Picked { parts, others } = mutants::pick(&product, &start, max)?;
        let Some((told, bytes)) = parts.get(hunk).and_then(|part| part.mutant(nth)) else {
            return Ok(None);
        };
        let is_first = (hunk, nth) == (0, 0);
        Ok(Some(Planted {
            told,
            bytes,
            hunks: parts.iter().filter(|_| is_first).map(Part::hunk).collect(),
            others: others.into_iter().filter(|_| is_first).collect(),
        }))
    }

    /// The candidate's tests, some of which demand something else.
    pub(super) fn changed(
        &self,
        request: &Request,
        candidate: &Manifest,
        demand: Demand<'_>,
    ) -> Result<Changed, String> {
        let Experiment::OracleMutants { members, mutants_max } = &request.experiment else {
            return Ok(Changed::default());
        };
        let may_hold_tests = |path: &&str| {
            Language::of(path).is_some_and(|language| !language.in_source.is_empty() || self.is_watched(path))
        };
        let content = |path: &str| self.content(candidate, path);
        let sources = Sources {
            paths: files(candidate).filter(may_hold_tests).collect(),
            content: &content,
        };
        let max = usize::try_from(*mutants_max).unwrap_or(usize::MAX);
        let renamed = &self.world.renamed;
        let stands_as = |id: &String| {
            let now = renamed.iter().find(|(_, old)| *old == id);
            now.map_or(id, |(now, _)| now).clone()
        };
        let all_stand_as = |ids: &[String]| ids.iter().map(stands_as).collect::<Vec<_>>();
        let of;
        let demand = match demand {
            Demand::Another => Demand::Another,
            Demand::Beyond(ids) => {
                of = all_stand_as(ids);
                Demand::Beyond(&of)
            }
            Demand::Impossible(ids) => {
                of = all_stand_as(ids);
                Demand::Impossible(&of)
            }
        };
        let mut changed = expected::change(&sources, &all_stand_as(members), max, demand)?;
        for id in changed.mutants.iter_mut().flat_map(|mutant| &mut mutant.members) {
            if let Some(old) = renamed.get(id) {
                id.clone_from(old);
            }
        }
        Ok(changed)
    }

    /// The tests of a tree, or what is none of them, in other words that mean the same.
    pub(super) fn respelled(&self, tree: &Manifest, tests: bool) -> Result<Changed, String> {
        let mark = drawn()?.to_string();
        let mut respelled = Vec::new();
        for path in files(tree)
            .filter(|path| self.is_watched(path) == tests)
            .take(RESPELLED_MAX)
        {
            let Some(language) = Language::of(path) else {
                continue;
            };
            if let Ok(text) = syntax::respelled(language, &self.content(tree, path)?, &mark) {
                respelled.push((path.to_owned(), text));
            }
        }
        Ok(Changed::respelled(respelled))
    }

    /// A file of tests, or of what tests are made of.
    fn is_watched(&self, path: &str) -> bool {
        let own = Bytes(path.as_bytes().to_vec());
        let named = surface::test_source(&own.0) || self.suites.holds(&own);
        named || self.suites.class(&self.state.facts.policy().guards, &own).is_some()
    }

    /// Tests that must fail, and one that must pass, in files that both trees have.
    pub(super) fn sentinels(
        &self,
        request: &Request,
        (candidate, copied): (&Manifest, &Manifest),
        (copy, policy): (&Path, &Policy),
        (runner, in_place): (&str, bool),
    ) -> Result<Vec<String>, String> {
        let start = self.world.tree.manifest(TreeId(request.start.0));
        let start = start.map_err(|error| error.to_string())?;
        let in_both = |path: &&str| {
            let mut trees = [candidate, &start].into_iter();
            trees.all(|tree| tree.entry(path.as_bytes()).is_some())
        };
        let paths = copied
            .entries()
            .iter()
            .filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        let facts = &self.state.facts;
        let members = facts.members.iter().filter(|(_, status)| status.passes());
        let mut passing: Vec<&str> = members.map(|(id, _)| id.as_str()).collect();
        passing.sort_by_key(|id| facts.t0_passing.contains(id));
        let suite = Suite {
            copy,
            files: &paths.filter(in_both).collect::<Vec<_>>(),
            passing: &passing,
        };
        let planted = if runner == SCRIPT {
            let check = detection(copy, &policy.oracle.check);
            script::plant(&check, &suite, &self.scratch.support())
        } else if in_place {
            sentinel::plant_in_place(runner, &suite)
        } else {
            sentinel::plant(runner, &suite)
        };
        planted.map_err(|error| error.to_string())
    }

    fn content(&self, tree: &Manifest, path: &str) -> Result<Vec<u8>, String> {
        let entry = tree.entry(path.as_bytes()).ok_or("it is not in the tree")?;
        let content = self.world.tree.content(&entry.digest);
        content.map_err(|error| format!("{path}: {error}"))
    }

    /// Changes of the candidate's product, by a seed that nobody has known before.
    pub(super) fn draw(&self, request: &Request, candidate: &Manifest) -> Result<Drawn, String> {
        let Experiment::KillSet(suites) = &request.experiment else {
            return Err("a change of the product was asked for and nobody said for which suites".to_owned());
        };
        let start = self.world.tree.manifest(TreeId(request.start.0));
        let start = start.map_err(|error| error.to_string())?;
        let policy = &self.state.facts.policy().guards;
        let content = |entry: &Entry| {
            let content = self.world.tree.content(&entry.digest);
            content.map_err(|error| format!("{}: {error}", String::from_utf8_lossy(&entry.path)))
        };
        let watched = |path: &str| {
            let own = Bytes(path.as_bytes().to_vec());
            surface::test_source(&own.0) || self.suites.class(policy, &own).is_some()
        };
        let trees = Trees {
            candidate,
            start: &start,
            watched: &watched,
            content: &content,
        };
        let max = usize::try_from(suites.drawn()).unwrap_or(usize::MAX);
        Drawn::of(&trees, max, drawn()?)
    }
}

/// Files with a name that is text.
fn files(tree: &Manifest) -> impl Iterator<Item = &str> {
    let files = tree.entries().iter().filter(|entry| entry.kind == Kind::File);
    files.filter_map(|entry| std::str::from_utf8(&entry.path).ok())
}

/// One mutant of the product, and with the first of them what else there is.
pub(super) struct Planted {
    pub(super) told: Mutated,
    bytes: Vec<u8>,
    pub(super) hunks: Vec<Hunk>,
    pub(super) others: Vec<String>,
}

impl Planted {
    pub(super) fn write(&self, copy: &Path) -> io::Result<()> {
        fs::write(copy.join(&self.told.path), &self.bytes)
    }
}

/// A seed that nobody has known before.
pub(super) fn drawn() -> Result<u32, String> {
    let random = getrandom::u32().map_err(|error| format!("no seed could be drawn: {error}"))?;
    Ok(1 + random % order::SEED_MAX)
}
