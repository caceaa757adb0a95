//! Every way a run can end, in one table: label, exit code, class, owner, sentence.
//!
//! The label is the stable integration contract; the exit code is its coarse class (SPEC 4). Nobody
//! outside matches on variants: callers ask for the label, the code or the sentence.

use super::shape::label;

label! {
    /// Why a run halted. Always computed from recorded facts, never set by a flag.
    pub enum HaltReason {
        /// The check passed with every guard intact.
        SuccessConditionMet = "success_condition_met",
        NoActionableTasks = "no_actionable_tasks",
        HumanRequired = "human_required",
        MaxIterationsReached = "max_iterations_reached",
        BlockedPathModified = "blocked_path_modified",
        RewardHackingDetected = "reward_hacking_detected",
        MetricIntegrityViolation = "metric_integrity_violation",
        CredentialScopeInvalid = "credential_scope_invalid",
        ObjectiveUnverified = "objective_unverified",
        CheckFlaky = "check_flaky",
        CheckHasSideEffects = "check_has_side_effects",
        CheckNotHermetic = "check_not_hermetic",
        HermeticityViolation = "hermeticity_violation",
        CheckNotDeterministic = "check_not_deterministic",
        CheckInadequate = "check_inadequate",
        EscalationPending = "escalation_pending",
        ReviewerRejected = "reviewer_rejected",
        NoProgressDetected = "no_progress_detected",
        SameFailureRepeated = "same_failure_repeated",
        OscillationDetected = "oscillation_detected",
        SameTestRegressed = "same_test_regressed",
        UnsatisfiableConstraints = "unsatisfiable_constraints",
        InfeasibleSuspected = "infeasible_suspected",
        BudgetExceeded = "budget_exceeded",
        CostAnomaly = "cost_anomaly",
        HeartbeatStale = "heartbeat_stale",
        ModelDriftDetected = "model_drift_detected",
        ComprehensionDebtExceeded = "comprehension_debt_exceeded",
        ContextBudgetUnsatisfiable = "context_budget_unsatisfiable",
        InvariantFailed = "invariant_failed",
        WorkspaceInvalid = "workspace_invalid",
        IsolationUnsatisfiable = "isolation_unsatisfiable",
        ExecutionFailure = "execution_failure",
        InternalError = "internal_error",
    }
}

/// One row of the halt table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaltRow {
    pub exit_code: u8,
    pub class: &'static str,
    /// Who can act on it: `loopexec` owns what a number decides, `human` what it cannot.
    pub owner: &'static str,
    /// One sentence for people, without the evidence.
    pub sentence: &'static str,
}

const fn row(exit_code: u8, class: &'static str, owner: &'static str, sentence: &'static str) -> HaltRow {
    HaltRow {
        exit_code,
        class,
        owner,
        sentence,
    }
}

