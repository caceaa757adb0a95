//! The contract of a run, made from what people wrote.
//!
//! ```text
//!   flags ----+
//!   LOOPEXEC_*+--> entries (key, value, place) --> resolve --> Policy + origins
//!   the file -+            one table of settings decides      (the first event of the run)
//! ```
//!
//! [`table::settings`] is the only list of settings: the readers of the three layers, the help, the
//! generated reference and the dry run all follow from it. Everything is parsed into its final type at
//! the door; a value that made it into the [`engine::event::policy::Policy`] needs no second look. A
//! name that nobody knows is an error that says which known name is nearest, because a mistyped guard
//! that is silently ignored is a guard that never ran.
//!
//! Start with [`resolve::resolve`] and [`setting::Setting`].

pub mod dry_run;
pub mod duration;
pub mod env;
pub mod error;
pub mod file;
pub mod fixed;
pub mod flags;
pub mod money;
pub mod names;
pub mod pattern;
pub mod pins;
pub mod resolve;
pub mod setting;
pub mod size;
pub mod table;
pub mod value;

#[cfg(test)]
mod tests;

pub use dry_run::{ReferenceRow, Row, dry_run, reference};
pub use error::{Class, ConfigError, Fault, Place};
pub use flags::Flags;
pub use resolve::{Inputs, Known, Resolved, resolve, resolve_without_check};
pub use setting::{Kind, Setting};
pub use table::{find, settings};

/// Name of the configuration file in the workdir.
pub const FILE_NAME: &str = "loopexec.toml";
