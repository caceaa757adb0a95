//! One seed, one whole run: the contract, the start, the agents, the checks, the faults and the deaths all
//! follow from it.

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::Stamp;
use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::people::Acked;
use engine::event::policy::{Command, OnCheckTimeout, OnExecFailure, OnExecTimeout, OnViolation, Policy};
use engine::event::run::Amended;
use engine::{Effect, State};

use crate::act::{Act, Edit, End, Look, Repair, Slice, Turn, Walk};
use crate::drive::{Broken, Ended, Fate, Point, Run};
use crate::project::{TESTS, Tree};
use crate::properties;
use crate::script::transcript;
use crate::world::{Runner, World};

/// A small generator (xorshift64*): good dice, the same on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `sides`.
    pub fn below(&mut self, sides: u64) -> u64 {
        (self.roll() >> 33) % sides.max(1)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        let n = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        items.get(n).copied()
    }

    fn test(&mut self) -> u8 {
        u8::try_from(self.below(TESTS.into())).unwrap_or(0)
    }

    fn small(&mut self) -> u8 {
        u8::try_from(self.below(200)).unwrap_or(0)
    }
}

/// The temper of a run: how often things go wrong. Some runs are calm and some are not.
#[derive(Clone, Copy, Debug)]
struct Temper {
    honesty: u64,
    trouble: u64,
    lies: u64,
    deaths: u64,
    stops: u64,
}

/// A fate by dice.
#[derive(Clone, Debug)]
pub struct Thrown {
    dice: Dice,
    temper: Temper,
    interruptions: u32,
}

impl Thrown {
    fn turn(&mut self) -> Turn {
        let edit = if self.dice.chance(self.temper.honesty) {
            match self.dice.below(5) {
                0 | 1 => Edit::Fix(self.dice.test()),
                2 => Edit::Nothing,
                3 => Edit::Add,
                _ => Edit::Salt(self.dice.small()),
            }
        } else {
            let test = self.dice.test();
            match self.dice.below(12) {
                0..=3 => Edit::Break(test),
                4..=6 => Edit::Trade {
                    fix: self.dice.test(),
                    breaks: test,
                    salt: self.dice.small(),
                },
                7 => Edit::Skip(test),
                8 => Edit::Delete(test),
                9 => Edit::Cheat(self.dice.pick(SurfaceClass::ALL).unwrap_or(SurfaceClass::Blocked)),
                10 => self
                    .dice
                    .pick(&[Edit::MoveRef, Edit::EditHook])
                    .unwrap_or(Edit::MoveRef),
                _ => Edit::TouchState,
            }
        };
        let end = if self.dice.chance(self.temper.trouble) {
            match self.dice.below(9) {
                0..=2 => End::Exit(1),
                3 => End::Instant(2),
                4 => End::Signal(9),
                5 => End::Stop(self.dice.pick(StopCause::ALL).unwrap_or(StopCause::Deadline)),
                6 => End::Ask,
                7 => End::Survivor {
                    ended: self.dice.chance(70),
                },
                _ => End::NotFound,
            }
        } else {
            End::Exit(0)
        };
        Turn { edit, end }
    }

    fn look(&mut self) -> Look {
        if !self.dice.chance(self.temper.lies) {
            return if self.dice.chance(20) {
                Look::WritesArtefact
            } else {
                Look::Honest
            };
        }
        match self.dice.below(18) {
            0..=3 => Look::Flip(self.dice.test()),
            4 => Look::ExitZero,
            5 => Look::ZeroTests(i32::from(self.dice.chance(50))),
            6 => Look::Crash,
            7 => Look::Code(self.dice.pick(&[126, 127, 137]).unwrap_or(127)),
            8 => Look::Signal(9),
            9 => Look::Stop(self.dice.pick(StopCause::ALL).unwrap_or(StopCause::Deadline)),
            10 => Look::Stale,
            11 => Look::NoReport,
            12 => Look::Unreadable,
            13 => Look::Partial,
            14 => Look::Survivor,
            15 => Look::Unfinished,
            16 => Look::TouchesState,
            _ => Look::WritesSurface,
        }
    }
}

