//! One copy of a recorded tree, with what a check needs beside it, and one run of the check in it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::{fs, io};

use engine::State;
use engine::event::id::Bytes;
use engine::vet::order::Order;
use engine::vet::sentinel_pair::SCRIPT;
use engine::vet::{Base, Experiment, Plant, Ran, Request, Step};

use super::changes::drawn;
use super::coverage::{Floor, Measured};
use super::drawn::Drawn;
use super::expected::{Changed, Demand};
use super::ignored;
use super::retarget::{self, moved};
use super::sentinel::script;
use crate::oracle::coverage::Source;
use crate::oracle::perturb::{Perturbation, order};
use crate::replay::{Surroundings, check_until};
use crate::scratch::{Scratch, ScratchError};
use crate::tree::{Manifest, TreeId};
use crate::world::surface::Suites;
use crate::world::{RealWorld, detection, hermetic, in_place, outputs, relocated};

/// What an experiment is for, in the names of its directories.
const PURPOSE: &str = "vet";

/// A scratch place for one run.
pub(super) struct Place<'a> {
    pub(super) world: &'a RealWorld,
    pub(super) state: &'a State,
    pub(super) with: &'a Surroundings,
    pub(super) suites: &'a Suites,
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

    /// Takes out what a compiler made beside the tests since the run began: a check makes it again.
    fn without_built(&self, copied: &Manifest, copy: &Path) -> io::Result<()> {
        let (policy, opened) = (&self.state.facts.policy().guards, self.state.facts.opened.at);
        let built = |path: &Bytes| outputs::is_built(&self.world.workdir, path, policy, opened.wall_ms);
        let paths = copied.entries().iter().map(|entry| Bytes(entry.path.clone()));
        paths
            .filter(built)
            .try_for_each(|path| fs::remove_file(copy.join(OsStr::from_bytes(&path.0))))
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
            | Plant::Order(_)
            | Plant::Code { .. }
            | Plant::Coverage
            | Plant::Review
            | Plant::Traced
            | Plant::Frozen
            | Plant::Sentinels { in_place: true, .. }
            | Plant::Sentinels { runner: SCRIPT, .. }
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
            Plant::Sentinels { in_place: false, .. } | Plant::Respelled => self.respelled(&copied, true)?,
            Plant::RespelledProduct => self.respelled(&copied, false)?,
            Plant::Expectations => self.changed(request, &candidate, Demand::Another)?,
            Plant::Beyond { of } => self.changed(request, &candidate, Demand::Beyond(of))?,
            Plant::Failures { of } => self.changed(request, &candidate, Demand::Impossible(of))?,
        };
        let wanted = matches!(
            step.plant,
            Plant::Expectations | Plant::Beyond { .. } | Plant::Failures { .. } | Plant::Mutant(_)
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
        self.without_built(&copied, &copy).map_err(|error| error.to_string())?;
        in_place::retarget(&copied, &self.world.workdir, &copy).map_err(|error| error.to_string())?;
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
            | Plant::Respelled
            | Plant::RespelledProduct
            | Plant::Expectations
            | Plant::Beyond { .. }
            | Plant::Failures { .. }
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
        let in_place = in_place::is_installed(&self.world.workdir, &policy.oracle.check, &self.with.env);
        if in_place {
            change = change.and(&in_place::redirected(&self.world.workdir, &copy));
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
        let mut checked = checked.map_err(|error| format!("the check could not be run in a copy: {error}"))?;
        if in_place
            && !policy.isolation.zones
            && let Some(why) = in_place::was_missed(
                &detection(&copy, &policy.oracle.check),
                &checked.reading.collector,
                &support,
            )
        {
            return Err(why);
        }
        relocated::settle(&mut checked.reading, self.state, tree, || Some(copied.clone()));
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
                let now = self.world.renamed.iter().find(|(_, old)| *old == member);
                (
                    member.to_owned(),
                    order::Order::Alone(now.map_or(member, |(now, _)| now)),
                )
            }
        };
        let check = &self.state.facts.policy().oracle.check;
        let runner = suite.runner.name;
        let is_open = order::is_open(runner, &detection(copy, check), copy, &self.with.env);
        Ok(match order::change(runner, is_open, wanted) {
            Ok(change) => (change, Some(name)),
            Err(_) => (Perturbation::default(), None),
        })
    }

    /// The files of one tree that nobody watches, under the watched files of another.
    fn on_surface_of(&self, product: &Manifest, watched: &Manifest) -> Manifest {
        let policy = &self.state.facts.policy().guards;
        let is_watched = |path: &[u8]| self.suites.class(policy, &Bytes(path.to_vec())).is_some();
        let product = product.entries().iter().filter(|entry| !is_watched(&entry.path));
        let watched = watched.entries().iter().filter(|entry| is_watched(&entry.path));
        Manifest::new(product.chain(watched).cloned().collect())
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
