//! Every run of a small world, walked over the real engine.
//!
//! A [`Menu`] says what exists and every way that things can go; [`explore`] takes all of them, death at
//! every point included, and holds the [`properties`] against each step and each node. States are told
//! apart by 128-bit fingerprints and not kept, so that millions fit; the walk goes depth first, and only
//! when something breaks is the shortest story looked for, breadth first.

mod fingerprint;
mod node;
mod story;
mod walk;

use std::collections::BTreeSet;

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::iteration::CheckPurpose;
use engine::event::policy::Policy;
use engine::event::run::{Amended, SuspendCause};
use engine::{Effect, Next, State};

use crate::act::{Act, Edit, Lab, Look, Repair, Slice, Turn, Walk};
use crate::drive::opening;
use crate::properties;
use crate::world::World;

pub use node::{Choice, Mark, Node, RESERVED, Taken, USED};
pub use story::{Counterexample, against};
pub use walk::explore;

/// One small world: a contract, a start, and every way that things can go.
#[derive(Clone, Debug)]
pub struct Menu {
    pub policy: Policy,
    pub world: World,
    pub turns: Vec<Turn>,
    /// How the check may go in the baseline, and later.
    pub first_looks: Vec<Look>,
    pub looks: Vec<Look>,
    pub walks: Vec<Walk>,
    pub repairs: Vec<Repair>,
    pub slices: Vec<Slice>,
    pub labs: Vec<Lab>,
    /// Deaths, stops and resumes of a halted run, all told.
    pub interruptions: u32,
    /// What somebody may do to the workdir between two lives, beside nothing.
    pub meddling: Vec<Edit>,
    /// Iterations that a person adds when a run that reached its cap is resumed.
    pub raise: u32,
    /// Money is set aside before each work command and settled after it.
    pub metered: bool,
    /// Statements about nodes that are looked at besides the properties; the walk says which are refuted.
    pub claims: Vec<Claim>,
}

/// A statement about every node that may well be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub name: &'static str,
    pub holds: fn(&Node) -> bool,
}

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    pub states: usize,
    pub transitions: usize,
    /// Length of the longest path that was walked.
    pub depth: usize,
    pub reasons: BTreeSet<HaltReason>,
    /// Kinds of events that were written.
    pub kinds: BTreeSet<&'static str>,
    /// Facts that some death took back, by name.
    pub lost: BTreeSet<&'static str>,
    /// Claims that do not hold.
    pub refuted: BTreeSet<&'static str>,
    /// Journals of some of the paths, for whoever wants to check them otherwise.
    pub samples: Vec<Vec<Event>>,
}

impl Menu {
    pub fn start(&self) -> Node {
        let state = State::open(opening(self.policy.clone()));
        Node::new(state, self.world.clone(), self.interruptions, self.metered)
    }

    fn acts(&self, effect: &Effect) -> Vec<Act> {
        match effect {
            Effect::ObserveTree { .. } => self.walks.iter().map(|walk| Act::Walk(*walk)).collect(),
            Effect::BuildContext(_) => self.slices.iter().map(|slice| Act::Slice(*slice)).collect(),
            Effect::Execute { .. } => self.turns.iter().map(|turn| Act::Turn(*turn)).collect(),
            Effect::Wait { .. } => vec![Act::Wait],
            Effect::Check {
                iteration: 0, purpose, ..
            } if *purpose != CheckPurpose::Resume => self.first_looks.iter().map(|look| Act::Look(*look)).collect(),
            Effect::Check { .. } => self.looks.iter().map(|look| Act::Look(*look)).collect(),
            Effect::Restore { .. } => self.repairs.iter().map(|repair| Act::Repair(*repair)).collect(),
            Effect::Vet(_) => self.labs.iter().map(|lab| Act::Lab(*lab)).collect(),
        }
    }

    /// Everything that can happen at a node.
    pub fn choices(&self, node: &Node) -> Vec<Choice> {
        if node.down {
            return self.while_down(node);
        }
        let mut choices = Vec::new();
        let may_end = node.interruptions > 0;
        let acts = |effect: &Effect| self.acts(effect).into_iter().map(Choice::Act);
        match (&node.pending, node.live.next()) {
            (Some(effect), _) => choices.extend(acts(effect)),
            (None, Next::Record(_)) => choices.push(Choice::Go),
            (None, Next::Perform(effect)) if effect.noticeable() => choices.push(Choice::Go),
            (None, Next::Perform(effect)) => choices.extend(acts(effect)),
            (None, Next::Stop) if may_end && node.state().resumable().is_ok() => choices.push(Choice::Revive),
            (None, Next::Await | Next::Stop) => {}
        }
        if may_end && !node.over() && node.state().facts.suspended.is_none() {
            choices.extend(deaths(node));
            if node.pending.is_none() {
                choices.push(Choice::Stop);
            }
        }
        choices
    }

