//! `reduce`: the bytes choose a contract, a world, every act in it, deaths, stops, and events out of the
//! blue. Whatever they choose, the run holds, its decisions can be derived again, and the second opinion
//! accepts its journal.

use arbitrary::{Arbitrary, Unstructured};
use engine::event::Event;
use engine::event::halt::HaltReason;
use engine::event::measurement::{StopCause, SurfaceClass};
use engine::event::policy::{Command, OnCheckTimeout, OnExecFailure, OnExecTimeout, OnViolation, Policy};
use engine::{Effect, Next, State};
use models::act::{Act, Edit, End, Lab, Look, Repair, Slice, Turn, Walk};
use models::drive::{Ended, Fate, Point, Run};
use models::project::Tree;
use models::reference;
use models::script::{halt, transcript};
use models::world::{Runner, World};

/// Lives of one run.
const LIVES_MAX: usize = 12;

/// A fate that bytes choose; when they are used up, everything goes well and nobody dies.
struct Fed<'a, 'b> {
    bytes: &'a mut Unstructured<'b>,
}

impl Fed<'_, '_> {
    fn pick<T: Copy>(&mut self, menu: &[T]) -> Option<T> {
        let byte = usize::from(u8::arbitrary(self.bytes).ok()?);
        menu.get(byte % menu.len()).copied()
    }

    fn edit(&mut self) -> Edit {
        let test = self.pick(&[0, 1, 2]).unwrap_or(0);
        let salt = self.pick(&[0, 1, 2, 3]).unwrap_or(0);
        let class = self.pick(SurfaceClass::ALL).unwrap_or(SurfaceClass::Blocked);
        let other = (test + 1) % 3;
        self.pick(&[
            Edit::Fix(test),
            Edit::Nothing,
            Edit::Break(test),
            Edit::Trade {
                fix: test,
                breaks: other,
                salt,
            },
            Edit::Salt(salt),
            Edit::Add,
            Edit::Skip(test),
            Edit::Delete(test),
            Edit::Cheat(class),
            Edit::MoveRef,
            Edit::EditHook,
            Edit::TouchState,
        ])
        .unwrap_or(Edit::Nothing)
    }

    fn end(&mut self) -> End {
        let stop = self.pick(StopCause::ALL).unwrap_or(StopCause::Deadline);
        self.pick(&[
            End::Exit(0),
            End::Exit(0),
            End::Exit(0),
            End::Exit(1),
            End::Instant(1),
            End::Signal(9),
            End::NotFound,
            End::Stop(stop),
            End::Ask,
            End::Survivor { ended: true },
            End::Survivor { ended: false },
        ])
        .unwrap_or(End::Exit(0))
    }

    fn look(&mut self) -> Look {
        let test = self.pick(&[0, 1, 2]).unwrap_or(0);
        let stop = self.pick(StopCause::ALL).unwrap_or(StopCause::Deadline);
        self.pick(&[
            Look::Honest,
            Look::Honest,
            Look::Honest,
            Look::WritesArtefact,
            Look::Flip(test),
            Look::ExitZero,
            Look::ZeroTests(0),
            Look::ZeroTests(1),
            Look::Crash,
            Look::Code(127),
            Look::Code(137),
            Look::Signal(9),
            Look::Stop(stop),
            Look::Stale,
            Look::NoReport,
            Look::Unreadable,
            Look::Partial,
            Look::Unfinished,
            Look::Survivor,
            Look::WritesSurface,
        ])
        .unwrap_or(Look::Honest)
    }
}

impl Fate for Fed<'_, '_> {
    fn act(&mut self, effect: &Effect) -> Act {
        match effect {
            Effect::Execute { .. } => Act::Turn(Turn {
                edit: self.edit(),
                end: self.end(),
            }),
            Effect::Check { .. } => Act::Look(self.look()),
            Effect::ObserveTree { .. } => {
                let fine = [Walk::Fine; 14];
                let menu = [&fine[..], &[Walk::GitUnreadable, Walk::Restless, Walk::Lost]].concat();
                Act::Walk(self.pick(&menu).unwrap_or(Walk::Fine))
            }
            Effect::Restore { .. } => Act::Repair(
                self.pick(&[Repair::Fine, Repair::Fine, Repair::Fails])
                    .unwrap_or(Repair::Fine),
            ),
            Effect::BuildContext(_) => {
                let menu = [Slice::Fine, Slice::Fine, Slice::Fine, Slice::Fails];
                Act::Slice(self.pick(&menu).unwrap_or(Slice::Fine))
            }
            Effect::Wait { .. } => Act::Wait,
            Effect::Vet(_) => {
                let menu = [
                    Lab::Honest,
                    Lab::Honest,
                    Lab::Flip(1),
                    Lab::Fails,
                    Lab::Stop(StopCause::Cancelled),
                ];
                Act::Lab(self.pick(&menu).unwrap_or(Lab::Honest))
            }
        }
    }

