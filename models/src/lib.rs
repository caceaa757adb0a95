//! Executable models of loopexec. They depend on the engine and on nothing that touches the world.
//!
//! - [`project`], [`act`], [`world`]: a simulated world that answers every effect and remembers the truth.
//! - [`drive`]: the driver's bracket over it, with death at every point; [`script`] writes a fate down.

pub mod act;
pub mod drive;
pub mod project;
pub mod script;
pub mod world;
