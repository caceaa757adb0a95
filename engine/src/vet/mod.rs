//! Vets: guards that run before green, each an experiment in copies of recorded trees (SPEC 5.6).
//!
//! ```text
//!   green, and every guard of the iteration passed
//!     --> per vet in ALL: plan --> Request --> [Step --> a run in a copy]* --> Trials --> judge --> Vetted
//! ```
//!
//! The world makes copies and runs the check in them. Which copy comes next, and what its run means, is said here: a
//! vet is one file and one line in [`ALL`]. The first run of an iteration is an unchanged copy of the candidate, the
//! *control*; where it does not give the verdict again, nothing can be learned from a copy.

mod budget;
pub mod code_mutation;
pub mod coverage;
mod experiment;
pub mod hermeticity;
pub mod judge;
pub mod kill_set;
pub mod oracle_mutation;
pub mod order;
pub mod sentinel_pair;
pub mod t0_replay;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use experiment::patience_ms;
pub use experiment::{Base, Experiment, Plant, Ran, Request, Review, Step};

use crate::event::candidate::{Trial, Vetted};
use crate::event::finding::{Finding, GuardReport, GuardState, Severity};
use crate::event::halt::HaltReason;
use crate::event::iteration::CheckEnded;
use crate::event::measurement::{MemberStatus, StopCause};
use crate::facts::Facts;
use crate::guard::{FINDINGS_MAX, Outcome};
use crate::phase::{CheckVerdict, Turn};

/// What a vet may look at: a green turn, and what was vetted of it before.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub facts: &'a Facts,
    pub turn: &'a Turn,
    pub check: &'a CheckEnded,
    /// What the guards of the iteration said of it.
    pub report: &'a GuardReport,
    /// Of this turn, in the order of [`ALL`].
    pub earlier: &'a [Arc<Vetted>],
}

/// What a vet wants of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// There is nothing it could look at here.
    NotApplicable(String),
    Run(Experiment),
}

/// One guard before green.
pub struct Vet {
    pub name: &'static str,
    /// One line for help and SPEC: the cheat it catches.
    pub catches: &'static str,
    /// What a violation halts the run with.
    pub reason: HaltReason,
    pub plan: fn(&Case<'_>) -> Plan,
    /// What its runs come to, without the control, which gave the verdict again.
    pub judge: fn(&Case<'_>, &[Trial]) -> Outcome,
}

impl Vet {
    pub(crate) fn violation(&self, subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Violation,
            ..self.note(subject, detail)
        }
    }

    /// What a reader should know and nothing is held against.
    pub(crate) fn note(&self, subject: impl Into<String>, detail: impl Into<String>) -> Finding {
        Finding {
            guard: self.name.into(),
            severity: Severity::Note,
            reason: self.reason,
            subject: subject.into(),
            detail: detail.into(),
        }
    }
}

/// Every guard before green, in the order in which they run.
pub static ALL: &[&Vet] = &[
    &t0_replay::VET,
    &sentinel_pair::VET,
    &oracle_mutation::VET,
    &kill_set::VET,
    &code_mutation::VET,
    &coverage::VET,
    &order::VET,
    &hermeticity::VET,
    &judge::VET,
];

/// The guards before green that a hurried contract leaves out (SPEC 5.6.10): what costs more than a run or two of the
/// check and catches what no other guard does. What the contract asks for by itself, a reviewer or a hermetic check, stays.
pub fn left_out_when_fast() -> impl Iterator<Item = &'static str> {
    let quick = [
        t0_replay::VET.name,
        sentinel_pair::VET.name,
        hermeticity::VET.name,
        judge::VET.name,
    ];
    ALL.iter().map(|vet| vet.name).filter(move |name| !quick.contains(name))
}

/// Those that put to the check what must fail whatever the work did. A change of the work itself proves less: taking back
/// what bends a check is noticed by the check.
pub(crate) static ASKING: &[&Vet] = &[&sentinel_pair::VET, &oracle_mutation::VET, &kill_set::VET];

/// One of those saw the check fail.
pub(crate) fn shown_to_fail(vetted: &Vetted) -> bool {
    let fails = |status: MemberStatus| status.fails() && status != MemberStatus::Absent;
    let mut changes = vetted.trials.iter().flat_map(|trial| &trial.changes);
    let asks = ASKING.iter().any(|vet| vet.name == vetted.guard);
    let is_shown = vetted.guard == sentinel_pair::VET.name || changes.any(|change| fails(change.status));
    asks && vetted.state == GuardState::Active && is_shown
}

