//! Truncated beta mixtures (SPEC 6.5.4): evidence that may be looked at after every run.
//!
//! With whole numbers the regularised incomplete beta function is a tail of a binomial distribution, and divided by
//! the likelihood at the target it becomes a sum of positive terms, each a ratio of small integers times the one
//! before. No term is ever taken away from another, so rounding every step down rounds the whole down.

use super::real::{Real, Round};
use super::{OneIn, PPM, Tally};

/// Parts of one in what an [`EValue`] shows.
const SHOWN: u64 = 1_000_000_000_000;

/// A wager against a hypothesis: what one unit of stake has become, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EValue(Real);

impl EValue {
    /// The hypothesis is refuted: were it true, the wager would ever come this far with a chance of at most the risk.
    pub fn refutes(self, risk: OneIn) -> bool {
        self.0 >= Real::from_u64(u64::from(risk.0))
    }

    /// In parts of 10^12; as many as fit.
    pub const fn parts(self) -> u128 {
        self.0.whole_parts(SHOWN)
    }
}

/// Against "the share of agreeing runs is at most the target": a large value certifies the check.
pub fn certified(tally: Tally, target_ppm: u32) -> EValue {
    let odds = Real::ratio(
        u64::from(PPM.saturating_sub(target_ppm)),
        u64::from(target_ppm),
        Round::Down,
    );
    EValue(sum(tally.agreeing, tally.disagreeing(), odds))
}

/// Against "the share of agreeing runs is at least the target": a large value proves the check flaky.
pub fn flaky(tally: Tally, target_ppm: u32) -> EValue {
    let odds = Real::ratio(
        u64::from(target_ppm),
        u64::from(PPM.saturating_sub(target_ppm)),
        Round::Down,
    );
    EValue(sum(tally.disagreeing(), tally.agreeing, odds))
}

/// The tail over `descending` counts: 1 / (b + 1), then each term times odds (a - i) / (b + 2 + i).
fn sum(descending: u32, other: u32, odds: Real) -> Real {
    let (descending, other) = (u64::from(descending), u64::from(other));
    let mut term = Real::ratio(1, other + 1, Round::Down);
    let mut sum = term;
    for at in 0..descending {
        let step = Real::ratio(descending - at, other + 2 + at, Round::Down);
        term = term.mul(step, Round::Down).mul(odds, Round::Down);
        sum = sum.add(term, Round::Down);
    }
    sum
}
