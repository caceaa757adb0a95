//! One seed, one whole run: the contract, the start, the agents, the checks, the faults and the deaths all
//! follow from it.
//!
//! Here the dice are thrown; the real driver lives the run, in the tests of this crate.

use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::id::Stamp;
use engine::event::measurement::{RunOutcome, StopCause, SurfaceClass};
use engine::event::people::Acked;
use engine::event::policy::{Command, OnCheckTimeout, OnExecFailure, OnExecTimeout, OnViolation, Policy};
use engine::event::run::Amended;
use engine::{Effect, State};

use crate::act::{Act, Edit, End, Lab, Look, Repair, Slice, Turn, Walk};
use crate::project::{TESTS, Tree};
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

    /// One of these; none when there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Temper {
    /// Of a hundred turns, those that do what was asked for.
    pub honesty: u64,
    /// Of a hundred, the turns, walks, restores and slices that end badly.
    pub trouble: u64,
    /// Of a hundred, the checks that do not say what is.
    pub lies: u64,
    /// Of a thousand chances to die, those that are taken.
    pub deaths: u64,
    /// Of a thousand chances to be stopped, those that are taken.
    pub stops: u64,
    /// Of a hundred looks at the clock, those that find it set or the machine just awake.
    pub jumps: u64,
}

/// A fate by dice.
#[derive(Clone, Debug)]
pub struct Thrown {
    pub dice: Dice,
    pub temper: Temper,
    /// Deaths and stops that may still come.
    pub interruptions: u32,
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
            match self.dice.below(13) {
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
                11 => Edit::Prop(test),
                _ => Edit::TouchState,
            }
        };
        let end = if self.dice.chance(self.temper.trouble) {
            match self.dice.below(10) {
                0..=2 => End::Exit(1),
                3 => End::Instant(2),
                4 => End::Signal(9),
                5 => End::Stop(self.dice.pick(StopCause::ALL).unwrap_or(StopCause::Deadline)),
                6 => End::Ask,
                7 => End::Survivor {
                    ended: self.dice.chance(70),
                },
                8 => End::Lost(self.lost()),
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
        match self.dice.below(19) {
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
            16 => Look::Lost(self.lost()),
            17 => Look::TouchesState,
            _ => Look::WritesSurface,
        }
    }
}

impl Thrown {
    fn lost(&mut self) -> RunOutcome {
        let lost = [
            RunOutcome::NotFound,
            RunOutcome::NotExecutable,
            RunOutcome::StartFailed,
            RunOutcome::SupervisorLost,
        ];
        self.dice.pick(&lost).unwrap_or(RunOutcome::SupervisorLost)
    }

    /// How an effect goes.
    pub fn act(&mut self, effect: &Effect) -> Act {
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
            Effect::Vet(_) if fails => {
                let test = self.dice.test();
                let stop = Lab::Stop(self.dice.pick(StopCause::ALL).unwrap_or(StopCause::Deadline));
                Act::Lab(
                    self.dice
                        .pick(&[Lab::Fails, Lab::Flip(test), stop])
                        .unwrap_or(Lab::Fails),
                )
            }
            Effect::Vet(_) => Act::Lab(Lab::Honest),
        }
    }

    /// Whether the governor dies here.
    pub fn dies(&mut self) -> bool {
        self.interrupted(self.temper.deaths)
    }

    /// Whether somebody, or a full disk, stops the run here.
    pub fn stops(&mut self) -> bool {
        self.interrupted(self.temper.stops)
    }

    fn interrupted(&mut self, permille: u64) -> bool {
        let now = self.interruptions > 0 && self.dice.below(1_000) < permille;
        self.interruptions -= u32::from(now);
        now
    }

    /// What happened to the clocks since the last look: milliseconds that the machine slept, and that the
    /// wall clock was set by, in either direction.
    pub fn jump(&mut self) -> (u64, i64) {
        if !self.dice.chance(self.temper.jumps) {
            return (0, 0);
        }
        let far = i64::try_from(self.dice.below(86_400_000)).unwrap_or(0);
        match self.dice.below(3) {
            0 => (0, far),
            1 => (0, -far),
            _ => (self.dice.below(3_600_000), 0),
        }
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
        wall_ahead_ms: 1_700_000_000_000,
        ..World::new(Tree::passing(right))
    }
}

/// A run before it begins.
#[derive(Clone, Debug)]
pub struct Cast {
    pub policy: Policy,
    pub world: World,
    pub fate: Thrown,
}

/// What follows from a seed before anything happens.
pub fn cast(seed: u64) -> Cast {
    let mut dice = Dice::new(seed);
    let calm = dice.chance(30);
    let mut upto = |most: u64| if calm { 0 } else { dice.below(most) };
    let temper = Temper {
        honesty: 100 - upto(70),
        trouble: upto(40),
        lies: upto(30),
        deaths: upto(60),
        stops: upto(60),
        jumps: upto(5),
    };
    let policy = policy(&mut dice);
    let world = world(&mut dice);
    let interruptions = u32::try_from(dice.below(8)).unwrap_or(0);
    let fate = Thrown {
        dice,
        temper,
        interruptions,
    };
    Cast { policy, world, fate }
}

/// What happens to the workdir while no governor lives.
pub fn meddle(world: &mut World, fate: &mut Thrown) {
    if fate.dice.chance(15) {
        let edits = [Edit::Fix(0), Edit::Break(1), Edit::Cheat(SurfaceClass::Blocked)];
        let edit = fate.dice.pick(&edits).unwrap_or(Edit::Nothing);
        world.tree = edit.apply(world.tree);
    }
}

/// What a person records before resuming a halted run.
pub fn help(state: &State, halted: HaltReason) -> Vec<Event> {
    let at = Stamp::default();
    let bounds = &state.facts.bounds;
    let raised = halted == HaltReason::MaxIterationsReached || halted == HaltReason::BudgetExceeded;
    let amended = Amended {
        at,
        by: "person".into(),
        max_iterations: raised.then_some(bounds.max_iterations + 2),
        timeout_ms: bounds.timeout_ms.filter(|_| raised).map(|limit| limit + 60_000),
        command_timeout_ms: None,
        check_timeout_ms: None,
        budget_microusd: None,
    };
    let mut said = vec![amended.into()];
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
        said.push(acked.into());
    }
    said
}
