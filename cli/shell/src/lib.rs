//! Placeholder header, replaced by the crate.
