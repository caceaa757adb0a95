//! Kill set: are the tests of now worth as much as those of the start?
//!
//! ```text
//!   one small change of the product, under the tests of now --noticed--> the next change
//!                                     \ not noticed
//!                                      the same change under the tests of t0 --not noticed--> the next change
//!                                                                            \ noticed: a violation
//! ```
//!
//! Where tests may be renamed, moved, split and refactored, neither their names nor their text says whether they still
//! demand the same. What they notice does. The changes are drawn by the world when the work is over: nobody can have
//! worked towards them. Who notices that the product is merely spelled otherwise, as a test of its digest or its layout
//! does, notices everything and demands nothing: a run of each suite tells those apart, of that of t0 only where it has
//! noticed something. Honest work costs one run, one for each change, and one more for each that no suite notices.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::experiment::patience_ms;
use super::t0_replay;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::{Mutated, Trial};
use crate::event::finding::{Finding, GuardState};
use crate::event::halt::HaltReason;
use crate::event::measurement::{MemberStatus, StopCause};
use crate::event::policy::Surface;
use crate::guard::{self, Outcome};
use crate::members::Members;
use crate::words::counted;

pub static VET: Vet = Vet {
    name: "kill_set",
    catches: "changed tests that notice less of a wrong product than the tests of the start",
    reason: HaltReason::MetricIntegrityViolation,
    plan,
    judge,
};

/// Changes that are tried, at most: each is a run of the check.
const MUTANTS_MAX: u32 = 10;
/// So many more are drawn, for those that tell nothing.
const DRAWN_TIMES: u32 = 2;
/// Fewer that a suite could have noticed show nothing.
const TELLING_MIN: u32 = 3;
/// Where a small product has no more in it, and each of them is noticed.
const ALL_MIN: u32 = 2;
/// Members that are named for one change.
const NAMED_MAX: usize = 3;

const NOW: &str = "mutant";
const AT_T0: &str = "mutant under the tests of the start";
/// The product in other words that mean the same.
const SPELLED: &str = "spelled otherwise";
const SPELLED_AT_T0: &str = "spelled otherwise under the tests of the start";

/// The two suites, as each showed the unchanged candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suites {
    now: Members,
    start: Members,
    success_exit: i32,
    mutants: u32,
    /// How long a run may take.
    pub timeout_ms: u64,
}

impl Suites {
    fn of(case: &Case<'_>, replay: &Trial) -> Self {
        let policy = case.facts.policy();
        let mut start = case.facts.members.clone();
        start.apply(&replay.changes);
        Self {
            now: case.facts.members.clone(),
            start,
            success_exit: policy.oracle.success_exit,
            mutants: case.runs(TELLING_MIN, policy.guards.mutants_max.min(MUTANTS_MAX)),
            timeout_ms: policy
                .bounds
                .check_timeout_ms
                .unwrap_or_else(|| patience_ms(case.check.run.duration_ms)),
        }
    }
}

impl Suites {
    /// How many changes of the product are drawn: some leave no test to run, and others take their place.
    pub fn drawn(&self) -> u32 {
        self.mutants.saturating_mul(DRAWN_TIMES)
    }
}

/// The run that compares with: the candidate's product under the tests of t0.
fn replay<'a>(case: &Case<'a>) -> Option<&'a Trial> {
    let vetted = case.earlier.iter().find(|vetted| vetted.guard == t0_replay::VET.name)?;
    let active = vetted.state == GuardState::Active;
    vetted
        .trials
        .iter()
        .find(|trial| active && trial.subject == t0_replay::SUBJECT)
}

fn plan(case: &Case<'_>) -> Plan {
    if case.facts.policy().guards.surface != Surface::Extend {
        return Plan::NotApplicable("the contract lets no test change".into());
    }
    if guard::deferred(case.report).is_none() {
        return Plan::NotApplicable("no change of the tests was left to it".into());
    }
    match replay(case) {
        Some(replay) => Plan::Run(Experiment::KillSet(Suites::of(case, replay))),
        None => Plan::NotApplicable("there is no run with the tests of the start to compare with".into()),
    }
}

