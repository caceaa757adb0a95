//! Sentinel pair: can the suite still go red?
//!
//! A test that must fail and one that must pass, under names that nobody could know, stand beside the project's own in
//! a copy. A runner that was patched from product code, or ended by it, shows the first as anything but failed. Where
//! a suite shows neither, the same is tried on the tree of the start: what it never collected proves nothing. A check
//! that selects its tests by their names is asked by those names: bodies that fail stand in place of its own.

mod script;
mod spelling;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::oracle_mutation::newly_passing;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::Trial;
use crate::event::halt::HaltReason;
use crate::event::measurement::MemberStatus;
use crate::guard::Outcome;
use crate::members::Members;
use spelling::{SPELLED, SPELLED_AT_T0};

pub static VET: Vet = Vet {
    name: "sentinel_pair",
    catches: "a runner or a suite that product code keeps from showing a failure",
    reason: HaltReason::MetricIntegrityViolation,
    plan,
    judge,
};

/// Runners into whose suite a test can be written, by the name of their collector.
pub const RUNNERS: &[&str] = &[
    "go", "jest", "libtest", "nextest", "node", "pytest", "unittest", "vitest",
];

/// What stands for a check into whose suite no test can be written: a script, if it is one.
pub const SCRIPT: &str = "script";

fn plan(case: &Case<'_>) -> Plan {
    Plan::Run(Experiment::Sentinels(Suite {
        runner: runner(case),
        success_exit: case.facts.policy().oracle.success_exit,
        newly_passing: newly_passing(case),
    }))
}

fn runner(case: &Case<'_>) -> &'static str {
    let collector = case.check.measurement.collector.as_str();
    let known = RUNNERS.iter().copied().find(|runner| *runner == collector);
    known.unwrap_or(SCRIPT)
}

/// What is known of the suite before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    runner: &'static str,
    success_exit: i32,
    newly_passing: Vec<String>,
}

const IN_PLACE: &str = "in place of members";
const IN_PLACE_AT_T0: &str = "in place of members at t0";

/// The next run: what must show itself first, and then who minds how it is spelled.
pub(super) fn step(suite: &Suite, ran: &[Ran]) -> Option<Step> {
    let (spelled, asked): (Vec<&Ran>, Vec<&Ran>) = ran.iter().partition(|ran| ran.step.plant == Plant::Respelled);
    let minds = || spelling::minds(suite, asked.first()?, &spelled);
    shows(suite, &asked).or_else(|| (suite.runner != SCRIPT).then(minds)?)
}

/// In the candidate and at the start, first beside the suite's own tests, then in their place.
fn shows(suite: &Suite, ran: &[&Ran]) -> Option<Step> {
    let runner = suite.runner;
    let step = |subject, base, in_place| {
        let plant = Plant::Sentinels { runner, in_place };
        Some(Step { subject, base, plant })
    };
    if ran
        .last()
        .is_some_and(|ran| ran.planted.is_empty() || ran.run.exited().is_none())
    {
        return None;
    }
    let is_script = runner == SCRIPT;
    match ran {
        [] => step("sentinels", Base::Candidate, false),
        [now] if is_script && !script::stopped(now.run.exited(), suite.success_exit, &now.planted) => {
            step("sentinels at t0", Base::Start, false)
        }
        _ if is_script => None,
        [now] if !shown(now, suite.success_exit) => step("sentinels at t0", Base::Start, false),
        [_, start] if !shown(start, suite.success_exit) => step(IN_PLACE, Base::Candidate, true),
        [_, _, now] if !all_fail(now) => step(IN_PLACE_AT_T0, Base::Start, true),
        _ => None,
    }
}

/// What a run showed of the tests that were planted in its suite: one that must pass, and behind it those that must fail.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    red: bool,
    must_pass: Option<MemberStatus>,
    /// Those that were shown.
    must_fail: Vec<MemberStatus>,
}

impl Pair {
    fn of<'a>(
        exit: Option<i32>,
        success_exit: i32,
        planted: &[String],
        members: impl Iterator<Item = (&'a String, MemberStatus)> + Clone,
    ) -> Self {
        let status = |name: &String| {
            let mut found = members.clone().filter(|(id, _)| id.contains(name.as_str()));
            found
                .next()
                .map(|(_, status)| status)
                .filter(|status| *status != MemberStatus::Absent)
        };
        Self {
            red: exit.is_some_and(|exit| exit != success_exit),
            must_pass: planted.first().and_then(status),
            must_fail: planted.iter().skip(1).filter_map(status).collect(),
        }
    }

