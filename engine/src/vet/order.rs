//! Order: do the tests say the same in another order, and by themselves?
//!
//! ```text
//!   backwards --as in the check--> shuffled --as in the check--> some of those that newly pass, each alone
//!       \ other                       \ other                        \ other
//!        t0, t0 backwards              t0, t0 shuffled                violation
//!            \ t0 differs there too: a note, and on; else a violation
//! ```
//!
//! A product that answers by the number of calls, or from what an earlier test left, knows one order. The seed is drawn
//! by the world when the work is over: nobody can have worked towards it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::Trial;
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::{MemberChange, MemberStatus};
use crate::guard::Outcome;
use crate::members::Members;

pub static VET: Vet = Vet {
    name: "order",
    catches: "tests that pass in one order, or beside one another, and nowhere else",
    reason: HaltReason::CheckFlaky,
    plan,
    judge,
};

/// A runner that can be told an order by its environment: each of them shuffles.
#[derive(Debug, PartialEq, Eq)]
pub struct Runner {
    /// Of its collector.
    pub name: &'static str,
    /// Its suite can run backwards.
    pub backwards: bool,
    /// Newly passing members that are run alone, at most; none where it cannot be told to run one test.
    pub alone_max: usize,
}

const fn shuffles(name: &'static str) -> Runner {
    Runner {
        name,
        backwards: false,
        alone_max: 0,
    }
}

/// Every such runner.
pub static RUNNERS: &[Runner] = &[
    shuffles("go"),
    shuffles("googletest"),
    shuffles("jest"),
    // Every run of it may be a build.
    Runner {
        alone_max: 1,
        ..shuffles("libtest")
    },
    Runner {
        name: "pytest",
        backwards: true,
        alone_max: 3,
    },
    shuffles("rspec"),
    Runner {
        name: "unittest",
        backwards: true,
        alone_max: 3,
    },
    shuffles("vitest"),
];

/// The order in which a copy runs its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Backwards,
    /// By this seed; without one the world draws it.
    Shuffled(Option<u32>),
    /// The newly passing member of this number, by itself.
    Alone(usize),
}

/// What the runs are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    pub runner: &'static Runner,
    /// What the check of the turn said.
    members: Members,
    /// Those that pass now and did not in the accepted line.
    newly_passing: Vec<String>,
}

impl Suite {
    fn of(case: &Case<'_>, runner: &'static Runner) -> Self {
        let accepted = case.facts.accepted.as_ref().map(|accepted| &accepted.passing);
        let members = case.facts.members.clone();
        let is_new = |id: &&String| accepted.is_none_or(|accepted| !accepted.contains(id));
        let passing = members.iter().filter(|(_, status)| status.passes()).map(|(id, _)| id);
        Self {
            newly_passing: passing.filter(is_new).cloned().collect(),
            runner,
            members,
        }
    }

    /// A newly passing member by its number.
    pub fn alone(&self, number: usize) -> Option<&str> {
        self.newly_passing.get(number).map(String::as_str)
    }
}

fn runner(case: &Case<'_>) -> Result<&'static Runner, String> {
    let collector = case.check.measurement.collector.as_str();
    let known = RUNNERS.iter().find(|runner| runner.name == collector);
    known.ok_or_else(|| match collector {
        "" => "nothing reads members from this check".into(),
        other => format!("nothing tells {other} from outside in which order to run its tests"),
    })
}

fn plan(case: &Case<'_>) -> Plan {
    let runner = match runner(case) {
        Ok(runner) => runner,
        Err(why) => return Plan::NotApplicable(why),
    };
    Plan::Run(Experiment::Order(Suite::of(case, runner)))
}

/// One run, whether it was made just now or recorded.
struct Shown<'a> {
    subject: &'a str,
    /// What was in force of the change, as the world names it; none when it was not.
    planted: Option<&'a str>,
    exited: bool,
    /// Against the check of the turn.
    changes: Vec<MemberChange>,
    ended: String,
}

