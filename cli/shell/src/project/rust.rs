//! Cargo, with nextest where the project configures it.

use super::{Detected, Project};

const NEXTEST_CONFIG: &str = ".config/nextest.toml";

pub(super) fn detect(project: &Project<'_>) -> Option<Detected> {
    let manifest = project.toml("Cargo.toml")?;
    let workspace = manifest.contains_key("workspace");
    if !workspace && !manifest.contains_key("package") {
        return None;
    }
    let nextest = project.has(NEXTEST_CONFIG);
    let mut words = if nextest {
        vec!["cargo", "nextest", "run"]
    } else {
        vec!["cargo", "test"]
    };
    if workspace {
        words.push("--workspace");
    }
    // A failing binary must not hide the tests of the next one: what is not named counts as failing.
    words.push("--no-fail-fast");
    Some(if nextest {
        Detected::new("nextest", &words, format!("{NEXTEST_CONFIG} configures nextest"))
    } else {
        Detected::new("libtest", &words, "Cargo.toml describes a package or a workspace")
    })
}
