//! Placeholder header, replaced by the crate.
pub mod clock;
pub mod config;
pub mod lock;
pub mod paths;
pub mod project;
