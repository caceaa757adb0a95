//! Report: a fold of events into rows and totals. `report`, `status`, `export` and the projections read
//! it; the words are somebody else's.

mod gaps;
mod spent;

use alloc::collections::BTreeSet;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::event::Event;
use crate::event::finding::{Finding, GuardRun};
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, Stamp};
use crate::event::iteration::{CheckPurpose, RejectCause};
use crate::event::measurement::{CommandRun, StopCause};
use crate::event::money::CallStatus;
use crate::event::people::CredentialStep;
use crate::event::zone::{EgressSeen, ZoneName};
use crate::vet;

pub use gaps::{Gap, gaps};
pub use spent::{Ground, Grounds, Spent};

/// How an iteration ended for its candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not decided (yet).
    Open,
    Accepted {
        changed: bool,
    },
    Rejected {
        cause: RejectCause,
        subjects: Vec<String>,
    },
}

/// One command that ran in an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// `exec`, or the purpose of a check.
    pub what: &'static str,
    pub attempt: u32,
    pub exit: Option<i32>,
    pub stop: StopCause,
    pub duration_ms: u64,
    pub output_bytes: u64,
    pub survivors: usize,
    /// The zone that it ran in, if any.
    pub zone: Option<ZoneName>,
}

/// One iteration. Number 0 is the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub iteration: u32,
    pub tree: Digest,
    pub head: Option<String>,
    pub commands: Vec<CommandRow>,
    pub interrupted: bool,
    pub collector: String,
    pub members: u64,
    pub failing: u64,
    pub best: u64,
    pub no_op: bool,
    /// Shared with the row before while it says the same, as it mostly does.
    pub guards: Rc<[GuardRun]>,
    pub findings: Vec<Finding>,
    pub fate: Fate,
    pub verdict: Option<HaltReason>,
    pub spent: Spent,
    pub grounds: Grounds,
    pub checkpointed: bool,
}

impl Row {
    fn new(iteration: u32) -> Self {
        Self {
            iteration,
            tree: Digest::ZERO,
            head: None,
            commands: Vec::new(),
            interrupted: false,
            collector: String::new(),
            members: 0,
            failing: 0,
            best: 0,
            no_op: false,
            guards: Rc::default(),
            findings: Vec::new(),
            fate: Fate::Open,
            verdict: None,
            spent: Spent::default(),
            grounds: Grounds::default(),
            checkpointed: false,
        }
    }

    /// The verdict run of the check in this iteration.
    pub fn check(&self) -> Option<&CommandRow> {
        self.commands
            .iter()
            .find(|c| c.what == "baseline" || c.what == "iteration")
    }

    /// Green by exit status alone.
    pub fn check_exit(&self) -> Option<i32> {
        self.check().and_then(|check| check.exit)
    }
}

/// Totals over the whole run, all lives included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub events: u64,
    pub exec_ms: u64,
    pub check_ms: u64,
    /// Runs of the check in copies, for the guards before green.
    pub vet_ms: u64,
    pub cpu_ms: u64,
    pub output_bytes: u64,
    pub survivors_ended: u64,
    /// Processes that were still in a zone when its command had ended, and went with it.
    pub left_inside: u64,
    pub resumes: u32,
    pub amendments: u32,
    /// Times the wall clock and the monotonic clock disagreed by more than two seconds.
    pub clock_jumps: u32,
}

/// What the zones of a run connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    pub rows: Vec<EgressSeen>,
    /// Connections to places that are not among the rows.
    pub more: u64,
}

/// Places of a whole run that are named.
const EGRESS_NAMED: usize = 64;

impl Egress {
    fn add(&mut self, seen: &EgressSeen) {
        let same = |row: &&mut EgressSeen| {
            (&row.host, row.port, row.allowed, &row.reason) == (&seen.host, seen.port, seen.allowed, &seen.reason)
        };
        if let Some(row) = self.rows.iter_mut().find(same) {
            row.connections = row.connections.saturating_add(seen.connections);
            row.bytes_in = row.bytes_in.saturating_add(seen.bytes_in);
            row.bytes_out = row.bytes_out.saturating_add(seen.bytes_out);
        } else if self.rows.len() < EGRESS_NAMED {
            self.rows.push(seen.clone());
        } else {
            self.more = self.more.saturating_add(seen.connections.into());
        }
    }
}

/// The fold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub rows: Vec<Row>,
    pub totals: Totals,
    pub egress: Egress,
    /// Things a reader should know that are not findings.
    pub warnings: Vec<String>,
    clock: Option<Stamp>,
    /// Calls that were booked, each once.
    booked: BTreeSet<String>,
}

/// What the work command is called among the commands of a row.
const EXEC: &str = "exec";

/// Wall and monotonic time may drift this far apart between two stamps of one life.
const JUMP_MS: u64 = 2_000;

