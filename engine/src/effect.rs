//! What the engine asks of the world, and how the world answers.
//!
//! An [`Effect`] is an imperative with an idempotency key (run, iteration, phase, attempt). The ones
//! that the world could notice get a *Began* fact that is durable before they happen; a read-only one
//! does not. An [`Observation`] is an answer with its own time; failure to run is an answer too.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::event::Event;
use crate::event::id::{Bytes, Digest, Stamp};
use crate::event::iteration::{CheckPurpose, ContextEntry, TreePurpose};
use crate::event::measurement::{Captured, CommandRun, MemberStatus, ReportState, TreeSeen};
use crate::vet::{Ran, Request};

/// The next thing to do: a pure function of the state, never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask the world.
    Perform(Effect),
    /// A decision that needs no world.
    Record(Event),
    /// An effect was begun and not answered: answer it, or [`recover`](crate::State::recover).
    Await,
    /// Nothing is left to do in this life of the run.
    Stop,
}

/// Something asked of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Walk the workdir and keep what is new in the store. Read-only for the user's tree. Without a
    /// `base` this walk defines t0 of the watched surface and of the repository.
    ObserveTree {
        iteration: u32,
        purpose: TreePurpose,
        base: Option<Digest>,
    },
    /// Write the agent's slice and request into the state directory.
    BuildContext(Box<ContextRequest>),
    /// Run the work command to its end and end what it left behind. Durable before: `ExecuteBegan`.
    Execute {
        iteration: u32,
        attempt: u32,
        time_left_ms: Option<u64>,
    },
    /// Wait before another attempt.
    Wait {
        iteration: u32,
        attempt: u32,
        delay_ms: u64,
    },
    /// Run the check once and read it: in the workdir, or in a fresh copy of a recorded tree. Durable before:
    /// `CheckBegan`.
    Check {
        iteration: u32,
        attempt: u32,
        purpose: CheckPurpose,
        copy_of: Option<Digest>,
        time_left_ms: Option<u64>,
    },
    /// Make the workdir equal to a recorded tree; what it overwrites is kept first. Durable before:
    /// `RestoreBegan`. Idempotent.
    Restore { iteration: u32, attempt: u32, to: Digest },
    /// Run the check in copies of recorded trees, for one guard before green. The user's tree is only read.
    Vet(Request),
}

impl Effect {
    /// The world could notice it, so its *Began* fact is on disk before it happens.
    pub const fn noticeable(&self) -> bool {
        matches!(self, Self::Execute { .. } | Self::Check { .. } | Self::Restore { .. })
    }

    /// It runs a command: afterwards somebody may have touched what is the governor's.
    pub const fn runs_a_command(&self) -> bool {
        self.noticeable() || matches!(self, Self::Vet(_))
    }

    /// What came before is on disk when its command begins (SPEC 11.4.1). That of a check is on its way meanwhile: one
    /// that is lost together with its beginning is run once more.
    pub const fn needs_sync(&self) -> bool {
        self.runs_a_command() && !matches!(self, Self::Check { .. })
    }

    /// The iteration it belongs to.
    pub const fn iteration(&self) -> u32 {
        match self {
            Self::ObserveTree { iteration, .. }
            | Self::Execute { iteration, .. }
            | Self::Wait { iteration, .. }
            | Self::Check { iteration, .. }
            | Self::Restore { iteration, .. } => *iteration,
            Self::BuildContext(request) => request.iteration,
            Self::Vet(request) => request.iteration,
        }
    }
}

/// What the agent is told at the start of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRequest {
    pub iteration: u32,
    pub iterations_left: u32,
    pub time_left_ms: Option<u64>,
    pub budget_left_microusd: Option<u64>,
    pub check_exit: Option<i32>,
    /// The first failing members of the accepted line, and how many there are.
    pub failing: Vec<String>,
    pub failing_total: u64,
    /// What happened to the attempt before, in one sentence; empty at the start.
    pub told: String,
    /// The output of the last check.
    pub stdout: Captured,
    pub stderr: Captured,
}

/// What a check run showed, before it is compared with what was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub collector: String,
    pub note: String,
    pub report: ReportState,
    pub announced: Option<u64>,
    pub concluded: Option<u64>,
    pub finished: bool,
    /// Every concluded test is named; otherwise whoever was known and is not named passes.
    pub complete: bool,
    pub contradictions: Vec<String>,
    pub retried: u64,
    /// Sorted by id; ids are unique.
    pub members: Vec<(String, MemberStatus)>,
    pub members_digest: Digest,
    /// All zero when there was no message to compare.
    pub messages_digest: Digest,
    pub output_digest: Digest,
    pub integrity: Option<IntegrityReading>,
    pub cost_us: u64,
}

impl Reading {
    /// Of a command that nothing is read from.
    pub fn nothing() -> Self {
        Self {
            collector: String::new(),
            note: String::new(),
            report: ReportState::NotUsed,
            announced: None,
            concluded: None,
            finished: true,
            complete: true,
            contradictions: Vec::new(),
            retried: 0,
            members: Vec::new(),
            members_digest: Digest::ZERO,
            messages_digest: Digest::ZERO,
            output_digest: Digest::ZERO,
            integrity: None,
            cost_us: 0,
        }
    }
}

/// The integrity command's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrityReading {
    /// Sorted and unique.
    pub ids: Vec<String>,
    pub digest: Digest,
    /// Why the answer is unusable; empty when it is usable.
    pub error: String,
}

/// The world's answer to one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one answer exists at a time")]
pub enum Observation {
    Tree {
        at: Stamp,
        seen: TreeSeen,
    },
    /// The workdir could not be walked at all: removed, or not readable.
    TreeLost {
        at: Stamp,
        why: String,
    },
    Context {
        path: Bytes,
        digest: Digest,
        bytes: u64,
        tokens: u64,
        manifest: Vec<ContextEntry>,
        error: String,
    },
    Executed {
        at: Stamp,
        run: CommandRun,
        ask: Option<Bytes>,
        interference: Vec<String>,
    },
    Waited {
        at: Stamp,
    },
    Checked {
        at: Stamp,
        run: CommandRun,
        reading: Reading,
        interference: Vec<String>,
    },
    Restored {
        at: Stamp,
        written: u64,
        removed: u64,
        saved: Digest,
        error: String,
    },
    Vetted {
        at: Stamp,
        trials: Vec<Ran>,
        /// What kept the experiment from being made, or from being finished; empty when nothing did.
        trouble: String,
        cost_us: u64,
    },
}
