//! Every run of a small world, walked breadth first over the real reducer.
//!
//! A node is what exists at one moment: the state, the world, an effect under way, and how often the
//! governor may still die or be stopped. Its successors are every way that the next thing can go, death at
//! every point included. States are told apart by a 128-bit hash, so a walk of some hundred thousand fits
//! into little memory; a path is kept as choices and can be played again.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::iteration::CheckPurpose;
use engine::event::policy::Policy;
use engine::event::run::{Amended, SuspendCause};
use engine::{Effect, Next, State};

use crate::act::{Act, Edit, Look, Repair, Slice, Turn, Walk};
use crate::drive::opening;
use crate::properties::{self, Rank};
use crate::script::transcript;
use crate::world::World;

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
    /// Deaths, stops and resumes of a halted run, all told.
    pub interruptions: u32,
    /// What somebody may do to the workdir between two lives, beside nothing.
    pub meddling: Vec<Edit>,
    /// Iterations that a person adds when a run that reached its cap is resumed.
    pub raise: u32,
}

/// What can happen at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Record the decision, or announce the effect.
    Go,
    Act(Act),
    /// The governor dies.
    Die,
    /// The effect happens and the governor dies before it hears of it.
    DieAfter(Act),
    Stop,
    Revive,
    ReviveAfter(Edit),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Node {
    state: State,
    world: World,
    pending: Option<EffectKey>,
    down: bool,
    interruptions: u32,
}

/// The effect under way; asked of the state before it was announced.
#[derive(Clone, PartialEq, Eq)]
struct EffectKey(Effect);

impl Hash for EffectKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.iteration().hash(hasher);
        core::mem::discriminant(&self.0).hash(hasher);
    }
}

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    pub states: usize,
    pub transitions: usize,
    /// Length of the longest shortest path.
    pub depth: usize,
    pub reasons: BTreeSet<HaltReason>,
    /// Journals of some of the paths, for whoever wants to check them otherwise.
    pub samples: Vec<Vec<Event>>,
}

/// The shortest run that breaks a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    pub property: String,
    pub story: String,
}

impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "broken: {}\n{}", self.property, self.story)
    }
}

