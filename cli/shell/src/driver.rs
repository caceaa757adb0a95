//! The bracket: ask the engine, ask the world, record. It decides nothing.
//!
//! ```text
//!   next --> Record(event) ----------------------------> apply, append
//!        --> Perform(effect): append began, sync, perform, observe -> apply, append
//!        --> Stop: sync
//! ```
//!
//! A fact is applied before it is appended, so an illegal one never reaches the disk. Facts gather until
//! the next effect that the world could notice: then they are made durable as one batch, and only then
//! are watchers told of them.

use std::fmt;

use engine::event::Event;
use engine::event::id::Stamp;
use engine::event::run::SuspendCause;
use engine::{Effect, Illegal, Next, Observation, Phase, State};

/// What answers effects.
pub trait World {
    /// Carries out one effect to its end. Failure to run is an answer too.
    fn perform(&mut self, state: &State, effect: &Effect) -> Observation;
    /// The time, for facts that begin an effect.
    fn stamp(&mut self) -> Stamp;
    /// The number of the signal that asked the run to stop, if one did.
    fn stop_asked(&mut self) -> Option<i32>;
}

/// Where facts are kept.
pub trait Record {
    type Error;
    /// Takes one fact; it is not durable yet.
    fn append(&mut self, event: &Event) -> Result<(), Self::Error>;
    /// Makes everything appended durable. `state` is the fold of all of it.
    fn sync(&mut self, state: &State) -> Result<(), Self::Error>;
    /// Why not much more can be recorded, while there is still room to say so.
    fn running_out(&mut self) -> Option<String> {
        None
    }
    /// Told before an effect is carried out.
    fn announce(&mut self, effect: &Effect);
}

/// Why the bracket broke off.
#[derive(Debug)]
pub enum Broken<E> {
    Record(E),
    /// The machine and the record disagree: a bug.
    Illegal(Illegal),
}

impl<E: fmt::Display> fmt::Display for Broken<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(error) => error.fmt(f),
            Self::Illegal(illegal) => illegal.fmt(f),
        }
    }
}

/// Runs a state to its halt or suspension. What was begun and not answered by an earlier life must have been
/// recovered before.
pub fn drive<W: World, R: Record>(mut state: State, world: &mut W, record: &mut R) -> Result<State, Broken<R::Error>> {
    loop {
        if let Some((cause, code, detail)) = must_stop(&state, world, record) {
            let event = state.suspend(cause, code, detail, world.stamp());
            state = commit(state, &event, record)?;
        }
        match state.next() {
            Next::Record(event) => state = commit(state, &event, record)?,
            Next::Perform(effect) => {
                if let Some(began) = state.began(&effect, world.stamp()) {
                    state = commit(state, &began, record)?;
                }
                if effect.runs_a_command() {
                    record.sync(&state).map_err(Broken::Record)?;
                }
                record.announce(&effect);
                let seen = world.perform(&state, &effect);
                let event = state.observe(&effect, seen);
                state = commit(state, &event, record)?;
            }
            Next::Await | Next::Stop => {
                record.sync(&state).map_err(Broken::Record)?;
                return Ok(state);
            }
        }
    }
}

/// A signal, or a record that is about to be full, stops a run that is open and not stopping already.
fn must_stop<W: World, R: Record>(state: &State, world: &mut W, record: &mut R) -> Option<(SuspendCause, i32, String)> {
    if state.facts.suspended.is_some() || matches!(state.phase, Phase::Closed(_)) {
        return None;
    }
    if let Some(signal) = world.stop_asked() {
        return Some((SuspendCause::Signal, signal, String::new()));
    }
    record.running_out().map(|why| (SuspendCause::Storage, 0, why))
}

/// Applies a fact, then hands it to the record.
pub fn commit<R: Record>(state: State, event: &Event, record: &mut R) -> Result<State, Broken<R::Error>> {
    let state = state.apply(event).map_err(Broken::Illegal)?;
    record.append(event).map_err(Broken::Record)?;
    Ok(state)
}
