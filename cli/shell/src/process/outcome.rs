//! What a command did: how it ended, what it printed, what it cost, what it left behind.

use std::fmt;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::bytes;

/// The full account of one command. When it exists, the command's tree is gone, or `survivors` says what is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    pub outcome: Outcome,
    /// Why the supervisor ended it; `None` when it ended by itself.
    pub stop: Option<StopCause>,
    pub stdout: Captured,
    pub stderr: Captured,
    /// Wall-clock start, in milliseconds since the epoch, UTC. For people: nothing is computed from it.
    pub started_unix_ms: u64,
    /// From start to the exit of the main process.
    pub duration_ms: u64,
    /// User and system time of every process of the tree that was waited for.
    pub cpu_ms: u64,
    /// Largest resident size of any one process of the tree. Never below that of the supervisor itself, a few MB.
    pub max_rss_kb: u64,
    /// What outlived the main process.
    pub survivors: Vec<Survivor>,
}

/// How the main process ended, or why it never began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Exited(i32),
    Signaled(i32),
    /// There is no such program.
    NotFound,
    /// There is a file of that name, but this user may not execute it.
    NotExecutable,
    /// Anything else: a missing working directory, a bad interpreter, no memory.
    StartFailed {
        errno: i32,
        message: String,
    },
}

impl Outcome {
    /// True when the command ran at all.
    #[must_use]
    pub fn ran(&self) -> bool {
        matches!(self, Self::Exited(_) | Self::Signaled(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Signaled(signal) => write!(f, "was ended by signal {signal}"),
            Self::NotFound => f.write_str("was not found: check the name and the PATH"),
            Self::NotExecutable => f.write_str("is not executable: check its permissions"),
            Self::StartFailed { message, .. } => write!(f, "could not start: {message}"),
        }
    }
}

/// Why the supervisor ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopCause {
    /// `timeout_ms` passed.
    Deadline,
    /// `idle_ms` passed in silence.
    Idle,
    /// `first_output_ms` passed without a byte.
    FirstOutput,
    /// A stream exceeded `stop_after_bytes`.
    OutputCap,
    /// The governor asked for a stop.
    Cancelled,
    /// The governor asked for an immediate end.
    Forced,
    /// The governor died.
    GovernorGone,
}

/// One output stream. `bytes` and `digest` describe the raw stream, everything else the stream with secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    pub bytes: u64,
    /// BLAKE3 of the raw stream.
    #[serde(with = "bytes::one")]
    pub digest: [u8; 32],
    /// All of it, when small. `head` and `tail` are empty then.
    #[serde(with = "bytes::option")]
    pub inline: Option<Vec<u8>>,
    #[serde(with = "bytes::one")]
    pub head: Vec<u8>,
    #[serde(with = "bytes::one")]
    pub tail: Vec<u8>,
    /// The file with all of it, or with its beginning when `truncated`. On stable storage already.
    #[serde(with = "bytes::option")]
    pub spilled: Option<PathBuf>,
    /// True when neither `inline` nor `spilled` holds all of it.
    pub truncated: bool,
    /// How many secrets were masked; overlapping ones count once.
    pub redacted: u64,
    /// Why the file ends early, when writing it failed.
    pub spill_problem: Option<String>,
    /// The stream as it was printed, when it was asked for and something was masked. Whoever takes it removes it.
    pub unmasked: Option<Unmasked>,
}

/// A stream with its secrets: to be read and forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmasked {
    /// All of it, when small.
    #[serde(with = "bytes::option")]
    pub inline: Option<Vec<u8>>,
    /// The private file with all of it, or with its beginning when `truncated`.
    #[serde(with = "bytes::option")]
    pub file: Option<PathBuf>,
    pub truncated: bool,
}

/// BLAKE3 of no byte.
static NOTHING: LazyLock<[u8; 32]> = LazyLock::new(|| *blake3::hash(b"").as_bytes());

impl Captured {
    /// A stream that never began.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            bytes: 0,
            digest: *NOTHING,
            inline: Some(Vec::new()),
            head: Vec::new(),
            tail: Vec::new(),
            spilled: None,
            truncated: false,
            redacted: 0,
            spill_problem: None,
            unmasked: None,
        }
    }

    /// The last bytes that were kept: the end of `inline`, or `tail`.
    #[must_use]
    pub fn end(&self) -> &[u8] {
        self.inline.as_deref().unwrap_or(&self.tail)
    }
}

/// A process that was alive after the main process had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Zero when the system counts the process as ours but does not show it.
    pub pid: u32,
    /// Start time in clock ticks since boot: with the pid, the identity of the process.
    pub start_ticks: u64,
    /// Its command line, cut at 200 characters, secrets masked.
    pub command: String,
    /// False when it would not die (uninterruptible, or another user's).
    pub ended: bool,
}
