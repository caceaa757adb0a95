//! The order in which tests run: backwards, then shuffled by a seed.
//!
//! Backwards first: it turns every pair around, so that whatever hangs on one test before another shows in one run.
//! A shuffle misses a pair half of the time.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "order",
    doc: "the order of tests: backwards, then shuffled",
    is_outside: false,
    plan,
};

/// Source of the plugin; it needs nothing but pytest itself.
const PLUGIN: &str = include_str!("order_plugin.py");
const MODULE: &str = "loopexec_probe_order";
const FILE: &str = "loopexec_probe_order.py";
/// What does the same for jest and vitest, by their command line.
const PRELOAD: &str = include_str!("order_preload.cjs");
const PRELOAD_FILE: &str = "loopexec_probe_order.cjs";
/// What either is told, and what it leaves when it was obeyed.
const WANTED: &str = "order";
const SIGN: &str = "order.seen";

/// Runs more than another dimension has: the order is what breaks most often.
const MORE_RUNS: u32 = 2;

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let (backwards, shuffled): (Option<Perturbation>, fn(u32) -> Perturbation) = match site.collector.as_str() {
        "pytest" if site.takes_plugins => (Some(by_plugin("reverse".to_owned())), |seed| {
            by_plugin(seed.to_string())
        }),
        "pytest" => return Err("the check hides plugins from pytest, by which the order is changed".to_owned()),
        "go" => (None, |seed| by_words("GOFLAGS", format!("-shuffle={seed}"))),
        "googletest" => (None, by_googletest),
        "jest" | "vitest" => (None, by_preload),
        "rspec" => (None, |seed| by_words("SPEC_OPTS", format!("--order rand:{seed}"))),
        "" => return Err("no runner was recognised that takes an order from its environment".to_owned()),
        other => return Err(format!("{other} takes no order of its tests from the environment")),
    };
    let backwards = backwards.map(|how| way("backwards", how));
    let count = site.runs + MORE_RUNS;
    let shuffles = (1..=count).map(|seed| way(format!("shuffled by seed {seed}"), shuffled(seed)));
    Ok(Varied {
        variations: backwards.into_iter().chain(shuffles).take(count as usize).collect(),
        tool: None,
    })
}

fn by_plugin(wanted: String) -> Perturbation {
    Perturbation {
        files: vec![(FILE, PLUGIN.to_owned()), (WANTED, wanted)],
        pytest_plugins: vec![MODULE],
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_preload(seed: u32) -> Perturbation {
    Perturbation {
        files: vec![(PRELOAD_FILE, PRELOAD.to_owned()), (WANTED, seed.to_string())],
        node_preloads: vec![PRELOAD_FILE],
        signs: vec![SIGN],
        ..Perturbation::default()
    }
}

fn by_words(name: &'static str, words: String) -> Perturbation {
    Perturbation {
        words: vec![(name, words)],
        ..Perturbation::default()
    }
}

fn by_googletest(seed: u32) -> Perturbation {
    Perturbation {
        set: vec![
            ("GTEST_SHUFFLE", "1".to_owned()),
            ("GTEST_RANDOM_SEED", seed.to_string()),
        ],
        ..Perturbation::default()
    }
}
