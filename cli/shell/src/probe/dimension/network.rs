//! The network: none but its own loopback, which is up. A check that breaks for the lack of a loopback would prove
//! nothing.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "network",
    doc: "no network but its own loopback",
    is_outside: true,
    plan,
};

/// Brings the loopback up before anything else runs.
const LOOPBACK: &str = "ip link set lo up && exec \"$@\"";

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let bwrap = ["bwrap", "--dev-bind", "/", "/"];
    // Whoever is nobody in particular needs a user namespace to have a network of his own; he stays who he is in it.
    let mut unshare = vec!["unshare"];
    if !site.is_root {
        unshare.extend(["--map-current-user", "--keep-caps"]);
    }
    let ways = [
        (bwrap.to_vec(), vec!["--unshare-net", "--"], vec!["--"]),
        (
            unshare,
            vec!["--net", "--", "sh", "-c", LOOPBACK, "sh"],
            vec!["--mount", "--"],
        ),
    ];
    let mut tried = Vec::new();
    for (tool, without, with) in ways {
        let name = tool.first().copied().unwrap_or_default();
        if !site.has(name) {
            tried.push(format!("{name} is not installed"));
            continue;
        }
        let (without, with) = ([tool.clone(), without].concat(), [tool, with].concat());
        if site.ask(&[without.clone(), vec!["true"]].concat()).is_none() {
            tried.push(format!("{name} is refused by this machine"));
            continue;
        }
        let ways = [way("without a network", Perturbation::around(&without))];
        return Ok(Varied::by_turns(&ways, site).with_tool(&with));
    }
    Err(tried.join(" and "))
}
