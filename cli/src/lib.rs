//! The face of loopexec: words in, words out.
//!
//! ```text
//!   argv --clap--> Command --one function--> Outcome --render--> stdout, stderr, exit code
//!                                 `-- Failure ---'
//! ```
//!
//! A command is one file: an `Args` struct whose doc is its help, and one function. It returns what it found; only
//! `render` writes. With `--json` standard output carries exactly one object on every path, a panic included.

mod app;
mod command;
mod contract;
mod failure;
mod next;
mod outcome;
mod render;
#[cfg(test)]
mod schema;
mod which;

pub use app::{command_table, help_tree, main};
pub use command::{COMMANDS, CommandRow};
