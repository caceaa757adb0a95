//! Facts about the run as a whole: opened, resumed, amended, interrupted, suspended, halted.

use alloc::string::String;
use alloc::vec::Vec;

use super::halt::HaltReason;
use super::id::{Bytes, Digest, PhaseName, Stamp};
use super::policy::{Origin, Policy};
use super::shape::{label, wire};
use super::zone::ZoneSeen;

wire! {
    /// The first event: the whole contract, so that a journal explains itself.
    pub struct RunOpened {
        pub at: Stamp,
        pub run_id: String,
        /// Version of the engine that made the decisions of this journal.
        pub engine: String,
        pub workdir: Bytes,
        /// Identity of the machine's boot; tells a resume after a reboot from one before it.
        pub boot_id: String,
        /// Blake3 of the canonical JSON of `policy`.
        pub policy_digest: Digest,
        pub policy: Policy,
        /// Settings that are not defaults.
        pub origins: Vec<Origin>,
        /// Resolved path and digest of the programs of the work and check commands.
        pub programs: Vec<Program>,
        /// What a probe of the same check showed before.
        pub probe: Option<Probe>,
        /// Both zones, started once with nothing in them, where the contract asks for zones.
        pub zones: Vec<ZoneSeen>,
    }
}
wire! {
    /// Runs of the check in fresh copies, made by `probe-check` before the run: the first samples (SPEC 6.5.10).
    pub struct Probe {
        pub runs: u32,
        /// Runs that showed the most frequent verdict.
        pub agreeing: u32,
        /// What was run, and how it was read.
        pub check_digest: Digest,
    }
}
wire! {
    /// A program as it was found before the first iteration.
    pub struct Program {
        pub role: String,
        pub path: Bytes,
        /// Absent when it cannot be found or executed.
        pub digest: Option<Digest>,
    }
}
wire! {
    pub struct Resumed {
        pub at: Stamp,
        pub engine: String,
        pub boot_id: String,
        /// Processes of the life before this one that were found and ended.
        pub leftovers: u32,
    }
}
wire! {
    /// Limits changed by a person between two lives of the run. Absent means unchanged.
    pub struct Amended {
        pub at: Stamp,
        pub by: String,
        pub max_iterations: Option<u32>,
        pub timeout_ms: Option<u64>,
        pub command_timeout_ms: Option<u64>,
        pub check_timeout_ms: Option<u64>,
        pub budget_microusd: Option<u64>,
    }
}
label! {
    pub enum InterruptCause {
        /// The governor died between asking and hearing.
        Crash = "crash",
        Signal = "signal",
    }
}
wire! {
    /// An effect that was begun and whose end nobody saw.
    pub struct Interrupted {
        pub at: Stamp,
        pub iteration: u32,
        pub phase: PhaseName,
        pub attempt: u32,
        pub cause: InterruptCause,
    }
}
label! {
    pub enum SuspendCause {
        Signal = "signal",
        /// The journal or the state directory could not be written.
        Storage = "storage",
    }
}
wire! {
    /// The run stops without a halt; it can be resumed.
    pub struct Suspended {
        pub at: Stamp,
        pub cause: SuspendCause,
        /// The signal's number, or the errno.
        pub code: i32,
        pub detail: String,
    }
}
wire! {
    /// The run is over, with its computed reason.
    pub struct Halted {
        pub iteration: u32,
        pub reason: HaltReason,
        /// Finer than the reason, from a fixed vocabulary (SPEC 4.2).
        pub cause: String,
        /// One sentence that names the evidence.
        pub sentence: String,
        /// The tree that the workdir holds.
        pub tree: Digest,
        /// The accepted tree, when there is one.
        pub accepted: Option<Digest>,
        /// Still improving when it stopped (only meaningful at a cap).
        pub improving: bool,
    }
}
