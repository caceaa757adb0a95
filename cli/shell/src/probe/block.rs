//! The three conditions under which a check is repeated (SPEC 6.5.8).

use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

use engine::probe::Block;

use super::place::{Ended, Place, Ran, Renewed};
use super::{Plan, ProbeError, Probed};
use crate::scratch::Traces;

const ALL: Renewed = Renewed {
    tree: true,
    surroundings: true,
};
const TREE: Renewed = Renewed {
    tree: true,
    surroundings: false,
};
const SURROUNDINGS: Renewed = Renewed {
    tree: false,
    surroundings: true,
};

/// What the places of a block share while they work.
struct Work<'s> {
    left: u32,
    /// No further run is begun.
    over: bool,
    seen: &'s mut Probed,
    failed: Option<ProbeError>,
}

/// Every run in a copy, a home and a temporary directory of its own.
pub(super) fn fresh(places: &[Place<'_>], plan: &Plan, seen: &mut Probed) -> Result<(), ProbeError> {
    let Some((first, _)) = places.split_first() else {
        return Ok(());
    };
    let ran = first.run(ALL)?;
    take(ran, seen, |probed| &mut probed.probe.fresh);
    let without_verdict = seen.probe.fresh.reference().is_none_or(is_broken);
    let work = Mutex::new(Work {
        left: plan.runs.saturating_sub(1),
        over: without_verdict,
        seen,
        failed: None,
    });
    thread::scope(|scope| {
        for place in places {
            scope.spawn(|| labour(place, plan, &work));
        }
    });
    let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    work.failed.map_or(Ok(()), Err)
}

/// One place's part of the block.
fn labour(place: &Place<'_>, plan: &Plan, work: &Mutex<Work<'_>>) {
    let lock = || work.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = || {
        let mut work = lock();
        let wanted = !work.over && work.left > 0;
        work.left -= u32::from(wanted);
        wanted
    };
    while begin() {
        let ran = place.run(ALL);
        let mut work = lock();
        match ran {
            Ok(ran) => {
                work.over |= ran.is_err();
                take(ran, work.seen, |probed| &mut probed.probe.fresh);
                work.over |= plan.until_disagreement && !work.seen.probe.fresh.tally().is_unanimous();
            }
            Err(error) => {
                work.over = true;
                work.failed.get_or_insert(error);
            }
        }
    }
}

/// Every run in a copy of its own; one home and one temporary directory for all of them.
pub(super) fn shared(place: &Place<'_>, plan: &Plan, seen: &mut Probed) -> Result<(), ProbeError> {
    place.renew(ALL)?;
    for _ in 0..plan.side_effect_runs {
        if !take(place.run(TREE)?, seen, |probed| &mut probed.probe.shared) {
            break;
        }
    }
    let nothing = Traces::default();
    seen.written_in_home = Traces::of(&place.home()).changed_since(&nothing);
    seen.written_in_tmp = Traces::of(&place.tmp()).changed_since(&nothing);
    Ok(())
}

/// One copy for all runs, without a reset; a home and a temporary directory for each.
pub(super) fn rerun(place: &Place<'_>, plan: &Plan, seen: &mut Probed) -> Result<(), ProbeError> {
    place.renew(ALL)?;
    let before = Traces::of(&place.tree());
    for _ in 0..plan.side_effect_runs {
        if !take(place.run(SURROUNDINGS)?, seen, |probed| &mut probed.probe.rerun) {
            break;
        }
    }
    seen.written_in_tree = Traces::of(&place.tree()).changed_since(&before);
    Ok(())
}

/// Books one run; false when there is no point in another.
fn take(ran: Result<Ran, Ended>, seen: &mut Probed, block: fn(&mut Probed) -> &mut Block) -> bool {
    match ran {
        Ok(ran) => {
            let differs = {
                let reference = seen.probe.fresh.reference();
                reference.is_some_and(|reference| *reference != ran.verdict)
            };
            if seen.stderr.is_empty() && (differs || is_broken(&ran.verdict)) {
                seen.stderr = ran.stderr;
            }
            seen.survivors = seen.survivors.saturating_add(ran.survivors);
            if seen.collector.is_empty() {
                seen.collector = ran.collector;
            }
            seen.longest_ms = seen.longest_ms.max(ran.duration_ms);
            if let Some(zone) = ran.zone {
                seen.probe.ran_in(zone);
            }
            block(seen).add(ran.verdict, ran.exit, ran.output);
            true
        }
        Err(ended) => {
            seen.out_of_time |= matches!(ended, Ended::OutOfTime);
            false
        }
    }
}

fn is_broken(verdict: &engine::probe::Verdict) -> bool {
    matches!(verdict.class, engine::probe::Class::Broken { .. })
}
