//! What must hold at every step of every run, stated over what the world really did.

use std::collections::BTreeMap;

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::iteration::TreePurpose;
use engine::event::policy::Surface;
use engine::{Effect, Next, Phase, State};

use crate::project::{GUTTED, RENAMED, TESTS, Tree, bit, name};
use crate::world::{Runner, World};

/// A property that a step broke, in one sentence.
pub type Violated = &'static str;

/// What work commands really did, whatever the journal says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Truth {
    /// Iteration and attempt of the newest one that really ran.
    pub worked: (u32, u32),
    /// What all of them really used, in micro-USD.
    pub cost: u64,
}

/// Checks one event: the state before it, the state after it, the world it happened in.
pub fn step(before: &State, event: &Event, after: &State, world: &World) -> Result<(), Violated> {
    match event {
        Event::Halted(halted) if halted.reason == HaltReason::SuccessConditionMet => success(after, world)?,
        Event::CandidateAccepted(_) => acceptance(before, after, world)?,
        Event::ContextBuilt(built) if built.iteration != before.facts.iteration + 1 => {
            return Err("iterations are numbered without a hole or a double");
        }
        _ => {}
    }
    if after.facts.iteration > after.facts.bounds.max_iterations {
        return Err("no iteration begins beyond the cap");
    }
    Ok(())
}

/// A green verdict speaks of a tree that really is green, judged by guards that really held.
fn success(after: &State, world: &World) -> Result<(), Violated> {
    let ghosts = &world.ghosts;
    let Some(accepted) = &after.facts.accepted else {
        return Err("a converged run has an accepted tree");
    };
    let tree = Tree::of(accepted.tree).map(Tree::sources);
    if tree != ghosts.judged {
        return Err("the converged tree is the one that the check judged last");
    }
    let needed = 1 + u8::from(after.facts.policy().guards.confirm);
    if ghosts.greens < needed {
        return Err("the check was green on the converged tree, as often as the contract wants");
    }
    if world.moved_ref || world.edited_hook {
        return Err("nothing converges after a ref was moved or a hook was edited");
    }
    if ghosts.touched || ghosts.stray {
        return Err("nothing converges while the state was touched or something still runs");
    }
    let replayed = after.facts.policy().guards.off.iter().all(|guard| guard != "t0_replay");
    if replayed && ghosts.vetted != tree {
        return Err("the converged tree was green in a fresh copy, as it is");
    }
    let tree = tree.unwrap_or_default();
    if tree.watched & !RENAMED != 0 || tree.watched != 0 && frozen(after) {
        return Err("the watched surface of a converged tree is the one of the start, or another name of a test");
    }
    // A check that lies in the same way every time cannot be told from the truth, and where only failures
    // are named nobody can see that a test is gone.
    let fooled = ghosts.lies >= needed || ghosts.copies_lied || world.runner != Runner::Known;
    if !fooled && !tree.keeps(ghosts.named) {
        return Err("the converged tree really passes every test that the start named");
    }
    Ok(())
}

fn frozen(state: &State) -> bool {
    state.facts.policy().guards.surface == Surface::Frozen
}

fn acceptance(before: &State, after: &State, world: &World) -> Result<(), Violated> {
    let (old, new) = (&before.facts.accepted, &after.facts.accepted);
    let Some(new) = new else {
        return Err("an acceptance leaves an accepted tree");
    };
    let tree = Tree::of(new.tree).unwrap_or_default();
    let renamed = tree.watched & RENAMED != 0 && !frozen(after);
    if let Some(old) = old
        && !renamed
        && !old.passing.minus(&new.passing).is_empty()
    {
        return Err("the accepted passing set never loses a member");
    }
    // Where a test was shown as something else than it is, nobody can know better.
    let known = world.runner == Runner::Known && world.props == 0;
    let honest = known && !world.ghosts.flipped && world.ghosts.judged == Some(tree.sources());
    let kept = |n: u8| !before_passes(before, n) || tree.keeps(bit(n));
    if honest && !(0..TESTS).all(kept) {
        return Err("a test that really passed in the accepted tree really passes in the next one");
    }
    // A red turn may have changed tests where they may change at all: what that is worth is asked before green.
    let allowed = if frozen(after) { 0 } else { RENAMED | GUTTED };
    if tree.sources().watched & !allowed != 0
        || world.moved_ref
        || world.edited_hook
        || world.ghosts.touched
        || world.ghosts.stray
    {
        return Err("nothing that violates a guard is accepted");
    }
    Ok(())
}

