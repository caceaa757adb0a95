//! A second engine, stateright, walks one of the worlds and must agree with ours: on the number of states,
//! on the halts that are reached, on what is refuted, and on there being nothing that breaks.
//!
//! It is handed the choices and nothing of our walk. States are told apart by their whole text and not by
//! our fingerprints, so a fingerprint that forgets a field, or collides, makes the counts differ.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use engine::event::halt::HaltReason;
use engine::event::policy::{Command, Policy};
use models::act::{Edit, Lab, Look, Repair, Slice, Turn, Walk};
use models::explore::{Claim, Menu, Node, explore};
use models::project::Tree;
use models::world::World;
use stateright::{Checker, Model, Property};

/// Claims that are wrong, and one that is right.
const CLAIMS: [Claim; 3] = [
    Claim {
        name: "no more than one iteration is needed",
        holds: |node| node.state().facts.iteration < 2,
    },
    Claim {
        name: "nothing outlives a governor",
        holds: |node| node.orphan.is_none(),
    },
    Claim {
        name: "no budget is ever in force",
        holds: |node| node.state().facts.bounds.budget_microusd.is_none(),
    },
];

fn menu() -> Menu {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    policy.bounds.max_iterations = 2;
    Menu {
        policy,
        world: World::new(Tree::passing(3)),
        turns: vec![Turn::does(Edit::Fix(2)), Turn::does(Edit::Break(0))],
        first_looks: vec![Look::Honest],
        looks: vec![Look::Honest, Look::Flip(0)],
        walks: vec![Walk::Fine],
        repairs: vec![Repair::Fine, Repair::Fails],
        slices: vec![Slice::Fine],
        labs: vec![Lab::Honest],
        interruptions: 1,
        meddling: vec![Edit::Cheat(engine::event::measurement::SurfaceClass::Blocked)],
        raise: 0,
        metered: true,
        claims: CLAIMS.to_vec(),
    }
}

/// A node as stateright may hold it: the way there, and all of it as text.
#[derive(Clone, Debug)]
struct Place {
    path: Vec<u16>,
    text: Arc<str>,
    choices: u16,
    halted: Option<HaltReason>,
    /// Bit n: claim n does not hold here.
    refuted: u8,
    broken: Option<String>,
}

impl Hash for Place {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.text.hash(hasher);
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

thread_local! {
    /// Nodes share memory that must not change threads: each thread plays its own.
    static PLAYED: RefCell<HashMap<Vec<u16>, Node>> = RefCell::default();
}

struct Runs(Menu);

impl Runs {
    fn play(&self, path: &[u16]) -> Result<Node, String> {
        if let Some(node) = PLAYED.with_borrow(|played| played.get(path).cloned()) {
            return Ok(node);
        }
        let Some((last, before)) = path.split_last() else {
            return Ok(self.0.start());
        };
        let before = self.play(before)?;
        let choice = self.0.choices(&before)[usize::from(*last)];
        let node = self.0.take(&before, choice)?.node;
        PLAYED.with_borrow_mut(|played| played.insert(path.to_vec(), node.clone()));
        Ok(node)
    }

    fn place(&self, path: Vec<u16>) -> Place {
        let node = match self.play(&path) {
            Ok(node) => node,
            Err(broken) => {
                return Place {
                    path,
                    text: broken.as_str().into(),
                    choices: 0,
                    halted: None,
                    refuted: 0,
                    broken: Some(broken),
                };
            }
        };
        let refuted = |n: usize| u8::from(!(self.0.claims[n].holds)(&node)) << n;
        let choices = self.0.choices(&node).len();
        let stuck = (choices == 0 && !node.over()).then(|| "a run that is not over always goes on".into());
        Place {
            path,
            text: text(&node).into(),
            choices: u16::try_from(choices).expect("few things can happen at once"),
            halted: node.state().facts.halted.as_ref().map(|halted| halted.reason),
            refuted: (0..CLAIMS.len()).map(refuted).sum(),
            broken: stuck,
        }
    }
}

fn text(node: &Node) -> String {
    let (live, durable) = (&node.live.state, &node.durable.state);
    let beside = (
        &node.world,
        node.truth,
        &node.pending,
        &node.orphan,
        node.down,
        node.interruptions,
    );
    format!("{live:?} {durable:?} {beside:?}")
}

fn reached<const REASON: usize>(_: &Runs, place: &Place) -> bool {
    place.halted == Some(HaltReason::ALL[REASON])
}

fn claimed<const CLAIM: usize>(_: &Runs, place: &Place) -> bool {
    place.refuted >> CLAIM & 1 == 0
}

macro_rules! goals {
    ($($n:literal)*) => { [$(Property::sometimes(HaltReason::ALL[$n].label(), reached::<$n>)),*] };
}

impl Model for Runs {
    type State = Place;
    type Action = u16;

    fn init_states(&self) -> Vec<Place> {
        vec![self.place(Vec::new())]
    }

    fn actions(&self, place: &Place, actions: &mut Vec<u16>) {
        actions.extend(0..place.choices);
    }

    fn next_state(&self, place: &Place, choice: u16) -> Option<Place> {
        let mut path = place.path.clone();
        path.push(choice);
        Some(self.place(path))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        // While this one holds the search is not over before every state was seen.
        let mut properties = vec![
            Property::always("every property holds", |_, place: &Place| place.broken.is_none()),
            Property::always(CLAIMS[0].name, claimed::<0>),
            Property::always(CLAIMS[1].name, claimed::<1>),
            Property::always(CLAIMS[2].name, claimed::<2>),
        ];
        properties.extend(
            goals!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33),
        );
        properties
    }
}

#[test]
fn two_engines_agree_on_the_number_of_states_and_on_every_verdict() {
    let ours = explore(&menu(), 100_000, 0).unwrap_or_else(|broken| panic!("{broken}"));
    let theirs = Runs(menu()).checker().threads(1).spawn_bfs().join();
    let mut verdicts: BTreeSet<&str> = ours.reasons.iter().map(|reason| reason.label()).collect();
    verdicts.extend(&ours.refuted);
    let discovered: BTreeSet<&str> = theirs.discoveries().into_keys().collect();
    println!("{} states, {verdicts:?}", ours.states);
    assert_eq!(discovered, verdicts);
    assert_eq!(theirs.unique_state_count(), ours.states);
    assert_eq!(ours.refuted.len(), 2);
    assert_eq!(ours.states, 8_174);
}

#[test]
fn no_halt_reason_is_left_out_of_what_the_second_engine_looks_for() {
    let goals = Runs(menu()).properties().len() - CLAIMS.len() - 1;
    assert_eq!(goals, HaltReason::ALL.len());
}
