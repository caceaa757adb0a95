//! The hands of loopexec: what it does to the world, and nothing it decides.

pub mod process;
