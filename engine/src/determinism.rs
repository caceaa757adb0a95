//! What runs of the check at one tree showed, and when trust in the check is lost (SPEC 6.5.2, 6.5.5).
//!
//! ```text
//!   a turn's check   first at its tree ----> reference
//!                    again, and equal -----> sample
//!                    again, and not -------> doubt: work lies between, and what git ignores may have changed.
//!                                            One more run settles it, and is the sample.
//!   recheck, confirmation, resume, control -> sample, since each reads what the first one read
//! ```

use alloc::collections::VecDeque;
use alloc::format;
use alloc::rc::Rc;

use crate::effect::Next;
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::run::Probe;
use crate::facts::Facts;
use crate::phase::{CheckVerdict, halt};
use crate::stat::{self, Lost, Monitor, PPM, RISK, Tally, Z_TWO_SIDED};

/// Trees whose verdict is remembered. An older one that comes back is a reference anew.
const REFERENCES_MAX: usize = 64;

/// From this tolerated flake rate on a disagreement does not halt by itself, in parts per million.
pub const TOLERANT_FROM_PPM: u32 = 50_000;

/// Samples of the check at an unchanged tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Determinism {
    pub samples: u32,
    pub disagreements: u32,
    /// What a probe saw before the run.
    pub probe: Tally,
    references: Rc<VecDeque<(Digest, CheckVerdict)>>,
    in_doubt: bool,
    /// None where any disagreement halts.
    monitor: Option<Monitor>,
    lost: Option<Lost>,
}

impl Determinism {
    pub(crate) fn new(max_flake_ppm: u32, probe: Option<&Probe>) -> Self {
        let probe = probe.map_or_else(Tally::default, |probe| Tally {
            agreeing: probe.agreeing.min(probe.runs),
            runs: probe.runs,
        });
        let target = PPM.saturating_sub(max_flake_ppm);
        Self {
            samples: 0,
            disagreements: 0,
            probe,
            references: Rc::default(),
            in_doubt: false,
            monitor: tolerant(max_flake_ppm).then(|| Monitor::seeded(probe, target, RISK)),
            lost: None,
        }
    }

    /// The probe's runs and those of this run.
    pub fn tally(&self) -> Tally {
        let agreeing = self.samples.saturating_sub(self.disagreements);
        Tally {
            agreeing: self.probe.agreeing.saturating_add(agreeing),
            runs: self.probe.runs.saturating_add(self.samples),
        }
    }

    /// Runs of the probe that disagreed with the rest, where none may.
    fn probed_flaky(&self) -> bool {
        self.monitor.is_none() && self.probe.agreeing < self.probe.runs
    }

    /// The lower end of Wilson's two-sided interval for the share of runs that agree; `None` without a sample.
    pub fn wilson_lower_ppm(&self) -> Option<u32> {
        stat::wilson_lower(self.tally(), Z_TWO_SIDED).map(stat::Share::ppm_down)
    }

    /// The bound that may be looked at after every run; `None` without a sample.
    pub fn anytime_lower_ppm(&self) -> Option<u32> {
        stat::anytime_lower(self.tally(), RISK).map(stat::Share::ppm_down)
    }

    /// The rule by which trust in the check was lost, as the cause of the halt names it.
    pub fn lost(&self) -> Option<&'static str> {
        self.lost.map(|lost| match lost {
            Lost::ProvedFlaky => "proved_flaky",
            Lost::BoundBelowTarget => "bound_below_target",
        })
    }

    /// A turn's check at this tree came to this verdict.
    pub(crate) fn judged(&mut self, tree: Digest, verdict: CheckVerdict) {
        self.in_doubt = false;
        match self.reference(tree) {
            Some(known) if known == verdict => return self.sample(true),
            Some(_) => self.in_doubt = true,
            None => {}
        }
        let references = Rc::make_mut(&mut self.references);
        references.retain(|(known, _)| *known != tree);
        references.push_back((tree, verdict));
        if references.len() > REFERENCES_MAX {
            references.pop_front();
        }
    }

    /// What the first run at this tree said.
    pub(crate) fn reference(&self, tree: Digest) -> Option<CheckVerdict> {
        let known = self.references.iter().find(|(known, _)| *known == tree);
        known.map(|(_, verdict)| *verdict)
    }

    /// This turn's verdict is not the one that its tree had before, and nobody knows yet whose fault that is.
    pub(crate) const fn in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// One more run at the determinants of a reference.
    pub(crate) fn sample(&mut self, agrees: bool) {
        self.in_doubt = false;
        self.samples = self.samples.saturating_add(1);
        self.disagreements = self.disagreements.saturating_add(u32::from(!agrees));
        let lost = self.monitor.as_mut().and_then(|monitor| monitor.sample(agrees));
        self.lost = self.lost.or(lost);
    }
}

/// Whether a contract takes disagreements, and leaves it to the monitor to say when they are too many.
pub const fn tolerant(max_flake_ppm: u32) -> bool {
    max_flake_ppm >= TOLERANT_FROM_PPM
}