/// Test `n` passed in the accepted tree, by the record and in truth.
fn before_passes(before: &State, n: u8) -> bool {
    let recorded = |accepted: &engine::Accepted| {
        accepted.passing.contains(&name(n)) && Tree::of(accepted.tree).is_some_and(|tree| tree.keeps(bit(n)))
    };
    before.facts.accepted.as_deref().is_some_and(recorded)
}

/// An effect begins: nothing else is under way, no work is paid for twice, and there is money for it.
pub fn announced(effect: &Effect, orphan: Option<&Effect>, truth: &Truth, state: &State) -> Result<(), Violated> {
    if orphan.is_some() {
        return Err("no effect begins while a command of a dead governor runs");
    }
    if let Effect::Execute { iteration, attempt, .. } = effect {
        if (*iteration, *attempt) <= truth.worked {
            return Err("no two work commands run under one number, over any number of lives");
        }
        if state
            .facts
            .bounds
            .budget_microusd
            .is_some_and(|limit| truth.cost >= limit)
        {
            return Err("no work begins once the budget is really spent");
        }
    }
    Ok(())
}

/// Whatever work really cost is booked or still set aside, on disk as in memory.
pub fn books(state: &State, truth: &Truth) -> Result<(), Violated> {
    let spend = &state.facts.spend;
    let known = spend.microusd.saturating_add(spend.reserved_microusd);
    if truth.cost > known {
        return Err("what the work really cost is booked or still reserved");
    }
    Ok(())
}

/// What SPEC 3.6 says of the reason, in words of its own: the work is done, or its evidence is in doubt.
fn for_good(state: &State) -> bool {
    use HaltReason as R;
    let done_or_doubtful = [
        R::SuccessConditionMet,
        R::BlockedPathModified,
        R::RewardHackingDetected,
        R::MetricIntegrityViolation,
        R::CredentialScopeInvalid,
        R::ObjectiveUnverified,
        R::InvariantFailed,
        R::InternalError,
    ];
    let reason = state.facts.halted.as_ref().map(|halted| halted.reason);
    reason.is_none_or(|reason| done_or_doubtful.contains(&reason))
}

/// A closed run takes no fact but those that may follow an end.
pub fn finality(state: &State, specimens: &BTreeMap<u16, Event>) -> Result<(), Violated> {
    let Phase::Closed(_) = state.phase else { return Ok(()) };
    if state.next() != Next::Stop {
        return Err("a closed run asks for nothing");
    }
    for event in specimens.values() {
        let may = match event {
            Event::Resumed(_) => !for_good(state) && state.facts.t0.is_some(),
            Event::Amended(_) | Event::Acked(_) | Event::Settled(_) => true,
            _ => false,
        };
        if state.clone().apply(event).is_ok() != may {
            return Err("a halt is final, and resumed exactly when its reason allows that");
        }
    }
    Ok(())
}

/// What is left of lives, of looks after a resume, of iterations, of rooms, of the steps in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u32);

impl Rank {
    /// Packed in order of weight: a walk remembers millions of them.
    fn new(lives: u32, looks: u32, turns: u32, room: u32, steps: u32) -> Self {
        let packed =
            [(looks, 1), (turns, 6), (room, 4), (steps, 14)]
                .into_iter()
                .fold(lives, |packed, (part, bits)| {
                    assert!(part >> bits == 0, "a rank has too few bits for {part}");
                    packed << bits | part
                });
        Self(packed)
    }
}

