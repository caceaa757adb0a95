//! Hermeticity: does a check that is declared hermetic touch anything outside, and does it mind its surroundings?
//!
//! ```text
//!   traced --touched something--> violation, reached_outside        in a zone: what it saw fixed of itself,
//!      | nothing, same verdict                                      which leaves nothing outside to touch
//!   varied in all at once --same--> under a clock that stands still --> holds, with the tiers that were reached
//!      | other
//!   varied again --other than before--> unavailable
//!      | the same
//!   each by itself, until one shows another verdict --> its tool alone --same--> violation, dimension_broke
//!      \ none does: all of them together
//! ```
//!
//! What it touches is evidence, whatever the verdict of that run. A dimension that cannot be varied here is said to be
//! not probed; a trace that cannot be made leaves nothing to say, and the guard is unavailable. What a standing clock
//! changes is held against nobody: an honest check may wait for it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::experiment::patience_ms;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::{Reach, Reached, Trace, Trial, Varied};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::id::Digest;
use crate::event::policy::{Oracle, Policy};
use crate::event::zone::ZoneSeen;
use crate::guard::Outcome;
use crate::hermetic::tiers::{self, Part, Tier};
use crate::phase::CheckVerdict;
use crate::words::counted;

pub static VET: Vet = Vet {
    name: "hermeticity",
    catches: "a check declared hermetic that connects or reads outside, or minds what surrounds it",
    reason: HaltReason::HermeticityViolation,
    plan,
    judge,
};

/// What is varied, by the names of the probe's dimensions. All but the last lie outside of every tree; the clock is what
/// a check has to be given from outside, here one that is a day on.
pub const DIMENSIONS: [&str; 7] = ["network", "home", "tmp", "path", "timezone", "locale", "clock"];

/// The dimension whose tool also makes a clock stand still.
pub const CLOCK: &str = "clock";

/// Differing members that a finding names.
const NAMED_MAX: usize = 3;

const TRACED: &str = "traced";
const FROZEN: &str = "frozen";
const VARIED: &str = "varied";
const AGAIN: &str = "varied again";
const ALONE: &str = "varied in one";
const TOOL: &str = "its tool alone";

/// What was declared, and what runs are held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    verdict: CheckVerdict,
    evidence: Evidence,
    /// How long one run may take, as it is slower under a trace.
    pub timeout_ms: u64,
    /// How long one may take whose clock stands still, for which it may wait for ever.
    pub frozen_ms: u64,
}

/// What shows that a check reaches nothing outside.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Evidence {
    /// A run whose calls are written down.
    Trace,
    /// What the zone that it ran in saw of itself, unless that leaves a way out.
    Zone { lets_out: Option<String> },
}

impl Evidence {
    fn of(case: &Case<'_>) -> Self {
        if !case.facts.policy().isolation.zones {
            return Self::Trace;
        }
        Self::Zone {
            lets_out: tiers::lets_out(case.check.run.zone.as_ref()),
        }
    }
}

/// Which surroundings of a run are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    All,
    /// The dimension of this number in [`DIMENSIONS`].
    One(usize),
    /// What stands around the command for it, with nothing varied.
    ToolOf(usize),
}

impl Under {
    /// Whether this dimension is part of it.
    pub fn takes(self, dimension: &str) -> bool {
        let is = |number: usize| DIMENSIONS.get(number).is_some_and(|name| *name == dimension);
        match self {
            Self::All => DIMENSIONS.contains(&dimension),
            Self::One(number) | Self::ToolOf(number) => is(number),
        }
    }
}

/// Whether the contract declares the check hermetic and has not switched this guard off.
pub fn declared(policy: &Policy) -> bool {
    policy.oracle.hermetic && !policy.guards.off.iter().any(|name| name == VET.name)
}

fn plan(case: &Case<'_>) -> Plan {
    if !case.facts.policy().oracle.hermetic {
        return Plan::NotApplicable("the check is not declared hermetic".into());
    }
    let patience = patience_ms(case.check.run.duration_ms);
    let limit = case.facts.bounds.check_timeout_ms;
    Plan::Run(Experiment::Hermeticity(Box::new(Declared {
        verdict: CheckVerdict::of(case.check),
        evidence: Evidence::of(case),
        frozen_ms: patience,
        timeout_ms: limit.map_or(patience, |limit| limit.max(patience)),
    })))
}

/// One run, whether it was made just now or recorded.
struct Shown<'a> {
    subject: &'a str,
    same: bool,
    /// What it came to, for comparing one that differs with another.
    came_to: (Option<i32>, Digest),
    trace: Option<&'a Trace>,
    varied: &'a [Varied],
    differs: String,
}

impl Shown<'_> {
    /// How it differs, in words; empty where it does not.
    fn differing(&self) -> String {
        match (self.same, self.differs.as_str()) {
            (true, _) => String::new(),
            (false, "") => "it ends otherwise".into(),
            (false, words) => words.into(),
        }
    }
}

