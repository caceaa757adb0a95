//! Whole runs from seeds, through the real driver: agents that cheat, checks that lie, restores that fail,
//! clocks that jump, disks that tear what was not synced, and governors that die anywhere.
//!
//! ```text
//!   seed -> cast -> life (shell::driver::drive) -> death, stop or halt -> next life ... -> judged
//!                    hands: models::world          memory, or the real journal on a simulated disk
//! ```

// A helper that fails fails its test; what a sweep reached is said aloud.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod disk;
mod life;
mod memory;
mod receipts;
mod run;
mod sweeps;
mod tampering;
