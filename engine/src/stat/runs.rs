//! How many runs it takes to show a rate, when all of them agree.

use super::bound::{unanimous_up, whole_down, within_risk};
use super::real::{Real, Round};
use super::{OneIn, PARTS, PPM};

const PART: u64 = PARTS / PPM as u64;

/// Against a reference that was fixed beforehand: ceil(ln alpha / ln(1 - rate)). Never for a rate of nothing.
pub fn needed(rate_ppm: u32, risk: OneIn) -> Option<u32> {
    let share = Real::from_u64(u64::from(PPM.checked_sub(rate_ppm)?));
    let all = |runs| share.pow(runs, Round::Up);
    smallest(|runs| within_risk(all(runs), whole_down(u64::from(PPM), runs), risk))
}

/// When the reference is what the runs themselves said. The more frequent of two verdicts has at least half of the
/// runs, so a rate above that asks for no fewer.
pub fn needed_unknown_reference(rate_ppm: u32, risk: OneIn) -> Option<u32> {
    let share = u64::from(PPM.checked_sub(rate_ppm)?) * PART;
    let share = share.max(PARTS / 2);
    smallest(|runs| within_risk(unanimous_up(runs, share), whole_down(PARTS, runs), risk))
}

/// The smallest number from 1 that meets a condition which every larger one meets too.
fn smallest(holds: impl Fn(u32) -> bool) -> Option<u32> {
    let mut high = 1_u32;
    while !holds(high) {
        high = high.checked_mul(2)?;
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
