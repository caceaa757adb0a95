//! Scores, reviews and experiments on a candidate.

use alloc::string::String;
use alloc::vec::Vec;

use super::finding::{Finding, GuardState};
use super::id::{Digest, Stamp};
use super::measurement::{MemberChange, RunOutcome, StopCause};
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
    /// One change of what a test demands, and the members that have to notice it; or one of the product, which any may.
    pub struct Mutated {
        pub members: Vec<String>,
        pub path: String,
        pub line: u32,
        pub operator: String,
        pub from: String,
        pub to: String,
    }
}
wire! {
    /// Lines of the product that the tree of t0 does not have, and how many mutants of them there are to try.
    pub struct Hunk {
        pub path: String,
        /// Counted from 1.
        pub first: u32,
        pub last: u32,
        pub mutants: u32,
    }
}
label! {
    /// What a process did with something outside of the places of its check.
    pub enum Reach { Connected = "connected", Executed = "executed", Read = "read", Wrote = "wrote" }
}
wire! {
    /// One place outside that one program reached.
    pub struct Reached {
        pub act: Reach,
        /// The program, as it was started.
        pub program: String,
        /// A path, a socket, or an address with its port.
        pub place: String,
        pub times: u64,
    }
}
wire! {
    /// What a traced run of the check touched (SPEC 6.7.3).
    #[derive(Default)]
    pub struct Trace {
        /// In the order in which they were first seen, as far as they are named.
        pub reached: Vec<Reached>,
        /// Calls that reached a place which is not named.
        pub unnamed: u64,
        pub processes: u64,
        /// Calls for random bytes of the kernel, and calls for the clock that went through the kernel.
        pub randomness: u64,
        pub clock: u64,
        /// Lines of the trace that could not be read.
        pub unread: u64,
    }
}
wire! {
    /// One dimension in which the surroundings of a run were varied.
    pub struct Varied {
        pub dimension: String,
        /// What was different.
        pub how: String,
        /// Why nothing was; empty when something was.
        pub missing: String,
    }
}
wire! {
    /// How many there are of something, and the first few by name.
    #[derive(Default)]
    pub struct Counted {
        pub total: u64,
        pub first: Vec<String>,
    }
}
wire! {
    /// What a report of coverage says of one run, and of what is another than at t0 (SPEC 5.6.7). Of the product alone.
    /// Lines are named by file and number, or by a first and a last one.
    #[derive(Default)]
    pub struct Covered {
        /// Of the report; empty where none could be read.
        pub format: String,
        /// Why none could be.
        pub trouble: String,
        /// Files that were measured, lines of them that can run, and those of them that ran.
        pub files: u64,
        pub can_run: u64,
        pub ran: u64,
        /// Lines that can run and that the tree of t0 does not have, and those of them that did not run or are left out.
        pub changed: u64,
        pub unrun: Counted,
        /// Lines that could run at t0, are as they were, and are marked as not to be measured.
        pub hidden: Counted,
        /// Such lines of which the report says nothing any more, and nobody marked them.
        pub vanished: Counted,
        /// Such lines that ran at t0 and do not run now.
        pub lost: Counted,
        /// Files that were measured at t0, are still there and are not measured now: those that are marked so, and others.
        pub hidden_files: Counted,
        pub unloaded: Counted,
        /// What else of the product is not what it was at t0, and cannot be measured.
        pub beside: Counted,
    }
}
wire! {
    /// One run of the check in a copy, as far as a verdict goes.
    pub struct Trial {
        /// What was done to the copy.
        pub subject: String,
        pub outcome: RunOutcome,
        pub code: i32,
        pub stop: StopCause,
        pub members_total: u64,
        pub members_digest: Digest,
        /// Members that are not what the check of the turn said of them.
        pub changes: Vec<MemberChange>,
        /// Names of what was planted, in the order of the experiment.
        pub planted: Vec<String>,
        /// What was changed in the sources of the copy.
        pub mutants: Vec<Mutated>,
        /// With the first mutant of the product: the hunks that have any.
        pub hunks: Vec<Hunk>,
        /// And what else of the product is not what it was at t0.
        pub unmutated: Vec<String>,
        /// What the report of coverage says, where the run was measured.
        pub coverage: Option<Covered>,
        /// What the collector, or the command itself, said of a run that was not green. Untrusted text.
        pub note: String,
        /// What the reviewer said, where it was asked in place of the check.
        pub verdict: Option<JudgeVerdict>,
        /// What it touched, where it was traced.
        pub trace: Option<Trace>,
        /// In what its surroundings were varied, where they were to be.
        pub varied: Vec<Varied>,
        pub duration_ms: u64,
    }
}
wire! {
    /// One guard before green: what was seen in copies, and what it comes to.
    pub struct Vetted {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub tree: Digest,
        pub guard: String,
        /// In the order in which they ran; empty when nothing was run.
        pub trials: Vec<Trial>,
        /// What kept the experiment from being made; empty when nothing did.
        pub trouble: String,
        pub state: GuardState,
        /// Why it is not active, or what it could not look at.
        pub note: String,
        pub findings: Vec<Finding>,
        pub cost_us: u64,
    }
}
