//! The driver's bracket over a simulated world, with death at every point.
//!
//! ```text
//!   next -> Record ------------------------------> commit
//!        -> Perform -> [began: commit] -> perform -> observe -> commit
//!                   ^                 ^           ^
//!                   BeforeEffect      AfterBegan  AfterEffect      (the governor may die here)
//! ```
//!
//! A new life folds the journal, answers what was begun, and goes on. Only the journal and the world
//! survive a death; the state does not.

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::{Digest, Stamp};
use engine::event::policy::Policy;
use engine::event::run::{Amended, RunOpened, SuspendCause};
use engine::phase::Illegal;
use engine::{Effect, Next, State};

use crate::act::Act;
use crate::world::World;

/// Where the governor may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Point {
    /// A decision was taken and is not on disk.
    BeforeRecord,
    /// Nothing of the effect has happened.
    BeforeEffect,
    /// The effect is announced on disk and has not happened.
    AfterBegan,
    /// The effect has happened and its end is not on disk.
    AfterEffect,
}

/// What happens to a run: the script, the dice or the enumeration.
pub trait Fate {
    /// How an effect goes.
    fn act(&mut self, effect: &Effect) -> Act;

    /// Whether the governor dies here.
    fn crash(&mut self, _point: Point, _journal: &[Event]) -> bool {
        false
    }

    /// Whether somebody asks the run to stop here.
    fn suspend(&mut self, _journal: &[Event]) -> bool {
        false
    }
}

/// How one life of the governor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Halted(HaltReason),
    Suspended,
    Crashed,
}

/// Why a life could not be lived: always a fault of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    Illegal(Illegal),
    /// The journal does not fold; the index of the event.
    Unfoldable(usize, Illegal),
    /// The engine waits for an answer to an effect that is not under way.
    Stuck,
    /// The run neither ended nor moved on within the bound.
    Endless,
}

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Illegal(illegal) => write!(f, "the engine produced an event that it refuses: {illegal}"),
            Self::Unfoldable(index, illegal) => write!(f, "the journal does not fold at event {index}: {illegal}"),
            Self::Stuck => f.write_str("the engine waits for something that nobody does"),
            Self::Endless => f.write_str("the run does not end"),
        }
    }
}

impl core::error::Error for Broken {}

/// Events that one life may write before it counts as endless.
const LIFE_MAX: usize = 20_000;

/// One run: what survives the death of a governor.
#[derive(Clone, Debug)]
pub struct Run {
    pub journal: Vec<Event>,
    pub world: World,
    lives: u32,
}

/// The first event of a simulated run.
pub fn opening(policy: Policy) -> RunOpened {
    RunOpened {
        at: Stamp::default(),
        run_id: "simulated".into(),
        engine: engine::VERSION.into(),
        workdir: "/work".into(),
        boot_id: "boot".into(),
        policy_digest: Digest::ZERO,
        policy,
        origins: Vec::new(),
        programs: Vec::new(),
        probe: None,
        zones: Vec::new(),
    }
}

impl Run {
    pub fn new(policy: Policy, world: World) -> Self {
        Self {
            journal: vec![opening(policy).into()],
            world,
            lives: 0,
        }
    }

    /// The state as the journal tells it.
    pub fn state(&self) -> Result<State, Broken> {
        State::fold(&self.journal).map_err(|(index, illegal)| Broken::Unfoldable(index, illegal))
    }

    /// A person raises limits between two lives.
    pub fn amend(&mut self, amended: Amended) -> Result<(), Broken> {
        let state = self.state()?;
        self.commit(state, amended.into()).map(drop)
    }

    /// Lives one life, from the fold of the journal to its end.
    pub fn live(&mut self, fate: &mut impl Fate) -> Result<Ended, Broken> {
        let mut state = self.state()?;
        if self.lives > 0 {
            self.world.reboot();
            if let Some(interrupted) = state.recover(self.world.now()) {
                state = self.commit(state, interrupted)?;
            }
            let resumed = state.resume(self.world.now(), engine::VERSION.into(), "boot".into(), 0);
            state = self.commit(state, resumed)?;
        }
        self.lives += 1;
        self.bracket(state, fate)
    }

    fn bracket(&mut self, mut state: State, fate: &mut impl Fate) -> Result<Ended, Broken> {
        for _ in 0..LIFE_MAX {
            if state.facts.halted.is_none() && fate.suspend(&self.journal) {
                let suspended = state.suspend(SuspendCause::Signal, 2, String::new(), self.world.now());
                state = self.commit(state, suspended)?;
            }
            let point = match state.next() {
                Next::Record(_) => Point::BeforeRecord,
                Next::Perform(_) => Point::BeforeEffect,
                Next::Await => return Err(Broken::Stuck),
                Next::Stop => return Ok(ended(&state)),
            };
            if fate.crash(point, &self.journal) {
                return Ok(Ended::Crashed);
            }
            let event = match state.next() {
                Next::Perform(effect) => {
                    if let Some(began) = state.began(&effect, self.world.now()) {
                        state = self.commit(state, began)?;
                        if fate.crash(Point::AfterBegan, &self.journal) {
                            return Ok(Ended::Crashed);
                        }
                    }
                    let seen = self.world.perform(&effect, fate.act(&effect));
                    if fate.crash(Point::AfterEffect, &self.journal) {
                        return Ok(Ended::Crashed);
                    }
                    state.observe(&effect, seen)
                }
                Next::Record(event) => event,
                Next::Await | Next::Stop => return Err(Broken::Stuck),
            };
            state = self.commit(state, event)?;
        }
        Err(Broken::Endless)
    }

    /// An event that does not belong never reaches the journal.
    fn commit(&mut self, state: State, event: Event) -> Result<State, Broken> {
        let state = state.apply(&event).map_err(Broken::Illegal)?;
        self.journal.push(event);
        Ok(state)
    }
}

fn ended(state: &State) -> Ended {
    match &state.facts.halted {
        Some(halted) => Ended::Halted(halted.reason),
        None => Ended::Suspended,
    }
}