impl Shown<'_> {
    fn status(&self, suite: &Suite, id: &str) -> MemberStatus {
        let changed = self.changes.iter().find(|change| change.id == id);
        let known = || suite.members.status(id).unwrap_or(MemberStatus::Absent);
        changed.map_or_else(known, |change| change.status)
    }
}

/// What comes next: a run, or what all of them come to.
enum Next {
    Step(Step),
    Over(Outcome),
}

/// Passing, failing, or neither: nothing else of a status counts here.
fn same(one: MemberStatus, other: MemberStatus) -> bool {
    (one.passes(), one.fails()) == (other.passes(), other.fails())
}

/// The runs under one order: on the candidate, and on t0 where that is needed.
struct Leg {
    order: Order,
    subject: &'static str,
    at_t0: &'static str,
}

const T0: &str = "t0";
const ALONE: &str = "alone";
const BACKWARDS: Leg = Leg {
    order: Order::Backwards,
    subject: "backwards",
    at_t0: "t0 backwards",
};
const SHUFFLED: Leg = Leg {
    order: Order::Shuffled(None),
    subject: "shuffled",
    at_t0: "t0 shuffled",
};

/// Where the runs stand.
struct Walk<'a> {
    suite: &'a Suite,
    shown: &'a [Shown<'a>],
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn find(&self, subject: &str) -> Option<&Shown<'_>> {
        self.shown.iter().find(|shown| shown.subject == subject)
    }

    fn next(mut self) -> Next {
        let backwards = self.suite.runner.backwards.then_some(&BACKWARDS);
        for leg in backwards.into_iter().chain([&SHUFFLED]) {
            match self.leg(leg) {
                Some(next) => return next,
                None if super::objects(&self.findings) => return Next::Over(Outcome::active(self.findings)),
                None => {}
            }
        }
        let next = self.alone();
        next.unwrap_or_else(|| Next::Over(Outcome::active(self.findings)))
    }

    /// What is next under one order; `None` when all of it was seen, and what stands against it is among the findings.
    fn leg(&mut self, leg: &Leg) -> Option<Next> {
        let step = |subject, base, plant| Some(Next::Step(Step { subject, base, plant }));
        let Some(now) = self.find(leg.subject) else {
            return step(leg.subject, Base::Candidate, Plant::Order(leg.order));
        };
        let words = words(leg, now.planted);
        let seed = now.planted.and_then(|seed| seed.parse().ok());
        let again = match leg.order {
            Order::Shuffled(_) => Order::Shuffled(seed),
            order @ (Order::Backwards | Order::Alone(_)) => order,
        };
        let at_t0 = self.find(leg.at_t0);
        if now.planted.is_none() {
            return match at_t0 {
                None => step(leg.at_t0, Base::Start, Plant::Order(again)),
                Some(start) if start.planted.is_some() => Some(Next::Over(Outcome::unavailable(format!(
                    "the suite does not run {words} any more, and did at the start"
                )))),
                Some(_) => Some(Next::Over(Outcome::not_applicable(
                    "no other order is in force in this suite, at the start as little as now",
                ))),
            };
        }
        if !now.exited {
            return Some(Next::Over(Outcome::unavailable(format!(
                "with its tests {words}, {}",
                now.ended
            ))));
        }
        let differs = |change: &&MemberChange| {
            let before = self.suite.members.status(&change.id).unwrap_or(MemberStatus::Absent);
            !same(before, change.status)
        };
        let other: Vec<&MemberChange> = now.changes.iter().filter(differs).collect();
        if other.is_empty() {
            return None;
        }
        let Some(start) = self.find(T0) else {
            return step(T0, Base::Start, Plant::Nothing);
        };
        let Some(reordered) = at_t0 else {
            return step(leg.at_t0, Base::Start, Plant::Order(again));
        };
        let was_so = |id: &str| {
            let status = |shown: &Shown<'_>| shown.status(self.suite, id);
            reordered.planted.is_some() && start.exited && reordered.exited && !same(status(start), status(reordered))
        };
        let old = other.iter().all(|change| was_so(&change.id));
        let found = other.iter().map(|change| {
            let said = format!("it is {} {words}, and was not in the check", change.status);
            if old {
                let detail = format!("{said}; its outcome hung on the order at the start already");
                VET.note(change.id.clone(), detail)
            } else {
                VET.violation(change.id.clone(), said)
            }
        });
        let found: Vec<Finding> = found.collect();
        self.findings.extend(found);
        None
    }

    /// Some of the newly passing members, each by itself. Which of them, the seed says.
    fn alone(&mut self) -> Option<Next> {
        let fresh = self.suite.newly_passing.len();
        let seed = self.find(SHUFFLED.subject).and_then(|shown| shown.planted);
        let seed: usize = seed.and_then(|seed| seed.parse().ok()).unwrap_or(0);
        let wanted = fresh.min(self.suite.runner.alone_max);
        for nth in 0..wanted {
            let number = (seed + nth * fresh / wanted) % fresh;
            let Some(id) = self.suite.alone(number) else { continue };
            let Some(run) = self.shown.iter().filter(|shown| shown.subject == ALONE).nth(nth) else {
                return Some(Next::Step(Step {
                    subject: ALONE,
                    base: Base::Candidate,
                    plant: Plant::Order(Order::Alone(number)),
                }));
            };
            if run.planted != Some(id) {
                self.findings.push(VET.note(id, "it could not be run alone"));
                continue;
            }
            if !run.exited {
                return Some(Next::Over(Outcome::unavailable(format!(
                    "with {id} alone, {}",
                    run.ended
                ))));
            }
            let status = run.status(self.suite, id);
            if !status.passes() {
                let finding = VET.violation(id, format!("it passes in the check and is {status} when it runs alone"));
                self.findings.push(finding);
                break;
            }
        }
        None
    }
}

