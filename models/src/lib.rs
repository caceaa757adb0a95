//! Executable models of loopexec. They depend on the engine and on nothing that touches the world.
//!
//! - [`project`], [`act`], [`world`]: a simulated world that answers every effect and remembers the truth.
//! - [`drive`]: the driver's bracket over it, with death at every point; [`script`] writes a fate down.
//! - [`explore`]: every run of a small world, walked over the real reducer; [`properties`] must hold at
//!   every step.
//! - [`sim`]: whole random runs from seeds.
//! - [`mod@reference`]: a naive second opinion on journals that shares no code with the engine.

pub mod act;
pub mod drive;
pub mod explore;
pub mod project;
pub mod properties;
pub mod reference;
pub mod script;
pub mod sim;
pub mod world;
