//! The path of the copy: with spaces, longer, and another.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "path",
    doc: "the path of the project",
    is_outside: false,
    plan,
};

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let at = |path: String| Perturbation {
        tree: Some(path),
        ..Perturbation::default()
    };
    let long = "projects-in-deeper-directories/".repeat(5);
    // The plainest first: a guard before green takes that one.
    let ways = [
        way("another path", at("p".to_owned())),
        way("a path with spaces", at("a project of mine/the tree".to_owned())),
        way("a longer path", at(format!("{long}tree"))),
    ];
    Ok(Varied::by_turns(&ways, site))
}
