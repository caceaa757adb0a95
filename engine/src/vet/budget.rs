//! How long the guards before green may take together, and what does not fit (SPEC 5.6.13).
//!
//! ```text
//!   budget = the larger of CHECKS x the check of the turn and AT_LEAST
//!   what is left when a guard is due ──> none: it is not run
//!                                   └──> some: no run of it begins once its runs took as much
//! ```
//!
//! Guards that can make do with fewer runs plan as many as half of what is left has room for, so that those behind them
//! are not left with nothing. A reviewer runs no check and has a limit of its own.

use super::experiment::Ran;
use super::{Case, judge};
use crate::event::policy::{GuardBudget, OverBudget};

/// Why a guard has no result, where its time was over.
pub(super) const SPENT: &str = "it did not fit into what --guard-budget leaves to the guards before green";

/// Milliseconds; `None` without limit.
pub(crate) fn of(budget: &GuardBudget, check_ms: u64) -> Option<u64> {
    let times = check_ms.saturating_mul(budget.checks.into());
    (budget.checks > 0 || budget.at_least_ms > 0).then(|| times.max(budget.at_least_ms))
}

impl Case<'_> {
    /// What the guards that spoke have left of the budget; `None` without limit.
    pub(super) fn left_ms(&self) -> Option<u64> {
        let budget_ms = of(&self.facts.policy().guards.budget, self.check.run.duration_ms)?;
        let counted = self.earlier.iter().filter(|vetted| vetted.guard != judge::VET.name);
        let spent_us = counted.fold(0_u64, |sum, vetted| sum.saturating_add(vetted.cost_us));
        Some(budget_ms.saturating_sub(spent_us / 1_000))
    }

    /// How many runs of the check a guard may plan that can make do with fewer than `wanted`; `least` show something.
    pub(super) fn runs(&self, least: u32, wanted: u32) -> u32 {
        let Some(left_ms) = self.left_ms() else {
            return wanted;
        };
        let room = left_ms / 2 / self.check.run.duration_ms.max(1);
        wanted.min(u32::try_from(room).unwrap_or(u32::MAX).max(least))
    }

    pub(super) fn leaves_out(&self) -> bool {
        self.facts.policy().guards.over_budget == OverBudget::LeaveOut
    }
}

/// Whether these runs took all that was left.
pub(super) fn is_spent(left_ms: Option<u64>, ran: &[Ran]) -> bool {
    let took_ms = ran
        .iter()
        .fold(0_u64, |sum, ran| sum.saturating_add(ran.run.duration_ms));
    left_ms.is_some_and(|left_ms| took_ms >= left_ms)
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::super::{Experiment, Plan, bench, code_mutation};
    use super::*;
    use crate::State;
    use crate::event::candidate::Vetted;
    use crate::event::finding::GuardReport;
    use crate::event::id::{Digest, Stamp};
    use crate::event::iteration::{CheckEnded, CheckPurpose};
    use crate::event::policy::{Policy, Surface};
    use crate::event::run::RunOpened;
    use crate::guard::bench::{Bench, measurement, run};
    use crate::phase::Turn;

    #[test]
    fn the_larger_of_the_two_is_the_budget_and_two_noughts_are_none() {
        let budget = |checks, at_least_ms| of(&GuardBudget { checks, at_least_ms }, 7_000);
        assert_eq!(budget(10, 1_000), Some(70_000));
        assert_eq!(budget(10, 300_000), Some(300_000));
        assert_eq!(budget(0, 5), Some(5));
        assert_eq!(budget(1, 0), Some(7_000));
        assert_eq!(budget(0, 0), None);
        let most = GuardBudget {
            checks: u32::MAX,
            at_least_ms: 0,
        };
        assert_eq!(of(&most, u64::MAX), Some(u64::MAX));
    }

    #[test]
    fn a_surface_that_may_grow_has_room_for_a_comparison_of_suites() {
        assert!(GuardBudget::of(Surface::Extend).checks > GuardBudget::of(Surface::Frozen).checks);
    }

    /// What a green turn with a check of one second leaves under this budget, behind guards that cost so many
    /// milliseconds: the time, and the runs that `code_mutation` plans of up to 16.
    fn left(checks: u32, earlier: &[(&str, u64)]) -> (Option<u64>, u32) {
        let mut policy = Policy::default();
        policy.guards.budget = GuardBudget { checks, at_least_ms: 0 };
        let opened = RunOpened {
            at: Stamp::default(),
            run_id: "r".into(),
            engine: crate::VERSION.into(),
            workdir: "/w".into(),
            boot_id: "b".into(),
            policy_digest: Digest::ZERO,
            policy,
            origins: [].into(),
            programs: [].into(),
            probe: None,
            zones: [].into(),
        };
        let mut facts = State::open(opened).facts;
        facts.members = Bench::honest().members;
        let mut check = CheckEnded {
            at: Stamp::default(),
            iteration: 1,
            attempt: 1,
            purpose: CheckPurpose::Iteration,
            run: run(0),
            measurement: measurement(),
            interference: [].into(),
        };
        check.run.duration_ms = 1_000;
        let turn = Turn {
            iteration: 1,
            tree: Digest::ZERO,
            read: Digest::ZERO,
            no_op: false,
            exec_survivors: [].into(),
            interference: [].into(),
            after_exec: None,
        };
        let spent = |(guard, cost_ms): &(&str, u64)| {
            Arc::new(Vetted {
                cost_us: cost_ms * 1_000,
                ..bench::vetted(guard)
            })
        };
        let earlier: alloc::vec::Vec<_> = earlier.iter().map(spent).collect();
        let case = Case {
            facts: &facts,
            turn: &turn,
            check: &check,
            report: &GuardReport::default(),
            earlier: &earlier,
        };
        let Plan::Run(Experiment::CodeMutants(trying)) = (code_mutation::VET.plan)(&case) else {
            panic!("there is nothing to run");
        };
        (case.left_ms(), trying.mutants_max)
    }

    #[test]
    fn a_guard_plans_no_more_runs_than_half_of_what_the_others_left_has_room_for() {
        assert_eq!(left(100, &[]), (Some(100_000), 16), "as many as the contract lets it");
        assert_eq!(left(10, &[]), (Some(10_000), 5));
        assert_eq!(left(10, &[("t0_replay", 1_500), ("order", 4_500)]), (Some(4_000), 2));
        assert_eq!(left(10, &[("t0_replay", 20_000)]), (Some(0), 1), "one shows something");
        assert_eq!(
            left(10, &[("judge", 20_000)]),
            (Some(10_000), 5),
            "a reviewer has its own time"
        );
        assert_eq!(left(0, &[("t0_replay", 20_000)]), (None, 16));
    }
}
