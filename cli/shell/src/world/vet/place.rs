//! One copy of a recorded tree, with what a check needs beside it, and one run of the check in it.

use std::borrow::Cow;
use std::path::Path;
use std::{fs, io};

use engine::State;
use engine::event::candidate::{Hunk, Mutated};
use engine::event::id::Bytes;
use engine::event::policy::Policy;
use engine::guard::surface;
use engine::vet::order::Order;
use engine::vet::sentinel_pair::SCRIPT;
use engine::vet::{Base, Experiment, Plant, Ran, Request, Step};
use syntax::Language;

use super::coverage::{Floor, Measured};
use super::drawn::{Drawn, Trees};
use super::expected::{self, Changed, Sources};
use super::ignored;
use super::mutants::{self, Part, Picked, Product};
use super::retarget::{self, moved};
use super::sentinel::{self, Suite, script};
use crate::oracle::collect;
use crate::oracle::coverage::Source;
use crate::oracle::perturb::{Perturbation, order};
use crate::replay::{Surroundings, check_until};
use crate::scratch::{Scratch, ScratchError};
use crate::tree::{Entry, Kind, Manifest, TreeId};
use crate::world::surface::{Suites, class};
use crate::world::{RealWorld, detection, hermetic};

/// What an experiment is for, in the names of its directories.
const PURPOSE: &str = "vet";

/// A scratch place for one run.
pub(super) struct Place<'a> {
    pub(super) world: &'a RealWorld,
    pub(super) state: &'a State,
    pub(super) with: &'a Surroundings,
    suites: &'a Suites,
    pub(super) scratch: Scratch,
}

impl<'a> Place<'a> {
    pub(super) fn new(world: &'a RealWorld, state: &'a State, suites: &'a Suites) -> Result<Self, String> {
        let with = world.surroundings.as_ref();
        let with = with.ok_or("there is no program at hand that could supervise a run in a copy")?;
        let scratch = Scratch::beside(&world.workdir, PURPOSE).map_err(|error| error.to_string())?;
        Ok(Self {
            world,
            state,
            with,
            suites,
            scratch,
        })
    }