impl Menu {
    fn start(&self) -> Node {
        Node {
            state: State::open(opening(self.policy.clone())),
            world: self.world.clone(),
            pending: None,
            down: false,
            interruptions: self.interruptions,
        }
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
        }
    }

    fn choices(&self, node: &Node) -> Vec<Choice> {
        let mut choices = Vec::new();
        let may_end = node.interruptions > 0;
        if node.down {
            choices.push(Choice::Revive);
            // Before the first turn only a person could do it, and what they do is t0.
            if node.state.facts.iteration > 0 {
                choices.extend(self.meddling.iter().map(|edit| Choice::ReviveAfter(*edit)));
            }
            return choices;
        }
        if let Some(EffectKey(effect)) = &node.pending {
            let acts = self.acts(effect);
            choices.extend(acts.iter().map(|act| Choice::Act(*act)));
            if may_end {
                choices.push(Choice::Die);
                choices.extend(acts.iter().map(|act| Choice::DieAfter(*act)));
            }
            return choices;
        }
        match node.state.next() {
            Next::Record(_) => choices.push(Choice::Go),
            Next::Perform(effect) if effect.noticeable() => choices.push(Choice::Go),
            Next::Perform(effect) => choices.extend(self.acts(&effect).into_iter().map(Choice::Act)),
            Next::Stop if may_end && node.state.resumable().is_ok() => choices.push(Choice::Revive),
            Next::Await | Next::Stop => {}
        }
        if may_end && node.state.facts.halted.is_none() && node.state.facts.suspended.is_none() {
            choices.extend([Choice::Die, Choice::Stop]);
        }
        choices
    }

    /// Takes one choice. The facts that it writes come back with the node after it.
    fn take(&self, node: &Node, choice: Choice) -> Result<(Node, Vec<Event>), String> {
        let mut next = node.clone();
        let mut events = Vec::new();
        match choice {
            Choice::Die => next.die(),
            Choice::DieAfter(act) => {
                if let Some(EffectKey(effect)) = &node.pending {
                    next.world.perform(effect, act);
                }
                next.die();
            }
            Choice::Stop => {
                let suspended = node
                    .state
                    .suspend(SuspendCause::Signal, 2, String::new(), node.world.now());
                next.commit(suspended, &mut events)?;
                next.die();
            }
            Choice::Revive => self.revive(&mut next, &mut events)?,
            Choice::ReviveAfter(edit) => {
                next.world.tree = edit.apply(next.world.tree);
                self.revive(&mut next, &mut events)?;
            }
            Choice::Go | Choice::Act(_) => self.advance(&mut next, choice, &mut events)?,
        }
        Ok((next, events))
    }

    fn advance(&self, next: &mut Node, choice: Choice, events: &mut Vec<Event>) -> Result<(), String> {
        let effect = match (next.pending.take(), next.state.next()) {
            (Some(EffectKey(effect)), _) => effect,
            (None, Next::Record(event)) => return next.commit(event, events),
            (None, Next::Perform(effect)) => {
                if let Some(began) = next.state.began(&effect, next.world.now()) {
                    next.commit(began, events)?;
                    next.pending = Some(EffectKey(effect));
                    return Ok(());
                }
                effect
            }
            (None, Next::Await | Next::Stop) => return Err("the engine waits for nothing".into()),
        };
        let Choice::Act(act) = choice else {
            return Err("an effect under way is answered".into());
        };
        let seen = next.world.perform(&effect, act);
        let event = next.state.observe(&effect, seen);
        next.commit(event, events)
    }

    fn revive(&self, next: &mut Node, events: &mut Vec<Event>) -> Result<(), String> {
        if next.state.facts.halted.is_some() {
            next.interruptions -= 1;
            let capped = next.state.facts.halted.as_ref().map(|halted| halted.reason);
            if capped == Some(HaltReason::MaxIterationsReached) && self.raise > 0 {
                let amended = Amended {
                    at: next.world.now(),
                    by: "person".into(),
                    max_iterations: Some(next.state.facts.bounds.max_iterations + self.raise),
                    timeout_ms: None,
                    command_timeout_ms: None,
                    check_timeout_ms: None,
                    budget_microusd: None,
                };
                next.commit(amended.into(), events)?;
            }
        }
        next.world.reboot();
        next.down = false;
        if let Some(interrupted) = next.state.recover(next.world.now()) {
            next.commit(interrupted, events)?;
        }
        let resumed = next.state.resume(next.world.now(), "0".into(), String::new(), 0);
        next.commit(resumed, events)
    }
}

impl Node {
    fn die(&mut self) {
        self.interruptions -= 1;
        self.pending = None;
        self.down = true;
    }

    fn commit(&mut self, event: Event, events: &mut Vec<Event>) -> Result<(), String> {
        let after = self
            .state
            .clone()
            .apply(&event)
            .map_err(|illegal| illegal.to_string())?;
        properties::step(&self.state, &event, &after, &self.world)?;
        self.state = after;
        events.push(event);
        Ok(())
    }

    fn rank(&self) -> Rank {
        let lives = 2 * self.interruptions + u32::from(self.down);
        properties::rank(&self.state, self.pending.as_ref().map(|key| &key.0), lives)
    }

    fn key(&self) -> u128 {
        let mut hasher = Wide::default();
        self.hash(&mut hasher);
        hasher.wide()
    }
}

/// Where a node was first reached from: the node before, the choice taken there, the length of the path.
type Parent = (u32, u16, u32);