enum Next {
    Step(Step),
    /// Everything was seen, and nothing is held against the check.
    Holds(Vec<Finding>),
    Over(Outcome),
}

fn run(subject: &'static str, plant: Plant) -> Next {
    Next::Step(Step {
        subject,
        base: Base::Candidate,
        plant,
    })
}

fn walk(evidence: &Evidence, shown: &[Shown<'_>]) -> Next {
    match evidence {
        Evidence::Trace => after_trace(shown),
        Evidence::Zone { lets_out: Some(why) } => Next::Over(Outcome::unavailable(why.clone())),
        Evidence::Zone { lets_out: None } => after_evidence(shown, Vec::new()),
    }
}

fn find<'s>(shown: &'s [Shown<'s>], subject: &str) -> Option<&'s Shown<'s>> {
    shown.iter().find(|shown| shown.subject == subject)
}

fn after_trace(shown: &[Shown<'_>]) -> Next {
    let Some(traced) = find(shown, TRACED) else {
        return run(TRACED, Plant::Traced);
    };
    let Some(trace) = traced.trace else {
        return Next::Over(Outcome::unavailable("the run was not traced".into()));
    };
    let findings = touched(trace);
    if super::objects(&findings) {
        return Next::Over(Outcome::active(findings));
    }
    if let Some(why) = unproved(trace, &traced.differing()) {
        return Next::Over(Outcome::unavailable(why));
    }
    after_evidence(shown, findings)
}

fn after_evidence(shown: &[Shown<'_>], findings: Vec<Finding>) -> Next {
    let Some(varied) = find(shown, VARIED) else {
        return run(VARIED, Plant::Varied(Under::All));
    };
    if varied.same {
        let has_tool = |varied: &Varied| varied.dimension == CLOCK && varied.missing.is_empty();
        let is_due = varied.varied.iter().any(has_tool) && find(shown, FROZEN).is_none();
        return if is_due {
            run(FROZEN, Plant::Frozen)
        } else {
            Next::Holds(findings)
        };
    }
    match find(shown, AGAIN) {
        None => run(AGAIN, Plant::Varied(Under::All)),
        Some(again) if again.came_to == varied.came_to => named(shown, varied, findings),
        Some(again) => Next::Over(Outcome::unavailable(format!(
            "in other surroundings the check does not say the same twice: {}, and then {}",
            varied.differs,
            if again.same {
                "as in the check"
            } else {
                again.differs.as_str()
            }
        ))),
    }
}

/// Which of the dimensions it was.
fn named(shown: &[Shown<'_>], all: &Shown<'_>, mut findings: Vec<Finding>) -> Next {
    let mut of_one = shown.iter().filter(|shown| shown.subject == ALONE);
    let mut tools = shown.iter().filter(|shown| shown.subject == TOOL);
    let in_force = |name: &str| {
        all.varied
            .iter()
            .find(|varied| varied.dimension == name && varied.missing.is_empty())
    };
    let mut spoiled = None;
    for (number, name) in DIMENSIONS.iter().enumerate() {
        let Some(varied) = in_force(name) else { continue };
        let Some(alone) = of_one.next() else {
            return run(ALONE, Plant::Varied(Under::One(number)));
        };
        if alone.same {
            continue;
        }
        match tools.next() {
            None => return run(TOOL, Plant::Varied(Under::ToolOf(number))),
            Some(tool) if !tool.same => spoiled = Some(*name),
            Some(_) => {
                findings.push(broke((*name).into(), &varied.how, &alone.differs));
                return Next::Over(Outcome::active(findings));
            }
        }
    }
    if let Some(name) = spoiled {
        return Next::Over(Outcome::unavailable(format!(
            "what stands around the check to vary its {name} breaks it with nothing varied"
        )));
    }
    let names: Vec<&str> = DIMENSIONS.into_iter().filter(|name| in_force(name).is_some()).collect();
    findings.push(broke(names.join(" with "), "all at once", &all.differs));
    Next::Over(Outcome::active(findings))
}

fn broke(dimension: String, how: &str, differs: &str) -> Finding {
    Finding {
        reason: HaltReason::CheckNotHermetic,
        ..VET.violation(
            dimension,
            format!("the check says something else with {how}: {differs}"),
        )
    }
}

/// What a trace shows: reaching outside by a connection, a read or a start is a violation, writing there a note.
pub fn touched(trace: &Trace) -> Vec<Finding> {
    trace.reached.iter().map(finding).collect()
}

fn finding(reached: &Reached) -> Finding {
    let Reached {
        act,
        program,
        place,
        times,
    } = reached;
    let often = counted(*times, "time");
    match act {
        Reach::Connected => VET.violation(place, format!("{program} connected to it, {often}")),
        Reach::Read => VET.violation(
            place,
            format!("{program} read it, {often}: it lies outside of the check's tree and tools"),
        ),
        Reach::Executed => VET.violation(
            place,
            format!("{program} started it, {often}: it lies outside of the check's tree and tools"),
        ),
        Reach::Wrote => VET.note(
            place,
            format!("{program} wrote to it, {often}, outside of the check's own places"),
        ),
    }
}

/// Why a trace in which nothing was reached proves nothing; `differs` says how its verdict does, and is empty where it
/// does not.
pub fn unproved(trace: &Trace, differs: &str) -> Option<String> {
    if trace.processes == 0 {
        return Some("the trace shows no process".into());
    }
    if trace.unread > 0 {
        return Some(format!(
            "{} of the trace could not be read",
            counted(trace.unread, "line")
        ));
    }
    (!differs.is_empty()).then(|| format!("under a trace the check does not give its verdict again: {differs}"))
}

/// What was reached of the tiers (SPEC 6.7.2), in words that a receipt holds.
fn told_of_tiers(oracle: &Oracle, zone: Option<&ZoneSeen>, shown: &[Shown<'_>]) -> String {
    let varied = find(shown, VARIED).map_or(&[][..], |shown| shown.varied);
    let part = |varied: &Varied| match varied.missing.as_str() {
        "" => Part::Held,
        why => Part::Open(why.into()),
    };
    let parts: Vec<(&str, Part)> = varied
        .iter()
        .map(|varied| (varied.dimension.as_str(), part(varied)))
        .collect();
    let t0 = tiers::t0(oracle, zone);
    let (t1, t2) = (standing_clock(varied, find(shown, FROZEN)), tiers::t2(&parts, zone));
    let mut words = format!("T0 {t0}; T1 {t1}; T2 {t2}");
    match find(shown, TRACED).and_then(|traced| traced.trace) {
        Some(trace) => words.push_str(&format!(
            "; traced: {}, nothing outside; not frozen: kernel randomness ({}), the clock ({} seen, others need no call)",
            counted(trace.processes, "process"),
            counted(trace.randomness, "call"),
            counted(trace.clock, "call"),
        )),
        None => words.push_str(
            "; not traced, as its zone leaves nothing outside to reach; not frozen: kernel randomness, what the kernel \
             tells of the machine, the clock of programs that load no preload",
        ),
    }
    words
}

/// T1, from the run that was made for it, or from why none was.
fn standing_clock(varied: &[Varied], frozen: Option<&Shown<'_>>) -> Tier {
    let Some(frozen) = frozen else {
        let clock = varied.iter().find(|varied| varied.dimension == CLOCK);
        return tiers::t1(clock.map(|clock| Err(clock.missing.as_str())));
    };
    let missing = frozen.varied.iter().find(|varied| !varied.missing.is_empty());
    let differing = frozen.differing();
    tiers::t1(Some(match missing {
        Some(varied) => Err(&varied.missing),
        None if frozen.varied.is_empty() => Err("nobody saw the clock stand still"),
        None if frozen.same => Ok(None),
        None => Ok(Some(&differing)),
    }))
}

/// The next run.
pub(super) fn step(declared: &Declared, ran: &[Ran]) -> Option<Step> {
    let shown: Vec<Shown<'_>> = ran
        .iter()
        .map(|ran| Shown {
            subject: ran.step.subject,
            same: CheckVerdict::of_run(&ran.run, ran.reading.members_digest) == declared.verdict,
            came_to: (ran.run.exited(), ran.reading.members_digest),
            trace: ran.trace.as_ref(),
            varied: &ran.varied,
            differs: String::new(),
        })
        .collect();
    match walk(&declared.evidence, &shown) {
        Next::Step(step) => Some(step),
        Next::Holds(_) | Next::Over(_) => None,
    }
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let shown: Vec<Shown<'_>> = trials
        .iter()
        .map(|trial| {
            let differs = super::differs(case.check, trial);
            Shown {
                subject: &trial.subject,
                same: differs.is_none(),
                came_to: (trial.exited(), trial.members_digest),
                trace: trial.trace.as_ref(),
                varied: &trial.varied,
                differs: differs.map_or_else(String::new, |_| told(trial)),
            }
        })
        .collect();
    match walk(&Evidence::of(case), &shown) {
        Next::Over(outcome) => outcome,
        Next::Holds(findings) => Outcome {
            note: told_of_tiers(&case.facts.policy().oracle, case.check.run.zone.as_ref(), &shown),
            ..Outcome::active(findings)
        },
        Next::Step(step) => Outcome::unavailable(format!("the run \"{}\" was not made", step.subject)),
    }
}

/// What a run that differs said, with the first members that differ.
fn told(trial: &Trial) -> String {
    let mut words = trial.ended();
    for change in trial.changes.iter().take(NAMED_MAX) {
        words.push_str(&format!("; {} is {}", change.id, change.status));
    }
    match trial.changes.len().saturating_sub(NAMED_MAX) {
        0 => words,
        more => format!("{words}; and {more} more"),
    }
}

#[cfg(test)]
mod tests;