impl Fate for Thrown {
    fn act(&mut self, effect: &Effect) -> Act {
        let fails = self.dice.chance(self.temper.trouble / 6);
        match effect {
            Effect::Execute { .. } => Act::Turn(self.turn()),
            Effect::Check { .. } => Act::Look(self.look()),
            Effect::ObserveTree { .. } if fails => {
                let walk = self.dice.pick(&[Walk::GitUnreadable, Walk::Restless, Walk::Lost]);
                Act::Walk(walk.unwrap_or(Walk::Lost))
            }
            Effect::ObserveTree { .. } => Act::Walk(Walk::Fine),
            Effect::Restore { .. } => Act::Repair(if fails { Repair::Fails } else { Repair::Fine }),
            Effect::BuildContext(_) => Act::Slice(if fails { Slice::Fails } else { Slice::Fine }),
            Effect::Wait { .. } => Act::Wait,
        }
    }

    fn crash(&mut self, _: Point, _: &[Event]) -> bool {
        let dies = self.interruptions > 0 && self.dice.chance(self.temper.deaths);
        self.interruptions -= u32::from(dies);
        dies
    }

    fn suspend(&mut self, _: &[Event]) -> bool {
        let stops = self.interruptions > 0 && self.dice.chance(self.temper.stops);
        self.interruptions -= u32::from(stops);
        stops
    }
}

fn policy(dice: &mut Dice) -> Policy {
    let mut policy = Policy::default();
    policy.oracle.check = Command::shell("check");
    if dice.chance(97) {
        policy.exec = Command::shell("agent");
    }
    policy.oracle.baseline = dice.chance(85);
    policy.oracle.require_red = dice.chance(20);
    policy.bounds.max_iterations = 1 + u32::try_from(dice.below(8)).unwrap_or(0);
    if dice.chance(15) {
        policy.bounds.timeout_ms = Some(1 + dice.below(60_000));
    }
    policy.failures.on_exec_failure = dice.pick(OnExecFailure::ALL).unwrap_or(OnExecFailure::Halt);
    policy.failures.on_exec_timeout = dice.pick(OnExecTimeout::ALL).unwrap_or(OnExecTimeout::Check);
    policy.failures.on_check_timeout = dice.pick(OnCheckTimeout::ALL).unwrap_or(OnCheckTimeout::Halt);
    policy.failures.exec_retries_max = u32::try_from(dice.below(4)).unwrap_or(0);
    policy.guards.on_violation = dice.pick(OnViolation::ALL).unwrap_or(OnViolation::Halt);
    policy.guards.violations_max = u32::try_from(dice.below(4)).unwrap_or(0);
    policy.guards.confirm = dice.chance(85);
    policy.thresholds.no_progress_k = u32::try_from(dice.below(5)).unwrap_or(3);
    policy.thresholds.same_failure_r = u32::try_from(dice.below(5)).unwrap_or(3);
    policy.thresholds.oscillation_periods = u32::try_from(dice.below(4)).unwrap_or(2);
    if dice.chance(20) {
        policy.thresholds.comprehension_every = 1 + u32::try_from(dice.below(4)).unwrap_or(0);
    }
    policy
}

fn world(dice: &mut Dice) -> World {
    let right = u8::try_from(dice.below(8)).unwrap_or(0);
    World {
        runner: dice
            .pick(&[Runner::Known, Runner::Known, Runner::Unknown, Runner::FailuresCmd])
            .unwrap_or(Runner::Known),
        integrity: dice.chance(25),
        chatty: dice.chance(50),
        pace_ms: 3,
        ..World::new(Tree::passing(right))
    }
}

/// Why a simulated run is a fault.
#[derive(Clone, Debug)]
pub enum Fault {
    Broken(Broken),
    /// A property of a step does not hold; the run as a story.
    Violated {
        property: &'static str,
        story: String,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(f),
            Self::Violated { property, story } => write!(f, "broken: {property}\n{story}"),
        }
    }
}

impl std::error::Error for Fault {}