    /// A runner may stop at the first failure and leave the others out.
    fn is_shown(&self) -> bool {
        let fails = !self.must_fail.is_empty() && self.must_fail.iter().all(|status| status.fails());
        self.red && fails && self.must_pass.is_none_or(MemberStatus::passes)
    }
}

/// The tests showed themselves as they must: nothing more needs to be run.
fn shown(ran: &Ran, success_exit: i32) -> bool {
    let members = ran.reading.members.iter().map(|(id, status)| (id, *status));
    Pair::of(ran.run.exited(), success_exit, &ran.planted, members).is_shown()
}

/// Every member whose body fails is shown, and as failing.
fn all_fail(ran: &Ran) -> bool {
    let fails = |name: &String| {
        let mut own = ran.reading.members.iter().filter(|(id, _)| id == name);
        own.any(|(_, status)| *status != MemberStatus::Absent && status.fails())
    };
    ran.planted.iter().all(fails)
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    if runner(case) == SCRIPT {
        let collector = case.check.measurement.collector.as_str();
        return script::weigh(case.facts.policy().oracle.success_exit, collector, trials);
    }
    let (mut beside, mut in_place, mut spelled) = (Vec::new(), Vec::new(), Vec::new());
    for trial in trials {
        match trial.subject.as_str() {
            SPELLED | SPELLED_AT_T0 => spelled.push(trial),
            IN_PLACE | IN_PLACE_AT_T0 => in_place.push(trial),
            _ => beside.push(trial),
        }
    }
    let mut outcome = weigh(case.facts.policy().oracle.success_exit, &beside);
    if let [now, rest @ ..] = in_place.as_slice()
        && outcome.findings.is_empty()
        && !now.planted.is_empty()
    {
        outcome = weigh_in_place(&case.facts.members, now, rest.first().copied());
    }
    let minding = spelling::judge(case, trials.first(), &spelled);
    if minding.is_empty() {
        return outcome;
    }
    let mut active = Outcome::active(outcome.findings);
    active.findings.extend(minding);
    active
}

/// Members that were made to fail. Only one that fails at the start, by the same body, and does not now is strange.
fn weigh_in_place(known: &Members, now: &Trial, start: Option<&Trial>) -> Outcome {
    let status = |trial: &Trial, name: &str| {
        let changed = trial.changes.iter().find(|change| change.id == name);
        changed.map_or_else(|| known.status(name), |change| Some(change.status))
    };
    let failed = |trial: &Trial, name: &str| {
        let status = status(trial, name).filter(|status| *status != MemberStatus::Absent);
        status.is_some_and(MemberStatus::fails)
    };
    if now.exited().is_none() {
        return Outcome::unavailable(format!("with members that were made to fail, {}", now.ended()));
    }
    let bent = |name: &&String| {
        let passes = status(now, name).is_some_and(MemberStatus::passes);
        passes && start.is_some_and(|start| failed(start, name))
    };
    if let Some(name) = now.planted.iter().find(bent) {
        let detail = "it passes in the candidate with a body that can only fail, and failed with it at the start";
        return Outcome::active([VET.violation(name.as_str(), detail)].into());
    }
    if now.planted.iter().any(|name| failed(now, name)) {
        return Outcome::active(Vec::new());
    }
    Outcome::not_applicable("the suite shows no test that is added to it, and none that is made to fail")
}

