//! What can go wrong, for people: what happened, to which file, what to do.

use std::fmt;
use std::io;

use engine::event::id::Digest;

use crate::chain::Head;

/// The result of everything that touches a journal.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a journal could not be made, opened, written or read.
#[derive(Debug)]
pub enum Error {
    /// The store refused an operation on `file`.
    Io {
        action: &'static str,
        file: String,
        source: io::Error,
    },
    /// There is a journal already; history is never truncated.
    Exists { place: String },
    /// There is no journal here.
    Missing { place: String },
    /// Another living process writes this journal.
    Held { pid: u32, epoch: u64 },
    /// An earlier write or sync failed; nothing is acknowledged any more.
    Poisoned { because: String },
    /// One event, or one batch, is larger than a batch may be.
    TooLarge { size_bytes: u64, limit_bytes: u64 },
    /// The event could not be turned into bytes.
    Encode { name: &'static str, why: String },
    /// The run id does not fit the segment header.
    RunId { run_id: String },
    /// The table of event kinds does not fit the segment header.
    Schema { why: String },
    /// Recorded history is damaged or was changed.
    Corrupt(Box<Defect>),
    /// The journal does not contain a head that it is known to have had.
    RolledBack { have: Head, expected: Digest },
    /// A line of a receipt is not what the journal says.
    Receipt { line: u64, why: String },
    /// A checkpoint note cannot be read or contradicts the journal.
    Checkpoint { why: String },
    /// A signing key cannot be used.
    Key { file: String, why: String },
    /// There is no such event.
    NoSuchEvent { seq: u64, size: u64 },
    /// A proof file is not a proof.
    Proof { why: String },
    /// The system gave no random bytes.
    Random { why: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, file, source } => write!(f, "cannot {action} {file}: {source}"),
            Self::Exists { place } => write!(f, "{place} holds a journal already; resume it or choose another run id"),
            Self::Missing { place } => write!(f, "{place} holds no journal; check the run id"),
            Self::Held { pid, epoch } => write!(
                f,
                "process {pid} is writing this journal (epoch {epoch}); wait for it or end it"
            ),
            Self::Poisoned { because } => write!(
                f,
                "the journal accepts nothing more after a failed write ({because}); mend the storage, then resume"
            ),
            Self::TooLarge {
                size_bytes,
                limit_bytes,
            } => write!(
                f,
                "an event batch of {size_bytes} bytes is over the limit of {limit_bytes}; commit more often or keep large things in the blob store"
            ),
            Self::Encode { name, why } => write!(f, "the {name} event cannot be encoded: {why}"),
            Self::RunId { run_id } => write!(
                f,
                "the run id {run_id:?} must have 1 to 94 bytes and no control character"
            ),
            Self::Schema { why } => f.write_str(why),
            Self::Corrupt(defect) => write!(f, "the journal is damaged: {defect}; nothing was changed"),
            Self::RolledBack { have, expected } => write!(
                f,
                "the journal ends at {} events with head {} and never had the expected head {expected}: an older copy was put in its place",
                have.size, have.leaf
            ),
            Self::Receipt { line, why } => write!(f, "receipt line {line}: {why}"),
            Self::Checkpoint { why } => write!(f, "checkpoint: {why}"),
            Self::Key { file, why } => write!(f, "the key {file} cannot be used: {why}"),
            Self::NoSuchEvent { seq, size } => {
                write!(f, "there is no event {seq}; the journal has {size}, numbered from 0")
            }
            Self::Proof { why } => write!(f, "this is not a valid proof: {why}"),
            Self::Random { why } => write!(f, "the system gave no random bytes: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Corrupt(defect) => Some(defect.as_ref()),
            _ => None,
        }
    }
}

impl From<Defect> for Error {
    fn from(defect: Defect) -> Self {
        Self::Corrupt(Box::new(defect))
    }
}

/// The first bad place of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    pub code: Code,
    /// Number of the first event that is bad or missing.
    pub seq: u64,
    /// Name of its kind, when its header can still be read.
    pub kind: Option<&'static str>,
    pub segment: u32,
    /// Bytes from the start of the segment file.
    pub offset: u64,
    pub why: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at event {}", self.code, self.seq)?;
        if let Some(kind) = self.kind {
            write!(f, " ({kind})")?;
        }
        write!(f, ", segment {:08} byte {}: {}", self.segment, self.offset, self.why)
    }
}

impl std::error::Error for Defect {}

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $code:literal, $label:literal;)*) => {
        /// What was done to a journal, as a stable code. `E01` to `E16` are the sixteen ways to tamper;
        /// the rest are damage, foreign bytes and broken promises.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$meta])* $name),* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The stable code, as in `E01`.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            /// The stable label, as in `event_edited`.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label),* }
            }
        }
    };
}

codes! {
    /// Bytes of an event do not match the chain.
    Edited = "E01", "event_edited";
    Deleted = "E02", "events_deleted";
    Inserted = "E03", "events_inserted";
    Reordered = "E04", "events_reordered";
    SegmentsSwapped = "E05", "segments_swapped";
    SegmentDuplicated = "E06", "segment_duplicated";
    SegmentMissing = "E07", "segment_missing";
    /// Bytes of another journal.
    Grafted = "E08", "grafted";
    /// Shorter than a signed checkpoint.
    Truncated = "E09", "truncated";
    /// A checkpoint is not signed by the key that must have signed it.
    WrongKey = "E10", "checkpoint_key";
    /// A checkpoint is signed by a key that had handed over to its successor.
    RetiredKey = "E11", "checkpoint_retired_key";
    /// Two histories: two writers, or a checkpoint that signs another root.
    Forked = "E12", "history_forked";
    ReceiptEdited = "E13", "receipt_edited";
    /// Bytes that must be padding are something else.
    Padding = "E14", "padding_edited";
    /// The table of kinds contradicts this build or the events.
    SchemaTable = "E15", "schema_table";
    EpochRollback = "E16", "epoch_rollback";
    SegmentHeader = "E17", "segment_header";
    /// A batch that was acknowledged is damaged.
    BatchLost = "E18", "batch_damaged";
    /// A sealed segment is not what its successor says it was.
    SegmentDigest = "E19", "segment_digest";
    /// A payload is not an event of this build.
    Payload = "E20", "payload_unreadable";
    /// The engine refuses the event at this place.
    Illegal = "E21", "illegal_event";
    RolledBack = "E22", "rolled_back";
    /// Chained correctly, yet the recorded JSON digest is not that of the payload.
    JsonDigest = "E23", "json_digest";
    /// A checkpoint note is malformed.
    Note = "E24", "checkpoint_note";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code(), self.label())
    }
}
