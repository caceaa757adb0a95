//! What to run: the whole request, complete and self-contained.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::bytes;

/// One command. Its environment is exactly what the supervisor was started with, `env`, and the mark of the
/// supervisor; its descriptors are exactly 0 to 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Program and arguments. A program without a slash is searched in the `PATH` of its environment.
    #[serde(with = "bytes::list")]
    pub argv: Vec<OsString>,
    /// Where it runs. A relative path is taken from the governor's own directory.
    #[serde(with = "bytes::one")]
    pub cwd: PathBuf,
    /// What it finds in its environment beside what every command does, or in its place; of two entries with one name
    /// the later counts.
    #[serde(with = "bytes::pairs")]
    pub env: Vec<(OsString, OsString)>,
    pub input: Input,
    /// The mask under which it makes files; that of the supervisor where there is none.
    pub umask: Option<u32>,
    pub capture: CaptureSpec,
    pub deadlines: Deadlines,
    /// What people call this command ("check", "agent"); used in messages only.
    pub label: String,
    /// Secrets: never written or returned, `***` stands in their place. Empty ones are ignored.
    #[serde(with = "bytes::list")]
    pub redact: Vec<Vec<u8>>,
}

/// What the command reads on standard input. Never a terminal, never an open end that would make it wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// End of file at once.
    #[default]
    Closed,
    /// These bytes, then end of file.
    Bytes(#[serde(with = "bytes::one")] Vec<u8>),
    /// The content of this file.
    File(#[serde(with = "bytes::one")] PathBuf),
}

/// How much of each output stream to keep. Counting and hashing always cover all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureSpec {
    /// Output up to this size comes back whole and touches no file.
    pub inline_max_bytes: u64,
    /// Of larger output: how much of its beginning comes back.
    pub head_bytes: u64,
    /// Of larger output: how much of its end comes back.
    pub tail_bytes: u64,
    /// Where larger output is written, as `<spill_stem>.stdout` and `<spill_stem>.stderr`; nowhere when `None`.
    #[serde(with = "bytes::option")]
    pub spill_dir: Option<PathBuf>,
    pub spill_stem: String,
    /// A spill file never grows beyond this.
    pub spill_max_bytes: u64,
    /// End the command when one of its streams exceeds this.
    pub stop_after_bytes: Option<u64>,
    /// Hand a stream in which something was masked over a second time, as it was printed, for whoever reads reports.
    pub unmasked: bool,
}

impl Default for CaptureSpec {
    fn default() -> Self {
        Self {
            inline_max_bytes: 64 * 1024,
            head_bytes: 16 * 1024,
            tail_bytes: 16 * 1024,
            spill_dir: None,
            spill_stem: String::new(),
            spill_max_bytes: 64 * 1024 * 1024,
            stop_after_bytes: None,
            unmasked: false,
        }
    }
}

/// When to end a command that does not end by itself. `None` is never. Measured on the monotonic clock, so a change
/// of the wall clock or a suspended machine is no reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines {
    /// The whole command.
    pub timeout_ms: Option<u64>,
    /// Silence on both streams. Before the first output `first_output_ms` counts instead, when it is set.
    pub idle_ms: Option<u64>,
    /// The first byte on either stream.
    pub first_output_ms: Option<u64>,
    /// From SIGTERM to SIGKILL; less when the tree is gone earlier.
    pub grace_ms: u64,
    /// After a command that ended by itself: how long what it left behind may still end by itself.
    pub survivor_grace_ms: u64,
    /// How long to wait for killed processes to be gone before one is reported as not ended.
    pub end_limit_ms: u64,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            timeout_ms: None,
            idle_ms: None,
            first_output_ms: None,
            grace_ms: 5_000,
            survivor_grace_ms: 0,
            end_limit_ms: 5_000,
        }
    }
}

/// A wish to end the running command early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cancel {
    /// SIGTERM, then SIGKILL after the grace.
    Stop,
    /// SIGKILL now.
    Force,
}
