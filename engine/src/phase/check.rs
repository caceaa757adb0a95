//! Check: exactly one run of the oracle, read from its one captured artefact.
//!
//! A check that cannot start, dies by a signal or runs out of time is an oracle failure and never red:
//! the run halts at once. An interrupted check is asked again.

use alloc::format;
use alloc::sync::Arc;

use super::build_context::out_of_time;
use super::execute::excerpt;
use super::guards::Guards;
use super::zones::{escaped, lost, unsatisfiable};
use super::{CheckVerdict, Illegal, Phase, Room, Turn, Walked, halt};
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, PhaseName};
use crate::event::iteration::{CheckEnded, CheckPurpose, TreeObserved, TreePurpose};
use crate::event::measurement::{CommandRun, RunOutcome, StopCause};
use crate::event::policy::OnCheckTimeout;
use crate::event::zone::ZoneSeen;
use crate::facts::Facts;

/// Proof that the check of this iteration passed on this tree. Only this room makes one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GreenCheck {
    iteration: u32,
    tree: Digest,
}

impl GreenCheck {
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    pub fn tree(&self) -> Digest {
        self.tree
    }
}

/// The proof, when the run carries it.
pub(crate) fn green(check: &CheckEnded, turn: &Turn, success_exit: i32) -> Option<GreenCheck> {
    let passed = check.run.exited() == Some(success_exit) && check.iteration == turn.iteration;
    passed.then_some(GreenCheck {
        iteration: turn.iteration,
        tree: turn.tree,
    })
}

/// Why a check run decides nothing.
pub(crate) enum Failure {
    Oracle {
        cause: &'static str,
        detail: alloc::string::String,
    },
    RunDeadline,
    /// The zone that it was to run in is not to be had.
    ZoneRefused(ZoneSeen),
    /// A signal cut it short: ask again.
    Again,
}

/// `None` when the run has a verdict, red or green.
pub(crate) fn failure(run: &CommandRun, facts: &Facts) -> Option<Failure> {
    let oracle = |cause, detail| Some(Failure::Oracle { cause, detail });
    let red_timeout = facts.policy().failures.on_check_timeout == OnCheckTimeout::Red;
    match run.stop {
        StopCause::Cancelled => return Some(Failure::Again),
        StopCause::RunDeadline => return Some(Failure::RunDeadline),
        StopCause::Deadline | StopCause::Idle | StopCause::FirstOutput if red_timeout => return None,
        StopCause::Deadline => return oracle("check_deadline_exceeded", "the check ran out of time".into()),
        StopCause::Idle => return oracle("check_idle_exceeded", "the check printed nothing for too long".into()),
        StopCause::FirstOutput => {
            return oracle("check_first_output_exceeded", "the check never printed anything".into());
        }
        StopCause::OutputCap => return oracle("check_output_cap_exceeded", "the check printed without end".into()),
        StopCause::MemoryCap => {
            return oracle("check_memory_exceeded", "the check held more memory than it may".into());
        }
        StopCause::VolumeCap => {
            return oracle(
                "check_volume_exceeded",
                "the check kept more on disk than it may (--zone-volume)".into(),
            );
        }
        // Nothing of a check connects to anything.
        StopCause::EgressCap => return oracle("zone_lost", "the zone of the check was ended".into()),
        StopCause::None => {}
    }
    if let (RunOutcome::ZoneRefused, Some(zone)) = (run.outcome, &run.zone) {
        return Some(Failure::ZoneRefused(zone.clone()));
    }
    if escaped(run, facts) {
        return oracle("zone_lost", "nobody says in which zone the check ran".into());
    }
    match (run.outcome, run.code) {
        (RunOutcome::Exited, code) if code == facts.policy().oracle.success_exit => None,
        (RunOutcome::NotFound, _) | (RunOutcome::Exited, 127) => {
            oracle("check_not_found", format!("the check was not found{}", excerpt(run)))
        }
        (RunOutcome::NotExecutable, _) | (RunOutcome::Exited, 126) => oracle(
            "check_not_executable",
            format!("the check cannot be executed{}", excerpt(run)),
        ),
        (RunOutcome::StartFailed, 0) => oracle("check_start_failed", "the check could not be started".into()),
        (RunOutcome::StartFailed, errno) => oracle(
            "check_start_failed",
            format!("the check could not be started (errno {errno})"),
        ),
        (RunOutcome::Signaled, signal) => oracle("check_killed", format!("the check was killed by signal {signal}")),
        // A shell reports the death of its last command this way.
        (RunOutcome::Exited, code) if (129..=192).contains(&code) => {
            oracle("check_killed", format!("the check was killed by signal {}", code - 128))
        }
        (RunOutcome::SupervisorLost, _) => oracle(
            "supervisor_lost",
            "the supervisor of the run was killed while the check ran".into(),
        ),
        (RunOutcome::ZoneRefused | RunOutcome::ZoneLost, _) => oracle("zone_lost", lost("check", run)),
        (RunOutcome::Exited, _) => None,
    }
}

