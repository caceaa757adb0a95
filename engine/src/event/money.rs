//! Money and calls: reserved before the work, settled after it, in integer micro-USD.

use alloc::string::String;
use alloc::vec::Vec;

use super::shape::{label, wire};

label! {
    pub enum CallStatus { Actual = "actual", Unknown = "unknown", Skipped = "skipped" }
}
wire! {
    pub struct ReservedCall {
        pub id: String,
        pub phase: String,
        pub max_microusd: u64,
        pub max_tokens: u64,
    }
}
wire! {
    /// Calls that the work may make, durable before the work starts.
    pub struct Reserved {
        pub iteration: u32,
        pub enforced: bool,
        pub calls: Vec<ReservedCall>,
    }
}
wire! {
    pub struct UsedCall {
        /// Stable over repeats: one id is booked once.
        pub id: String,
        pub phase: String,
        pub status: CallStatus,
        pub model: String,
        pub microusd: Option<u64>,
        pub tokens_in: Option<u64>,
        pub tokens_out: Option<u64>,
    }
}
wire! {
    /// What was really used; closes the reservation of the iteration.
    pub struct Settled {
        pub iteration: u32,
        /// Adapter, hook or declaration that reported it.
        pub source: String,
        pub calls: Vec<UsedCall>,
        /// Why the report is unusable; empty when it is usable.
        pub error: String,
    }
}
