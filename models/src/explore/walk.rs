//! The walk: depth first, every choice at every node, one visit to each state.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::hash_map;

use engine::State;
use engine::event::Event;

use super::fingerprint::Seen;
use super::story::{Counterexample, shortest};
use super::{Choice, Explored, Menu, Node, Taken, inspect};
use crate::drive::opening;
use crate::properties::{self, Rank};

/// A property that does not hold, in one sentence.
pub(super) type Fault = String;

/// Holds the properties against nodes and steps.
#[derive(Default)]
pub(super) struct Inspector {
    /// One event of each kind that was ever written: what a closed run must refuse.
    specimens: BTreeMap<u16, Event>,
}

impl Inspector {
    pub(super) fn node(&self, node: &Node, choices: &[Choice]) -> Result<(), Fault> {
        inspect(node, choices)?;
        Ok(properties::finality(node.state(), &self.specimens)?)
    }

    /// Takes a choice; the properties of a step are held against each fact that it writes.
    pub(super) fn step(&mut self, menu: &Menu, node: &Node, choice: Choice) -> Result<Taken, Fault> {
        let taken = menu.take(node, choice)?;
        for event in &taken.events {
            if let Entry::Vacant(entry) = self.specimens.entry(event.kind()) {
                entry.insert(event.clone());
            }
        }
        Ok(taken)
    }
}

/// So every run ends.
pub(super) fn falls(before: Rank, after: Rank) -> Result<(), Fault> {
    if after < before {
        return Ok(());
    }
    Err("every step brings a run nearer to its end".into())
}

/// The state is the fold of its journal, and every decision in it can be derived again.
fn prefix_is_all(journal: &[Event], state: &State) -> Result<(), Fault> {
    let broken = match engine::rederive(journal) {
        Err(_) => "every recorded decision can be derived again from the facts before it",
        Ok(again) if again != *state => "the state is the fold of its journal and of nothing else",
        Ok(again) if again.next() != state.next() => "one state has one next step",
        Ok(_) => return Ok(()),
    };
    Err(broken.into())
}

/// A node on the path that is being walked.
struct Frame {
    node: Node,
    rank: Rank,
    choices: Vec<Choice>,
    tried: usize,
    /// What the choice that led here did to the journal.
    lost: usize,
    events: Vec<Event>,
}

/// Walks every run of a menu, up to `states_max`; every `sample_every`th state is kept as a journal, folded
/// and derived again. Zero keeps none.
///
/// # Errors
/// The shortest run that breaks a property, or the news that the world is larger than the bound.
pub fn explore(menu: &Menu, states_max: usize, sample_every: usize) -> Result<Explored, Counterexample> {
    let mut walk = Walk {
        menu,
        sample_every,
        inspector: Inspector::default(),
        seen: Seen::default(),
        path: Vec::new(),
        found: Explored::default(),
    };
    let walked = walk.all(states_max);
    match walked {
        Ok(()) => {
            walk.found.states = walk.seen.len();
            walk.found.kinds = walk.inspector.specimens.values().map(Event::name).collect();
            Ok(walk.found)
        }
        Err(fault) if walk.seen.len() > states_max => Err(Counterexample {
            property: fault,
            story: String::new(),
        }),
        Err(fault) => {
            let path: Vec<_> = walk
                .path
                .iter()
                .filter_map(|frame| frame.tried.checked_sub(1))
                .collect();
            Err(shortest(menu, fault, &path))
        }
    }
}

struct Walk<'a> {
    menu: &'a Menu,
    sample_every: usize,
    inspector: Inspector,
    seen: Seen<Rank>,
    path: Vec<Frame>,
    found: Explored,
}

impl Walk<'_> {
    fn all(&mut self, states_max: usize) -> Result<(), Fault> {
        let node = self.menu.start();
        let rank = node.rank();
        self.seen.insert(node.key(), rank);
        let start = Taken {
            node,
            lost: 0,
            events: Vec::new(),
        };
        self.enter(start, rank)?;
        while let Some(frame) = self.path.last_mut() {
            let Some(choice) = frame.choices.get(frame.tried).copied() else {
                self.path.pop();
                continue;
            };
            frame.tried += 1;
            self.found.transitions += 1;
            self.step(choice)?;
            if self.seen.len() > states_max {
                return Err(format!("the world has more than {states_max} states"));
            }
        }
        Ok(())
    }

    fn step(&mut self, choice: Choice) -> Result<(), Fault> {
        let Some(frame) = self.path.last() else { return Ok(()) };
        let before = frame.rank;
        let taken = self.inspector.step(self.menu, &frame.node, choice)?;
        if taken.lost > 0 {
            let written = self.path.iter().rev().flat_map(|frame| frame.events.iter().rev());
            self.found.lost.extend(written.take(taken.lost).map(Event::name));
        }
        match self.seen.entry(taken.node.key()) {
            hash_map::Entry::Occupied(known) => falls(before, *known.get()),
            hash_map::Entry::Vacant(entry) => {
                let rank = *entry.insert(taken.node.rank());
                falls(before, rank)?;
                self.enter(taken, rank)
            }
        }
    }

    /// A state that was not seen before.
    fn enter(&mut self, taken: Taken, rank: Rank) -> Result<(), Fault> {
        let Taken { node, lost, events } = taken;
        let choices = self.menu.choices(&node);
        self.path.push(Frame {
            node,
            rank,
            choices,
            tried: 0,
            lost,
            events,
        });
        let Some(Frame { node, choices, .. }) = self.path.last() else {
            return Ok(());
        };
        self.inspector.node(node, choices)?;
        self.found.depth = self.found.depth.max(self.path.len() - 1);
        self.found
            .reasons
            .extend(node.state().facts.halted.as_ref().map(|halted| halted.reason));
        for claim in &self.menu.claims {
            if !(claim.holds)(node) {
                self.found.refuted.insert(claim.name);
            }
        }
        if self.sample_every > 0 && self.seen.len().is_multiple_of(self.sample_every) {
            let journal = self.journal();
            prefix_is_all(&journal, node.state())?;
            self.found.samples.push(journal);
        }
        Ok(())
    }

    /// What is in the journal at the end of the path.
    fn journal(&self) -> Vec<Event> {
        let mut journal: Vec<Event> = vec![opening(self.menu.policy.clone()).into()];
        for frame in &self.path {
            journal.truncate(journal.len() - frame.lost);
            journal.extend(frame.events.iter().cloned());
        }
        journal
    }
}