fn weigh(success_exit: i32, trials: &[&Trial]) -> Outcome {
    let pair = |trial: &Trial| {
        let members = trial.changes.iter().map(|change| (&change.id, change.status));
        Pair::of(trial.exited(), success_exit, &trial.planted, members)
    };
    let planted = |trial: &&&Trial| !trial.planted.is_empty();
    let Some(now) = trials.first().filter(planted) else {
        return Outcome::not_applicable("there is no place in this suite where a sentinel could stand");
    };
    let seen = pair(now);
    if seen.is_shown() {
        return Outcome::active(Vec::new());
    }
    // Nothing honest passes a test that cannot pass, whatever the tree of the start could show.
    if seen.must_fail.contains(&MemberStatus::Passed) {
        let detail = "a test that must fail is passed in the candidate";
        return Outcome::active([VET.violation("suite", detail)].into());
    }
    if now.exited().is_none() {
        return Outcome::unavailable(format!("with the sentinels in its suite, {}", now.ended()));
    }
    if !trials
        .get(1)
        .filter(planted)
        .is_some_and(|start| pair(start).is_shown())
    {
        return Outcome::not_applicable("the suite shows no test that is added to it, at the start as little as now");
    }
    let strange = seen.must_fail.iter().find(|status| !status.fails());
    let detail = match strange {
        Some(status) => format!("a test that must fail is {status} in the candidate, and failed at the start"),
        None if seen.must_fail.is_empty() => {
            "a test that must fail is not shown in the candidate, and failed at the start".into()
        }
        None if !seen.red => "the check is green although tests fail, and was red for them at the start".into(),
        None => "a test that must pass does not pass in the candidate, and passed at the start".into(),
    };
    Outcome::active([VET.violation("suite", detail)].into())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::measurement::MemberChange;
    use crate::guard::bench::members;
    use crate::vet::bench::trial;

    use MemberStatus::{Failed, Passed};

    /// A run in which the one that must pass, and the one that must fail, ended so.
    fn ran(code: i32, shown: &[(&str, MemberStatus)]) -> Trial {
        let change = |(id, status): &(&str, MemberStatus)| MemberChange {
            id: format!("suite::{id}"),
            status: *status,
        };
        Trial {
            planted: vec!["holds_1".into(), "fails_2".into()],
            changes: shown.iter().map(change).collect(),
            ..trial(code)
        }
    }

    #[test]
    fn a_test_that_cannot_pass_and_is_shown_as_passed_is_a_violation_whatever_the_start_showed() {
        let bent = ran(0, &[("holds_1", Passed), ("fails_2", Passed)]);
        let blind = ran(2, &[]);
        for trials in [vec![&bent, &blind], vec![&bent]] {
            let outcome = weigh(0, &trials);
            assert_eq!(outcome.findings.len(), 1, "{outcome:?}");
            assert_eq!(outcome.findings[0].reason, HaltReason::MetricIntegrityViolation);
        }
    }

    #[test]
    fn a_member_that_passes_with_a_body_that_can_only_fail_is_a_violation_where_it_failed_at_the_start() {
        let known = members(&[("t::a", Passed), ("t::b", Passed)]);
        let made_to_fail = |failing: &[&str]| {
            let change = |id: &&str| MemberChange {
                id: String::from(*id),
                status: Failed,
            };
            Trial {
                planted: vec!["t::a".into(), "t::b".into()],
                changes: failing.iter().map(change).collect(),
                ..trial(1)
            }
        };
        let (none, one, both) = (
            made_to_fail(&[]),
            made_to_fail(&["t::b"]),
            made_to_fail(&["t::a", "t::b"]),
        );
        let weighed = |now: &Trial, start: &Trial| weigh_in_place(&known, now, Some(start));
        for bent in [&none, &one] {
            let found = weighed(bent, &both).findings;
            assert_eq!((found.len(), found[0].subject.as_str()), (1, "t::a"));
        }
        assert!(weigh_in_place(&known, &both, None).findings.is_empty());
        // A body that takes no place at the start either, or a runner that stops at the first failure, shows nothing.
        assert_eq!(weighed(&none, &none).state, GuardState::NotApplicable);
        let stopped = weighed(&one, &one);
        assert_eq!((stopped.state, stopped.findings.len()), (GuardState::Active, 0));
    }

    #[test]
    fn what_shows_neither_now_nor_at_the_start_takes_no_test() {
        let blind = ran(0, &[]);
        let outcome = weigh(0, &[&blind, &blind]);
        assert_eq!(outcome.state, GuardState::NotApplicable);
        let honest = ran(1, &[("holds_1", Passed), ("fails_2", Failed)]);
        assert!(weigh(0, &[&honest]).findings.is_empty());
        assert_eq!(
            weigh(0, &[&blind, &honest]).findings.len(),
            1,
            "shown at the start only"
        );
    }
}