/// Walks every run of a menu, up to `max_states`.
///
/// # Errors
/// The shortest run that breaks a property, or the news that the world is larger than the bound.
pub fn explore(menu: &Menu, max_states: usize, sample_every: usize) -> Result<Explored, Counterexample> {
    let mut walk = Explored::default();
    let mut seen = HashSet::new();
    let mut parents: Vec<Parent> = Vec::new();
    let mut queue = VecDeque::new();
    let mut specimens = BTreeMap::new();
    let start = menu.start();
    seen.insert(start.key());
    parents.push((0, 0, 0));
    queue.push_back((0_u32, start));
    while let Some((id, node)) = queue.pop_front() {
        let depth = parents[id as usize].2;
        walk.depth = walk.depth.max(depth as usize);
        let fail = |parents: &[Parent], property: &str, choice: Option<usize>| Counterexample {
            property: property.into(),
            story: story(menu, parents, id, choice),
        };
        properties::finality(&node.state, &specimens).map_err(|property| fail(&parents, property, None))?;
        if let Some(halted) = &node.state.facts.halted {
            walk.reasons.insert(halted.reason);
        }
        if sample_every > 0 && (id as usize).is_multiple_of(sample_every) {
            let journal = play(menu, &parents, id);
            prefix_is_all(&journal, &node).map_err(|property| fail(&parents, property, None))?;
            walk.samples.push(journal);
        }
        let choices = menu.choices(&node);
        let over = node.state.facts.halted.is_some();
        if choices.is_empty() && !over {
            return Err(fail(&parents, "a run that is not over always goes on", None));
        }
        let rank = node.rank();
        for (n, choice) in choices.iter().enumerate() {
            walk.transitions += 1;
            let (next, events) = menu
                .take(&node, *choice)
                .map_err(|property| fail(&parents, &property, Some(n)))?;
            if next.rank() >= rank {
                return Err(fail(&parents, "every step brings a run nearer to its end", Some(n)));
            }
            for event in events {
                specimens.entry(event.kind()).or_insert(event);
            }
            if seen.insert(next.key()) {
                let child = u32::try_from(parents.len()).unwrap_or(u32::MAX);
                parents.push((id, u16::try_from(n).unwrap_or(u16::MAX), depth + 1));
                queue.push_back((child, next));
            }
        }
        if seen.len() > max_states {
            return Err(fail(&parents, "the world is small enough to be walked", None));
        }
    }
    walk.states = seen.len();
    Ok(walk)
}

/// The state is the fold of its journal, and every decision in it can be derived again.
fn prefix_is_all(journal: &[Event], node: &Node) -> Result<(), &'static str> {
    match engine::rederive(journal) {
        Err(_) => Err("every recorded decision can be derived again from the facts before it"),
        Ok(state) if state != node.state => Err("the state is the fold of its journal and of nothing else"),
        Ok(state) if state.next() != node.state.next() => Err("one state has one next step"),
        Ok(_) => Ok(()),
    }
}

fn path(parents: &[Parent], mut id: u32) -> Vec<usize> {
    let mut path = Vec::new();
    while id != 0 {
        let (parent, choice, _) = parents[id as usize];
        path.push(usize::from(choice));
        id = parent;
    }
    path.reverse();
    path
}

fn play(menu: &Menu, parents: &[Parent], id: u32) -> Vec<Event> {
    tell(menu, &path(parents, id)).0
}

/// Plays a path of choices: the journal it writes and the choices in words.
fn tell(menu: &Menu, path: &[usize]) -> (Vec<Event>, Vec<String>) {
    let mut node = menu.start();
    let mut journal: Vec<Event> = vec![opening(menu.policy.clone()).into()];
    let mut words = Vec::new();
    for n in path {
        let Some(choice) = menu.choices(&node).get(*n).copied() else {
            break;
        };
        if choice != Choice::Go {
            words.push(format!("{choice:?}"));
        }
        match menu.take(&node, choice) {
            Ok((next, events)) => {
                journal.extend(events);
                node = next;
            }
            Err(_) => break,
        }
    }
    (journal, words)
}

fn story(menu: &Menu, parents: &[Parent], id: u32, last: Option<usize>) -> String {
    let mut path = path(parents, id);
    path.extend(last);
    let (journal, words) = tell(menu, &path);
    format!("what happened: {}\n{}", words.join("; "), transcript(&journal))
}

/// A 128-bit hash: two lanes of multiply and rotate. Not for adversaries.
#[derive(Default)]
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    fn wide(&self) -> u128 {
        u128::from(self.low) << 64 | u128::from(self.high)
    }

    fn mix(&mut self, word: u64) {
        self.low = (self.low.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.high = (self.high.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.low >> 31);
    }
}

impl Hasher for Wide {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0_u8; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut word = [0_u8; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word) ^ (rest.len() as u64) << 56);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value) | 1 << 60);
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value) | 1 << 61);
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64 ^ 1 << 62);
    }

    fn finish(&self) -> u64 {
        self.low ^ self.high
    }
}
