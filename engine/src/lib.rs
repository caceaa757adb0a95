//! The pure core of loopexec: what a run is, what it does next, and when it must stop.
//!
//! ```text
//!            next(&State)                       observe(&State, answer)
//!   State ----------------> Perform(effect) --> world --> Observation --> Event
//!     ^                     Record(event) -------------------------------->  |
//!     |                     Stop                                             |
//!     +----------------------------- apply(State, Event) <-------------------+
//! ```
//!
//! State is the fold of events and nothing else; resume, replay, report and verify are the same fold. The
//! crate has no file, clock, process, randomness or float: time, digests and measurements arrive inside
//! observations. It will never run anything and never believe what an agent says of its own work.
//!
//! Read [`State`] first, then [`event::Event`].
//!
//! ```
//! use engine::event::{id::{Digest, Stamp}, policy::{Command, Policy}, run::RunOpened};
//! use engine::{Next, State};
//!
//! let mut policy = Policy::default();
//! policy.oracle.check = Command::shell("make test");
//! let state = State::open(RunOpened {
//!     at: Stamp::default(),
//!     run_id: "demo".into(),
//!     engine: engine::VERSION.into(),
//!     workdir: "/work".into(),
//!     boot_id: String::new(),
//!     policy_digest: Digest::ZERO,
//!     policy,
//!     origins: vec![],
//!     programs: vec![],
//!     probe: None,
//!     zones: [].into(),
//! });
//! // Before anything else the world is asked for t0.
//! assert!(matches!(state.next(), Next::Perform(engine::Effect::ObserveTree { iteration: 0, .. })));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::float_arithmetic, clippy::wildcard_enum_match_arm)]

extern crate alloc;
// The generators that `arbitrary` derives keep their recursion count in a thread-local.
#[cfg(any(test, feature = "arbitrary"))]
extern crate std;

pub mod adequacy;
pub mod advice;
mod determinism;
pub mod doctor;
mod effect;
pub mod event;
mod facts;
pub mod guard;
pub mod hermetic;
mod members;
pub mod pattern;
pub mod phase;
pub mod probe;
pub mod progress;
mod rederive;
pub mod report;
pub mod stat;
mod state;
pub mod vet;
pub mod words;

pub use determinism::{Determinism, TOLERANT_FROM_PPM, tolerant};
pub use effect::{ContextRequest, Effect, IntegrityReading, Next, Observation, Reading};
pub use facts::{Accepted, Facts, People, Spend};
pub use members::{CHECK, IdSet, Members};
pub use phase::open::{isolation_objection, objection};
pub use phase::{Illegal, Phase};
pub use rederive::{Divergence, Rederivation, rederive};
pub use state::{FAILURES_CMD, State};

/// Version of the engine that makes the decisions of a journal.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
