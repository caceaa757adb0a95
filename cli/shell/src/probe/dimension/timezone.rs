//! The time zone: far ahead, behind with a changing clock, and half an hour off.

use std::path::Path;

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "timezone",
    doc: "the time zone",
    is_outside: false,
    plan,
};

/// Name, and its rule for where the zones are not installed: an unknown name would be UTC in silence.
const ZONES: &[(&str, &str)] = &[
    ("Pacific/Kiritimati", "<+14>-14"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Asia/Kolkata", "IST-5:30"),
];

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let installed = site
        .variable("TZDIR")
        .map_or(Path::new("/usr/share/zoneinfo"), Path::new);
    let ways: Vec<_> = ZONES
        .iter()
        .map(|(name, rule)| if installed.join(name).exists() { *name } else { *rule })
        .filter(|zone| site.variable("TZ").is_none_or(|now| now != *zone))
        .map(|zone| way(format!("TZ={zone}"), Perturbation::setting("TZ", zone)))
        .collect();
    Ok(Varied::by_turns(&ways, site))
}
