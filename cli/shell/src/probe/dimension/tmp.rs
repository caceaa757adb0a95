//! The temporary directory: with a space in its name, with a longer one, and elsewhere.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "tmp",
    doc: "the temporary directory",
    is_outside: false,
    plan,
};

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let at = |name: String| Perturbation {
        tmp: Some(name),
        ..Perturbation::default()
    };
    // What lies in there is soon too far for the name of a socket, which ends at 107 bytes.
    let long = format!("temporary-files-{}", "of-a-longer-name-".repeat(3));
    // The plainest first: a guard before green takes that one.
    let ways = [
        way("another TMPDIR", at("t".to_owned())),
        way("a TMPDIR with a space in its name", at("temporary files".to_owned())),
        way("a TMPDIR with a longer name", at(long)),
    ];
    Ok(Varied::by_turns(&ways, site))
}
