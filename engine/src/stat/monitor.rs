//! The sequential monitor: samples of one check, as they come, and when trust in it is lost (SPEC 6.5.5).

use super::{EValue, OneIn, Share, Tally, Z_TWO_SIDED, evalue, wilson_lower};

/// Why trust was lost. They are not the same claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lost {
    /// The runs prove a flake rate above the target.
    ProvedFlaky,
    /// Wilson's bound was at or above the target and fell below it: the certificate is gone, nothing is proved.
    BoundBelowTarget,
}

/// Runs so far, and whether they ever reached the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Monitor {
    tally: Tally,
    /// Runs of the probe: below as many nothing is called lost.
    seed: u32,
    target_ppm: u32,
    risk: OneIn,
    has_reached: bool,
}

impl Monitor {
    /// Begins with what a probe saw.
    pub fn seeded(probe: Tally, target_ppm: u32, risk: OneIn) -> Self {
        let mut monitor = Self {
            tally: probe,
            seed: probe.runs,
            target_ppm,
            risk,
            has_reached: false,
        };
        monitor.has_reached = monitor.is_within();
        monitor
    }

    /// Takes one sample and says what it cost.
    pub fn sample(&mut self, agrees: bool) -> Option<Lost> {
        self.tally.runs = self.tally.runs.saturating_add(1);
        self.tally.agreeing = self.tally.agreeing.saturating_add(u32::from(agrees));
        if self.flaky().refutes(self.risk) {
            return Some(Lost::ProvedFlaky);
        }
        let within = self.is_within();
        self.has_reached |= within;
        (self.has_reached && !within).then_some(Lost::BoundBelowTarget)
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Whether the bound ever was at the target.
    pub fn has_reached(&self) -> bool {
        self.has_reached
    }

    /// The evidence that the check is flakier than the target allows.
    pub fn flaky(&self) -> EValue {
        evalue::flaky(self.tally, self.target_ppm)
    }

    pub fn wilson(&self) -> Option<Share> {
        wilson_lower(self.tally, Z_TWO_SIDED)
    }

    fn is_within(&self) -> bool {
        self.tally.runs >= self.seed && self.wilson().is_some_and(|bound| bound.reaches(self.target_ppm))
    }
}