/// What is next for the vet that is due.
pub(crate) enum Due {
    Perform(Request),
    /// Nothing needs to be run to know this.
    Record(Vetted),
}

impl<'a> Case<'a> {
    /// The vet that is due; none when all have spoken.
    fn vet(&self) -> Option<&'static Vet> {
        ALL.get(self.earlier.len()).copied()
    }

    /// The control of this turn, once it ran.
    fn control(&self) -> Option<&'a Trial> {
        self.earlier.iter().find_map(|vetted| control_of(vetted))
    }

    /// What is next; `attempt` counts what was cut short and is asked again.
    pub(crate) fn due(&self, attempt: u32) -> Option<Due> {
        let vet = self.vet()?;
        Some(match self.settled(vet) {
            Ok(experiment) => Due::Perform(Request {
                iteration: self.turn.iteration,
                attempt,
                guard: vet.name,
                control: experiment.copies_the_check() && self.control().is_none(),
                verdict: CheckVerdict::of(self.check),
                names_workdir: self.facts.check_names_workdir(),
                candidate: self.turn.tree,
                start: self.facts.t0.unwrap_or(self.turn.tree),
                budget_left_ms: self.left_ms().filter(|_| experiment.copies_the_check()),
                time_left_ms: self.facts.time_left_ms(),
                experiment,
            }),
            Err(outcome) => {
                let at = self.facts.now;
                Due::Record(self.vetted(vet, outcome, attempt, Seen::nothing(at)))
            }
        })
    }

    /// The experiment to make, or what is known without one.
    fn settled(&self, vet: &Vet) -> Result<Experiment, Outcome> {
        if self.facts.policy().guards.off.iter().any(|name| name == vet.name) {
            return Err(Outcome {
                state: GuardState::Off,
                note: "switched off by the contract".into(),
                findings: Vec::new(),
            });
        }
        let experiment = match (vet.plan)(self) {
            Plan::NotApplicable(why) => return Err(Outcome::not_applicable(&why)),
            Plan::Run(experiment) => experiment,
        };
        if let Some(objecting) = self.earlier.iter().find(|vetted| objects(&vetted.findings)) {
            let why = format!("it was not run, because {} already objects", objecting.guard);
            return Err(Outcome::unavailable(why));
        }
        let first = self.earlier.iter().find(|vetted| control_of(vetted).is_some());
        if let Some(outcome) = first.and_then(|vetted| self.not_reproduced(&vetted.trials)) {
            return Err(outcome);
        }
        if experiment.copies_the_check() && self.left_ms() == Some(0) {
            return Err(self.over_budget());
        }
        Ok(experiment)
    }

    /// What an unchanged copy that does not give the verdict again leaves of the guards that need one. A check that names
    /// the workdir may not find its way in any: the copy of t0, which stands behind the control, tells.
    fn not_reproduced(&self, trials: &[Trial]) -> Option<Outcome> {
        let differs = differs(self.check, trials.first()?)?;
        let at_t0 = trials
            .get(1)
            .filter(|trial| trial.subject == experiment::CONTROL_AT_T0.subject);
        let start = self.facts.t0.and_then(|tree| self.facts.determinism.reference(tree));
        let finds_its_way = |trial: &Trial| start == Some(CheckVerdict::of_trial(trial));
        // A check that was declared hermetic has to.
        let may_get_lost = self.vet().is_some_and(|vet| vet.name != hermeticity::VET.name);
        Some(if may_get_lost && at_t0.is_some_and(|trial| !finds_its_way(trial)) {
            Outcome::not_applicable(LOST)
        } else {
            Outcome::unavailable(not_reproduced(&differs))
        })
    }

    fn over_budget(&self) -> Outcome {
        if !self.leaves_out() {
            return Outcome::unavailable(budget::SPENT.into());
        }
        Outcome {
            state: GuardState::Off,
            note: budget::SPENT.into(),
            findings: Vec::new(),
        }
    }

    /// The fact that an answer of the world amounts to.
    pub(crate) fn judge(&self, request: &Request, seen: Seen) -> Option<Vetted> {
        let vet = self.vet().filter(|vet| vet.name == request.guard)?;
        let outcome = self.outcome(vet, request, &seen);
        Some(self.vetted(vet, outcome, request.attempt, seen))
    }

    fn outcome(&self, vet: &Vet, request: &Request, seen: &Seen) -> Outcome {
        let (control, rest) = match seen.trials.split_first() {
            Some((control, rest)) if request.control => (Some(control), rest),
            _ => (None, seen.trials.as_slice()),
        };
        if let Some(trial) = seen.trials.iter().find(|trial| cut_short(trial.stop)) {
            return Outcome::unavailable(format!("the run \"{}\" was cut short", trial.subject));
        }
        if let Some(outcome) = control.and_then(|_| self.not_reproduced(&seen.trials)) {
            return outcome;
        }
        if seen.trouble == budget::SPENT {
            return self.over_budget();
        }
        if !seen.trouble.is_empty() {
            return Outcome::unavailable(seen.trouble.clone());
        }
        if request.control && control.is_none() {
            return Outcome::unavailable("the check was not run in a copy".into());
        }
        (vet.judge)(self, rest)
    }

    fn vetted(&self, vet: &Vet, outcome: Outcome, attempt: u32, seen: Seen) -> Vetted {
        let mut findings = outcome.findings;
        findings.truncate(FINDINGS_MAX);
        Vetted {
            at: seen.at,
            iteration: self.turn.iteration,
            attempt,
            tree: self.turn.tree,
            guard: vet.name.into(),
            trials: seen.trials,
            trouble: seen.trouble,
            state: outcome.state,
            note: outcome.note,
            findings,
            cost_us: seen.cost_us,
        }
    }
}

