//! Placeholder header, replaced by the crate.
pub mod oracle;
