//! A scratch project with the real binary: what every story needs.
//!
//! ```text
//!   temporary directory
//!     project/   the workdir                      $OUT in every command: outside/
//!     outside/   what commands say to the test; no guard sees it
//!     home/      HOME and XDG_CONFIG_HOME: the signing key is made here
//! ```

pub(crate) mod cli;
mod opinion;
mod processes;
mod project;
mod running;
pub(crate) mod schema;
pub(crate) mod story;
pub(crate) mod vocabulary;
pub(crate) mod zones;

pub(crate) use processes::{Sleeper, wait_until};
pub(crate) use project::{Project, last_batch};
pub(crate) use running::{Answer, Running};
