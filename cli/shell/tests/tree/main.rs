//! The tree room against real files and real git.

mod export;
mod git;
mod hidden;
mod restore;
mod scan;
mod store;
mod support;
mod surface;
