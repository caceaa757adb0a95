//! A node: what exists at one moment. Beside the state of the governor stand what is on disk, the world,
//! what the world really did, and a command that outlived its governor.
//!
//! ```text
//!   durable ──(facts not yet synced)──> live        a death keeps that tail or loses it
//!      ^________________________________/           synced before each noticeable effect and at the end
//! ```

use std::cell::OnceCell;
use std::rc::Rc;

use engine::event::Event;
use engine::event::money::{CallStatus, Reserved, ReservedCall, Settled, UsedCall};
use engine::{Effect, Next, State};

use super::fingerprint;
use crate::act::{Act, Edit};
use crate::project::Tree;
use crate::properties::{self, Rank, Truth};
use crate::world::World;

/// What one work command may use, and what it really uses.
pub const RESERVED: u64 = 60;
pub const USED: u64 = 40;

/// What can happen at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Record the decision, or announce the effect.
    Go,
    Act(Act),
    /// The governor dies. What it had not synced survives or not; an effect under way outlives it or not.
    Die {
        tail_survives: bool,
        orphan: bool,
    },
    /// The command that outlived its governor does its work.
    Orphan(Act),
    Stop,
    Revive,
    ReviveAfter(Edit),
}

/// A state, its fingerprint and its next step.
#[derive(Debug)]
pub struct Mark {
    pub state: State,
    print: u128,
    next: OnceCell<Next>,
}

impl Mark {
    fn new(state: State) -> Self {
        Self {
            print: fingerprint::of_state(&state),
            state,
            next: OnceCell::new(),
        }
    }

    /// Asked once: a state has one next step.
    pub fn next(&self) -> &Next {
        self.next.get_or_init(|| self.state.next())
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    /// The fold of what is on disk.
    pub durable: Rc<Mark>,
    /// The state of the governor, or of the next one while there is none.
    pub live: Rc<Mark>,
    /// Facts that are not on disk.
    pub tail: usize,
    pub world: World,
    pub truth: Truth,
    /// The effect under way; asked of the state before it was announced.
    pub pending: Option<Effect>,
    pub orphan: Option<Effect>,
    pub down: bool,
    pub interruptions: u32,
    /// Every work command reserves what it may use and settles what it used.
    pub metered: bool,
}

/// A node that a choice leads to, and what that did to the journal.
#[derive(Debug)]
pub struct Taken {
    pub node: Node,
    /// Facts that a death took from the end of the journal.
    pub lost: usize,
    pub events: Vec<Event>,
}

impl Node {
    pub fn new(state: State, world: World, interruptions: u32, metered: bool) -> Self {
        let live = Rc::new(Mark::new(state));
        Self {
            durable: Rc::clone(&live),
            live,
            tail: 0,
            world,
            truth: Truth::default(),
            pending: None,
            orphan: None,
            down: false,
            interruptions,
            metered,
        }
    }

    pub fn state(&self) -> &State {
        &self.live.state
    }

    /// The run is over, and that is on disk.
    pub fn over(&self) -> bool {
        self.state().facts.halted.is_some()
    }

    /// Dies. The facts that are lost, counted.
    pub(super) fn die(&mut self, tail_survives: bool, orphan: bool) -> usize {
        let lost = if tail_survives { 0 } else { self.tail };
        if tail_survives {
            self.durable = Rc::clone(&self.live);
        } else {
            self.live = Rc::clone(&self.durable);
            // A walk compares with the newest tree that is on record.
            self.world.walked = Tree::of(self.state().facts.tree).unwrap_or(self.world.walked);
        }
        let pending = self.pending.take();
        self.orphan = pending.filter(|_| orphan);
        self.tail = 0;
        self.interruptions -= 1;
        self.down = true;
        lost
    }

    pub(super) fn sync(&mut self) {
        self.durable = Rc::clone(&self.live);
        self.tail = 0;
    }

    pub(super) fn commit(&mut self, event: Event, events: &mut Vec<Event>) -> Result<(), String> {
        let before = &self.live.state;
        let after = before.clone().apply(&event).map_err(|illegal| illegal.to_string())?;
        properties::step(before, &event, &after, &self.world)?;
        self.live = Rc::new(Mark::new(after));
        self.tail += 1;
        events.push(event);
        Ok(())
    }

    /// Announces a noticeable effect: what it costs at most and that it begins, durable before it happens.
    pub(super) fn announce(&mut self, effect: Effect, began: Event, events: &mut Vec<Event>) -> Result<(), String> {
        if let (Effect::Execute { iteration, attempt, .. }, true) = (&effect, self.metered) {
            self.commit(reserved(*iteration, *attempt), events)?;
        }
        self.commit(began, events)?;
        self.sync();
        properties::announced(&effect, self.orphan.as_ref(), &self.truth, self.state())?;
        self.pending = Some(effect);
        Ok(())
    }

    /// The world carries an effect out, whoever is there to see it.
    pub(super) fn perform(&mut self, effect: &Effect, act: Act) -> engine::Observation {
        if let Effect::Execute { iteration, attempt, .. } = effect {
            self.truth.worked = (*iteration, *attempt);
            self.truth.cost += if self.metered { USED } else { 0 };
        }
        self.world.perform(effect, act)
    }

    /// The adapter is asked what the calls that are still reserved really used.
    pub(super) fn settle(&mut self, events: &mut Vec<Event>) -> Result<(), String> {
        let spend = &self.state().facts.spend;
        if spend.reserved_microusd == 0 {
            return Ok(());
        }
        let used = self.truth.cost - spend.microusd;
        let settled = settled(self.state().facts.iteration, self.truth.cost, used);
        self.commit(settled, events)
    }

    pub fn rank(&self) -> Rank {
        let lives = 3 * self.interruptions + u32::from(self.down) + u32::from(self.orphan.is_some());
        properties::rank(self.state(), self.live.next(), self.pending.as_ref(), lives)
    }

    pub(super) fn key(&self) -> u128 {
        let kind = |effect: &Option<Effect>| effect.as_ref().map(|e| (e.iteration(), core::mem::discriminant(e)));
        let flags = (self.down, self.interruptions, kind(&self.pending), kind(&self.orphan));
        fingerprint::of(&(self.live.print, self.durable.print, &self.world, self.truth, flags))
    }
}

fn reserved(iteration: u32, attempt: u32) -> Event {
    let call = ReservedCall {
        id: format!("r/{iteration}/{attempt}/execute"),
        phase: "execute".into(),
        max_microusd: RESERVED,
        max_tokens: 0,
    };
    Reserved {
        iteration,
        enforced: false,
        calls: vec![call],
    }
    .into()
}

/// Ids are as stable as what the world really did, so that a repeated answer books nothing twice.
fn settled(iteration: u32, total: u64, microusd: u64) -> Event {
    let call = UsedCall {
        id: format!("u/{total}"),
        phase: "execute".into(),
        status: CallStatus::Actual,
        model: "m".into(),
        microusd: Some(microusd),
        tokens_in: Some(10),
        tokens_out: Some(1),
    };
    Settled {
        iteration,
        source: "model".into(),
        calls: vec![call],
        error: String::new(),
    }
    .into()
}