/// Records an oracle failure, or the end of the working time.
pub(crate) fn halt_for(failure: &Failure, facts: &Facts) -> Option<Next> {
    match failure {
        Failure::Oracle { cause, detail } => Some(halt(facts, HaltReason::ExecutionFailure, cause, detail)),
        Failure::RunDeadline => Some(out_of_time(facts)),
        Failure::ZoneRefused(seen) => Some(unsatisfiable(facts, seen)),
        Failure::Again => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ask,
    Running,
    /// The check has a verdict; the tree behind it has not been walked.
    Walk(Arc<CheckEnded>),
    /// The check has no verdict; only a halt is left to record.
    Failed(Arc<CheckEnded>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    turn: Turn,
    purpose: CheckPurpose,
    attempt: u32,
    stage: Stage,
}

impl Check {
    pub(crate) fn new(turn: Turn, purpose: CheckPurpose) -> Self {
        Self {
            turn,
            purpose,
            attempt: 1,
            stage: Stage::Ask,
        }
    }

    /// The same turn, checked again on what a resumed run found in its place.
    pub(crate) fn once_more(turn: Turn, last: &CheckEnded, seen: &Arc<TreeObserved>) -> Self {
        let check = Self {
            attempt: last.attempt + 1,
            ..Self::new(turn, CheckPurpose::Iteration)
        };
        check.seen_again(seen)
    }

    /// The baseline defines t0 itself and has no turn to look at.
    pub(crate) fn before_check(&self) -> bool {
        self.stage == Stage::Ask && self.turn.iteration > 0
    }

    /// Between two lives the workdir may have changed: what the check will judge is what is there now, and
    /// the guards judge it as they would have judged the turn.
    pub(crate) fn seen_again(mut self, seen: &Arc<TreeObserved>) -> Self {
        self.turn.tree = seen.seen.tree;
        self.turn.no_op &= seen.seen.changes_total == 0;
        self.turn.after_exec = Some(Walked::of(seen));
        self
    }

    fn again(mut self) -> Phase {
        self.attempt += 1;
        self.stage = Stage::Ask;
        Phase::Check(self)
    }
}

impl Room for Check {
    const NAME: PhaseName = PhaseName::Check;

    fn next(&self, facts: &Facts) -> Next {
        let iteration = self.turn.iteration;
        match &self.stage {
            Stage::Ask => Next::Perform(Effect::Check {
                iteration,
                attempt: self.attempt,
                purpose: self.purpose,
                copy_of: None,
                time_left_ms: facts.time_left_ms(),
            }),
            Stage::Running => Next::Await,
            Stage::Walk(_) => {
                // What the baseline's own check wrote belongs to t0: this walk defines it.
                let base = if self.turn.iteration == 0 { None } else { facts.surface };
                Next::Perform(Effect::ObserveTree {
                    iteration,
                    purpose: TreePurpose::AfterCheck,
                    base,
                })
            }
            Stage::Failed(check) => {
                let failed = failure(&check.run, facts);
                failed
                    .and_then(|f| halt_for(&f, facts))
                    .unwrap_or_else(|| out_of_time(facts))
            }
        }
    }

    fn apply(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        let key = (self.turn.iteration, self.attempt, self.purpose);
        match (&self.stage, event) {
            (Stage::Ask, Event::CheckBegan(began)) if (began.iteration, began.attempt, began.purpose) == key => {
                self.turn.read = facts.tree;
                self.stage = Stage::Running;
                Ok(Phase::Check(self))
            }
            (Stage::Running, Event::CheckEnded(ended)) if (ended.iteration, ended.attempt, ended.purpose) == key => {
                let ended = Arc::clone(ended);
                match failure(&ended.run, facts) {
                    Some(Failure::Again) => {
                        // It has no verdict; what it did beside still counts.
                        self.turn.interference.extend(ended.interference.iter().cloned());
                        self.turn.exec_survivors.extend(ended.run.survivors.iter().cloned());
                        return Ok(self.again());
                    }
                    Some(_) => self.stage = Stage::Failed(ended),
                    None => {
                        facts.last_check = Some(Arc::clone(&ended));
                        facts.revisit.measured();
                        facts.determinism.judged(self.turn.read, CheckVerdict::of(&ended));
                        self.stage = Stage::Walk(ended);
                    }
                }
                Ok(Phase::Check(self))
            }
            (Stage::Running, Event::Interrupted(interrupted)) if interrupted.attempt == self.attempt => {
                Ok(self.again())
            }
            (Stage::Walk(check), Event::TreeObserved(seen)) if seen.purpose == TreePurpose::AfterCheck => {
                if self.turn.iteration == 0 {
                    // Putting the accepted tree back must not take away what the surface is compared with.
                    facts.surface = Some(seen.seen.surface_digest);
                    facts.t0 = Some(seen.seen.tree);
                    self.turn.tree = seen.seen.tree;
                }
                let check = Arc::clone(check);
                Ok(Phase::Guards(Guards::new(self.turn, check, Walked::of(seen))))
            }
            _ => Err(Self::illegal(event, "not the next step of this check")),
        }
    }

    fn awaiting(&self) -> Option<u32> {
        (self.stage == Stage::Running).then_some(self.attempt)
    }
}