    fn crash(&mut self, _: Point, _: &[Event]) -> bool {
        u8::arbitrary(self.bytes).is_ok_and(|byte| byte > 249)
    }

    fn suspend(&mut self, _: &[Event]) -> bool {
        u8::arbitrary(self.bytes).is_ok_and(|byte| byte > 252)
    }
}

fn policy(fed: &mut Fed<'_, '_>) -> Policy {
    let mut policy = Policy {
        exec: Command::shell("agent"),
        ..Policy::default()
    };
    policy.oracle.check = Command::shell("check");
    policy.oracle.baseline = fed.pick(&[true, true, true, false]).unwrap_or(true);
    policy.oracle.require_red = fed.pick(&[false, false, true]).unwrap_or(false);
    policy.bounds.max_iterations = fed.pick(&[4, 1, 2, 3, 6]).unwrap_or(4);
    policy.failures.on_exec_failure = fed.pick(OnExecFailure::ALL).unwrap_or(OnExecFailure::Halt);
    policy.failures.on_exec_timeout = fed.pick(OnExecTimeout::ALL).unwrap_or(OnExecTimeout::Check);
    policy.failures.on_check_timeout = fed.pick(OnCheckTimeout::ALL).unwrap_or(OnCheckTimeout::Halt);
    policy.guards.on_violation = fed.pick(OnViolation::ALL).unwrap_or(OnViolation::Halt);
    policy.guards.confirm = fed.pick(&[true, true, false]).unwrap_or(true);
    policy.thresholds.comprehension_every = fed.pick(&[0, 0, 2]).unwrap_or(0);
    policy
}

/// Runs one case and names how its run ended.
///
/// # Panics
/// When a property is broken: that is what the fuzzer looks for.
pub fn reduce(data: &[u8]) -> String {
    let mut bytes = Unstructured::new(data);
    let mut fed = Fed { bytes: &mut bytes };
    let policy = policy(&mut fed);
    let right = fed.pick(&[3, 0, 1, 5, 7]).unwrap_or(3);
    let world = World {
        runner: fed
            .pick(&[Runner::Known, Runner::Known, Runner::Unknown, Runner::FailuresCmd])
            .unwrap_or(Runner::Known),
        integrity: fed.pick(&[false, true]).unwrap_or(false),
        chatty: fed.pick(&[false, true]).unwrap_or(false),
        pace_ms: 1,
        ..World::new(Tree::passing(right))
    };
    let mut run = Run::new(policy, world);
    for _ in 0..LIVES_MAX {
        let ended = run
            .live(&mut fed)
            .unwrap_or_else(|broken| panic!("{broken}\n{}", transcript(&run.journal)));
        let state = run.state().unwrap_or_else(|broken| panic!("{broken}"));
        out_of_the_blue(&run, &state, fed.bytes);
        if matches!(ended, Ended::Halted(_)) && (state.resumable().is_err() || fed.bytes.is_empty()) {
            break;
        }
    }
    agreed(&run);
    halt(&run.journal).map_or("open".into(), |halted| format!("{}-{}", halted.reason, halted.cause))
}

/// An event that nobody asked for is refused or kept in order, and never makes a success. One that could be derived
/// from the facts before it is accepted by the second opinion too.
fn out_of_the_blue(run: &Run, state: &State, bytes: &mut Unstructured<'_>) {
    for _ in 0..4 {
        let Ok(event) = Event::arbitrary(bytes) else { return };
        let due = state.next();
        let Ok(after) = state.clone().apply(&event) else {
            continue;
        };
        let success = |state: &State| {
            let halted = state.facts.halted.as_ref();
            halted.is_some_and(|halted| halted.reason == HaltReason::SuccessConditionMet)
        };
        let earned =
            matches!(&due, Next::Record(Event::Halted(halted)) if halted.reason == HaltReason::SuccessConditionMet);
        assert!(
            !success(&after) || success(state) || earned,
            "a success out of the blue: {event:?}"
        );
        let journal = [&run.journal[..], &[event]].concat();
        if engine::rederive(&journal).is_ok() {
            accepted(&journal);
        }
    }
}

/// The journal's decisions can be derived again, and the second opinion accepts it.
fn agreed(run: &Run) {
    if let Err(divergence) = engine::rederive(&run.journal) {
        panic!("{divergence}\n{}", transcript(&run.journal));
    }
    accepted(&run.journal);
}

fn accepted(journal: &[Event]) {
    let told = journal
        .iter()
        .map(|event| serde_json::to_value(event).unwrap_or_default());
    if let Err(refusal) = reference::accept(&told.collect::<Vec<_>>()) {
        panic!("{refusal}\n{}", transcript(journal));
    }
}
