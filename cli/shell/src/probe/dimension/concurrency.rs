//! What runs at the same time: everything on one processor, or the check twice at once.

use super::{Dimension, PATIENCE, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "concurrency",
    doc: "one processor; the check twice at once",
    is_outside: false,
    plan,
};

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let one = Perturbation {
        one_processor: true,
        patience: PATIENCE,
        ..Perturbation::default()
    };
    let twice = Perturbation {
        twin: true,
        patience: PATIENCE,
        ..Perturbation::default()
    };
    let mut ways = vec![way("the check twice at once", twice)];
    // Where there is only one it would vary nothing.
    if site.processors > 1 {
        ways.insert(0, way("on one processor", one));
    }
    Ok(Varied::by_turns(&ways, site))
}
