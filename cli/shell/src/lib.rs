//! The hands of loopexec: what it does to the world, and nothing it decides.

#![deny(unsafe_code)]

pub mod process;
