//! The statistics of the oracle: how sure one may be that a check says the same on every run.
//!
//! ```text
//!   runs that agreed, of how many ──> bound      what share of runs shows the reference verdict, at least
//!                                 ──> evalue     how strongly the runs speak for or against a target share
//!                                 ──> monitor    the same, run after run, with the rule that halts
//!   a rate to be shown            ──> runs       how many runs that takes
//! ```
//!
//! No float: every number is an integer or a `Real`, whose operations say to which side they round. A lower
//! bound is rounded down at every step and never claims more than the runs showed.

mod bound;
mod evalue;
mod monitor;
mod real;
mod runs;
#[cfg(test)]
mod tests;

pub use bound::{anytime_lower, exact_lower, unknown_reference_lower, wilson_lower};
pub use evalue::{EValue, certified, flaky};
pub use monitor::{Lost, Monitor};
pub use runs::{needed, needed_unknown_reference};

/// Parts of one in a parts-per-million figure.
pub const PPM: u32 = 1_000_000;

/// Parts of one in a [`Share`].
const PARTS: u64 = 1_000_000_000_000_000;

/// The chance that a statement is wrong: one in this many. 20 is a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OneIn(pub u32);

/// What every decision uses.
pub const RISK: OneIn = OneIn(20);

/// How often a normal variate lies within 1.96 deviations: the z of the two-sided Wilson bound, in parts of 10^15.
pub const Z_TWO_SIDED: u64 = 1_959_963_984_540_054;

/// What runs under one condition showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    pub agreeing: u32,
    pub runs: u32,
}

impl Tally {
    /// All of them agreed.
    pub const fn unanimous(runs: u32) -> Self {
        Self { agreeing: runs, runs }
    }

    pub const fn disagreeing(self) -> u32 {
        self.runs.saturating_sub(self.agreeing)
    }

    pub const fn is_unanimous(self) -> bool {
        self.runs > 0 && self.agreeing >= self.runs
    }
}

/// A share between none and all, in parts of 10^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// The most that can be said in parts per million without saying more.
    pub const fn ppm_down(self) -> u32 {
        (self.0 / (PARTS / PPM as u64)) as u32
    }

    /// The share that is left, in parts per million, rounded up: an upper bound from a lower one.
    pub const fn rest_ppm_up(self) -> u32 {
        PPM - self.ppm_down()
    }

    /// Whether it is at least so many parts per million, to the last part that is kept.
    pub const fn reaches(self, ppm: u32) -> bool {
        self.0 >= ppm as u64 * (PARTS / PPM as u64)
    }
}