/// How a simulated run went.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub run: Run,
    pub reason: Option<HaltReason>,
    pub lives: u32,
}

/// Lives the whole run of one seed.
///
/// # Errors
/// The engine refused its own event, waited for nothing, did not end, or broke a property.
pub fn simulate(seed: u64) -> Result<Simulated, Fault> {
    let mut dice = Dice::new(seed);
    let calm = dice.chance(30);
    let mut upto = |most: u64| if calm { 0 } else { dice.below(most) };
    let temper = Temper {
        honesty: 100 - upto(70),
        trouble: upto(40),
        lies: upto(30),
        deaths: upto(12),
        stops: upto(6),
    };
    let policy = policy(&mut dice);
    let world = world(&mut dice);
    let interruptions = u32::try_from(dice.below(8)).unwrap_or(0);
    let mut fate = Thrown {
        dice,
        temper,
        interruptions,
    };
    let mut run = Run::new(policy, world);
    let mut reason = None;
    for lives in 1..=40 {
        let from = run.journal.len();
        let ended = run.live(&mut fate).map_err(Fault::Broken)?;
        witnessed(&run, from)?;
        match ended {
            Ended::Crashed | Ended::Suspended => meddle(&mut run, &mut fate),
            Ended::Halted(halted) => {
                reason = Some(halted);
                let state = run.state().map_err(Fault::Broken)?;
                if fate.interruptions == 0 || state.resumable().is_err() {
                    return Ok(Simulated { run, reason, lives });
                }
                fate.interruptions -= 1;
                help(&mut run, &state, halted).map_err(Fault::Broken)?;
            }
        }
    }
    Ok(Simulated { run, reason, lives: 40 })
}

/// Checks the last event of a life against the world, which is still the world of that moment.
fn witnessed(run: &Run, from: usize) -> Result<(), Fault> {
    let Some((last, before)) = run.journal.split_last().filter(|_| run.journal.len() > from) else {
        return Ok(());
    };
    if !matches!(last, Event::Halted(_) | Event::CandidateAccepted(_)) {
        return Ok(());
    }
    let broken = |(index, illegal)| Fault::Broken(Broken::Unfoldable(index, illegal));
    let before = State::fold(before).map_err(broken)?;
    let after = State::fold(&run.journal).map_err(broken)?;
    properties::step(&before, last, &after, &run.world).map_err(|property| Fault::Violated {
        property,
        story: format!("{:?}\n{}", run.world, transcript(&run.journal)),
    })
}

/// What happens to the workdir while no governor lives.
fn meddle(run: &mut Run, fate: &mut Thrown) {
    let begun = run.journal.iter().any(|event| event.name() == "execute_began");
    if begun && fate.dice.chance(15) {
        let edit = fate
            .dice
            .pick(&[Edit::Fix(0), Edit::Break(1), Edit::Cheat(SurfaceClass::Blocked)])
            .unwrap_or(Edit::Nothing);
        run.world.tree = edit.apply(run.world.tree);
    }
}

/// What a person does before resuming a halted run.
fn help(run: &mut Run, state: &State, halted: HaltReason) -> Result<(), Broken> {
    let at = Stamp::default();
    let bounds = &state.facts.bounds;
    let raised = halted == HaltReason::MaxIterationsReached || halted == HaltReason::BudgetExceeded;
    run.amend(Amended {
        at,
        by: "person".into(),
        max_iterations: raised.then_some(bounds.max_iterations + 2),
        timeout_ms: bounds.timeout_ms.filter(|_| raised).map(|limit| limit + 60_000),
        command_timeout_ms: None,
        check_timeout_ms: None,
        budget_microusd: None,
    })?;
    if matches!(
        halted,
        HaltReason::HumanRequired | HaltReason::ComprehensionDebtExceeded
    ) {
        let acked = Acked {
            at,
            reviewer: "person".into(),
            through_iteration: state.facts.iteration,
            key: String::new(),
            signature: String::new(),
            note: String::new(),
        };
        run.journal.push(acked.into());
    }
    Ok(())
}