/// One run, whether it was made just now or recorded.
struct Shown<'a> {
    subject: &'a str,
    mutant: Option<&'a Mutated>,
    stop: StopCause,
    exit: Option<i32>,
    members: Members,
    ended: String,
}

/// What a suite made of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// By these members, or by the status or the time of the check.
    Noticed(Vec<String>, String),
    /// Red, and no test says why: the change broke what has to be there for a test to run.
    Broken,
    Missed,
}

impl Shown<'_> {
    /// Members of a suite that are shown as failing here and passed on the unchanged candidate.
    fn fell<'k>(&'k self, known: &'k Members) -> impl Iterator<Item = &'k String> {
        let status = |id: &String| self.members.status(id).unwrap_or(MemberStatus::Absent);
        let passing = known.iter().filter(|(_, status)| status.passes()).map(|(id, _)| id);
        passing.filter(move |id| status(id).fails() && status(id) != MemberStatus::Absent)
    }

    /// `known` is how the same suite showed the unchanged candidate, `spelled` the same product in other words.
    fn fate(&self, known: &Members, spelled: Option<&Self>, success_exit: i32) -> Fate {
        let minding: Vec<&String> = spelled.into_iter().flat_map(|run| run.fell(known)).collect();
        let fell = self.fell(known).filter(|id| !minding.contains(id));
        let fell: Vec<String> = fell.take(NAMED_MAX).cloned().collect();
        let in_time = self.stop == StopCause::None;
        if !fell.is_empty() || !in_time {
            return Fate::Noticed(fell, self.ended.clone());
        }
        let red = |run: &Self| run.exit != Some(success_exit);
        let minds = match known.is_empty() {
            true => spelled.is_some_and(red),
            false => self.fell(known).next().is_some(),
        };
        match (red(self) && !minds, known.is_empty()) {
            (false, _) => Fate::Missed,
            (true, true) => Fate::Noticed(fell, self.ended.clone()),
            (true, false) => Fate::Broken,
        }
    }
}

/// What comes next: a run, or what all of them come to. Where the world finds nothing more to change, no run follows.
enum Next {
    Step(Step),
    Over(Vec<Finding>),
}

/// How many changes came to what.
#[derive(Default)]
struct Tally {
    noticed: u32,
    missed_by_both: u32,
    broken: u32,
}

impl Tally {
    /// Changes that a suite could have noticed.
    fn telling(&self) -> u32 {
        self.noticed + self.missed_by_both
    }

    /// Fewer are told of only where the world found no more.
    fn is_enough(&self) -> bool {
        let all = self.noticed >= ALL_MIN && self.missed_by_both + self.broken == 0;
        all || self.noticed > 0 && self.telling() >= TELLING_MIN
    }
}