/// A measure that falls with every step, so that every run ends. `lives` counts what is left of deaths and stops.
pub fn rank(state: &State, next: &Next, pending: Option<&Effect>, lives: u32) -> Rank {
    let facts = &state.facts;
    let left = facts.bounds.max_iterations.saturating_sub(facts.iteration);
    // Leaving BuildContext begins the next iteration.
    let (turns, room) = match &state.phase {
        Phase::Open(_) => (left + 1, 9),
        Phase::BuildContext(_) => (left, 0),
        Phase::Execute(_) => (left, 8),
        Phase::Check(_) => (left, 7),
        Phase::Guards(_) => (left, 6),
        Phase::Ratchet(_) => (left, 5),
        Phase::Progress(_) => (left, 4),
        Phase::Checkpoint(_) => (left, 3),
        Phase::Closed(_) => (0, 0),
    };
    // Until a resumed run has looked again it may have to go back to the check of the turn at hand, or to t0.
    let looks = u32::from(facts.revalidate && facts.halted.is_none());
    Rank::new(lives, looks, turns, room, steps(state, next, pending))
}

/// What is left to do in the room at hand.
fn steps(state: &State, next: &Next, pending: Option<&Effect>) -> u32 {
    let attempts = |attempt: u32| 100_u32.saturating_sub(attempt) * 10;
    match (next, pending) {
        (Next::Perform(Effect::ObserveTree { purpose, .. }), _) => {
            match purpose {
                TreePurpose::Resume => 9_000,
                // Behind the check that a later life runs before it works.
                TreePurpose::AfterCheck if matches!(state.phase, Phase::BuildContext(_) | Phase::Execute(_)) => 3_000,
                _ => 6,
            }
        }
        (Next::Perform(Effect::Execute { attempt, .. }), _) => 1_000 + attempts(*attempt) + 8,
        (Next::Perform(Effect::Wait { attempt, .. }), _) => 1_000 + attempts(*attempt) + 9,
        (Next::Perform(Effect::Check { attempt, .. }), _) => 4_000 + attempts(*attempt) + 8,
        (Next::Perform(Effect::Restore { attempt, .. }), _) => 1_000 + attempts(*attempt) + 8,
        (Next::Perform(Effect::BuildContext(_)), _) => 6,
        (Next::Await, Some(Effect::Check { attempt, .. })) => 4_000 + attempts(*attempt) + 7,
        (Next::Await, Some(Effect::Execute { attempt, .. } | Effect::Restore { attempt, .. })) => {
            1_000 + attempts(*attempt) + 7
        }
        (Next::Await, _) => 0,
        (Next::Record(Event::RetryScheduled(retry)), _) => 1_000 + attempts(retry.attempt - 1) + 4,
        (Next::Record(Event::CandidateRejected(_)), _) => 2_500,
        (Next::Record(Event::Halted(_)), _) => 1,
        // Behind the judgement of the iteration come the vets, one after the other.
        (Next::Record(Event::GuardsJudged(_)), _) if matches!(state.phase, Phase::Guards(_)) => 16_000,
        (Next::Perform(Effect::Vet(request)), _) => 1_100 * vets_left(request.guard) + attempts(request.attempt),
        (Next::Record(Event::Vetted(vetted)), _) => 1_100 * vets_left(&vetted.guard) + attempts(vetted.attempt),
        (Next::Record(Event::GuardsJudged(_)), _) => 5,
        (Next::Record(_), _) => 4,
        (Next::Stop, _) => 0,
    }
}

/// Guards before green that have not spoken, the one that is due included.
fn vets_left(due: &str) -> u32 {
    let spoken = engine::vet::ALL.iter().take_while(|vet| vet.name != due).count();
    u32::try_from(engine::vet::ALL.len() - spoken).unwrap_or(u32::MAX)
}
