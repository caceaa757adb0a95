//! Whether a check says the same on every run: verdicts of repeated runs, and what follows from them (SPEC 6.5).
//!
//! ```text
//!   run + reading ──> Verdict ──> Block (one condition) ──┐
//!                        │        fresh, shared, rerun  ──┼──> judge ──> Judged, with its evidence
//!                        └─────> Experiment (dimensions) ─┘
//!                                 next ──> Trial ──> observe ──> next ...
//! ```
//!
//! The reference of a block is its most frequent verdict: nobody said beforehand which one is right, and the bound
//! that certifies takes that into account. For the dimensions it is then fixed. Start with [`judge`], and with
//! [`Experiment`] for what is varied.

mod block;
mod experiment;
mod minimise;
mod report;
mod traced;
pub(crate) mod verdict;

use crate::event::halt::HaltReason;
use crate::event::zone::ZoneSeen;
use crate::stat::{self, RISK, Share, Tally, Z_TWO_SIDED};

pub use block::Block;
pub use experiment::{Experiment, Purpose, Seen, Subject, Trial};
pub use report::{Finding, Found, Together};
pub use traced::{Frozen, Traced};
pub use verdict::{Class, Verdict};

/// What the three blocks showed.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// Every run in a copy of its own, with a home and a temporary directory of its own.
    pub fresh: Block,
    /// Every run in a copy of its own, one home and one temporary directory for all.
    pub shared: Block,
    /// One copy for all, without a reset.
    pub rerun: Block,
    /// Of a check that ran in a zone, and of several runs the one that fixed least.
    pub zone: Option<ZoneSeen>,
    /// One run whose calls were written down, where the check is declared hermetic and no zone makes that needless.
    pub traced: Option<Traced>,
    /// One run whose clock stood still, where the check is declared hermetic.
    pub frozen: Option<Frozen>,
    /// What was varied, if anything was.
    pub experiment: Option<Experiment>,
}

impl Probe {
    /// Takes note of the zone of one more run.
    pub fn ran_in(&mut self, zone: ZoneSeen) {
        let fixes_less = |known: &ZoneSeen| zone.fixed.len() < known.fixed.len();
        if self.zone.as_ref().is_none_or(fixes_less) {
            self.zone = Some(zone);
        }
    }
}

/// The bounds of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What certifies; `None` after a disagreement, and for too few runs.
    pub exact: Option<Share>,
    /// The same against a reference that had been fixed beforehand: alpha^(1/n).
    pub known_reference: Option<Share>,
    pub wilson: Option<Share>,
}

