//! Execute: one bounded agent turn, and the walk of what it left.
//!
//! ```text
//!   Ask -> Running -> (Waiting -> Ask)* -> Walk -> Check, or a halt
//! ```
//!
//! Whatever the outcome, the tree is walked and kept before anything is decided: no end of a turn loses
//! work. A turn that ran out of time is killed and the check still decides.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::build_context::{out_of_time, spent};
use super::check::Check;
use super::zones::{lost, over_cap, over_volume, unsatisfiable};
use super::{Illegal, Phase, Room, Turn, Walked, halt};
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::halt::HaltReason;
use crate::event::id::{Bytes, PhaseName};
use crate::event::iteration::{CheckPurpose, ExecuteEnded, RetryScheduled, TreePurpose};
use crate::event::measurement::{CommandRun, RunOutcome, StopCause, Survivor, TreeSeen};
use crate::event::policy::{OnExecFailure, OnExecTimeout};
use crate::event::zone::{EgressCap, ZoneSeen};
use crate::facts::Facts;
use crate::words::counted;

/// Longest pause between two attempts.
const BACKOFF_MAX_MS: u64 = 60_000;
/// How much of an agent's question is quoted in the halt.
const ASK_QUOTED: usize = 200;

/// How far the turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    Ask,
    Running,
    /// A failed attempt is to be followed by another after a pause.
    Backoff,
    Waiting {
        delay_ms: u64,
    },
    /// The command is over; the tree has not been walked.
    Walk,
    /// Everything is seen; only a halt is left to record.
    Judge,
}