fn words(leg: &Leg, planted: Option<&str>) -> String {
    match (leg.order, planted) {
        (Order::Backwards, _) => "backwards".into(),
        (Order::Shuffled(_), Some(seed)) => format!("shuffled by seed {seed}"),
        (Order::Shuffled(_) | Order::Alone(_), _) => leg.subject.to_string(),
    }
}

fn walk(suite: &Suite, shown: &[Shown<'_>]) -> Next {
    Walk {
        suite,
        shown,
        findings: Vec::new(),
    }
    .next()
}

/// The next run.
pub(super) fn step(suite: &Suite, ran: &[Ran]) -> Option<Step> {
    let shown: Vec<Shown<'_>> = ran
        .iter()
        .map(|ran| {
            let changes = suite.members.changes_to(&ran.reading.members);
            // Who names only what fails says of the rest that it passes.
            let said = |change: &MemberChange| ran.reading.complete || change.status != MemberStatus::Absent;
            Shown {
                subject: ran.step.subject,
                planted: ran.planted.first().map(String::as_str),
                exited: ran.run.exited().is_some(),
                changes: changes.into_iter().filter(said).collect(),
                ended: String::new(),
            }
        })
        .collect();
    match walk(suite, &shown) {
        Next::Step(step) => Some(step),
        Next::Over(_) => None,
    }
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let runner = match runner(case) {
        Ok(runner) => runner,
        Err(why) => return Outcome::not_applicable(&why),
    };
    let shown: Vec<Shown<'_>> = trials
        .iter()
        .map(|trial| Shown {
            subject: &trial.subject,
            planted: trial.planted.first().map(String::as_str),
            exited: trial.exited().is_some(),
            changes: trial.changes.clone(),
            ended: trial.ended(),
        })
        .collect();
    match walk(&Suite::of(case, runner), &shown) {
        Next::Over(outcome) => outcome,
        Next::Step(step) => Outcome::unavailable(format!("the run \"{}\" was not made", step.subject)),
    }
}

#[cfg(test)]
mod tests;