    fn while_down(&self, node: &Node) -> Vec<Choice> {
        if node.over() && (node.interruptions == 0 || node.state().resumable().is_err()) {
            return Vec::new();
        }
        let mut choices = vec![Choice::Revive];
        // Before the first turn only a person could do it, and what they do is t0.
        if node.state().facts.iteration > 0 {
            choices.extend(self.meddling.iter().map(|edit| Choice::ReviveAfter(*edit)));
        }
        if let Some(effect) = &node.orphan {
            choices.extend(self.acts(effect).into_iter().map(Choice::Orphan));
        }
        choices
    }

    /// Takes one choice.
    ///
    /// # Errors
    /// The property that it breaks, or the engine's refusal of its own event.
    pub fn take(&self, node: &Node, choice: Choice) -> Result<Taken, String> {
        let mut next = node.clone();
        let mut events = Vec::new();
        let mut lost = 0;
        match choice {
            Choice::Die { tail_survives, orphan } => lost = next.die(tail_survives, orphan),
            Choice::Orphan(act) => {
                if let Some(effect) = next.orphan.take() {
                    next.perform(&effect, act);
                }
            }
            Choice::Stop => {
                let now = node.world.now();
                let suspended = node.state().suspend(SuspendCause::Signal, 2, String::new(), now);
                next.commit(suspended, &mut events)?;
                next.die(true, false);
            }
            Choice::Revive => self.revive(&mut next, &mut events)?,
            Choice::ReviveAfter(edit) => {
                next.world.tree = edit.apply(next.world.tree);
                self.revive(&mut next, &mut events)?;
            }
            Choice::Go | Choice::Act(_) => advance(&mut next, choice, &mut events)?,
        }
        Ok(Taken {
            node: next,
            lost,
            events,
        })
    }

    /// A new life: what the last one left running is ended, then the journal is folded and answered.
    fn revive(&self, next: &mut Node, events: &mut Vec<Event>) -> Result<(), String> {
        next.orphan = None;
        if next.over() {
            next.interruptions -= 1;
            self.amend(next, events)?;
        }
        next.world.reboot();
        next.down = false;
        if let Some(interrupted) = next.state().recover(next.world.now()) {
            next.commit(interrupted, events)?;
        }
        let resumed = next.state().resume(next.world.now(), "0".into(), String::new(), 0);
        next.commit(resumed, events)?;
        next.settle(events)
    }

    /// A person gives a run that reached its cap some more.
    fn amend(&self, next: &mut Node, events: &mut Vec<Event>) -> Result<(), String> {
        let capped = next.state().facts.halted.as_ref().map(|halted| halted.reason);
        if capped != Some(HaltReason::MaxIterationsReached) || self.raise == 0 {
            return Ok(());
        }
        let amended = Amended {
            at: next.world.now(),
            by: "person".into(),
            max_iterations: Some(next.state().facts.bounds.max_iterations + self.raise),
            timeout_ms: None,
            command_timeout_ms: None,
            check_timeout_ms: None,
            budget_microusd: None,
        };
        next.commit(amended.into(), events)
    }
}

/// Every way to die here.
fn deaths(node: &Node) -> impl Iterator<Item = Choice> {
    let tails: &[bool] = if node.tail > 0 { &[true, false] } else { &[true] };
    let orphans: &[bool] = if node.pending.is_some() {
        &[false, true]
    } else {
        &[false]
    };
    tails.iter().flat_map(|tail_survives| {
        orphans.iter().map(|orphan| Choice::Die {
            tail_survives: *tail_survives,
            orphan: *orphan,
        })
    })
}

/// One turn of the driver's bracket.
fn advance(node: &mut Node, choice: Choice, events: &mut Vec<Event>) -> Result<(), String> {
    let effect = match (node.pending.take(), node.live.next().clone()) {
        (Some(effect), _) => effect,
        (None, Next::Record(event)) => {
            node.commit(event, events)?;
            if node.over() {
                node.sync();
            }
            return Ok(());
        }
        (None, Next::Perform(effect)) => {
            if let Some(began) = node.state().began(&effect, node.world.now()) {
                return node.announce(effect, began, events);
            }
            effect
        }
        (None, Next::Await | Next::Stop) => return Err("the engine waits for nothing".into()),
    };
    let Choice::Act(act) = choice else {
        return Err("an effect under way is answered".into());
    };
    let seen = node.perform(&effect, act);
    let event = node.state().observe(&effect, seen);
    node.commit(event, events)?;
    if matches!(effect, Effect::Execute { .. }) {
        node.settle(events)?;
    }
    // An answer can be a halt by itself.
    if node.over() {
        node.sync();
    }
    Ok(())
}

/// What must hold at a node, whatever led to it.
fn inspect(node: &Node, choices: &[Choice]) -> Result<(), String> {
    if choices.is_empty() && !node.over() {
        return Err("a run that is not over always goes on".into());
    }
    if node.metered {
        properties::books(node.state(), &node.truth)?;
        properties::books(&node.durable.state, &node.truth)?;
    }
    Ok(())
}
