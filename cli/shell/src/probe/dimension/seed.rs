//! The seeds of what languages draw at random: order of hashed containers, and generators nobody seeded.

use super::{Dimension, Perturbation, Site, Varied, way};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "seed",
    doc: "seeds of hashes and of random generators",
    is_outside: false,
    plan,
};

const PLUGIN: &str = include_str!("seed_plugin.py");
const MODULE: &str = "loopexec_probe_seed";
const NODE: &str = include_str!("seed_preload.cjs");
const RUBY: &str = "srand(Integer(File.read(File.join(__dir__, \"seed\"))))\n";
const SIGN: &str = "seed.seen";

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    if ["libtest", "nextest", "go"].contains(&site.collector.as_str()) {
        return Err(format!("nothing sets the seeds of {} from outside", site.collector));
    }
    let with_plugin = site.collector == "pytest" && site.is_open;
    let ways: Vec<_> = (1..=site.runs)
        .map(|seed| way(format!("seed {seed}"), seeded(seed, with_plugin)))
        .collect();
    Ok(Varied::by_turns(&ways, site))
}

fn seeded(seed: u32, with_plugin: bool) -> Perturbation {
    let seed = seed.to_string();
    let set = ["PYTHONHASHSEED", "PERL_HASH_SEED", "GTEST_RANDOM_SEED"];
    let mut change = Perturbation {
        set: set.map(|name| (name, seed.clone())).to_vec(),
        files: vec![
            ("seed", seed),
            ("loopexec_probe_seed.cjs", NODE.to_owned()),
            ("loopexec_probe_seed.rb", RUBY.to_owned()),
        ],
        node_preloads: vec!["loopexec_probe_seed.cjs"],
        ruby_preloads: vec![MODULE],
        ..Perturbation::default()
    };
    if with_plugin {
        change.files.push(("loopexec_probe_seed.py", PLUGIN.to_owned()));
        change.pytest_plugins.push(MODULE);
        change.signs.push(SIGN);
    }
    change
}
