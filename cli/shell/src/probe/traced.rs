//! The runs of a hermetic check whose calls are written down, and whose clock stands still (SPEC 6.7.2, 6.7.3).

use engine::probe::{Frozen, Traced};
use engine::vet::patience_ms;

use super::dimension::{self, Perturbation};
use super::place::{Ended, Place};
use super::vary::site;
use super::{Plan, ProbeError, Probed};
use crate::clock::Clock;
use crate::replay::Surroundings;
use crate::world::reach;

/// One more run, in a place of its own; none where the zone of the check stands in for it.
pub(super) fn run(place: &Place<'_>, plan: &Plan, with: &Surroundings, seen: &mut Probed) -> Result<(), ProbeError> {
    if plan.policy.isolation.zones {
        seen.probe.traced = Traced::in_zone(seen.probe.zone.as_ref());
        return Ok(());
    }
    let plain = Perturbation::default();
    place.renew_for(&plain)?;
    let env = place.environment(&plain);
    let file = place.support().join("trace");
    let change = {
        let site = site(place, plan, with, &env, String::new())?;
        dimension::tracer(&site, &file)
    };
    let change = match change {
        Ok(change) => change,
        Err(why) => {
            seen.probe.traced = Some(Traced {
                trace: Err(why),
                verdict: None,
            });
            return Ok(());
        }
    };
    let ran = match place.check(&change)? {
        Ok(ran) => ran,
        Err(ended) => {
            seen.out_of_time |= matches!(ended, Ended::OutOfTime);
            return Ok(());
        }
    };
    let roots = reach::roots(&plan.workdir, &plan.policy, &with.env);
    let trace = reach::touched(&file, &place.tree(), place.parts(), roots);
    seen.survivors = seen.survivors.saturating_add(ran.survivors);
    seen.probe.traced = Some(Traced {
        trace,
        verdict: Some(ran.verdict),
    });
    Ok(())
}

/// One run for which the clock stands at the moment in which it begins. It may wait for ever, so its time is bounded by that
/// of the others.
pub(super) fn frozen(place: &Place<'_>, plan: &Plan, with: &Surroundings, seen: &mut Probed) -> Result<(), ProbeError> {
    let plain = Perturbation::default();
    place.renew_for(&plain)?;
    let env = place.environment(&plain);
    let at_s = i64::try_from(Clock::system().stamp().wall_ms / 1000).unwrap_or_default();
    let change = {
        let site = site(place, plan, with, &env, String::new())?;
        dimension::clock::standing_still(&site, at_s, &place.support())
    };
    let change = match change {
        Ok(change) => change,
        Err(why) => {
            seen.probe.frozen = Some(Frozen(Err(why)));
            return Ok(());
        }
    };
    match place.check_within(patience_ms(seen.longest_ms), &change)? {
        Ok(ran) => {
            seen.survivors = seen.survivors.saturating_add(ran.survivors);
            let unseen = ran
                .missing_sign
                .map(|sign| format!("there is no sign ({sign}) that it was in force"));
            seen.probe.frozen = Some(Frozen(unseen.map_or(Ok(ran.verdict), Err)));
        }
        Err(ended) => seen.out_of_time |= matches!(ended, Ended::OutOfTime),
    }
    Ok(())
}
