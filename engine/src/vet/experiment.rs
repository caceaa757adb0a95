//! What is asked of the world for one vet, step by step, and what it answers.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    budget, code_mutation, coverage, hermeticity, judge, kill_set, oracle_mutation, order, sentinel_pair, t0_replay,
};
use crate::effect::Reading;
use crate::event::candidate::{Covered, Hunk, JudgeVerdict, Mutated, Trace, Trial, Varied};
use crate::event::id::Digest;
use crate::event::measurement::{CommandRun, RunOutcome, StopCause};
use crate::facts::Facts;
use crate::phase::CheckVerdict;
use crate::phase::execute::excerpt;
use crate::state::complete;

/// An experiment, with its key: iteration, guard, tree, attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub iteration: u32,
    pub attempt: u32,
    pub guard: &'static str,
    pub experiment: Experiment,
    /// Begin with an unchanged copy.
    pub control: bool,
    /// What the check of the turn said, which the control has to say again.
    pub verdict: CheckVerdict,
    /// The check names the workdir, which may be where a copy is nowhere.
    pub names_workdir: bool,
    /// The tree that the check judged.
    pub candidate: Digest,
    /// The tree of t0.
    pub start: Digest,
    /// What the runs may take together: none begins later.
    pub budget_left_ms: Option<u64>,
    pub time_left_ms: Option<u64>,
}

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// The candidate's product under the watched surface of t0. `moved`: the two surfaces differ.
    T0Surface { moved: bool },
    /// One test that must pass and some that must fail in the suite of this runner, and, where they do not show, in the
    /// suite of the start; where they show in neither, members of the suite whose bodies fail.
    Sentinels(sentinel_pair::Suite),
    /// Another expected value in the tests of these members, in one copy; where a member did not notice it, the same with a
    /// failure right behind it; and where it noticed neither, or has no such value, what nothing can meet.
    OracleMutants { members: Vec<String>, mutants_max: u32 },
    /// The product in other words; then one change of it in each copy, under the tests of now, and, where they do not notice
    /// it, under those of t0.
    KillSet(kill_set::Suites),
    /// The suite in other orders, and some of its tests alone; where one of them ends otherwise, the suite of the start
    /// too.
    Order(order::Suite),
    /// No run of the check: the contract's reviewer is asked, in a copy of the candidate.
    Review(Box<judge::Packet>),
    /// One small change of the product a run, in lines that the tree of the start does not have.
    CodeMutants(code_mutation::Trying),
    /// Which lines run: of the tree of t0, and of the candidate under its watched surface.
    Coverage(coverage::Measuring),
    /// One run under a trace, where no zone makes that needless, one in other surroundings, and where that one ends
    /// otherwise more of them; else one under a clock that stands still.
    Hermeticity(Box<hermeticity::Declared>),
}

/// What a copy is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Candidate,
    /// The tree of t0.
    Start,
    /// The candidate, with every watched path as it was at t0.
    CandidateOnStartSurface,
}

/// What is changed in a copy before the check runs. Where there is nothing of the kind, nothing is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plant {
    Nothing,
    /// The test that must pass, and behind it those that must fail, and all tests are spelled otherwise besides; `in_place`:
    /// bodies that fail in place of members.
    Sentinels {
        runner: &'static str,
        in_place: bool,
    },
    /// The tests in other words that mean the same.
    Respelled,
    /// The same of the product.
    RespelledProduct,
    /// Another expected value in the test of each member of the request, as far as they go; if none of them has any,
    /// what nothing can meet.
    Expectations,
    /// The expected value that was changed in the tests of these members, with a failure right behind the assertion that
    /// has it, or the opposite demand in its place; if none of them has either, what nothing can meet.
    Beyond {
        of: Vec<String>,
    },
    /// A failure where the tests of these members begin to assert: of what this is planted in, each has to fail.
    Failures {
        of: Vec<String>,
    },
    /// The change of this number among those that the world drew of the candidate's product for this request.
    Mutant(u32),
    /// The order in which the runner is told to run its tests.
    Order(order::Order),
    /// Nothing, and the reviewer runs instead of the check.
    Review,
    /// Nothing, and what the check touches is written down.
    Traced,
    /// Nothing, and the clock of the run stands still.
    Frozen,
    /// Nothing, and the surroundings of the run are others.
    Varied(hermeticity::Under),
    /// The `nth` mutant of a hunk, both counted from 0; only hunks count that have one. `timeout_ms` is the limit of the
    /// run where the contract has none.
    Code {
        hunk: usize,
        nth: usize,
        timeout_ms: Option<u64>,
    },
    /// Nothing, and a report of coverage is read; where none can be had, nothing is run.
    Coverage,
}

/// One run of the check in a copy of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub subject: &'static str,
    pub base: Base,
    pub plant: Plant,
}

const CONTROL: Step = Step {
    subject: "control",
    base: Base::Candidate,
    plant: Plant::Nothing,
};

/// Whether the check finds its way in a copy at all.
pub(super) const CONTROL_AT_T0: Step = Step {
    subject: "control at t0",
    base: Base::Start,
    plant: Plant::Nothing,
};

/// What the check did in a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub step: Step,
    pub run: CommandRun,
    pub reading: Reading,
    /// Names of what was planted.
    pub planted: Vec<String>,
    pub mutants: Vec<Mutated>,
    /// Where a mutant of the product was planted: the hunks that have any, and what else is another than at the start.
    pub hunks: Vec<Hunk>,
    pub unmutated: Vec<String>,
    /// What the report says, where coverage was asked for.
    pub coverage: Option<Covered>,
    /// What it touched, where it was traced.
    pub trace: Option<Trace>,
    /// In what its surroundings were varied, where they were to be.
    pub varied: Vec<Varied>,
    /// What the reviewer answered; none of a check.
    pub review: Option<Review>,
}

