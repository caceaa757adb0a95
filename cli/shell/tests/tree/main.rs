//! The tree room against real files and real git.
#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod export;
mod git;
mod hidden;
mod in_the_way;
mod listed;
mod restore;
mod scan;
mod store;
mod support;
mod surface;
