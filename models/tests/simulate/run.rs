//! A run from its seed to its end, over as many lives as that takes, and what must hold of it.

use std::cell::RefCell;
use std::fmt;

use engine::event::Event;
use engine::event::halt::HaltReason;
use models::drive::opening;
use models::reference;
use models::script::transcript;
use models::sim::{Cast, cast, help, meddle};
use serde_json::Value;

use crate::disk::Disk;
use crate::life::{Ended, Life, live};
use crate::memory::Memory;

/// Where the record of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In memory: what was not synced is gone after a death.
    Memory,
    /// In the real journal, on a disk that tears, reorders and loses what was not synced.
    Disk,
    /// The same, on a disk that says that it synced and did not.
    LyingDisk,
}

/// What is asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing bad happens, whatever goes wrong.
    Safety,
    /// From some moment on nothing goes wrong any more, and the run halts.
    Liveness,
}

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) kept: Kept,
    pub(crate) asked: Asked,
    /// The second opinion reads the journal too.
    pub(crate) opinion: bool,
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Simulated {
    pub(crate) journal: Vec<Event>,
    pub(crate) reason: Option<HaltReason>,
    pub(crate) lives: u32,
    /// The record of a lying disk was refused, or was less than it had said.
    pub(crate) betrayed: bool,
}

/// A run that broke a rule: what rule, and its story.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) what: String,
    pub(crate) story: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what, self.story)
    }
}

/// Lives of one run; who dies more often is given up.
const LIVES_MAX: u32 = 40;

/// Facts that a run may record for each turn it has left, once nothing goes wrong any more. A turn of the largest
/// number of attempts records fewer.
const FACTS_OF_A_TURN_MAX: usize = 60;

/// The run of a seed, kept in memory.
pub(crate) fn simulate(seed: u64) -> Result<Simulated, Fault> {
    let (kept, asked) = (Kept::Memory, Asked::Safety);
    let opinion = true;
    simulate_as(seed, How { kept, asked, opinion })
}

/// The run of a seed.
pub(crate) fn simulate_as(seed: u64, how: How) -> Result<Simulated, Fault> {
    let How { kept, asked, opinion } = how;
    let Cast {
        policy,
        world,
        mut fate,
    } = cast(seed);
    let calm_after = (asked == Asked::Liveness).then(|| fate.dice.below(80));
    let disk = (kept != Kept::Memory).then(|| Disk::new(kept == Kept::LyingDisk));
    let life = Life::new(opening(policy).into(), world, fate, Memory::new(disk), calm_after);
    let life = RefCell::new(life);
    let outcome = lives(&life);
    let life = life.into_inner();
    let broken = |what: String| Fault {
        what,
        story: format!("{:?}\n{}", life.world, transcript(life.memory.events())),
    };
    let (reason, lives) = outcome.map_err(broken)?;
    judged(&life, opinion).map_err(broken)?;
    Ok(Simulated {
        reason,
        lives,
        betrayed: life.memory.was_betrayed(),
        journal: life.memory.into_events(),
    })
}

/// One life after the other, to a halt that nobody continues.
fn lives(life: &RefCell<Life>) -> Result<(Option<HaltReason>, u32), String> {
    let mut said = Vec::new();
    for lives in 1..=LIVES_MAX {
        let ended = live(life, &std::mem::take(&mut said))?;
        let life = &mut *life.borrow_mut();
        match ended {
            Ended::Died | Ended::Suspended if life.is_calm() => {
                return Err("nothing goes wrong, and yet the governor stops".into());
            }
            Ended::Died | Ended::Suspended if life.has_worked && !unseen(life.memory.durable()) => {
                meddle(&mut life.world, &mut life.fate);
            }
            Ended::Died | Ended::Suspended => {}
            Ended::Refused => return Ok((None, lives)),
            Ended::Halted(state, reason) => {
                let turns = state.facts.bounds.max_iterations as usize + 2;
                if life.facts_in_calm() > turns * FACTS_OF_A_TURN_MAX {
                    return Err("nothing goes wrong, and yet the halt is long in coming".into());
                }
                if life.fate.interruptions == 0 || state.resumable().is_err() {
                    return Ok((Some(reason), lives));
                }
                life.fate.interruptions -= 1;
                said = help(&state, reason);
            }
        }
    }
    Ok((None, LIVES_MAX))
}

/// A check is over and the walk behind it is not: whatever is found there counts as written by the check, whoever wrote
/// it. See SPEC 16.6.6.
fn unseen(events: &[Event]) -> bool {
    let of_life = |event: &&Event| {
        let name = event.name();
        !matches!(name, "suspended" | "resumed" | "interrupted" | "amended" | "acked")
    };
    let last = events.iter().rev().find(of_life);
    last.is_some_and(|event| matches!(event, Event::CheckEnded(_)))
}

/// The whole journal, once more from its beginning: every decision follows from the facts before it, the
/// second opinion accepts it, and the disk holds it.
fn judged(life: &Life, opinion: bool) -> Result<(), String> {
    let events = life.memory.events();
    if events.is_empty() {
        return Ok(());
    }
    engine::rederive(events).map_err(|divergence| divergence.to_string())?;
    if opinion {
        reference::accept(&told(events)).map_err(|refusal| format!("the second opinion: {refusal}"))?;
    }
    life.memory.disk().map_or(Ok(()), |disk| disk.holds(events))
}

/// Events as the second opinion reads them.
pub(crate) fn told(events: &[Event]) -> Vec<Value> {
    let told = events.iter().map(|event| serde_json::to_value(event).unwrap());
    told.collect()
}
