//! Scores and reviews of a candidate.

use alloc::string::String;
use alloc::vec::Vec;

use super::shape::{label, wire};

wire! {
    /// A numeric score of one candidate, in billionths so that no event holds a float.
    pub struct Scored {
        pub iteration: u32,
        pub technical: bool,
        pub reviewed: bool,
        pub veto: bool,
        pub value_nano: Option<i64>,
        pub error: String,
    }
}
label! {
    pub enum JudgeVerdict { Pass = "pass", Reject = "reject", Hacking = "hacking", Failed = "failed" }
}
wire! {
    /// An advisory reviewer: it may veto, never promote.
    pub struct Judged {
        pub iteration: u32,
        pub verdict: JudgeVerdict,
        pub rationale: String,
    }
}
wire! {
    /// Repeated runs of the check under one condition.
    pub struct Probed {
        pub dimension: String,
        pub runs: u32,
        pub agreeing: u32,
        /// Upper bound on the flake rate at 95 %, in parts per million, rounded up.
        pub flake_bound_ppm: u32,
        pub broke: Vec<String>,
    }
}
wire! {
    /// One guard that runs before green, with its outcome.
    pub struct Vetted {
        pub iteration: u32,
        pub guard: String,
        pub passed: bool,
        pub available: bool,
        pub detail: String,
        pub cost_us: u64,
    }
}