impl HaltReason {
    /// The row of this reason (SPEC 4.1).
    pub const fn row(self) -> HaltRow {
        match self {
            Self::SuccessConditionMet => row(10, "converged", "loopexec", "The check passed with every guard intact."),
            Self::NoActionableTasks => row(11, "terminal-blocked", "human", "Every task that is left is blocked."),
            Self::HumanRequired => row(11, "terminal-blocked", "human", "The agent asked for a person."),
            Self::MaxIterationsReached => row(
                12,
                "iteration-cap",
                "loopexec",
                "The iteration cap was reached while the check was red.",
            ),
            Self::BlockedPathModified => row(
                13,
                "integrity",
                "loopexec",
                "Something that the loop must not touch was changed.",
            ),
            Self::RewardHackingDetected => row(13, "integrity", "human", "A reviewer judged that the check was gamed."),
            Self::MetricIntegrityViolation => row(
                13,
                "integrity",
                "loopexec",
                "The check no longer measures what it measured at the start.",
            ),
            Self::CredentialScopeInvalid => row(
                13,
                "integrity",
                "loopexec",
                "A credential reaches further than the run may.",
            ),
            Self::ObjectiveUnverified => row(
                13,
                "integrity",
                "loopexec",
                "The evidence for the verdict could not be verified.",
            ),
            Self::CheckFlaky => row(
                14,
                "oracle-untrusted",
                "loopexec",
                "The check disagreed with itself on the same tree.",
            ),
            Self::CheckHasSideEffects => row(
                14,
                "oracle-untrusted",
                "loopexec",
                "The check changes what it measures.",
            ),
            Self::CheckNotHermetic => row(
                14,
                "oracle-untrusted",
                "loopexec",
                "The check depends on something outside the tree.",
            ),
            Self::HermeticityViolation => row(
                14,
                "oracle-untrusted",
                "loopexec",
                "A check declared hermetic reached outside.",
            ),
            Self::CheckNotDeterministic => row(
                14,
                "oracle-untrusted",
                "loopexec",
                "The bound on the check's flake rate missed its target.",
            ),
            Self::CheckInadequate => row(
                15,
                "check-inadequate",
                "loopexec",
                "The check would not notice whether the work is done.",
            ),
            Self::EscalationPending => row(
                16,
                "resumable-judgment",
                "human",
                "A person was asked and has not answered.",
            ),
            Self::ReviewerRejected => row(
                16,
                "resumable-judgment",
                "human",
                "A reviewer vetoed the green iteration.",
            ),
            Self::NoProgressDetected => row(
                17,
                "no-convergence",
                "loopexec",
                "The best failing set has not shrunk for too long.",
            ),
            Self::SameFailureRepeated => row(
                17,
                "no-convergence",
                "loopexec",
                "Different attempts failed in exactly the same way.",
            ),
            Self::OscillationDetected => row(17, "no-convergence", "loopexec", "The work goes round in a cycle."),
            Self::SameTestRegressed => row(
                17,
                "no-convergence",
                "loopexec",
                "Different attempts broke the same passing test.",
            ),
            Self::UnsatisfiableConstraints => row(
                17,
                "no-convergence",
                "loopexec",
                "Two live assertions contradict each other.",
            ),
            Self::InfeasibleSuspected => row(17, "no-convergence", "loopexec", "Two tests were never green together."),
            Self::BudgetExceeded => row(18, "budget", "loopexec", "A budget was spent."),
            Self::CostAnomaly => row(
                18,
                "budget",
                "loopexec",
                "The newest cost does not fit the ones before it.",
            ),
            Self::HeartbeatStale => row(19, "liveness-drift", "loopexec", "The governor's heartbeat stopped."),
            Self::ModelDriftDetected => row(
                19,
                "liveness-drift",
                "loopexec",
                "A different model answered than the one that was pinned.",
            ),
            Self::ComprehensionDebtExceeded => {
                row(19, "liveness-drift", "human", "Too many accepted changes are unread.")
            }
            Self::ContextBudgetUnsatisfiable => row(
                19,
                "liveness-drift",
                "loopexec",
                "What the agent must see does not fit its budget.",
            ),
            Self::InvariantFailed => row(20, "invariant", "loopexec", "A stated invariant does not hold."),
            Self::WorkspaceInvalid => row(
                30,
                "workspace",
                "human",
                "The workspace or its configuration cannot carry a run.",
            ),
            Self::IsolationUnsatisfiable => row(
                30,
                "workspace",
                "human",
                "The isolation that was asked for is not available.",
            ),
            Self::ExecutionFailure => row(40, "execution", "loopexec", "A command could not do its work."),
            Self::InternalError => row(50, "internal", "loopexec", "loopexec itself failed."),
        }
    }

    /// The process exit code of the class.
    pub const fn exit_code(self) -> u8 {
        self.row().exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_unique_and_codes_stay_out_of_the_reserved_ranges() {
        for (i, reason) in HaltReason::ALL.iter().enumerate() {
            assert_eq!(HaltReason::from_label(reason.label()), Some(*reason));
            assert!(
                HaltReason::ALL
                    .iter()
                    .skip(i + 1)
                    .all(|other| other.label() != reason.label())
            );
            let code = reason.exit_code();
            assert!((10..=50).contains(&code), "{reason} has code {code}");
        }
    }
}
