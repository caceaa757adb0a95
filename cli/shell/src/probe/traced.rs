//! The run of a hermetic check whose calls are written down (SPEC 6.7.3).

use engine::probe::Traced;

use super::dimension::{self, Perturbation};
use super::place::{Ended, Place};
use super::vary::site;
use super::{Plan, ProbeError, Probed};
use crate::replay::Surroundings;
use crate::world::reach;

/// One more run, in a place of its own.
pub(super) fn run(place: &Place<'_>, plan: &Plan, with: &Surroundings, seen: &mut Probed) -> Result<(), ProbeError> {
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