/// How the turn must end, if the command says so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Ending {
    Failed { cause: &'static str, detail: String },
    AskedForHuman(Bytes),
    OutOfTime,
    ZoneRefused(ZoneSeen),
    EgressCap(Option<EgressCap>),
    VolumeCap,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execute {
    iteration: u32,
    attempt: u32,
    stage: Stage,
    ending: Option<Ending>,
    exec_survivors: Vec<Survivor>,
    interference: Vec<String>,
    after_exec: Option<Walked>,
}

impl Execute {
    pub(crate) fn new(facts: &Facts, context_error: String) -> Self {
        let skip = facts.policy().exec.is_empty();
        let ending = (!context_error.is_empty()).then_some(Ending::Failed {
            cause: "context_not_written",
            detail: context_error,
        });
        Self {
            iteration: facts.iteration,
            attempt: 1,
            stage: if skip || ending.is_some() {
                Stage::Walk
            } else {
                Stage::Ask
            },
            ending,
            exec_survivors: Vec::new(),
            interference: Vec::new(),
            after_exec: None,
        }
    }

    /// Folds one finished attempt into the room.
    fn ended(&mut self, facts: &mut Facts, ended: &ExecuteEnded) {
        self.exec_survivors.extend(ended.run.survivors.iter().cloned());
        self.interference.extend(ended.interference.iter().cloned());
        let failures = &facts.opened.policy.failures;
        let failed = ended.run.exited() != Some(0);
        let instant = failed && ended.run.duration_ms <= failures.instant_failure_ms;
        // A turn that loopexec or a person cut short says nothing about how the command fails by itself.
        if ended.run.stop == StopCause::None {
            facts.instant_failures = if instant { facts.instant_failures + 1 } else { 0 };
        }
        self.stage = Stage::Walk;
        if let Some(ask) = &ended.ask {
            self.ending = Some(Ending::AskedForHuman(ask.clone()));
            return;
        }
        match classify(&ended.run) {
            Attempt::Done => {}
            Attempt::CannotStart { cause, detail } => self.ending = Some(Ending::Failed { cause, detail }),
            Attempt::RunDeadline => self.ending = Some(Ending::OutOfTime),
            Attempt::EgressCap(cap) => self.ending = Some(Ending::EgressCap(cap)),
            Attempt::VolumeCap => self.ending = Some(Ending::VolumeCap),
            Attempt::ZoneRefused(seen) => self.ending = Some(Ending::ZoneRefused(seen)),
            Attempt::TimedOut { cause } if failures.on_exec_timeout == OnExecTimeout::Halt => {
                self.ending = Some(Ending::Failed {
                    cause,
                    detail: format!("the work command was stopped ({cause})"),
                });
            }
            // A person's signal is nobody's failure: the run stops here and goes on when it is resumed.
            Attempt::TimedOut { .. } | Attempt::Cancelled => {}
            Attempt::Failed { detail } => self.failed(facts, detail),
        }
    }

    fn failed(&mut self, facts: &Facts, detail: String) {
        let failures = &facts.opened.policy.failures;
        let max = failures.instant_failures_max;
        if max > 0 && facts.instant_failures >= max {
            let attempts = counted(max.into(), "attempt");
            let detail = format!("{attempts} in a row failed at once (instant_failures_max = {max}); {detail}");
            self.ending = Some(Ending::Failed {
                cause: "instant_failures",
                detail,
            });
            return;
        }
        match failures.on_exec_failure {
            OnExecFailure::Continue => {}
            OnExecFailure::Retry if self.attempt <= failures.exec_retries_max => self.stage = Stage::Backoff,
            OnExecFailure::Retry => {
                let detail = format!("{} failed; {detail}", counted(self.attempt.into(), "attempt"));
                self.ending = Some(Ending::Failed {
                    cause: "retries_exhausted",
                    detail,
                });
            }
            OnExecFailure::Halt => {
                self.ending = Some(Ending::Failed {
                    cause: "work_command_failed",
                    detail,
                })
            }
        }
    }

    fn into_check(self, tree: &TreeSeen) -> Phase {
        let turn = Turn {
            iteration: self.iteration,
            tree: tree.tree,
            read: tree.tree,
            no_op: tree.changes_total == 0,
            exec_survivors: self.exec_survivors,
            interference: self.interference,
            after_exec: self.after_exec,
        };
        Phase::Check(Check::new(turn, CheckPurpose::Iteration))
    }
}

/// What one attempt amounts to.
enum Attempt {
    Done,
    CannotStart { cause: &'static str, detail: String },
    RunDeadline,
    EgressCap(Option<EgressCap>),
    VolumeCap,
    ZoneRefused(ZoneSeen),
    TimedOut { cause: &'static str },
    Cancelled,
    Failed { detail: String },
}

fn classify(run: &CommandRun) -> Attempt {
    match run.stop {
        StopCause::RunDeadline => return Attempt::RunDeadline,
        StopCause::Deadline => {
            return Attempt::TimedOut {
                cause: "deadline_exceeded",
            };
        }
        StopCause::Idle => return Attempt::TimedOut { cause: "idle_exceeded" },
        StopCause::FirstOutput => {
            return Attempt::TimedOut {
                cause: "first_output_exceeded",
            };
        }
        StopCause::OutputCap => {
            return Attempt::TimedOut {
                cause: "output_cap_exceeded",
            };
        }
        StopCause::MemoryCap => {
            return Attempt::TimedOut {
                cause: "memory_exceeded",
            };
        }
        StopCause::EgressCap => {
            let cap = run.zone.as_ref().and_then(|zone| EgressCap::from_label(&zone.said));
            return Attempt::EgressCap(cap);
        }
        StopCause::VolumeCap => return Attempt::VolumeCap,
        StopCause::Cancelled => return Attempt::Cancelled,
        StopCause::None => {}
    }
    if let (RunOutcome::ZoneRefused, Some(zone)) = (run.outcome, &run.zone) {
        return Attempt::ZoneRefused(zone.clone());
    }
    let detail = excerpt(run);
    match (run.outcome, run.code) {
        (RunOutcome::Exited, 0) => Attempt::Done,
        (RunOutcome::NotFound, _) | (RunOutcome::Exited, 127) => Attempt::CannotStart {
            cause: "exec_not_found",
            detail: format!("the work command was not found{detail}"),
        },
        (RunOutcome::NotExecutable, _) | (RunOutcome::Exited, 126) => Attempt::CannotStart {
            cause: "exec_not_executable",
            detail: format!("the work command cannot be executed{detail}"),
        },
        (RunOutcome::StartFailed, errno) => Attempt::CannotStart {
            cause: "start_failed",
            detail: format!("the work command could not be started (errno {errno})"),
        },
        (RunOutcome::SupervisorLost, _) => Attempt::CannotStart {
            cause: "supervisor_lost",
            detail: "the supervisor of the run was killed while the work command ran".into(),
        },
        (RunOutcome::ZoneRefused | RunOutcome::ZoneLost, _) => Attempt::CannotStart {
            cause: "zone_lost",
            detail: lost("work command", run),
        },
        (RunOutcome::Exited, code) => Attempt::Failed {
            detail: format!("the work command exited with status {code}{detail}"),
        },
        (RunOutcome::Signaled, signal) => Attempt::Failed {
            detail: format!("the work command was killed by signal {signal}{detail}"),
        },
    }
}

/// The last line of the command's error output that is no detail of one before it, for the sentence of the halt.
pub(crate) fn excerpt(run: &CommandRun) -> String {
    let stderr = if run.stderr.complete {
        &run.stderr.head
    } else {
        &run.stderr.tail
    };
    let text = String::from_utf8_lossy(&stderr.0);
    let said = |line: &&str| !line.trim().is_empty();
    let whole = |line: &&str| said(line) && !line.starts_with([' ', '\t']);
    match text.lines().rev().find(whole).or_else(|| text.lines().rev().find(said)) {
        Some(line) => format!(", it said \"{}\"", line.trim().chars().take(160).collect::<String>()),
        None => String::new(),
    }
}

impl Room for Execute {
    const NAME: PhaseName = PhaseName::Execute;

    fn next(&self, facts: &Facts) -> Next {
        let (iteration, attempt) = (self.iteration, self.attempt);
        if let (Stage::Ask | Stage::Backoff, Some(halt)) = (self.stage, spent(facts)) {
            return halt;
        }
        match self.stage {
            Stage::Ask => Next::Perform(Effect::Execute {
                iteration,
                attempt,
                time_left_ms: facts.time_left_ms(),
            }),
            Stage::Running => Next::Await,
            Stage::Backoff => {
                let backoff = facts.policy().failures.retry_backoff_ms;
                let delay_ms = backoff.saturating_mul(1 << (attempt - 1).min(16)).min(BACKOFF_MAX_MS);
                Next::Record(
                    RetryScheduled {
                        iteration,
                        attempt: attempt + 1,
                        delay_ms,
                    }
                    .into(),
                )
            }
            Stage::Waiting { delay_ms } => Next::Perform(Effect::Wait {
                iteration,
                attempt,
                delay_ms,
            }),
            Stage::Walk => Next::Perform(Effect::ObserveTree {
                iteration,
                purpose: TreePurpose::AfterExec,
                base: facts.surface,
            }),
            Stage::Judge => match &self.ending {
                Some(Ending::Failed { cause, detail }) => halt(facts, HaltReason::ExecutionFailure, cause, detail),
                Some(Ending::AskedForHuman(ask)) => {
                    let quoted: String = ask.text().chars().take(ASK_QUOTED).collect();
                    let detail = format!("it wrote (untrusted): \"{}\"", quoted.trim().replace('\n', " "));
                    halt(facts, HaltReason::HumanRequired, "asked", &detail)
                }
                Some(Ending::ZoneRefused(seen)) => unsatisfiable(facts, seen),
                Some(Ending::EgressCap(cap)) => {
                    let detail = over_cap(facts, *cap);
                    halt(facts, HaltReason::BudgetExceeded, "egress_cap", &detail)
                }
                Some(Ending::VolumeCap) => halt(facts, HaltReason::BudgetExceeded, "volume_cap", &over_volume(facts)),
                Some(Ending::OutOfTime) | None => out_of_time(facts),
            },
        }
    }

    fn apply(mut self, facts: &mut Facts, event: &Event) -> Result<Phase, Illegal> {
        match (self.stage, event) {
            (Stage::Ask, Event::ExecuteBegan(began)) if (began.iteration, began.attempt) == self.key() => {
                self.stage = Stage::Running;
            }
            (Stage::Running, Event::ExecuteEnded(ended)) if (ended.iteration, ended.attempt) == self.key() => {
                self.ended(facts, ended);
            }
            // The attempt is consumed; what it left is judged like any other work.
            (Stage::Running, Event::Interrupted(interrupted)) if interrupted.attempt == self.attempt => {
                self.stage = Stage::Walk;
            }
            (Stage::Backoff, Event::RetryScheduled(retry)) if retry.attempt == self.attempt + 1 => {
                self.attempt = retry.attempt;
                self.stage = Stage::Waiting {
                    delay_ms: retry.delay_ms,
                };
            }
            (Stage::Waiting { .. }, Event::RetryWaited(waited)) if (waited.iteration, waited.attempt) == self.key() => {
                self.stage = Stage::Ask;
            }
            (Stage::Walk, Event::TreeObserved(observed)) if observed.purpose == TreePurpose::AfterExec => {
                self.after_exec = Some(Walked::of(observed));
                // In a resumed life this walk is the second look at t0: the guards judge it.
                facts.revalidate = false;
                if self.ending.is_none() {
                    return Ok(self.into_check(&observed.seen));
                }
                self.stage = Stage::Judge;
            }
            _ => return Err(Self::illegal(event, "not the next step of this attempt")),
        }
        Ok(Phase::Execute(self))
    }

    fn awaiting(&self) -> Option<u32> {
        (self.stage == Stage::Running).then_some(self.attempt)
    }
}

impl Execute {
    fn key(&self) -> (u32, u32) {
        (self.iteration, self.attempt)
    }

    pub(crate) fn before_work(&self) -> bool {
        self.stage == Stage::Ask && self.attempt == 1
    }

    /// The stage, for reports.
    pub fn stage(&self) -> String {
        match self.stage {
            Stage::Ask | Stage::Running => format!("attempt {}", self.attempt),
            Stage::Backoff | Stage::Waiting { .. } => format!("waiting for attempt {}", self.attempt),
            Stage::Walk | Stage::Judge => "walking the tree".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::id::Bytes;
    use crate::guard::bench::run;

    #[test]
    fn the_sentence_of_a_halt_has_the_last_line_that_is_no_detail_of_another() {
        let said = |stderr: &str| {
            let mut run = run(101);
            run.stderr.complete = true;
            run.stderr.head = Bytes::from(stderr);
            excerpt(&run)
        };
        assert_eq!(
            said("warning: x\nerror: 2 targets failed:\n    `--test api`\n    `--doc`\n\n"),
            ", it said \"error: 2 targets failed:\""
        );
        assert_eq!(said("\n    at f (a.js:1)\n"), ", it said \"at f (a.js:1)\"");
        assert_eq!(said("\n"), "");
    }
}
