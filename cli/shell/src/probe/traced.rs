//! The run of a hermetic check whose calls are written down (SPEC 6.7.3).

use std::os::unix::ffi::OsStrExt as _;

use engine::probe::Traced;

use super::dimension::{self, Perturbation, Site};
use super::place::{Ended, Place};
use super::{Plan, ProbeError, Probed};
use crate::oracle::trace;
use crate::replay::Surroundings;
use crate::world::reach;

/// One more run, in a place of its own.
pub(super) fn run(place: &Place<'_>, plan: &Plan, with: &Surroundings, seen: &mut Probed) -> Result<(), ProbeError> {
    let plain = Perturbation::default();
    place.renew_for(&plain)?;
    let env = place.environment(&plain);
    let file = place.support().join("trace");
    let change = {
        let site = Site::at(
            place.tree(),
            &plan.policy,
            &env,
            &with.exe,
            place.wishes(),
            String::new(),
        )?;
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
    let mut roots = reach::roots(&plan.workdir, &plan.policy, &with.env);
    for own in place.parts() {
        roots.own(own.as_os_str().as_bytes());
    }
    let trace = trace::read(&file, &roots, place.tree().as_os_str().as_bytes());
    seen.survivors = seen.survivors.saturating_add(ran.survivors);
    seen.probe.traced = Some(Traced {
        trace: trace.map_err(|error| format!("{}: {error}", file.display())),
        verdict: Some(ran.verdict),
    });
    Ok(())
}
