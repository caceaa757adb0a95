//! The two zones: where work and check run when they are kept apart from the machine and from each other (SPEC 14).
//!
//! ```text
//!   governor ── supervisor ── launcher ── bwrap ── init (process 1) ── command
//!   (decides)                 (this binary,        (this binary inside: checks its facts,
//!                              outside: plan,       waits for GO, sets limits, ends when
//!                              proxy, report)       the control socket closes)
//! ```
//!
//! One typed value says what a zone is ([`ZonePlan`]); pure functions turn it into arguments. The launcher reads the
//! plan on its standard input, starts the zone, and leaves word of what was in force ([`ZoneReport`]).

mod plan;
pub mod proxy;
mod report;

pub use plan::{Bind, Egress, Limits, Network, Work, Zone, ZonePlan};
pub use report::{Connection, Ended, Refusal, RefusalCause, Tier, ZoneFacts, ZoneReport};

/// The hidden first argument that turns the binary into the launcher of one zone.
pub const LAUNCH: &str = "__zone";

/// The hidden first argument that turns the binary into process 1 of a zone.
pub const INIT: &str = "__zone-init";
