//! What guards saw.

use alloc::string::String;
use alloc::vec::Vec;

use super::halt::HaltReason;
use super::shape::{label, wire};

label! {
    pub enum GuardState {
        /// Ran on complete evidence.
        Active = "active",
        /// Could not run; the run cannot be green unless the contract says that it may (SPEC 5.1).
        Unavailable = "unavailable",
        /// Does not apply to this workdir or runner; said in the receipt.
        NotApplicable = "not_applicable",
        /// Switched off by the contract.
        Off = "off",
        /// It left what it saw to the guard before green that compares suites; without that guard's word the run cannot
        /// be green (SPEC 5.2.3).
        Deferred = "deferred",
    }
}
label! {
    pub enum Severity {
        /// Recorded, changes nothing.
        Note = "note",
        Violation = "violation",
    }
}
wire! {
    pub struct Finding {
        pub guard: String,
        pub severity: Severity,
        /// What a violation halts the run with.
        pub reason: HaltReason,
        /// The path, reference, member or process it is about.
        pub subject: String,
        pub detail: String,
    }
}
wire! {
    pub struct GuardRun {
        pub guard: String,
        pub state: GuardState,
        /// Why it is not active; empty when it is.
        pub note: String,
        pub findings: u32,
    }
}
wire! {
    /// The judgement of every guard over one iteration.
    #[derive(Default)]
    pub struct GuardReport {
        pub guards: Vec<GuardRun>,
        pub findings: Vec<Finding>,
        /// Findings beyond those listed.
        pub findings_more: u64,
    }
}
