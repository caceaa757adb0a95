//! The shortest run that breaks a property, told so that a person can follow it.

use std::collections::VecDeque;

use engine::event::Event;

use super::fingerprint::Seen;
use super::walk::{Fault, Inspector, falls};
use super::{Choice, Claim, Menu, Node};
use crate::drive::opening;
use crate::script::transcript;

/// Nodes that are held at once while the shortest story is looked for.
const HELD_MAX: usize = 400_000;

/// A run that breaks a property.
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

/// Where a node was first reached from: the node before and the choice taken there.
type Parent = (u32, u16);

/// Looks breadth first for the shortest run that breaks something; `known` is what broke depth first, and
/// stands when the search grows too large.
pub(super) fn shortest(menu: &Menu, known: Fault, path: &[usize]) -> Counterexample {
    search(menu, None).unwrap_or_else(|| told(menu, known, path))
}

/// The shortest run that ends where a claim does not hold; `None` when there is none, or none within reach.
pub fn against(menu: &Menu, claim: Claim) -> Option<Counterexample> {
    search(menu, Some(claim))
}

fn search(menu: &Menu, claim: Option<Claim>) -> Option<Counterexample> {
    let mut inspector = Inspector::default();
    let mut seen: Seen<()> = Seen::default();
    let mut parents: Vec<Parent> = vec![(0, 0)];
    let mut queue = VecDeque::new();
    let start = menu.start();
    seen.insert(start.key(), ());
    queue.push_back((0_u32, start));
    while let Some((id, node)) = queue.pop_front() {
        let choices = menu.choices(&node);
        if let Err(fault) = inspector.node(&node, &choices) {
            return Some(told(menu, fault, &path(&parents, id, None)));
        }
        if let Some(claim) = claim.filter(|claim| !(claim.holds)(&node)) {
            return Some(told(menu, claim.name.into(), &path(&parents, id, None)));
        }
        for (n, choice) in choices.iter().enumerate() {
            let stepped = inspector.step(menu, &node, *choice);
            let stepped = stepped.and_then(|taken| falls(node.rank(), taken.node.rank()).map(|()| taken));
            let taken = match stepped {
                Ok(taken) => taken,
                Err(fault) => return Some(told(menu, fault, &path(&parents, id, Some(n)))),
            };
            if seen.insert(taken.node.key(), ()).is_none() {
                parents.push((id, u16::try_from(n).ok()?));
                queue.push_back((u32::try_from(parents.len() - 1).ok()?, taken.node));
            }
        }
        if queue.len() > HELD_MAX {
            return None;
        }
    }
    None
}

fn path(parents: &[Parent], mut id: u32, last: Option<usize>) -> Vec<usize> {
    let mut path: Vec<usize> = last.into_iter().collect();
    while id != 0 {
        let (parent, choice) = parents[id as usize];
        path.push(usize::from(choice));
        id = parent;
    }
    path.reverse();
    path
}

fn told(menu: &Menu, fault: Fault, path: &[usize]) -> Counterexample {
    let (journal, words) = tell(menu, path);
    let steps = path.len();
    Counterexample {
        property: fault,
        story: format!(
            "in {steps} steps\n{}\nthe journal:\n{}",
            words.join("\n"),
            transcript(&journal)
        ),
    }
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
        words.extend(word(&node, choice));
        match menu.take(&node, choice) {
            Ok(taken) => {
                journal.truncate(journal.len() - taken.lost);
                journal.extend(taken.events);
                node = taken.node;
            }
            Err(_) => break,
        }
    }
    (journal, words)
}

/// One line of the story; nothing for steps that the journal tells by itself.
fn word(node: &Node, choice: Choice) -> Option<String> {
    let tail = node.tail;
    match choice {
        Choice::Go => None,
        Choice::Act(act) => Some(format!("  the world answers {act:?}")),
        Choice::Die { tail_survives, orphan } => {
            let kept = match (tail, tail_survives) {
                (0, _) => String::new(),
                (n, true) => format!(", {n} facts that were not synced survive"),
                (n, false) => format!(", {n} facts that were not synced are lost"),
            };
            let orphan = if orphan { ", its command lives on" } else { "" };
            Some(format!("  the governor dies{kept}{orphan}"))
        }
        Choice::Orphan(act) => Some(format!("  the command left behind does {act:?}")),
        Choice::Stop => Some("  somebody stops the run".into()),
        Choice::Revive => Some("  a new life begins".into()),
        Choice::ReviveAfter(edit) => Some(format!("  somebody does {edit:?}, and a new life begins")),
    }
}
