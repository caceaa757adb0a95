//! The order in which tests run: backwards, then shuffled by a seed.
//!
//! Backwards first: it turns every pair around, so that whatever hangs on one test before another shows in one run.
//! A shuffle misses a pair half of the time.

use super::{Dimension, Site, Varied, way};
use crate::oracle::perturb::order::{Order, change};

pub(super) static DIMENSION: Dimension = Dimension {
    name: "order",
    doc: "the order of tests: backwards, then shuffled",
    is_outside: false,
    plan,
};

/// Runs more than another dimension has: the order is what breaks most often.
const MORE_RUNS: u32 = 2;

fn plan(site: &Site<'_>) -> Result<Varied, String> {
    let under = |order| change(&site.collector, site.is_open, order);
    let count = site.runs + MORE_RUNS;
    let shuffles = (1..=count).map(|seed| Ok(way(format!("shuffled by seed {seed}"), under(Order::Shuffled(seed))?)));
    let shuffles: Vec<_> = shuffles.collect::<Result<_, String>>()?;
    let backwards = under(Order::Backwards).ok().map(|how| way("backwards", how));
    Ok(Varied {
        variations: backwards.into_iter().chain(shuffles).take(count as usize).collect(),
        tool: None,
    })
}