fn walk(suites: &Suites, shown: &[Shown<'_>], tally: &mut Tally) -> Next {
    let mut runs = shown.iter();
    let step = |subject, base, plant| Next::Step(Step { subject, base, plant });
    let Some(spelled) = runs.next().filter(|run| run.subject == SPELLED) else {
        return step(SPELLED, Base::Candidate, Plant::RespelledProduct);
    };
    let mut spelled_at_t0 = None;
    for number in 0..suites.drawn() {
        if tally.telling() >= suites.mutants {
            break;
        }
        let plant = Plant::Mutant(number);
        let Some(now) = runs.next().filter(|run| run.subject == NOW) else {
            return step(NOW, Base::Candidate, plant);
        };
        match now.fate(&suites.now, Some(spelled), suites.success_exit) {
            Fate::Noticed(..) => {
                tally.noticed += 1;
                continue;
            }
            Fate::Broken => {
                tally.broken += 1;
                continue;
            }
            Fate::Missed => {}
        }
        let Some(start) = runs.next().filter(|run| run.subject == AT_T0) else {
            return step(AT_T0, Base::CandidateOnStartSurface, plant);
        };
        let mut fate = start.fate(&suites.start, spelled_at_t0, suites.success_exit);
        if matches!(fate, Fate::Noticed(..)) && spelled_at_t0.is_none() {
            let Some(run) = runs.next().filter(|run| run.subject == SPELLED_AT_T0) else {
                return step(SPELLED_AT_T0, Base::CandidateOnStartSurface, Plant::RespelledProduct);
            };
            spelled_at_t0 = Some(run);
            fate = start.fate(&suites.start, spelled_at_t0, suites.success_exit);
        }
        match fate {
            Fate::Noticed(by, ended) => return Next::Over([missed(now.mutant, &by, &ended)].into()),
            Fate::Broken => tally.broken += 1,
            Fate::Missed => tally.missed_by_both += 1,
        }
    }
    Next::Over(Vec::new())
}

/// The tests of t0 noticed this change of the product, and those of now do not.
fn missed(mutant: Option<&Mutated>, by: &[String], ended: &str) -> Finding {
    let (subject, change) = mutant.map_or_else(Default::default, |mutant| {
        let at = format!("{}:{}", mutant.path, mutant.line);
        (at, format!("{} -> {}", mutant.from, mutant.to))
    });
    let by = if by.is_empty() {
        ended.into()
    } else {
        format!("{} failed", by.join(", "))
    };
    let detail = format!("the tests pass with a wrong product ({change}), and at the start {by}");
    VET.violation(subject, detail)
}

/// The next run.
pub(super) fn step(suites: &Suites, ran: &[Ran]) -> Option<Step> {
    let shown: Vec<Shown<'_>> = ran
        .iter()
        .map(|ran| {
            let known = suites.known(ran.step.subject);
            let changes = known.changes_to(&ran.reading.members);
            let mut members = known.clone();
            // Who names only what fails says of the rest that it passes.
            let said = |status: MemberStatus| ran.reading.complete || status != MemberStatus::Absent;
            members.apply(
                &changes
                    .into_iter()
                    .filter(|change| said(change.status))
                    .collect::<Vec<_>>(),
            );
            Shown {
                subject: ran.step.subject,
                mutant: ran.mutants.first(),
                stop: ran.run.stop,
                exit: ran.run.exited(),
                members,
                ended: String::new(),
            }
        })
        .collect();
    match walk(suites, &shown, &mut Tally::default()) {
        Next::Step(step) => Some(step),
        Next::Over(_) => None,
    }
}

impl Suites {
    fn known(&self, subject: &str) -> &Members {
        if [NOW, SPELLED].contains(&subject) {
            &self.now
        } else {
            &self.start
        }
    }
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let Some(replay) = replay(case) else {
        return Outcome::unavailable("there is no run with the tests of the start to compare with".into());
    };
    weigh(&Suites::of(case, replay), trials)
}

fn weigh(suites: &Suites, trials: &[Trial]) -> Outcome {
    let shown: Vec<Shown<'_>> = trials
        .iter()
        .map(|trial| {
            // What is recorded is recorded against the check of the turn.
            let mut members = suites.now.clone();
            members.apply(&trial.changes);
            Shown {
                subject: &trial.subject,
                mutant: trial.mutants.first(),
                stop: trial.stop,
                exit: trial.exited(),
                members,
                ended: trial.ended(),
            }
        })
        .collect();
    let is_changed = |shown: &Shown<'_>| [NOW, AT_T0].contains(&shown.subject);
    if shown.iter().any(|shown| is_changed(shown) && shown.mutant.is_none()) {
        return Outcome::unavailable("a run was made without a change".into());
    }
    let mut tally = Tally::default();
    match walk(suites, &shown, &mut tally) {
        Next::Step(step) if [AT_T0, SPELLED_AT_T0].contains(&step.subject) => {
            return Outcome::unavailable(format!("the run \"{}\" was not made", step.subject));
        }
        Next::Over(findings) if !findings.is_empty() => return Outcome::active(findings),
        Next::Step(_) | Next::Over(_) => {}
    }
    if !tally.is_enough() {
        return Outcome::unavailable(format!(
            "too few changes could be made to the product to compare the tests with those of the start ({tally})"
        ));
    }
    let mut outcome = Outcome::active(Vec::new());
    outcome.note = format!("{} of the product: {tally}", counted(tally.telling().into(), "change"));
    outcome
}

impl core::fmt::Display for Tally {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} noticed", self.noticed)?;
        for (count, what) in [
            (self.missed_by_both, "missed by both"),
            (self.broken, "left no test to run"),
        ] {
            if count > 0 {
                write!(f, "; {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
