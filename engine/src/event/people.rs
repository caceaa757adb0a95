//! People and surroundings: escalations, acknowledgements, tasks, keys.

use alloc::string::String;

use super::halt::HaltReason;
use super::id::{Digest, Stamp};
use super::shape::{label, wire};

wire! {
    pub struct Escalated {
        pub at: Stamp,
        pub channel: String,
        pub reason: HaltReason,
        pub packet: Digest,
    }
}
wire! {
    pub struct Delivered {
        pub at: Stamp,
        pub channel: String,
        pub packet: Digest,
        /// Where it went; empty when it failed.
        pub receipt: String,
        pub error: String,
    }
}
wire! {
    /// A person has read what was accepted up to an iteration, or answered a question.
    pub struct Acked {
        pub at: Stamp,
        pub reviewer: String,
        pub through_iteration: u32,
        /// Hex of the reviewer's public key.
        pub key: String,
        /// Hex of the signature over run id, iteration and journal head.
        pub signature: String,
        pub note: String,
    }
}
wire! {
    pub struct TaskSelected {
        pub iteration: u32,
        pub task: String,
        pub has_oracle: bool,
    }
}
label! {
    pub enum TaskOutcome { Completed = "completed", Blocked = "blocked" }
}
wire! {
    pub struct TaskClosed {
        pub iteration: u32,
        pub task: String,
        pub outcome: TaskOutcome,
        pub evidence: String,
    }
}
label! {
    pub enum CredentialStep { Intended = "intended", Minted = "minted", Revoked = "revoked", RevokeFailed = "revoke_failed" }
}
wire! {
    pub struct Credential {
        pub at: Stamp,
        pub label: String,
        pub step: CredentialStep,
        pub ttl_ms: u64,
        pub cap_microusd: u64,
    }
}
