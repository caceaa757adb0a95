//! The written vocabulary: every fact a run can record, in the past tense, true for ever.
//!
//! This folder is the only place that derives serialisation. Each kind is one plain struct with a
//! number and a version that are part of the journal's bytes (SPEC 11); numbers are never reused and a
//! struct is frozen once a release has written it. The enum [`Event`] exists for people who match on
//! facts; it is never itself a payload.

pub mod candidate;
pub mod finding;
pub mod halt;
pub mod id;
pub mod iteration;
pub mod measurement;
pub mod money;
pub mod people;
pub mod policy;
pub mod run;
pub mod shape;
pub mod zone;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use candidate::{Judged, Probed, Scored, Vetted};
use iteration::{
    CandidateAccepted, CandidateRejected, CheckBegan, CheckEnded, Checkpointed, ContextBuilt, ExecuteBegan,
    ExecuteEnded, GuardsJudged, ProgressJudged, RestoreBegan, RestoreEnded, RetryScheduled, RetryWaited, TreeObserved,
};
use money::{Reserved, Settled};
use people::{Acked, Credential, Delivered, Escalated, TaskClosed, TaskSelected};
use run::{Amended, Halted, Interrupted, Resumed, RunOpened, Suspended};

/// One row of the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    pub kind: u16,
    pub version: u16,
    pub name: &'static str,
    /// Structure of the payload (see [`shape::Shape`]).
    pub shape: String,
}

/// Why bytes are not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No such kind and version in this build.
    Unknown { kind: u16, version: u16 },
    /// The bytes are not an archive of that kind.
    Malformed { name: &'static str },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { kind, version } => {
                write!(
                    f,
                    "event kind {kind} version {version} is unknown to this build; a newer loopexec wrote it"
                )
            }
            Self::Malformed { name } => write!(f, "the bytes are not a valid {name} event"),
        }
    }
}

impl core::error::Error for DecodeError {}

macro_rules! events {
    ($($kind:literal v $version:literal $name:ident = $label:literal),* $(,)?) => {
        /// A fact. See the module of each struct for its meaning. It goes from hand to hand, and whoever keeps it
        /// shares it: the state, the record and the watchers hold one copy of what can be a long list.
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
        #[serde(tag = "event")]
        pub enum Event { $(#[serde(rename = $label)] $name(Arc<$name>)),* }

        impl Event {
            /// The number of this kind in the journal.
            pub const fn kind(&self) -> u16 {
                match self { $(Self::$name(_) => $kind),* }
            }

            /// The version of the payload's structure.
            pub const fn version(&self) -> u16 {
                match self { $(Self::$name(_) => $version),* }
            }

            /// The stable name of this kind, as in the JSON member `event`.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => $label),* }
            }

            /// Appends the payload bytes to `out`. One value has one encoding.
            pub fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name(fact) => {
                        // Serialising plain structs into memory cannot fail: there is no allocation
                        // limit, no shared pointer and no map.
                        if let Ok(bytes) = rkyv::to_bytes::<rkyv::rancor::Error>(&**fact) {
                            out.extend_from_slice(&bytes);
                        }
                    })*
                }
            }

            /// Reads a payload back. Total on hostile bytes.
            pub fn decode(kind: u16, version: u16, payload: &[u8]) -> Result<Self, DecodeError> {
                match (kind, version) {
                    $(($kind, $version) => rkyv::from_bytes::<$name, rkyv::rancor::Error>(payload)
                        .map(Self::from)
                        .map_err(|_| DecodeError::Malformed { name: $label }),)*
                    _ => Err(DecodeError::Unknown { kind, version }),
                }
            }

            /// The whole vocabulary, in order of kind.
            pub fn schemas() -> Vec<Schema> {
                Vec::from([$({
                    let mut text = String::new();
                    <$name as shape::Shape>::shape(&mut text);
                    Schema { kind: $kind, version: $version, name: $label, shape: text }
                }),*])
            }
        }

        $(impl From<$name> for Event {
            fn from(fact: $name) -> Self {
                Self::$name(Arc::new(fact))
            }
        })*
    };
}

events! {
    1 v 1 RunOpened = "run_opened",
    2 v 1 Resumed = "resumed",
    3 v 1 Amended = "amended",
    4 v 1 Interrupted = "interrupted",
    5 v 1 Suspended = "suspended",
    6 v 1 Halted = "halted",
    16 v 1 TreeObserved = "tree_observed",
    17 v 1 ContextBuilt = "context_built",
    18 v 1 ExecuteBegan = "execute_began",
    19 v 1 ExecuteEnded = "execute_ended",
    20 v 1 RetryScheduled = "retry_scheduled",
    21 v 1 RetryWaited = "retry_waited",
    22 v 1 CheckBegan = "check_began",
    23 v 1 CheckEnded = "check_ended",
    24 v 1 GuardsJudged = "guards_judged",
    25 v 1 CandidateAccepted = "candidate_accepted",
    26 v 1 CandidateRejected = "candidate_rejected",
    27 v 1 RestoreBegan = "restore_began",
    28 v 1 RestoreEnded = "restore_ended",
    29 v 1 ProgressJudged = "progress_judged",
    30 v 1 Checkpointed = "checkpointed",
    48 v 1 Reserved = "reserved",
    49 v 1 Settled = "settled",
    56 v 1 Scored = "scored",
    57 v 1 Judged = "judged",
    58 v 1 Probed = "probed",
    59 v 1 Vetted = "vetted",
    64 v 1 Escalated = "escalated",
    65 v 1 Delivered = "delivered",
    66 v 1 Acked = "acked",
    72 v 1 TaskSelected = "task_selected",
    73 v 1 TaskClosed = "task_closed",
    81 v 1 Credential = "credential",
}

// An event is moved and copied at every step, so it stays as small as a name and a place.
const _: () = assert!(size_of::<Event>() <= 2 * size_of::<usize>());

#[cfg(test)]
mod tests;