impl Report {
    /// Folds a whole journal.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut report = Self::default();
        for event in events {
            report.add(event);
        }
        report
    }

    /// Lets go of all but the row of this iteration and the one before it, for who shows each only once. Totals and
    /// warnings stay.
    pub fn forget_before(&mut self, iteration: u32) {
        if let Some(at) = self.rows.iter().rposition(|row| row.iteration == iteration) {
            self.rows.drain(..at.saturating_sub(1));
        }
    }

    /// These runs, from an earlier row if one says the same.
    fn guards(&self, runs: &[GuardRun]) -> Rc<[GuardRun]> {
        let known = self
            .rows
            .iter()
            .rev()
            .map(|row| &row.guards)
            .find(|known| !known.is_empty());
        known
            .filter(|known| ***known == *runs)
            .map_or_else(|| runs.into(), Rc::clone)
    }

    fn row(&mut self, iteration: u32) -> &mut Row {
        let index = match self.rows.iter().rposition(|row| row.iteration == iteration) {
            Some(index) => index,
            None => {
                self.rows.push(Row::new(iteration));
                self.rows.len() - 1
            }
        };
        &mut self.rows[index]
    }

    fn command(&mut self, iteration: u32, what: &'static str, attempt: u32, run: &CommandRun) {
        let output_bytes = run.stdout.bytes.saturating_add(run.stderr.bytes);
        self.totals.cpu_ms += run.cpu_ms;
        self.totals.output_bytes = self.totals.output_bytes.saturating_add(output_bytes);
        self.totals.survivors_ended += run.survivors.iter().filter(|s| s.ended).count() as u64;
        let is_work = what == EXEC;
        let ground = spent::ground(&self.rows, is_work, run);
        let row = self.row(iteration);
        row.grounds.note(is_work, ground);
        row.spent.cpu_ms = row.spent.cpu_ms.saturating_add(run.cpu_ms);
        let time = if is_work {
            &mut row.spent.exec_ms
        } else {
            &mut row.spent.check_ms
        };
        *time = time.saturating_add(run.duration_ms);
        row.commands.push(CommandRow {
            what,
            attempt,
            exit: run.exited(),
            stop: run.stop,
            duration_ms: run.duration_ms,
            output_bytes,
            survivors: run.survivors.len(),
            zone: run.zone.as_ref().map(|zone| zone.zone),
        });
        if let Some(zone) = &run.zone {
            self.totals.left_inside += u64::from(zone.left_inside);
            zone.egress.iter().for_each(|seen| self.egress.add(seen));
        }
    }

    fn tick(&mut self, at: Stamp) {
        if let Some(before) = self.clock.replace(at) {
            let wall = i128::from(at.wall_ms) - i128::from(before.wall_ms);
            let mono = i128::from(at.mono_ms) - i128::from(before.mono_ms);
            if (wall - mono).unsigned_abs() > u128::from(JUMP_MS) {
                self.totals.clock_jumps += 1;
            }
        }
    }

    /// Folds one event.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "facts that show in no row; a new kind adds its row here when it has one"
    )]
    pub fn add(&mut self, event: &Event) {
        self.totals.events += 1;
        match event {
            Event::RunOpened(opened) => self.clock = Some(opened.at),
            Event::Resumed(resumed) => {
                self.totals.resumes += 1;
                self.clock = Some(resumed.at);
                if resumed.leftovers > 0 {
                    let n = resumed.leftovers;
                    self.warnings
                        .push(alloc::format!("{n} processes of an earlier life were found and ended"));
                }
            }
            Event::Amended(_) => self.totals.amendments += 1,
            Event::Interrupted(interrupted) => {
                self.clock = None;
                self.row(interrupted.iteration).interrupted = true;
            }
            Event::TreeObserved(observed) => {
                self.tick(observed.at);
                let row = self.row(observed.iteration);
                row.tree = observed.seen.tree;
                row.head.clone_from(&observed.seen.git.head);
                for path in observed.seen.unstored.iter().chain(&observed.seen.unreadable) {
                    let warning = alloc::format!("{path} is not kept in the store and could not be restored");
                    if !self.warnings.contains(&warning) {
                        self.warnings.push(warning);
                    }
                }
            }
            Event::ExecuteEnded(ended) => {
                self.tick(ended.at);
                self.totals.exec_ms += ended.run.duration_ms;
                self.command(ended.iteration, EXEC, ended.attempt, &ended.run);
            }
            Event::CheckEnded(ended) => {
                self.tick(ended.at);
                self.totals.check_ms += ended.run.duration_ms;
                self.command(ended.iteration, ended.purpose.label(), ended.attempt, &ended.run);
                if matches!(ended.purpose, CheckPurpose::Baseline | CheckPurpose::Iteration) {
                    let row = self.row(ended.iteration);
                    row.collector.clone_from(&ended.measurement.collector);
                    row.members = ended.measurement.members_total;
                }
            }
            Event::GuardsJudged(judged) => {
                // A second judgement, on the confirming run, leaves what was vetted before it.
                let before = self.row(judged.iteration).guards.clone();
                let vetted = before.iter().filter(|run| is_vet(&run.guard)).cloned();
                let runs: Vec<GuardRun> = judged.report.guards.iter().cloned().chain(vetted).collect();
                let guards = self.guards(&runs);
                let row = self.row(judged.iteration);
                row.guards = guards;
                row.findings.retain(|finding| is_vet(&finding.guard));
                row.findings.splice(0..0, judged.report.findings.iter().cloned());
            }
            Event::Vetted(vetted) => {
                self.tick(vetted.at);
                let row = self.row(vetted.iteration);
                let others = row.guards.iter().filter(|run| run.guard != vetted.guard).cloned();
                let run = GuardRun {
                    guard: vetted.guard.clone(),
                    state: vetted.state,
                    note: vetted.note.clone(),
                    findings: u32::try_from(vetted.findings.len()).unwrap_or(u32::MAX),
                };
                row.guards = others.chain([run]).collect();
                row.findings.retain(|finding| finding.guard != vetted.guard);
                row.findings.extend(vetted.findings.iter().cloned());
                let copies_ms = vetted.trials.iter().map(|trial| trial.duration_ms);
                let copies_ms = copies_ms.fold(0, u64::saturating_add);
                row.spent.vet_ms = row.spent.vet_ms.saturating_add(copies_ms);
                self.totals.vet_ms = self.totals.vet_ms.saturating_add(copies_ms);
            }
            Event::CandidateAccepted(accepted) => {
                self.row(accepted.iteration).fate = Fate::Accepted {
                    changed: accepted.changed,
                };
            }
            Event::CandidateRejected(rejected) => {
                let fate = Fate::Rejected {
                    cause: rejected.cause,
                    subjects: rejected.subjects.clone(),
                };
                self.row(rejected.iteration).fate = fate;
            }
            Event::ProgressJudged(judged) => {
                let row = self.row(judged.iteration);
                (row.failing, row.best, row.no_op) = (judged.failing, judged.best, judged.no_op);
                row.verdict = judged.verdict;
            }
            Event::Checkpointed(done) => self.row(done.iteration).checkpointed = true,
            Event::Settled(settled) => {
                for call in settled.calls.iter().filter(|call| call.status != CallStatus::Skipped) {
                    if self.booked.insert(call.id.clone()) {
                        self.row(settled.iteration).spent.book(call);
                    }
                }
            }
            Event::Credential(credential) => {
                let label = &credential.label;
                let warning = alloc::format!("the key {label} could not be revoked and may still be good");
                self.warnings.retain(|known| *known != warning);
                if credential.step == CredentialStep::RevokeFailed {
                    self.warnings.push(warning);
                }
            }
            Event::Halted(halted) if halted.cause == "workdir_lost" => {
                self.warnings
                    .push("the workdir was lost while the run was under way".to_string());
            }
            _ => {}
        }
    }
}

