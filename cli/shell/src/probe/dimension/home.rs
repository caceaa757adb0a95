//! The home: another one, as empty; one that is not there yet; one with a space in its name.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "home",
    doc: "the home directory",
    is_outside: false,
    plan,
};

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let at = |name: &str, is_missing| Perturbation {
        home: Some(name.to_owned()),
        home_is_missing: is_missing,
        ..Perturbation::default()
    };
    let ways = [
        way("another empty home", at("of another", false)),
        way("a home that is not there", at("nobodys-home", true)),
        way("a home with a space in its name", at("the home", false)),
    ];
    Ok(Varied::by_turns(&ways, site))
}
