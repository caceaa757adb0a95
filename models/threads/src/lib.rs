//! What threads of the shell share, under every order that their steps can have (SPEC 16.6.7).
//!
//! ```text
//!   cli/shell/src/tree/queue.rs         \  the same source, with loom's locks and atomics
//!   cli/shell/src/zone/proxy/budget.rs  /  in the place of the system's
//!                                          |
//!                                          +--> each order of steps, and each value that a relaxed load may see
//! ```
//!
//! The sources take their primitives from `crate::sync`; here that module is loom's. A model is a function: it is run
//! once for every execution that C11 allows its threads, and panics in the one that breaks it. What the sources use
//! beside that is a fixture of the same shape: a clock that stands, a bell that only remembers.

/// What `shell::sync` is to the product.
mod sync {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
}

mod clock {
    pub(crate) fn mono_ms() -> u64 {
        0
    }
}

mod zone {
    pub(crate) mod plan {
        /// The caps alone.
        pub(crate) struct Egress {
            pub(crate) connections_max: u32,
            pub(crate) concurrent_max: u32,
            pub(crate) bytes_max: u64,
            pub(crate) idle_ms: u64,
            pub(crate) total_ms: u64,
        }
    }
}

mod bell;
#[allow(dead_code, reason = "what of it shares nothing is not walked")]
#[path = "../../../cli/shell/src/zone/proxy/budget.rs"]
mod budget;
pub mod models;
#[path = "../../../cli/shell/src/tree/queue.rs"]
mod queue;
