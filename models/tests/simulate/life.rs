//! One life of a simulated run: the real driver between a simulated world and a record that may be lost.
//!
//! Every call of the driver is a chance to die, before or behind the act; whoever is dead records nothing
//! any more. What is due at the moment of an event is checked at that moment, against the world as it is.

use std::cell::RefCell;

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::Stamp;
use engine::event::measurement::GitState;
use engine::{Effect, Observation, State};
use models::act::Act;
use models::properties;
use models::sim::{Temper, Thrown};
use models::world::World;
use shell::driver::{self, Broken, Meanwhile, commit, drive};

use crate::memory::{Memory, Refused};

/// Effects of one run; more of them do not end.
const EFFECTS_MAX: u64 = 20_000;

/// Everything about a run that outlives a governor, and the governor's own death.
pub(crate) struct Life {
    first: Event,
    pub(crate) world: World,
    pub(crate) fate: Thrown,
    pub(crate) memory: Memory,
    /// The fold of what was recorded, kept beside the driver's own.
    shadow: Option<State>,
    dead: bool,
    broken: Option<String>,
    effects: u64,
    /// A signal was there when the driver looked last.
    signalled: bool,
    pub(crate) has_worked: bool,
    /// A walk of this turn could not read the repository.
    blind: bool,
    /// The effect from which on nothing goes wrong.
    calm_after: Option<u64>,
    /// How much had been recorded by then.
    calm_from: Option<usize>,
}

/// The governor died.
#[derive(Debug)]
pub(crate) struct Died;

/// How a life ended.
pub(crate) enum Ended {
    Halted(Box<State>, HaltReason),
    Suspended,
    Died,
    /// There is no record to go on with: the disk had lied.
    Refused,
}

impl Life {
    pub(crate) fn new(first: Event, world: World, fate: Thrown, memory: Memory, calm_after: Option<u64>) -> Self {
        Self {
            first,
            world,
            fate,
            memory,
            shadow: None,
            dead: false,
            broken: None,
            effects: 0,
            signalled: false,
            has_worked: false,
            blind: false,
            calm_after,
            calm_from: None,
        }
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.calm_from.is_some()
    }

    /// Facts that were recorded since nothing goes wrong any more.
    pub(crate) fn facts_in_calm(&self) -> usize {
        self.calm_from.map_or(0, |from| self.memory.events().len() - from)
    }

    fn calm_down(&mut self) {
        if self.calm_after.is_some_and(|after| self.effects > after) && !self.is_calm() {
            self.fate.temper = Temper {
                honesty: self.fate.temper.honesty,
                ..Temper::default()
            };
            self.fate.interruptions = 0;
            self.memory.calm_down();
            self.calm_from = Some(self.memory.events().len());
        }
    }

    fn breaks(&mut self, what: impl Into<String>) {
        self.dead = true;
        self.broken.get_or_insert(what.into());
    }

    fn dies(&mut self) -> bool {
        self.dead |= self.fate.dies();
        self.dead
    }

    fn perform(&mut self, effect: &Effect) -> Act {
        self.effects += 1;
        self.calm_down();
        if self.effects > EFFECTS_MAX {
            self.breaks("the run does not end");
        }
        let is_kept = match effect {
            // One that may be done once more may also be forgotten.
            Effect::Check { .. } => self.memory.is_written(),
            _ => self.memory.is_durable(),
        };
        if effect.noticeable() && !is_kept {
            self.breaks("an effect happens before its beginning is kept");
        }
        self.has_worked |= matches!(effect, Effect::Execute { .. });
        self.fate.act(effect)
    }

    /// The act itself, and how the world answers.
    fn answer(&mut self, effect: &Effect, act: Act) -> Observation {
        // Dead before the act, nothing happens; dead behind it, nobody tells.
        if self.dies() && self.fate.dice.chance(50) {
            return self.world.clone().perform(effect, act);
        }
        self.world.perform(effect, act)
    }

