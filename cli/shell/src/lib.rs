//! The hands of loopexec: processes, trees, collectors, configuration, the driver loop. They decide nothing.
#![deny(unsafe_code)]

pub mod clock;
pub mod config;
pub mod doctor;
pub mod driver;
mod foreign;
pub mod hidden;
mod hunks;
pub mod lock;
pub mod oracle;
pub mod paths;
pub mod probe;
pub mod process;
pub mod project;
pub mod record;
pub mod replay;
pub mod scratch;
pub mod session;
mod sync;
pub mod tree;
pub mod world;
pub mod zone;
