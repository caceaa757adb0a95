//! Runs under a change of their surroundings, as the experiment asks for them (SPEC 6.5.9).

use std::ffi::OsString;
use std::sync::Barrier;
use std::thread;

use engine::probe::{Experiment, Purpose, Seen, Subject, Trial};
use engine::vet::hermeticity;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::dimension::{Perturbation, Site, Varied};
use super::place::{Ended, Place, Ran};
use super::{Plan, ProbeError, Probed};
use crate::replay::Surroundings;

/// All dimensions of the plan, by themselves and together.
pub(super) fn all(places: &[Place<'_>], plan: &Plan, with: &Surroundings, seen: &mut Probed) -> Result<(), ProbeError> {
    let (Some(place), Some(reference)) = (places.first(), seen.probe.fresh.reference().cloned()) else {
        return Ok(());
    };
    let ways = ways(place, plan, with, &seen.collector)?;
    let is_declared = hermeticity::declared(&plan.policy);
    let subjects = plan.dimensions.iter().zip(&ways).map(|(dimension, varied)| Subject {
        name: dimension.name.to_owned(),
        is_outside: dimension.is_outside || is_declared && hermeticity::DIMENSIONS.contains(&dimension.name),
        has_tool: varied.as_ref().is_ok_and(|varied| varied.tool.is_some()),
        variations: match varied {
            Ok(varied) => Ok(u32::try_from(varied.variations.len()).unwrap_or(u32::MAX)),
            Err(why) => Err(why.clone()),
        },
    });
    let mut experiment = Experiment::new(reference.clone(), subjects.collect());
    while let Some(trial) = experiment.next() {
        let change = change(&trial, &ways);
        let runs = match under(places, &change)? {
            Ok(runs) => runs,
            Err(ended) => {
                seen.out_of_time |= matches!(ended, Ended::OutOfTime);
                break;
            }
        };
        for run in &runs {
            seen.survivors = seen.survivors.saturating_add(run.survivors);
            if seen.stderr.is_empty() && !run.verdict.agrees(&reference) {
                seen.stderr.clone_from(&run.stderr);
            }
        }
        experiment.observe(trial, shown(runs));
    }
    let said = |varied: &Varied| varied.variations.iter().map(|way| way.says.clone()).collect();
    seen.ways = ways
        .iter()
        .map(|varied| varied.as_ref().map(said).unwrap_or_default())
        .collect();
    seen.probe.experiment = Some(experiment);
    Ok(())
}

/// How each dimension can be varied here.
fn ways(
    place: &Place<'_>,
    plan: &Plan,
    with: &Surroundings,
    collector: &str,
) -> Result<Vec<Result<Varied, String>>, ProbeError> {
    let plain = Perturbation::default();
    place.renew_for(&plain)?;
    let env = place.environment(&plain);
    let site = site(place, plan, with, &env, collector.to_owned())?;
    let site = Site {
        runs: plan.dimension_runs.max(1),
        ..site
    };
    Ok(plan.dimensions.iter().map(|dimension| dimension.vary(&site)).collect())
}

/// Where a run of this place would be made, and what it would find there.
pub(super) fn site<'a>(
    place: &'a Place<'_>,
    plan: &Plan,
    with: &Surroundings,
    env: &'a [(OsString, OsString)],
    collector: String,
) -> Result<Site<'a>, ProbeError> {
    let site = Site::at(place.tree(), &plan.policy, env, &with.exe, place.wishes(), collector);
    Ok(site?)
}

/// All that a trial changes.
fn change(trial: &Trial, ways: &[Result<Varied, String>]) -> Perturbation {
    let mut change = Perturbation::default();
    for number in &trial.subjects {
        let Some(Ok(varied)) = ways.get(*number) else {
            continue;
        };
        let count = varied.variations.len().max(1);
        let part = match trial.purpose {
            Purpose::ToolAlone => varied.tool.as_ref(),
            Purpose::First | Purpose::Again => {
                let way = varied.variations.get(trial.variation as usize % count);
                way.map(|way| &way.how)
            }
        };
        if let Some(part) = part {
            change = change.and(part);
        }
    }
    change
}

/// One run under a change, or two at once.
fn under(places: &[Place<'_>], change: &Perturbation) -> Result<Result<Vec<Ran>, Ended>, ProbeError> {
    let taken = places.get(..1 + usize::from(change.twin)).unwrap_or(places);
    for place in taken {
        if let Some(ended) = place.has_ended() {
            return Ok(Err(ended));
        }
        place.renew_for(change)?;
    }
    let ready = Barrier::new(taken.len());
    let ended: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = taken
            .iter()
            .map(|place| {
                scope.spawn(|| {
                    // Of this thread and of whatever it starts, and of nothing else.
                    let confined = !change.one_processor || confine();
                    ready.wait();
                    place.check(change).map(|ran| ran.map(|ran| (ran, confined)))
                })
            })
            .collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut runs = Vec::with_capacity(ended.len());
    for one in ended {
        match one {
            Ok(Ok(Ok((mut ran, confined)))) => {
                if !confined {
                    ran.missing_sign.get_or_insert("one processor");
                }
                runs.push(ran);
            }
            Ok(Ok(Err(ended))) => return Ok(Err(ended)),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Ok(Err(Ended::Interrupted)),
        }
    }
    Ok(Ok(runs))
}

/// Leaves the calling thread one processor of those it has.
fn confine() -> bool {
    let Ok(had) = sched_getaffinity(None) else {
        return false;
    };
    let Some(first) = (0..CpuSet::MAX_CPU).find(|number| had.is_set(*number)) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).is_ok()
}

fn shown(runs: Vec<Ran>) -> Seen {
    match runs.iter().find_map(|run| run.missing_sign) {
        Some(sign) => Seen::NotInForce(format!("there is no sign ({sign}) that the change was in force")),
        None => Seen::Verdicts(runs.into_iter().map(|run| run.verdict).collect()),
    }
}