    fn append(&mut self, event: &Event) -> Result<(), Died> {
        let signalled = std::mem::take(&mut self.signalled);
        if self.dies() {
            return Err(Died);
        }
        if signalled && !matches!(event, Event::Suspended(_)) {
            self.breaks(format!("a signal is answered by {}", event.name()));
            return Err(Died);
        }
        if matches!(event, Event::CheckEnded(_)) && !self.memory.is_durable() {
            self.breaks("an answer is believed before the question is durable");
            return Err(Died);
        }
        if let Err(what) = self.witness(event) {
            self.breaks(what);
            return Err(Died);
        }
        self.memory.append(event).map_err(|Died| self.die())
    }

    /// Checks an event against the world of its moment.
    fn witness(&mut self, event: &Event) -> Result<(), String> {
        let illegal = |illegal| format!("the record does not fold: {illegal}");
        let Some(before) = self.shadow.take() else {
            self.shadow = Some(State::first(event).map_err(illegal)?);
            return Ok(());
        };
        if let Event::TreeObserved(walk) = event {
            self.blind |= walk.seen.git.state == GitState::Unavailable;
        }
        if matches!(event, Event::ContextBuilt(_)) {
            self.blind = false;
            // What a turn leaves running is an objection to that turn.
            self.world.ghosts.stray = false;
        }
        let telling = match event {
            // Who forgot what was begun judges by a later start.
            _ if self.memory.was_betrayed() => false,
            // A red tree goes on without the guards of the repository (SPEC 5.1.2).
            Event::CandidateAccepted(_) => !self.blind,
            event => matches!(event, Event::Halted(_) | Event::ContextBuilt(_)),
        };
        let copy = telling.then(|| before.clone());
        let after = before.apply(event).map_err(illegal)?;
        let held = copy.map_or(Ok(()), |before| properties::step(&before, event, &after, &self.world));
        self.shadow = Some(after);
        held.map_err(str::to_owned)
    }

    fn write(&mut self, state: &State) -> Result<(), Died> {
        if self.shadow.as_ref() != Some(state) {
            self.breaks("the state is the fold of what was recorded");
        }
        if self.dies() {
            return Err(Died);
        }
        self.memory.write().map_err(|Died| self.die())
    }

    fn sync(&mut self, state: &State) -> Result<(), Died> {
        if self.shadow.as_ref() != Some(state) {
            self.breaks("the state is the fold of what was recorded");
        }
        if self.dies() {
            self.memory.tear(&mut self.fate.dice);
            return Err(Died);
        }
        self.memory.sync().map_err(|Died| self.die())
    }

    fn die(&mut self) -> Died {
        self.dead = true;
        Died
    }
}

/// What the driver does to the world.
struct Hands<'l>(&'l RefCell<Life>);

impl driver::World for Hands<'_> {
    fn perform(&mut self, _: &State, effect: &Effect, meanwhile: &mut dyn FnMut(Meanwhile) -> bool) -> Observation {
        let act = self.0.borrow_mut().perform(effect);
        // Whether the record or the command is faster is anybody's guess.
        let at_once = self.0.borrow_mut().fate.dice.chance(70);
        if at_once && effect.runs_a_command() {
            let _ = meanwhile(Meanwhile::Sync) && meanwhile(Meanwhile::Tell);
        }
        self.0.borrow_mut().answer(effect, act)
    }

    fn stamp(&mut self) -> Stamp {
        let mut life = self.0.borrow_mut();
        let (slept_ms, set_ms) = life.fate.jump();
        life.world.mono_ms += slept_ms;
        life.world.wall_ahead_ms = life.world.wall_ahead_ms.saturating_add_signed(set_ms);
        life.world.now()
    }

    fn stop_asked(&mut self) -> Option<i32> {
        let life = &mut *self.0.borrow_mut();
        let fate = &mut life.fate;
        let signal = fate.stops().then(|| fate.dice.pick(&[1, 2, 15])).flatten();
        life.signalled = signal.is_some();
        signal
    }
}

/// What the driver records.
struct Ledger<'l>(&'l RefCell<Life>);