    /// Makes the copy that the step asks for and runs the check in it; none where there is nothing to change in it.
    pub(super) fn run(
        self,
        request: &Request,
        step: Step,
        time_left_ms: Option<u64>,
        drawn: &mut Option<Drawn>,
        floor: &Floor,
    ) -> Result<Option<Ran>, String> {
        let tree = &self.world.tree;
        let failed = |error: crate::tree::TreeError| error.to_string();
        let candidate = tree.manifest(TreeId(request.candidate.0)).map_err(failed)?;
        let copied = match step.base {
            Base::Candidate => candidate.clone(),
            Base::Start => tree.manifest(TreeId(request.start.0)).map_err(failed)?,
            Base::CandidateOnStartSurface => {
                let start = tree.manifest(TreeId(request.start.0)).map_err(failed)?;
                self.on_surface_of(&candidate, &start)
            }
        };
        let mut seed = None;
        let changed = match &step.plant {
            Plant::Nothing
            | Plant::Sentinels { .. }
            | Plant::Order(_)
            | Plant::Code { .. }
            | Plant::Coverage
            | Plant::Review
            | Plant::Traced
            | Plant::Frozen
            | Plant::Varied(_) => Changed::default(),
            Plant::Mutant(number) => {
                let drawn = match drawn {
                    Some(drawn) => drawn,
                    None => drawn.insert(self.draw(request, &candidate)?),
                };
                let change = drawn.change(*number);
                change.map_or_else(Changed::default, |(changed, by)| {
                    seed = Some(by);
                    changed
                })
            }
            Plant::Expectations => self.changed(request, &candidate, None)?,
            Plant::Opposites { of } => self.changed(request, &candidate, Some(of))?,
        };
        let wanted = matches!(
            step.plant,
            Plant::Expectations | Plant::Opposites { .. } | Plant::Mutant(_)
        );
        if wanted && changed.mutants.is_empty() {
            return Ok(None);
        }
        let mutant = match step.plant {
            Plant::Code { hunk, nth, .. } => {
                let Some(mutant) = self.mutant(request, &candidate, hunk, nth)? else {
                    return Ok(None);
                };
                Some(mutant)
            }
            _ => None,
        };
        let surrounded = self.surround(&step.plant)?;
        let (copy, home, tmp) = self.places(&surrounded.change);
        tree.materialise_manifest(&copied, &copy).map_err(failed)?;
        let opened_ms = self.state.facts.opened.at.wall_ms;
        ignored::bring_along(&self.world.workdir, &copy, &candidate, opened_ms).map_err(|error| error.to_string())?;
        changed.write(&copy).map_err(|error| error.to_string())?;
        if let Some(mutant) = &mutant {
            mutant.write(&copy).map_err(|error| error.to_string())?;
        }
        let led = retarget::contract(self.state, &self.world.workdir, &copy)?;
        let state = led.as_ref().unwrap_or(self.state);
        let policy = state.facts.policy();
        let support = self.scratch.support();
        let mut change = surrounded.change.clone();
        let mut planted = match step.plant {
            Plant::Nothing
            | Plant::Expectations
            | Plant::Opposites { .. }
            | Plant::Code { .. }
            | Plant::Coverage
            | Plant::Review
            | Plant::Traced
            | Plant::Frozen
            | Plant::Varied(_) => Vec::new(),
            Plant::Mutant(_) => seed.into_iter().collect(),
            Plant::Order(order) => {
                let (under, name) = self.order(request, order, &copy)?;
                change = under;
                name.into_iter().collect()
            }
            Plant::Sentinels { runner, in_place } => {
                let planted = self.sentinels(request, (&candidate, &copied), (&copy, policy), (runner, in_place))?;
                if planted.is_empty() {
                    return Ok(None);
                }
                planted
            }
        };
        let source = match step.plant {
            Plant::Coverage => {
                let seen = detection(&copy, &policy.oracle.check);
                let Ok(source) = Source::of(&policy.oracle, &seen, &copy, &self.with.env) else {
                    return Ok(None);
                };
                Some(source)
            }
            _ => None,
        };
        let measured = source.as_ref().map(|source| Measured {
            source,
            copy: &copy,
            support: &support,
            copied: &copied,
            base: step.base,
        });
        if let Some(measured) = &measured {
            change = measured.begin()?;
        }
        let own = Scratch::environment(&self.with.env, &home, &tmp);
        let env = hermetic::settled(policy, self.state.facts.opened.at, &own);
        let scratch = |error: ScratchError| error.to_string();
        self.scratch.write_support(|dir| change.support(dir)).map_err(scratch)?;
        let plain = moved(env, &self.world.workdir, &copy);
        let env = change.environment(plain.clone(), &support);
        let with = Surroundings {
            set: Perturbation::changed(&plain, &env),
            env,
            around: change.around.clone(),
            ..self.with.clone()
        };
        let shelf = self.scratch.shelf();
        let bounded = bounded(state, request, &step.plant, &change);
        let checked = check_until(&copy, &shelf, &bounded, &with, &self.world.stop, time_left_ms);
        let checked = checked.map_err(|error| format!("the check could not be run in a copy: {error}"))?;
        let trace = surrounded.trace.map(|file| self.touched(&file, &copy)).transpose()?;
        let mut varied = surrounded.varied;
        if matches!(step.plant, Plant::Sentinels { runner: SCRIPT, .. }) {
            planted.extend(script::left(&support));
        }
        if let Some(sign) = change.missing_sign(&support) {
            planted.clear();
            for varied in varied.iter_mut().filter(|_| step.plant == Plant::Frozen) {
                varied.missing = format!("there is no sign ({sign}) that it was in force");
            }
        }
        let coverage = match &measured {
            Some(measured) => {
                let start = tree.manifest(TreeId(request.start.0)).map_err(failed)?;
                Some(measured.end(floor, &self.product(&candidate), &start)?)
            }
            None => None,
        };
        Ok(Some(Ran {
            step,
            run: checked.run,
            reading: checked.reading,
            planted,
            mutants: mutant
                .as_ref()
                .map_or(changed.mutants, |mutant| vec![mutant.told.clone()]),
            hunks: mutant.as_ref().map_or_else(Vec::new, |mutant| mutant.hunks.clone()),
            unmutated: mutant.map_or_else(Vec::new, |mutant| mutant.others),
            coverage,
            trace,
            varied,
            review: None,
        }))
    }

