//! Which guards run, what they watch, what they may cost, and what a violation does (SPEC 5).

use alloc::string::String;
use alloc::vec::Vec;

use super::Command;
use crate::event::shape::{label, wire};

label! {
    /// What a guard's violation does to the run.
    pub enum OnViolation { Halt = "halt", Restore = "restore" }
}
label! {
    /// Whether the oracle surface may grow (SPEC 5.2).
    pub enum Surface { Frozen = "frozen", Extend = "extend" }
}
label! {
    /// How much of a change the check must notice (SPEC 5.6.5, 5.6.7).
    pub enum Adequacy { Change = "change", Every = "every" }
}
label! {
    /// What a guard before green is that its time did not suffice for.
    pub enum OverBudget { Unverified = "unverified", LeaveOut = "leave-out" }
}

wire! {
    /// Which guards run and what they watch.
    pub struct GuardPolicy {
        pub surface: Surface,
        /// Patterns of paths that must not change.
        pub blocked: Vec<String>,
        /// Further patterns of the test-determining surface, beside the built-in ones.
        pub protected: Vec<String>,
        /// Patterns of directories that hold tests and what belongs to them, helpers and data included.
        pub test_directories: Vec<String>,
        /// Patterns exempted from all these lists.
        pub allowed: Vec<String>,
        pub commits_allowed: bool,
        /// Guards switched off by name; the receipt says so.
        pub off: Vec<String>,
        pub on_violation: OnViolation,
        /// Under `restore`: this many violating iterations halt.
        pub violations_max: u32,
        /// Members whose expected values are changed before green, and runs with a change of the product.
        pub mutants_max: u32,
        pub adequacy: Adequacy,
        pub budget: GuardBudget,
        pub over_budget: OverBudget,
        /// Of the lines of the product that can run, so many of a hundred must; 0 asks for none.
        pub min_coverage_percent: u32,
        /// Run the check once more on the same tree before green.
        pub confirm: bool,
        /// A reviewer that may object to what every other guard lets pass.
        pub judge: Option<Command>,
        pub judge_timeout_ms: u64,
        /// Without its answer nothing is green.
        pub judge_required: bool,
    }
}
wire! {
    /// How long the guards before green of one turn may take together: the larger of the two; without limit where both
    /// are 0 (SPEC 5.6.13).
    pub struct GuardBudget {
        /// So many times what the check of the turn took.
        pub checks: u32,
        pub at_least_ms: u64,
    }
}

/// Paths that a loop must not touch unless the contract says otherwise.
pub const BLOCKED_DEFAULT: &[&str] = &["test/", "tests/", "infra/", ".env", ".git/", ".loopexec/"];

impl GuardBudget {
    /// Comparing two suites takes a run for each change, so a surface that may grow has more of it.
    pub const fn of(surface: Surface) -> Self {
        let checks = match surface {
            Surface::Frozen => 10,
            Surface::Extend => 30,
        };
        Self {
            checks,
            at_least_ms: 300_000,
        }
    }
}

impl Default for GuardPolicy {
    fn default() -> Self {
        Self {
            surface: Surface::Frozen,
            blocked: BLOCKED_DEFAULT.iter().map(|p| String::from(*p)).collect(),
            protected: Vec::new(),
            test_directories: Vec::new(),
            allowed: Vec::new(),
            commits_allowed: true,
            off: Vec::new(),
            on_violation: OnViolation::Halt,
            violations_max: 2,
            mutants_max: 16,
            adequacy: Adequacy::Change,
            budget: GuardBudget::of(Surface::Frozen),
            over_budget: OverBudget::Unverified,
            min_coverage_percent: 0,
            confirm: true,
            judge: None,
            judge_timeout_ms: 600_000,
            judge_required: false,
        }
    }
}
