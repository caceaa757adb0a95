//! The bracket: ask the engine, ask the world, record. It decides nothing.
//!
//! ```text
//!   next --> Record(event) ----------------------------> apply, append
//!        --> Perform(effect): append began, sync, perform, observe -> apply, append
//!                                                 `--> while its command runs: sync, catch up
//!        --> Stop: sync, catch up
//! ```
//!
//! A fact is applied before it is appended, so an illegal one never reaches the disk. Facts gather until
//! the next effect that the world could notice: then they are made durable as one batch, and only then
//! are watchers told of them. Whatever need not precede a command is done while it runs: telling of what is durable, and
//! before a check, when everything is written, the sync itself.

use std::fmt;

use engine::event::Event;
use engine::event::id::Stamp;
use engine::event::run::SuspendCause;
use engine::{Effect, Illegal, Next, Observation, Phase, State};

/// What can be done while a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// First: nothing that anybody reads is written.
    Sync,
    /// Then: what is derived from the record is.
    Tell,
}

/// What answers effects.
pub trait World {
    /// Carries out one effect to its end. Failure to run is an answer too. `meanwhile` is called with one after the other
    /// once a command runs, if one does; when it answers no, that command is ended.
    fn perform(&mut self, state: &State, effect: &Effect, meanwhile: &mut dyn FnMut(Meanwhile) -> bool) -> Observation;
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
    /// Hands everything appended to the system: it survives the death of this process, and counts as durable only
    /// behind the next [`Record::sync`]. `state` is the fold of all of it.
    fn write(&mut self, state: &State) -> Result<(), Self::Error> {
        self.sync(state)
    }
    /// Makes everything appended durable.
    fn sync(&mut self, state: &State) -> Result<(), Self::Error>;
    /// Tells of everything that is durable.
    fn catch_up(&mut self, _state: &State) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Why not much more can be recorded, while there is still room to say so.
    fn running_out(&mut self) -> Option<String> {
        None
    }
    /// Told when an effect begins.
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
                if effect.needs_sync() {
                    record.sync(&state).map_err(Broken::Record)?;
                } else if effect.runs_a_command() {
                    record.write(&state).map_err(Broken::Record)?;
                }
                let seen = perform(&state, &effect, world, record).map_err(Broken::Record)?;
                let event = state.observe(&effect, seen);
                state = commit(state, &event, record)?;
            }
            Next::Await | Next::Stop => {
                record.sync(&state).map_err(Broken::Record)?;
                record.catch_up(&state).map_err(Broken::Record)?;
                return Ok(state);
            }
        }
    }
}

/// Carries out an effect. The record catches up while its command runs, and in any case before the answer is used.
fn perform<W: World, R: Record>(
    state: &State,
    effect: &Effect,
    world: &mut W,
    record: &mut R,
) -> Result<Observation, R::Error> {
    if !effect.runs_a_command() {
        record.announce(effect);
        return Ok(world.perform(state, effect, &mut |_| true));
    }
    let (mut is_synced, mut is_told, mut kept) = (effect.needs_sync(), false, Ok(()));
    let mut meanwhile = |what| {
        let done = match what {
            Meanwhile::Sync => &mut is_synced,
            Meanwhile::Tell => &mut is_told,
        };
        if kept.is_ok() && !std::mem::replace(done, true) {
            kept = match what {
                Meanwhile::Sync => record.sync(state),
                Meanwhile::Tell => record.catch_up(state),
            };
            if what == Meanwhile::Tell {
                record.announce(effect);
            }
        }
        kept.is_ok()
    };
    let seen = world.perform(state, effect, &mut meanwhile);
    meanwhile(Meanwhile::Sync);
    meanwhile(Meanwhile::Tell);
    kept.map(|()| seen)
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