    /// Tests that must fail, and one that must pass, in files that both trees have.
    fn sentinels(
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

    fn product<'b>(&'b self, candidate: &'b Manifest) -> Product<'b> {
        Product {
            tree: &self.world.tree,
            manifest: candidate,
            suites: self.suites,
            policy: &self.state.facts.policy().guards,
        }
    }

    /// One small change of the candidate's product, in lines that the tree of t0 does not have.
    fn mutant(
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

    /// The candidate's tests with other expected values in them, or the opposite of what some of them demand.
    fn changed(&self, request: &Request, candidate: &Manifest, of: Option<&[String]>) -> Result<Changed, String> {
        let Experiment::OracleMutants { members, mutants_max } = &request.experiment else {
            return Ok(Changed::default());
        };
        let policy = &self.state.facts.policy().guards;
        let may_hold_tests = |path: &&str| {
            let own = Bytes(path.as_bytes().to_vec());
            let watched = || {
                let named = surface::test_source(&own.0) || self.suites.holds(&own);
                named || class(self.suites, policy, &own).is_some()
            };
            Language::of(path).is_some_and(|language| !language.in_source.is_empty() || watched())
        };
        let files = candidate.entries().iter().filter(|entry| entry.kind == Kind::File);
        let paths = files.filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        let content = |path: &str| {
            let entry = candidate.entry(path.as_bytes()).ok_or("it is not in the tree")?;
            let content = self.world.tree.content(&entry.digest);
            content.map_err(|error| format!("{path}: {error}"))
        };
        let sources = Sources {
            paths: paths.filter(may_hold_tests).collect(),
            content: &content,
        };
        let max = usize::try_from(*mutants_max).unwrap_or(usize::MAX);
        expected::change(&sources, members, max, of)
    }

    /// Changes of the candidate's product, by a seed that nobody has known before.
    fn draw(&self, request: &Request, candidate: &Manifest) -> Result<Drawn, String> {
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
            surface::test_source(&own.0) || class(self.suites, policy, &own).is_some()
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

    /// What brings the copy's tests into that order, and by what name it is known; neither where the check takes none.
    fn order(&self, request: &Request, order: Order, copy: &Path) -> Result<(Perturbation, Option<String>), String> {
        let Experiment::Order(suite) = &request.experiment else {
            return Err("an order was asked for and nobody said of which suite".to_owned());
        };
        let (name, wanted) = match order {
            Order::Backwards => ("backwards".to_owned(), order::Order::Backwards),
            Order::Shuffled(seed) => {
                let seed = seed.map_or_else(drawn, Ok)?;
                (seed.to_string(), order::Order::Shuffled(seed))
            }
            Order::Alone(number) => {
                let member = suite.alone(number).unwrap_or_default();
                (member.to_owned(), order::Order::Alone(member))
            }
        };
        let check = &self.state.facts.policy().oracle.check;
        let takes_plugins = collect::takes_plugins(&detection(copy, check));
        Ok(match order::change(suite.runner.name, takes_plugins, wanted) {
            Ok(change) => (change, Some(name)),
            Err(_) => (Perturbation::default(), None),
        })
    }

    /// The files of one tree that nobody watches, under the watched files of another.
    fn on_surface_of(&self, product: &Manifest, watched: &Manifest) -> Manifest {
        let policy = &self.state.facts.policy().guards;
        let is_watched = |path: &[u8]| class(self.suites, policy, &Bytes(path.to_vec())).is_some();
        let product = product.entries().iter().filter(|entry| !is_watched(&entry.path));
        let watched = watched.entries().iter().filter(|entry| is_watched(&entry.path));
        Manifest::new(product.chain(watched).cloned().collect())
    }
}

/// One mutant of the product, and with the first of them what else there is.
struct Planted {
    told: Mutated,
    bytes: Vec<u8>,
    hunks: Vec<Hunk>,
    others: Vec<String>,
}

impl Planted {
    fn write(&self, copy: &Path) -> io::Result<()> {
        fs::write(copy.join(&self.told.path), &self.bytes)
    }
}

/// The contract, with a limit for a run that may never end where it has none.
fn bounded<'a>(state: &'a State, request: &Request, plant: &Plant, change: &Perturbation) -> Cow<'a, State> {
    let limit = match (&request.experiment, plant) {
        (_, Plant::Code { timeout_ms, .. }) => *timeout_ms,
        (Experiment::KillSet(suites), _) => Some(suites.timeout_ms),
        (Experiment::Coverage(measuring), _) => measuring.timeout_ms,
        (Experiment::Hermeticity(declared), Plant::Frozen) => Some(declared.frozen_ms),
        (Experiment::Hermeticity(declared), _) => Some(declared.timeout_ms),
        _ => None,
    };
    let Some(limit) = limit else {
        return Cow::Borrowed(state);
    };
    let mut state = state.clone();
    change.stretch(&mut state.facts.bounds);
    state.facts.bounds.check_timeout_ms = Some(limit);
    Cow::Owned(state)
}

/// A seed that nobody has known before.
fn drawn() -> Result<u32, String> {
    let random = getrandom::u32().map_err(|error| format!("no seed could be drawn: {error}"))?;
    Ok(1 + random % order::SEED_MAX)
}