impl driver::Record for Ledger<'_> {
    type Error = Died;

    fn append(&mut self, event: &Event) -> Result<(), Died> {
        self.0.borrow_mut().append(event)
    }

    fn write(&mut self, state: &State) -> Result<(), Died> {
        self.0.borrow_mut().write(state)
    }

    fn sync(&mut self, state: &State) -> Result<(), Died> {
        let mut life = self.0.borrow_mut();
        match life.memory.is_durable() {
            true => Ok(()),
            false => life.sync(state),
        }
    }

    fn running_out(&mut self) -> Option<String> {
        let stops = self.0.borrow_mut().fate.stops();
        stops.then(|| "no room for another segment".into())
    }

    fn announce(&mut self, _: &Effect) {}
}

/// Lives one life, from what the last one left; `said` is what a person recorded in between.
pub(crate) fn live(life: &RefCell<Life>, said: &[Event]) -> Result<Ended, String> {
    let Some(state) = awake(life)? else {
        return Ok(Ended::Refused);
    };
    let ended = match lived(life, state, said) {
        Ok(state) => over(life, state),
        Err(Broken::Record(Died)) => Ok(Ended::Died),
        Err(Broken::Illegal(illegal)) => Err(format!("the engine refuses its own event: {illegal}")),
    };
    match life.borrow_mut().broken.take() {
        Some(broken) => Err(broken),
        None => ended,
    }
}

/// The state as the record tells it: nothing yet, or the fold. `None` without a record that can be read.
fn awake(life: &RefCell<Life>) -> Result<Option<Option<State>>, String> {
    let mut life = life.borrow_mut();
    let life = &mut *life;
    life.dead = false;
    let folded = life.shadow.take();
    if life.memory.is_fresh() {
        return Ok(Some(None));
    }
    // A record in memory that lost nothing is what the shadow is the fold of; any other is folded from its beginning.
    let folded = folded.filter(|_| life.memory.disk().is_none() && life.memory.is_durable());
    match life.memory.reopen(&mut life.fate.dice) {
        Ok(()) => {}
        Err(Refused::Betrayed) => return Ok(None),
        Err(Refused::Broken(what)) => return Err(what),
    }
    life.world.reboot();
    if life.memory.events().is_empty() {
        life.memory.begin_again();
        return Ok(Some(None));
    }
    let fold = || State::fold(life.memory.events()).map_err(|(at, illegal)| format!("event {at}: {illegal}"));
    let state = folded.map_or_else(fold, Ok)?;
    life.shadow = Some(state.clone());
    Ok(Some(Some(state)))
}

/// What a session does: opens or resumes, then drives.
fn lived(life: &RefCell<Life>, state: Option<State>, said: &[Event]) -> Result<State, Broken<Died>> {
    let (mut hands, mut ledger) = (Hands(life), Ledger(life));
    let Some(mut state) = state else {
        let first = life.borrow().first.clone();
        let state = State::first(&first).map_err(Broken::Illegal)?;
        driver::Record::append(&mut ledger, &first).map_err(Broken::Record)?;
        driver::Record::sync(&mut ledger, &state).map_err(Broken::Record)?;
        return drive(state, &mut hands, &mut ledger);
    };
    if state.resumable().is_err() {
        return Ok(state);
    }
    let at = life.borrow().world.now();
    if let Some(interrupted) = state.recover(at) {
        state = commit(state, &interrupted, &mut ledger)?;
    }
    for event in said {
        state = commit(state, event, &mut ledger)?;
    }
    let resumed = state.resume(at, engine::VERSION.into(), "boot".into(), 0);
    state = commit(state, &resumed, &mut ledger)?;
    drive(state, &mut hands, &mut ledger)
}

fn over(life: &RefCell<Life>, state: State) -> Result<Ended, String> {
    if life.borrow().shadow.as_ref() != Some(&state) {
        return Err("the state is the fold of what was recorded".into());
    }
    let halted = state.facts.halted.as_ref().map(|halted| halted.reason);
    match (halted, state.facts.suspended.is_some()) {
        (Some(reason), _) => Ok(Ended::Halted(Box::new(state), reason)),
        (None, true) => Ok(Ended::Suspended),
        (None, false) => Err("the driver stops although the run goes on".into()),
    }
}
