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

pub(crate) mod account;
pub mod backend;
mod bwrap;
mod cgroup;
mod clone;
mod container;
mod control;
pub(crate) mod credential;
pub(crate) mod degraded;
mod enter;
mod facts;
mod fall;
mod init;
mod landlock;
mod launch;
mod limits;
mod memory;
mod mounts;
mod outside;
mod pair;
mod plan;
pub(crate) mod preflight;
pub mod proxy;
mod report;
mod seccomp;
pub(crate) mod secret_places;
mod shown;
mod sources;
mod started;
mod terms;
mod toolchain;
mod trial;
pub(crate) mod volume;
mod watch;
mod way;
mod word;

pub use bwrap::rendered;
pub use credential::{REAP, reap};
pub use degraded::{HOLD, hold};
pub use fall::fall;
pub use init::init;
pub use launch::launch;
pub use pair::{Entered, Entry, Lent, Pair};
pub use plan::{Bind, Egress, Limits, Network, Work, Zone, ZonePlan};
pub use plan::{EXCHANGE_AT, HOME_AT, TMP_AT};
pub use report::{Connection, Ended, Fixture, Refusal, RefusalCause, Tier, ZoneFacts, ZoneReport};
pub(crate) use terms::Order;
pub use terms::Terms;
pub(crate) use volume::hand_over;

/// The hidden first argument that turns the binary into the launcher of one zone.
pub const LAUNCH: &str = "__zone";

/// The hidden first argument that turns the binary into process 1 of a zone.
pub const INIT: &str = "__zone-init";

/// The hidden first argument that turns the binary into the killer of a stand-in governor.
pub const FALL: &str = "__fall";

/// Where the zone has the program that is its process 1.
const INIT_AT: &str = "/loopexec/init";

/// The word after [`INIT`] that makes the binary bind itself and become the command.
const ENTER: &str = "enter";