/// What the world saw for one vet.
pub(crate) struct Seen {
    pub(crate) at: crate::event::id::Stamp,
    pub(crate) trials: Vec<Trial>,
    pub(crate) trouble: String,
    pub(crate) cost_us: u64,
}

impl Seen {
    fn nothing(at: crate::event::id::Stamp) -> Self {
        Self {
            at,
            trials: Vec::new(),
            trouble: String::new(),
            cost_us: 0,
        }
    }
}

fn objects(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Violation)
}

/// The run of an unchanged copy with which the first vet of a turn that runs the check begins; a reviewer runs none.
pub(crate) fn control_of(vetted: &Vetted) -> Option<&Trial> {
    vetted.trials.first().filter(|_| vetted.guard != judge::VET.name)
}

/// The check finds its way in no copy: its control says nothing of how often the check agrees with itself.
pub(crate) fn is_lost(vetted: &Vetted) -> bool {
    let mut behind = vetted.trials.iter().skip(1);
    vetted.state == GuardState::NotApplicable && behind.any(|trial| trial.subject == experiment::CONTROL_AT_T0.subject)
}

/// Nobody knows what such a run would have shown.
const fn cut_short(stop: StopCause) -> bool {
    matches!(stop, StopCause::Cancelled | StopCause::RunDeadline)
}

/// The stop of a run that leaves this vet without a result for now: asked again after a signal, over when the working
/// time is spent.
pub(crate) fn cut(vetted: &Vetted) -> Option<StopCause> {
    vetted
        .trials
        .iter()
        .map(|trial| trial.stop)
        .find(|stop| cut_short(*stop))
}

/// Why a check that names the workdir is tried in no copy.
const LOST: &str =
    "the check names the workdir by its absolute path, and does not say in a copy of the start what it said there";

fn not_reproduced(differs: &str) -> String {
    format!(
        "an unchanged copy of the candidate, without its caches and build products, does not give the verdict again: {differs}"
    )
}

/// How a run differs from the check of the turn; `None` when it gave the same verdict.
pub(crate) fn differs(check: &CheckEnded, trial: &Trial) -> Option<String> {
    let same_exit = trial.exited() == check.run.exited();
    if same_exit && trial.members_digest == check.measurement.members_digest {
        return None;
    }
    let mut words = format!("{} in the copy", trial.ended());
    if let Some(change) = trial.changes.first() {
        words.push_str(&format!("; {} is {} there", change.id, change.status));
    }
    if !trial.note.is_empty() {
        words.push_str("; ");
        words.push_str(&trial.note);
    }
    Some(words)
}

#[cfg(test)]
pub(crate) mod bench;

#[cfg(test)]
mod tests;
