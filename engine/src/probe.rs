//! Whether a check says the same on every run: verdicts of repeated runs, and what follows from them (SPEC 6.5).
//!
//! ```text
//!   run + reading ──> Verdict ──> Block (one condition) ──┐
//!                                 fresh, shared, rerun  ──┴──> judge ──> Judged, with its evidence
//! ```
//!
//! The reference of a block is its most frequent verdict: nobody said beforehand which one is right, and the bound
//! that certifies takes that into account. Start with [`judge`].

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::effect::Reading;
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::measurement::CommandRun;
use crate::facts::Facts;
use crate::members::CHECK;
use crate::phase::check::{self, Failure};
use crate::stat::{self, RISK, Share, Tally, Z_TWO_SIDED};

/// How a run of the check ended, as far as verdicts go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    Green,
    Red,
    /// It came to no verdict: not found, killed, out of time.
    Broken {
        cause: &'static str,
        detail: String,
    },
}

/// What a run said (SPEC 6.5.1). Durations and text are no part of it. Lists are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: Class,
    pub failing: Vec<String>,
    pub skipped: Vec<String>,
    pub collected: Vec<String>,
}

impl Verdict {
    /// `None` when a signal or the probe's own time cut the run short.
    pub fn of(run: &CommandRun, reading: &Reading, facts: &Facts) -> Option<Self> {
        let class = match check::failure(run, facts) {
            None if run.exited() == Some(facts.policy().oracle.success_exit) => Class::Green,
            None => Class::Red,
            Some(Failure::Oracle { cause, detail }) => Class::Broken { cause, detail },
            Some(Failure::Again | Failure::RunDeadline) => return None,
        };
        let ids = |wanted: &dyn Fn(&crate::event::measurement::MemberStatus) -> bool| -> Vec<String> {
            let members = reading.members.iter().filter(|(_, status)| wanted(status));
            members.map(|(id, _)| id.clone()).collect()
        };
        let mut failing = ids(&|status| status.fails());
        if class == Class::Red && failing.is_empty() {
            failing.push(CHECK.to_string());
        }
        Some(Self {
            class,
            failing,
            skipped: ids(&|status| !status.fails() && !status.passes()),
            collected: ids(&|_| true),
        })
    }

    /// Of a run that was ended because the directory it ran in was gone.
    pub fn of_a_lost_workdir() -> Self {
        Self {
            class: Class::Broken {
                cause: "check_killed",
                detail: "the check removed the directory that it ran in and was ended".to_string(),
            },
            failing: Vec::new(),
            skipped: Vec::new(),
            collected: Vec::new(),
        }
    }

    /// The same class and the same sets. What a broken run printed does not count.
    fn agrees(&self, other: &Self) -> bool {
        let classes = match (&self.class, &other.class) {
            (Class::Broken { cause: one, .. }, Class::Broken { cause: two, .. }) => one == two,
            (one, two) => one == two,
        };
        classes && self.failing == other.failing && self.skipped == other.skipped && self.collected == other.collected
    }
}

/// Runs under one condition.
#[derive(Clone, Debug, Default)]
pub struct Block {
    verdicts: Vec<(Verdict, u32)>,
    exits: BTreeMap<Option<i32>, u32>,
    outputs: BTreeSet<[u8; 32]>,
}

impl Block {
    /// Takes in one run.
    pub fn add(&mut self, verdict: Verdict, exit: Option<i32>, output: Digest) {
        match self.verdicts.iter_mut().find(|(known, _)| known.agrees(&verdict)) {
            Some((_, runs)) => *runs += 1,
            None => self.verdicts.push((verdict, 1)),
        }
        *self.exits.entry(exit).or_default() += 1;
        self.outputs.insert(output.0);
    }

    pub fn runs(&self) -> u32 {
        self.verdicts.iter().map(|(_, runs)| runs).sum()
    }

    /// The most frequent verdict; of equals the one that came first.
    pub fn reference(&self) -> Option<&Verdict> {
        let mut best: Option<&(Verdict, u32)> = None;
        for seen in &self.verdicts {
            if best.is_none_or(|best| seen.1 > best.1) {
                best = Some(seen);
            }
        }
        best.map(|(verdict, _)| verdict)
    }

    /// How many runs say what the reference says.
    pub fn against(&self, reference: &Verdict) -> Tally {
        let same = self.verdicts.iter().find(|(verdict, _)| verdict.agrees(reference));
        Tally {
            agreeing: same.map_or(0, |(_, runs)| *runs),
            runs: self.runs(),
        }
    }

    pub fn tally(&self) -> Tally {
        self.reference()
            .map_or(Tally::default(), |reference| self.against(reference))
    }

    pub fn green(&self) -> u32 {
        let green = self
            .verdicts
            .iter()
            .filter(|(verdict, _)| verdict.class == Class::Green);
        green.map(|(_, runs)| runs).sum()
    }

    pub fn distinct_verdicts(&self) -> usize {
        self.verdicts.len()
    }

    pub fn distinct_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Exit statuses and how often each was seen; none for a run that did not end by itself.
    pub fn exits(&self) -> impl Iterator<Item = (Option<i32>, u32)> {
        self.exits.iter().map(|(exit, runs)| (*exit, *runs))
    }

    /// Members that did not fare the same in every run.
    pub fn unsteady(&self) -> BTreeSet<&str> {
        let lists: [fn(&Verdict) -> &Vec<String>; 3] = [|v| &v.failing, |v| &v.skipped, |v| &v.collected];
        let mut found = BTreeSet::new();
        for list in lists {
            let sets: Vec<BTreeSet<&str>> = self
                .verdicts
                .iter()
                .map(|(verdict, _)| list(verdict).iter().map(String::as_str).collect())
                .collect();
            for (one, two) in sets.iter().zip(sets.iter().skip(1)) {
                found.extend(one.symmetric_difference(two).copied());
            }
        }
        found
    }
}

/// What the three blocks showed.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// Every run in a copy of its own, with a home and a temporary directory of its own.
    pub fresh: Block,
    /// Every run in a copy of its own, one home and one temporary directory for all.
    pub shared: Block,
    /// One copy for all, without a reset.
    pub rerun: Block,
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
        return Some((HaltReason::ExecutionFailure, cause));
    }
    let differs = |block: &Block| block.against(reference).disagreeing() > 0;
    if differs(&probe.shared) {
        return Some((HaltReason::CheckHasSideEffects, "shared_state_disagreed"));
    }
    if differs(&probe.rerun) {
        return Some((HaltReason::CheckHasSideEffects, "rerun_disagreed"));
    }
    (certified == Some(false)).then_some((HaltReason::CheckNotDeterministic, "bound_below_target"))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

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