/// An answer of the reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub verdict: JudgeVerdict,
    /// In the reviewer's words, or why there is no answer.
    pub rationale: String,
}

/// A run that takes longer than this, or than so many times the check, is hung by what was changed.
const PATIENCE_MIN_MS: u64 = 10_000;
const PATIENCE_TIMES: u64 = 5;

/// How long a changed product may take, where the contract limits no check and an unchanged one takes this long.
pub fn patience_ms(usual_ms: u64) -> u64 {
    usual_ms.saturating_mul(PATIENCE_TIMES).max(PATIENCE_MIN_MS)
}

impl Request {
    /// The next run, given those that were made; `None` when there is nothing more to see. Whoever carries the request
    /// out asks this and decides nothing.
    pub fn step(&self, ran: &[Ran]) -> Option<Step> {
        self.due(ran).filter(|_| !budget::is_spent(self.budget_left_ms, ran))
    }

    /// What a reader should know of runs that ended before everything was seen; empty for none.
    pub(crate) fn trouble(&self, ran: &[Ran]) -> String {
        let unfinished = budget::is_spent(self.budget_left_ms, ran) && self.due(ran).is_some();
        if unfinished { budget::SPENT } else { "" }.into()
    }

    fn due(&self, ran: &[Ran]) -> Option<Step> {
        if ran.iter().any(|ran| super::cut_short(ran.run.stop)) {
            return None;
        }
        if !self.control {
            return self.experiment.step(0, ran);
        }
        let Some((control, rest)) = ran.split_first() else {
            return Some(CONTROL);
        };
        let again = CheckVerdict::of_run(&control.run, control.reading.members_digest);
        if again == self.verdict {
            return self.experiment.step(control.run.duration_ms, rest);
        }
        (self.names_workdir && rest.is_empty()).then_some(CONTROL_AT_T0)
    }
}

impl Experiment {
    /// Whether it runs the check, so that an unchanged copy has to give the verdict again first.
    pub(super) fn copies_the_check(&self) -> bool {
        !matches!(self, Self::Review(_))
    }

    fn step(&self, control_ms: u64, ran: &[Ran]) -> Option<Step> {
        match self {
            Self::T0Surface { moved } => (*moved && ran.is_empty()).then_some(Step {
                subject: t0_replay::SUBJECT,
                base: Base::CandidateOnStartSurface,
                plant: Plant::Nothing,
            }),
            Self::OracleMutants { members, .. } => oracle_mutation::step(members, ran),
            Self::Sentinels(suite) => sentinel_pair::step(suite, ran),
            Self::KillSet(suites) => kill_set::step(suites, ran),
            Self::Order(suite) => order::step(suite, ran),
            Self::Review(_) => judge::step(ran),
            Self::CodeMutants(trying) => code_mutation::step(trying, control_ms, ran),
            Self::Coverage(measuring) => coverage::step(measuring, ran),
            Self::Hermeticity(declared) => hermeticity::step(declared, ran),
        }
    }
}

impl Ran {
    /// The part that is recorded.
    pub(crate) fn trial(&self, facts: &Facts) -> Trial {
        if let Some(review) = &self.review {
            return self.reviewed(review);
        }
        let mut reading = self.reading.clone();
        if !reading.complete {
            complete(facts, &mut reading);
        }
        let green = self.run.exited() == Some(facts.policy().oracle.success_exit);
        let mut note = reading.note;
        if !green {
            let said = excerpt(&self.run);
            note.push_str(if note.is_empty() {
                said.trim_start_matches(", ")
            } else {
                &said
            });
        }
        Trial {
            subject: self.step.subject.into(),
            outcome: self.run.outcome,
            code: self.run.code,
            stop: self.run.stop,
            members_total: u64::try_from(reading.members.len()).unwrap_or(u64::MAX),
            members_digest: reading.members_digest,
            changes: facts.members.changes_to(&reading.members),
            planted: self.planted.clone(),
            mutants: self.mutants.clone(),
            hunks: self.hunks.clone(),
            unmutated: self.unmutated.clone(),
            coverage: self.coverage.clone(),
            note,
            verdict: None,
            trace: self.trace.clone(),
            varied: self.varied.clone(),
            duration_ms: self.run.duration_ms,
        }
    }

    fn reviewed(&self, review: &Review) -> Trial {
        Trial {
            subject: self.step.subject.into(),
            outcome: self.run.outcome,
            code: self.run.code,
            stop: self.run.stop,
            members_total: 0,
            members_digest: Digest::ZERO,
            changes: Vec::new(),
            planted: Vec::new(),
            mutants: Vec::new(),
            hunks: Vec::new(),
            unmutated: Vec::new(),
            coverage: None,
            note: review.rationale.clone(),
            verdict: Some(review.verdict),
            trace: None,
            varied: Vec::new(),
            duration_ms: self.run.duration_ms,
        }
    }
}

impl Trial {
    /// Ended by itself with this status.
    pub fn exited(&self) -> Option<i32> {
        (self.outcome == RunOutcome::Exited && self.stop == StopCause::None).then_some(self.code)
    }

    /// How it ended, in words.
    pub(crate) fn ended(&self) -> String {
        match (self.stop, self.outcome) {
            (StopCause::None, RunOutcome::Exited) => alloc::format!("the check ended with status {}", self.code),
            (StopCause::None, RunOutcome::Signaled) => alloc::format!("the check was killed by signal {}", self.code),
            (StopCause::None, outcome) => alloc::format!("the check could not run ({outcome})"),
            (stop, _) => alloc::format!("the check was ended ({stop})"),
        }
    }
}