fn is_vet(guard: &str) -> bool {
    vet::ALL.iter().any(|vet| vet.name == guard)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::iteration::{Checkpointed, ProgressJudged, TreeObserved, TreePurpose};
    use crate::guard::bench::tree;

    fn observed(iteration: u32, wall_ms: u64, mono_ms: u64) -> Event {
        let at = Stamp { wall_ms, mono_ms };
        TreeObserved {
            at,
            iteration,
            purpose: TreePurpose::AfterExec,
            seen: tree(),
        }
        .into()
    }

    #[test]
    fn rows_follow_iterations_and_a_clock_jump_is_counted() {
        let judged = ProgressJudged {
            iteration: 1,
            failing: 3,
            best: 2,
            best_iteration: 0,
            stalled: 1,
            no_op: false,
            same_failure: 0,
            improving: false,
            slope_milli: 0,
            verdict: None,
            cause: String::new(),
            detail: String::new(),
        };
        let done = Checkpointed {
            at: Stamp::default(),
            iteration: 1,
            tree: Digest::ZERO,
            accepted: None,
            check_exit: Some(1),
            failing: 3,
            spend_microusd: 0,
            unread: 0,
        };
        let events = [
            observed(0, 1_000, 0),
            observed(1, 7_201_000, 10),
            judged.into(),
            done.into(),
        ];
        let report = Report::of(&events);
        assert_eq!(report.rows.len(), 2);
        assert_eq!((report.rows[1].failing, report.rows[1].checkpointed), (3, true));
        assert_eq!(report.totals.clock_jumps, 1);
    }
}
