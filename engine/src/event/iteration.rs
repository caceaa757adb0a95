//! Facts of one iteration, in the order of its rooms.

use alloc::string::String;
use alloc::vec::Vec;

use super::finding::GuardReport;
use super::halt::HaltReason;
use super::id::{Bytes, Digest, Stamp};
use super::measurement::{CommandRun, Measurement, TreeSeen};
use super::shape::{label, wire};

label! {
    pub enum TreePurpose {
        /// t0: the tree before any work.
        Baseline = "baseline",
        AfterExec = "after_exec",
        AfterCheck = "after_check",
        AfterRestore = "after_restore",
        Resume = "resume",
    }
}
wire! {
    pub struct TreeObserved {
        pub at: Stamp,
        pub iteration: u32,
        pub purpose: TreePurpose,
        pub seen: TreeSeen,
    }
}
wire! {
    /// The agent's slice and request were written.
    pub struct ContextBuilt {
        pub iteration: u32,
        pub path: Bytes,
        pub digest: Digest,
        pub bytes: u64,
        /// Estimate of a code-calibrated counter, rounded up.
        pub tokens: u64,
        pub manifest: Vec<ContextEntry>,
        /// Why it could not be built; empty when it was.
        pub error: String,
    }
}
wire! {
    pub struct ContextEntry {
        pub path: Bytes,
        pub digest: Digest,
    }
}
wire! {
    pub struct ExecuteBegan {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
    }
}
wire! {
    pub struct ExecuteEnded {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub run: CommandRun,
        /// What the agent wrote into the file named in `LOOPEXEC_ASK`: untrusted text.
        pub ask: Option<Bytes>,
        /// Files of the state directory that something else wrote while the agent ran.
        pub interference: Vec<String>,
    }
}
wire! {
    pub struct RetryScheduled {
        pub iteration: u32,
        pub attempt: u32,
        pub delay_ms: u64,
    }
}
wire! {
    pub struct RetryWaited {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
    }
}
label! {
    /// Why the check runs.
    pub enum CheckPurpose {
        Baseline = "baseline",
        Iteration = "iteration",
        /// Once more at the same tree, before a halt that a flaky check could have caused.
        Recheck = "recheck",
        /// Once more at the same tree, before green.
        Confirmation = "confirmation",
        /// Once more at the accepted tree, before a later life works.
        Resume = "resume",
    }
}
wire! {
    pub struct CheckBegan {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub purpose: CheckPurpose,
        /// It reads this tree in a fresh copy; none where it reads what is in the workdir.
        pub copy_of: Option<Digest>,
    }
}
wire! {
    pub struct CheckEnded {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub purpose: CheckPurpose,
        pub run: CommandRun,
        pub measurement: Measurement,
        /// Files of the state directory that something else wrote while the check and the commands over its
        /// artefact ran.
        pub interference: Vec<String>,
    }
}
wire! {
    /// Every guard ran and every finding is here.
    pub struct GuardsJudged {
        pub iteration: u32,
        pub tree: Digest,
        pub report: GuardReport,
    }
}
wire! {
    pub struct CandidateAccepted {
        pub iteration: u32,
        pub tree: Digest,
        pub passing: u64,
        pub failing: u64,
        /// The tree differs from the one accepted before.
        pub changed: bool,
    }
}
label! {
    pub enum RejectCause {
        /// Members of the accepted passing set fail.
        Regressed = "regressed",
        /// A guard was violated and the contract says restore.
        Violation = "violation",
        /// A score below the band, a veto, or a failed technical gate.
        Score = "score",
    }
}
wire! {
    pub struct CandidateRejected {
        pub iteration: u32,
        pub tree: Digest,
        pub restore_to: Digest,
        pub cause: RejectCause,
        /// Members that regressed, or subjects of the violations; the first of them.
        pub subjects: Vec<String>,
        pub subjects_total: u64,
    }
}
wire! {
    pub struct RestoreBegan {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub to: Digest,
    }
}
wire! {
    pub struct RestoreEnded {
        pub at: Stamp,
        pub iteration: u32,
        pub attempt: u32,
        pub to: Digest,
        pub written: u64,
        pub removed: u64,
        /// The tree that was there, kept in the store.
        pub saved: Digest,
        /// Why it failed; empty when it did not.
        pub error: String,
    }
}
wire! {
    /// The detectors' view of one iteration, and the halt they call for, if any.
    pub struct ProgressJudged {
        pub iteration: u32,
        pub failing: u64,
        pub best: u64,
        pub best_iteration: u32,
        pub stalled: u32,
        /// The agent's turn left the tree as it was.
        pub no_op: bool,
        pub same_failure: u32,
        pub improving: bool,
        /// Mean fall of the best failing count an iteration, in thousandths.
        pub slope_milli: i64,
        /// What a detector saw.
        pub verdict: Option<HaltReason>,
        /// Finer than the verdict, from the vocabulary of causes; empty without one.
        pub cause: String,
        pub detail: String,
    }
}
wire! {
    /// The iteration is over and all of it is on disk.
    pub struct Checkpointed {
        pub at: Stamp,
        pub iteration: u32,
        pub tree: Digest,
        pub accepted: Option<Digest>,
        pub check_exit: Option<i32>,
        pub failing: u64,
        pub spend_microusd: u64,
        /// Accepted changes that nobody has acknowledged.
        pub unread: u32,
    }
}
