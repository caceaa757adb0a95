//! Lower bounds on the share of runs that show the reference verdict.
//!
//! Each is the largest share that the runs still speak against, found by halving: whether they do is asked of a
//! condition that is met by every smaller share, and answered in rounding that can only say no too often.

use super::real::{Real, Round};
use super::{OneIn, PARTS, Share, Tally};

/// The exact one-sided bound of Clopper and Pearson against a reference that was fixed beforehand; alpha^(1/n) when
/// all agree. `None` without data.
pub fn exact_lower(tally: Tally, risk: OneIn) -> Option<Share> {
    let holds = |parts| within_risk(tail_up(tally, parts), whole_down(PARTS, tally.runs), risk);
    (tally.runs > 0).then(|| greatest(0, PARTS, holds))
}

/// The bound when all runs agreed and none of them was known to be right: the reference is what they said. `None`
/// when there are too few runs for any statement (below 6 at 95 %).
pub fn unknown_reference_lower(runs: u32, risk: OneIn) -> Option<Share> {
    let holds = |parts| within_risk(unanimous_up(runs, parts), whole_down(PARTS, runs), risk);
    (runs > 0 && holds(PARTS / 2)).then(|| greatest(PARTS / 2, PARTS, holds))
}

/// The lower end of Wilson's interval for this `z`, in parts of 10^15. It is shown by name and certifies nothing: at
/// k = n it claims more than it may.
pub fn wilson_lower(tally: Tally, z: u64) -> Option<Share> {
    let (agreeing, runs) = (u128::from(tally.agreeing), u128::from(tally.runs));
    let spread = Real::ratio(z, PARTS, Round::Up);
    let spread = spread.mul(spread, Round::Up);
    // (k - n s)^2 >= z^2 n s (1 - s), all times 10^30.
    let holds = |parts: u64| {
        let Some(above) = (agreeing * u128::from(PARTS)).checked_sub(runs * u128::from(parts)) else {
            return false;
        };
        let above = Real::of(above, Round::Down);
        let variance = Real::of(runs * u128::from(parts), Round::Up)
            .mul(Real::from_u64(PARTS - parts), Round::Up)
            .mul(spread, Round::Up);
        above.mul(above, Round::Down) >= variance
    };
    (tally.runs > 0).then(|| greatest(0, PARTS, holds))
}

/// The bound that may be looked at after every run: the uniform mixture's confidence sequence.
pub fn anytime_lower(tally: Tally, risk: OneIn) -> Option<Share> {
    let (agreeing, against) = (tally.agreeing, tally.disagreeing());
    let evidence = beta_down(agreeing, against);
    let holds = |parts: u64| {
        let likelihood = Real::ratio(parts, PARTS, Round::Up).pow(agreeing, Round::Up).mul(
            Real::ratio(PARTS - parts, PARTS, Round::Up).pow(against, Round::Up),
            Round::Up,
        );
        likelihood.mul(Real::from_u64(u64::from(risk.0)), Round::Up) <= evidence
    };
    (tally.runs > 0).then(|| {
        let seen = u128::from(agreeing) * u128::from(PARTS) / u128::from(tally.runs);
        greatest(0, u64::try_from(seen).unwrap_or(PARTS), holds)
    })
}

/// The largest number from `low` to `high` that meets the condition; `low` is taken to.
fn greatest(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> Share {
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Share(low)
}

/// Whether a chance, given as ways among all `whole` ways, is no larger than the risk.
pub(super) fn within_risk(ways: Real, whole: Real, risk: OneIn) -> bool {
    ways.mul(Real::from_u64(u64::from(risk.0)), Round::Up) <= whole
}

/// All ways that so many runs can go, when each can go one of `parts` ways.
pub(super) fn whole_down(parts: u64, runs: u32) -> Real {
    Real::from_u64(parts).pow(runs, Round::Down)
}

/// The ways in which all of so many runs agree, whatever they agree on, when the more frequent verdict has this share.
pub(super) fn unanimous_up(runs: u32, parts: u64) -> Real {
    let all = |parts| Real::from_u64(parts).pow(runs, Round::Up);
    all(parts).add(all(PARTS - parts), Round::Up)
}

/// The ways in which at least as many runs agree at this share: the upper tail of the binomial distribution, summed
/// from its last term, so that there are as many terms as runs that disagreed.
fn tail_up(tally: Tally, parts: u64) -> Real {
    let odds = Real::ratio(PARTS - parts, parts, Round::Up);
    let mut term = Real::from_u64(parts).pow(tally.runs, Round::Up);
    let mut sum = term;
    for at in 0..tally.disagreeing() {
        let step = Real::ratio(u64::from(tally.runs - at), u64::from(at) + 1, Round::Up);
        term = term.mul(step, Round::Up).mul(odds, Round::Up);
        sum = sum.add(term, Round::Up);
    }
    sum
}

/// The beta function at these counts plus one: 1 / ((n + 1) (n over k)).
fn beta_down(agreeing: u32, against: u32) -> Real {
    let (many, few) = (u64::from(agreeing.max(against)), u64::from(agreeing.min(against)));
    (1..=few).fold(Real::ratio(1, many + few + 1, Round::Down), |product, at| {
        product.mul(Real::ratio(at, many + at, Round::Down), Round::Down)
    })
}
