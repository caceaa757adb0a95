//! The umask: what it takes from files that the check makes.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "umask",
    doc: "the umask",
    is_outside: false,
    plan,
};

const MASKS: &[&str] = &["077", "002", "000"];
const SET: &str = "umask \"$1\"; shift; exec \"$@\"";
const UNSET: &str = "exec \"$@\"";

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    if !site.has("sh") {
        return Err("sh is not installed".to_owned());
    }
    let ways: Vec<_> = MASKS
        .iter()
        .map(|mask| {
            let around = Perturbation::around(&["sh", "-c", SET, "sh", mask]);
            way(format!("umask {mask}"), around)
        })
        .collect();
    Ok(Varied::by_turns(&ways, site).with_tool(&["sh", "-c", UNSET, "sh"]))
}
