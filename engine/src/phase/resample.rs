//! One more run of the check at the same tree, inside another room.
//!
//! ```text
//!   the workdir is what the first run read -------> the check, in the workdir
//!   the first run wrote beside what it read ------> the check, in a fresh copy of what it read (SPEC 4.4.2)
//! ```
//!
//! Used before a rejection or a halt that a flaky check could have caused, before green, and before a later
//! life works. The first run is the reference; a later run at the same tree is a sample of its determinism (SPEC 4.4).

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::check::{Failure, failure, halt_for};
use super::{Illegal, Objection, halt};
use crate::determinism::tolerant;
use crate::effect::{Effect, Next};
use crate::event::Event;
use crate::event::candidate::Trial;
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::id::{Digest, PhaseName};
use crate::event::iteration::{CheckEnded, CheckPurpose};
use crate::event::measurement::{CommandRun, MemberChange};
use crate::facts::Facts;
use crate::guard;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ask,
    Running,
    Agreed(Arc<CheckEnded>),
    Disagreed(String),
    /// It disagreed, and the contract leaves it to the monitor what that means for the run (SPEC 6.5.5).
    Tolerated(Arc<CheckEnded>),
    /// It did more than measure; only a halt is left to record.
    Objection(Finding),
    Failed(Arc<CheckEnded>),
}

/// What a run of the check said, as far as two runs on one tree must agree: durations and text do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckVerdict {
    exit: Option<i32>,
    members: Digest,
}

impl CheckVerdict {
    pub(crate) fn of(check: &CheckEnded) -> Self {
        Self::of_run(&check.run, check.measurement.members_digest)
    }

    fn exit_words(self) -> String {
        self.exit
            .map_or_else(|| "no status".into(), |code| format!("status {code}"))
    }

    /// The same of a run in a copy, as it is recorded.
    pub(crate) fn of_trial(trial: &Trial) -> Self {
        Self {
            exit: trial.exited(),
            members: trial.members_digest,
        }
    }

    /// The same of a run that is not recorded as one of the workdir.
    pub(crate) fn of_run(run: &CommandRun, members: Digest) -> Self {
        Self {
            exit: run.exited(),
            members,
        }
    }
}

/// A sample under way, or its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resample {
    purpose: CheckPurpose,
    /// The tree that the first run read.
    read: Digest,
    attempt: u32,
    stage: Stage,
}

impl Resample {
    pub(crate) fn new(purpose: CheckPurpose, read: Digest) -> Self {
        Self::numbered(purpose, read, 1)
    }

    /// A sample of which this iteration has seen attempts before.
    pub(crate) fn numbered(purpose: CheckPurpose, read: Digest, attempt: u32) -> Self {
        Self {
            purpose,
            read,
            attempt,
            stage: Stage::Ask,
        }
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn agreed(&self) -> bool {
        matches!(self.stage, Stage::Agreed(_))
    }

    /// The run that disagreed, where that is tolerated.
    pub(crate) fn tolerated(&self) -> Option<&Arc<CheckEnded>> {
        let Stage::Tolerated(check) = &self.stage else {
            return None;
        };
        Some(check)
    }

    /// Nothing is left to do for it, and the run goes on.
    pub(crate) fn settled(&self) -> bool {
        self.agreed() || self.tolerated().is_some()
    }

    /// It ended so that the run is over: only a halt is left to record, in this life or in the next.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.stage, Stage::Disagreed(_) | Stage::Objection(_) | Stage::Failed(_))
    }

    /// The confirming run of a green check, once it agreed.
    pub(crate) fn confirmation(&self) -> Option<&Arc<CheckEnded>> {
        let Stage::Agreed(check) = &self.stage else {
            return None;
        };
        (self.purpose == CheckPurpose::Confirmation).then_some(check)
    }

    pub(crate) fn awaiting(&self) -> Option<u32> {
        (self.stage == Stage::Running).then_some(self.attempt)
    }

    /// The run itself.
    pub(crate) fn ask(&self, facts: &Facts) -> Next {
        Next::Perform(Effect::Check {
            iteration: facts.iteration,
            attempt: self.attempt,
            purpose: self.purpose,
            copy_of: self.copy_of(facts),
            time_left_ms: facts.time_left_ms(),
        })
    }

    /// The workdir is no place for it where something lies in there that the first run did not read; but a check that
    /// names the workdir looks at no copy, unless a zone puts one there.
    fn copy_of(&self, facts: &Facts) -> Option<Digest> {
        let looks_at_a_copy = facts.policy().isolation.zones || !facts.check_names_workdir();
        (facts.tree != self.read && looks_at_a_copy).then_some(self.read)
    }

    /// It reads what the first run read.
    fn repeats(&self, facts: &Facts) -> bool {
        facts.tree == self.read || self.copy_of(facts).is_some()
    }