/// The halt of a check whose trust is lost.
pub(crate) fn distrust(facts: &Facts) -> Option<Next> {
    let determinism = &facts.determinism;
    if determinism.probed_flaky() {
        let Tally { agreeing, runs } = determinism.probe;
        let detail = format!(
            "{agreeing} of {runs} runs of the probe agreed on an unchanged tree, and the contract takes no disagreement"
        );
        return Some(halt(facts, HaltReason::CheckFlaky, "probe", &detail));
    }
    let cause = determinism.lost()?;
    let tally = determinism.tally();
    let ppm = |share: Option<u32>| share.unwrap_or(0);
    let detail = format!(
        "{} of {} runs on an unchanged tree agreed; at least {} in a million do by Wilson's bound, {} by the one that \
         holds at any time, and the contract asks for {}",
        tally.agreeing,
        tally.runs,
        ppm(determinism.wilson_lower_ppm()),
        ppm(determinism.anytime_lower_ppm()),
        PPM.saturating_sub(facts.policy().oracle.max_flake_ppm),
    );
    Some(halt(facts, HaltReason::CheckNotDeterministic, cause, &detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::bench::run;

    fn verdict(code: i32) -> CheckVerdict {
        CheckVerdict::of_run(&run(code), Digest::ZERO)
    }

    fn tree(number: u8) -> Digest {
        Digest([number; 32])
    }

    fn probed(runs: u32, agreeing: u32) -> Probe {
        Probe {
            runs,
            agreeing,
            check_digest: Digest::ZERO,
        }
    }

    #[test]
    fn a_bound_that_the_probe_reached_is_lost_by_one_run_that_disagrees() {
        let mut seen = Determinism::new(TOLERANT_FROM_PPM, Some(&probed(80, 80)));
        seen.sample(true);
        assert_eq!((seen.tally().runs, seen.lost()), (81, None));
        seen.sample(false);
        assert_eq!(seen.lost(), Some("bound_below_target"));
        let mut unprobed = Determinism::new(TOLERANT_FROM_PPM, None);
        unprobed.sample(false);
        assert_eq!(unprobed.lost(), None, "no bound was ever reached");
    }

    #[test]
    fn a_probe_that_disagreed_is_believed_where_no_disagreement_is_taken() {
        assert!(Determinism::new(0, Some(&probed(10, 9))).probed_flaky());
        assert!(!Determinism::new(0, Some(&probed(10, 10))).probed_flaky());
        assert!(!Determinism::new(TOLERANT_FROM_PPM, Some(&probed(10, 9))).probed_flaky());
    }

    #[test]
    fn the_first_run_at_a_tree_is_the_reference_and_every_later_one_a_sample() {
        let mut seen = Determinism::new(0, None);
        seen.judged(tree(1), verdict(1));
        seen.judged(tree(2), verdict(1));
        assert_eq!(
            (seen.samples, seen.wilson_lower_ppm()),
            (0, None),
            "no data is no share"
        );
        seen.judged(tree(1), verdict(1));
        assert_eq!((seen.samples, seen.disagreements), (1, 0));
    }

    #[test]
    fn another_verdict_after_work_is_a_doubt_until_one_more_run_settles_it() {
        let mut seen = Determinism::new(0, None);
        seen.judged(tree(1), verdict(1));
        seen.judged(tree(1), verdict(0));
        assert_eq!((seen.samples, seen.in_doubt()), (0, true));
        assert_eq!(seen.reference(tree(1)), Some(verdict(0)));
        seen.sample(true);
        assert_eq!((seen.samples, seen.disagreements, seen.in_doubt()), (1, 0, false));
    }

    #[test]
    fn what_is_remembered_does_not_grow_with_the_run() {
        let mut seen = Determinism::new(0, None);
        for number in 0..=255 {
            seen.judged(tree(number), verdict(1));
        }
        assert_eq!(seen.references.len(), REFERENCES_MAX);
        assert_eq!(seen.reference(tree(0)), None);
        assert_eq!(seen.reference(tree(255)), Some(verdict(1)));
    }

    #[test]
    fn a_strict_contract_asks_no_monitor() {
        let mut seen = Determinism::new(TOLERANT_FROM_PPM - 1, None);
        (0..50).for_each(|_| seen.sample(false));
        assert_eq!(seen.lost(), None);
    }

    /// Over 200 samples, as the published figures of a monitor without a probe have it (SPEC 6.5.5).
    #[test]
    fn simulated_checks_lose_trust_as_often_as_predicted() {
        const CHECKS: u32 = 1_000;
        let mut dice = 0x5eed_u64;
        let mut below_100 = move || {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % 100
        };
        for (flakes, at_least, at_most) in [(0, 0, 0), (1, 0, 2), (5, 0, 50), (10, 350, 560), (30, 990, 1_000)] {
            let lost = (0..CHECKS).filter(|_| {
                let mut seen = Determinism::new(TOLERANT_FROM_PPM, None);
                (0..200).for_each(|_| seen.sample(below_100() >= flakes));
                seen.lost() == Some("proved_flaky")
            });
            let lost = lost.count();
            assert!((at_least..=at_most).contains(&lost), "{flakes} %: {lost} of {CHECKS}");
        }
    }
}