impl Bounds {
    pub fn of(tally: Tally) -> Self {
        let unanimous = tally.is_unanimous();
        Self {
            exact: unanimous
                .then(|| stat::unknown_reference_lower(tally.runs, RISK))
                .flatten(),
            known_reference: unanimous.then(|| stat::exact_lower(tally, RISK)).flatten(),
            wilson: stat::wilson_lower(tally, Z_TWO_SIDED),
        }
    }
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub bounds: Bounds,
    /// Whether the target is shown; `None` when there is none.
    pub certified: Option<bool>,
    /// The runs prove a flake rate above the target.
    pub proved_flaky: bool,
    /// Reason and cause, unless all is well.
    pub fault: Option<(HaltReason, &'static str)>,
}

/// Judges the blocks against the largest flake rate that is tolerated, in parts per million.
pub fn judge(probe: &Probe, max_flake_ppm: Option<u32>) -> Judged {
    let tally = probe.fresh.tally();
    let bounds = Bounds::of(tally);
    let target = max_flake_ppm.map(|rate| stat::PPM.saturating_sub(rate));
    let certified = target.map(|target| bounds.exact.is_some_and(|bound| bound.reaches(target)));
    Judged {
        bounds,
        certified,
        proved_flaky: target.is_some_and(|target| stat::flaky(tally, target).refutes(RISK)),
        fault: fault(probe, tally, certified),
    }
}

fn fault(probe: &Probe, tally: Tally, certified: Option<bool>) -> Option<(HaltReason, &'static str)> {
    let reference = probe.fresh.reference()?;
    if !tally.is_unanimous() {
        return Some((HaltReason::CheckFlaky, "probe"));
    }
    if let Class::Broken { cause, .. } = reference.class {
        return Some((verdict::reason_of(cause), cause));
    }
    let differs = |block: &Block| block.against(reference).disagreeing() > 0;
    if differs(&probe.shared) {
        return Some((HaltReason::CheckHasSideEffects, "shared_state_disagreed"));
    }
    if differs(&probe.rerun) {
        return Some((HaltReason::CheckHasSideEffects, "rerun_disagreed"));
    }
    if let Some(fault) = probe.traced.as_ref().and_then(|traced| traced.fault(reference)) {
        return Some(fault);
    }
    if let Some(broken) = probe.experiment.as_ref().and_then(Experiment::fault) {
        return Some(broken);
    }
    (certified == Some(false)).then_some((HaltReason::CheckNotDeterministic, "bound_below_target"))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::event::id::Digest;

    fn verdict(class: Class, failing: &[&str]) -> Verdict {
        Verdict {
            class,
            failing: failing.iter().map(ToString::to_string).collect(),
            skipped: vec![],
            collected: vec!["a".into(), "b".into()],
        }
    }

    fn block(runs: &[(Verdict, u32)]) -> Block {
        let mut block = Block::default();
        for (verdict, times) in runs {
            for _ in 0..*times {
                block.add(
                    verdict.clone(),
                    Some(i32::from(verdict.class != Class::Green)),
                    Digest::ZERO,
                );
            }
        }
        block
    }

    fn green(times: u32) -> (Verdict, u32) {
        (verdict(Class::Green, &[]), times)
    }

    fn red(failing: &[&str], times: u32) -> (Verdict, u32) {
        (verdict(Class::Red, failing), times)
    }

    fn fresh(runs: &[(Verdict, u32)]) -> Probe {
        Probe {
            fresh: block(runs),
            ..Probe::default()
        }
    }

    #[test]
    fn as_many_runs_as_the_rate_needs_certify_it_and_one_fewer_misses() {
        let runs = stat::needed_unknown_reference(50_000, RISK).unwrap();
        assert_eq!(runs, 59);
        let judged = judge(&fresh(&[green(runs)]), Some(50_000));
        assert_eq!((judged.certified, judged.fault), (Some(true), None));
        assert_eq!(judged.bounds.exact.unwrap().ppm_down(), 950_492);
        let judged = judge(&fresh(&[green(runs - 1)]), Some(50_000));
        let missed = (HaltReason::CheckNotDeterministic, "bound_below_target");
        assert_eq!((judged.certified, judged.fault), (Some(false), Some(missed)));
    }

    #[test]
    fn one_disagreement_voids_the_bound_whatever_the_number_of_runs() {
        let judged = judge(&fresh(&[green(3_000), red(&["a"], 1)]), Some(50_000));
        assert_eq!(judged.bounds.exact, None);
        assert_eq!(judged.bounds.known_reference, None);
        assert!(judged.bounds.wilson.is_some());
        assert_eq!(judged.fault, Some((HaltReason::CheckFlaky, "probe")));
        assert_eq!(judged.certified, Some(false));
        assert!(!judged.proved_flaky, "one in three thousand proves nothing against 5 %");
    }

    #[test]
    fn other_members_with_the_same_exit_disagree_and_are_named() {
        let probe = fresh(&[red(&["a"], 2), red(&["b"], 3)]);
        assert_eq!(probe.fresh.reference().unwrap().failing, ["b"]);
        assert_eq!(probe.fresh.tally(), Tally { agreeing: 3, runs: 5 });
        assert_eq!(probe.fresh.unsteady().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        let judged = judge(&probe, None);
        assert_eq!(judged.fault, Some((HaltReason::CheckFlaky, "probe")));
        assert_eq!(judged.certified, None, "nothing was asked to be shown");
    }

    #[test]
    fn other_output_is_counted_and_is_no_disagreement() {
        let mut block = Block::default();
        for output in [1, 2] {
            block.add(verdict(Class::Green, &[]), Some(0), Digest([output; 32]));
        }
        assert_eq!((block.distinct_outputs(), block.distinct_verdicts()), (2, 1));
    }

    #[test]
    fn the_block_that_differs_names_the_side_effect() {
        let with = |shared: Block, rerun: Block| {
            let probe = Probe {
                fresh: block(&[green(10)]),
                shared,
                rerun,
                ..Probe::default()
            };
            judge(&probe, None).fault.map(|(_, cause)| cause)
        };
        let (same, other) = (block(&[green(3)]), block(&[green(1), red(&["a"], 2)]));
        assert_eq!(with(same.clone(), same.clone()), None);
        assert_eq!(with(other.clone(), same.clone()), Some("shared_state_disagreed"));
        assert_eq!(with(same.clone(), other), Some("rerun_disagreed"));
        assert_eq!(
            with(Block::default(), Block::default()),
            None,
            "not probed is not broken"
        );
        let all_red = block(&[red(&["a"], 3)]);
        assert_eq!(
            with(same, all_red),
            Some("rerun_disagreed"),
            "agreeing among themselves does not help"
        );
    }

    #[test]
    fn a_check_that_never_comes_to_a_verdict_is_no_steady_one() {
        let broken = |detail: &str| Class::Broken {
            cause: "check_not_found",
            detail: detail.into(),
        };
        let probe = fresh(&[(verdict(broken("x"), &[]), 3), (verdict(broken("y"), &[]), 3)]);
        assert_eq!(probe.fresh.tally(), Tally::unanimous(6), "its text does not count");
        assert_eq!(
            judge(&probe, None).fault,
            Some((HaltReason::ExecutionFailure, "check_not_found"))
        );
        let mixed = fresh(&[green(3), (verdict(broken(""), &[]), 1)]);
        assert_eq!(judge(&mixed, None).fault, Some((HaltReason::CheckFlaky, "probe")));
    }

    #[test]
    fn no_run_is_no_data() {
        let judged = judge(&Probe::default(), Some(50_000));
        assert_eq!((judged.certified, judged.fault), (Some(false), None));
        assert_eq!(judged.bounds.wilson, None);
    }
}