    /// What is left to do for this sample; `None` once it is settled.
    pub(crate) fn next(&self, facts: &Facts) -> Option<Next> {
        match &self.stage {
            Stage::Ask => Some(self.ask(facts)),
            Stage::Running => Some(Next::Await),
            Stage::Agreed(_) | Stage::Tolerated(_) => None,
            Stage::Disagreed(detail) => Some(halt(facts, HaltReason::CheckFlaky, self.purpose.label(), detail)),
            Stage::Objection(finding) => {
                let Objection { reason, cause, detail } = finding.into();
                Some(halt(facts, reason, &cause, &detail))
            }
            Stage::Failed(check) => failure(&check.run, facts).and_then(|f| halt_for(&noted(f, check), facts)),
        }
    }

    /// Takes a fact about this sample; `reference` is the run that it repeats.
    pub(crate) fn apply(&mut self, facts: &mut Facts, reference: CheckVerdict, event: &Event) -> Result<(), Illegal> {
        match (&self.stage, event) {
            (Stage::Ask, Event::CheckBegan(began))
                if (began.attempt, began.purpose) == self.key() && began.iteration == facts.iteration =>
            {
                // Elsewhere than called for it would be no run of the same thing.
                if began.copy_of != self.copy_of(facts) {
                    return Err(Self::illegal(event, "a sample reads the tree that the first run read"));
                }
                self.stage = Stage::Running;
            }
            (Stage::Running, Event::CheckEnded(ended))
                if (ended.attempt, ended.purpose) == self.key() && ended.iteration == facts.iteration =>
            {
                let outcome = failure(&ended.run, facts);
                // The guards see a confirmation that was not cut short, and no other sample.
                let unseen = self.purpose != CheckPurpose::Confirmation || matches!(outcome, Some(Failure::Again));
                let objection = unseen.then(|| guard::beside(facts.policy(), ended)).flatten();
                self.stage = match (outcome, objection) {
                    (Some(Failure::Oracle { .. } | Failure::RunDeadline | Failure::ZoneRefused(_)), _) => {
                        Stage::Failed(Arc::clone(ended))
                    }
                    (_, Some(finding)) => Stage::Objection(finding),
                    (Some(Failure::Again), None) => {
                        self.attempt += 1;
                        Stage::Ask
                    }
                    (None, None) => self.compare(facts, reference, ended),
                };
                // Nothing judges a confirmation that does not hold, so what it did beside ends the run at once.
                let beside = self.tolerated().and_then(|check| guard::beside(facts.policy(), check));
                if let Some(finding) = beside {
                    self.stage = Stage::Objection(finding);
                }
            }
            (Stage::Running, Event::Interrupted(interrupted)) if interrupted.attempt == self.attempt => {
                self.attempt += 1;
                self.stage = Stage::Ask;
            }
            _ => return Err(Self::illegal(event, "not the next step of this sample")),
        }
        Ok(())
    }

    fn key(&self) -> (u32, CheckPurpose) {
        (self.attempt, self.purpose)
    }

    /// Agreement is an equal verdict.
    fn compare(&self, facts: &mut Facts, reference: CheckVerdict, sample: &Arc<CheckEnded>) -> Stage {
        let seen = CheckVerdict::of(sample);
        // A run of something else, and one whose reference is forgotten, are no samples.
        if self.repeats(facts) && facts.determinism.reference(self.read) == Some(reference) {
            facts.determinism.sample(seen == reference);
        }
        if seen == reference {
            return Stage::Agreed(Arc::clone(sample));
        }
        if tolerant(facts.policy().oracle.max_flake_ppm) {
            return Stage::Tolerated(Arc::clone(sample));
        }
        let differs = if seen.members == reference.members {
            Vec::new()
        } else {
            changed(facts, sample)
        };
        let member = differs.first().map(|c| format!("; {} became {}", c.id, c.status));
        let again = if sample.purpose == CheckPurpose::Resume {
            " in this life"
        } else {
            ""
        };
        let tree = match self.copy_of(facts) {
            Some(_) => "in a fresh copy of the same tree",
            None if self.repeats(facts) => "on the same tree",
            None => "on the tree that the first run left",
        };
        Stage::Disagreed(format!(
            "{} first and {}{again} {tree}{}",
            reference.exit_words(),
            seen.exit_words(),
            member.unwrap_or_default()
        ))
    }

    fn illegal(event: &Event, why: &'static str) -> Illegal {
        Illegal {
            phase: PhaseName::Check,
            event: event.name(),
            why,
        }
    }
}

/// A run that was never started has nothing but its note to say why.
fn noted(failure: Failure, check: &CheckEnded) -> Failure {
    match failure {
        Failure::Oracle { cause, ref detail } if !check.measurement.note.is_empty() => Failure::Oracle {
            cause,
            detail: format!("{detail}: {}", check.measurement.note),
        },
        Failure::Oracle { .. } | Failure::RunDeadline | Failure::ZoneRefused(_) | Failure::Again => failure,
    }
}

/// What differs from the run that was repeated. Between two lives that is not the run before it.
fn changed(facts: &Facts, sample: &CheckEnded) -> Vec<MemberChange> {
    match facts.accepted.as_deref() {
        Some(accepted) if sample.purpose == CheckPurpose::Resume => {
            let now: Vec<_> = facts.members.iter().map(|(id, status)| (id.clone(), status)).collect();
            accepted.statuses.changes_to(&now)
        }
        _ => sample.measurement.changes.clone(),
    }
}
