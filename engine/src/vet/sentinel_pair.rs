//! Sentinel pair: can the suite still go red?
//!
//! A test that must fail and one that must pass, under names that nobody could know, stand beside the project's own in
//! a copy. A runner that was patched from product code, or ended by it, shows the first as anything but failed. Where
//! a suite shows neither, the same is tried on the tree of the start: what it never collected proves nothing.
//!
//! The project's own tests are spelled otherwise in that copy, which nobody minds who only runs them. A member that became
//! green and fails there is asked once more, without the sentinels: then its text is all that differs, and a product that
//! minds it looks at its tests.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::oracle_mutation::newly_passing;
use super::t0_replay::bound_to_workdir;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::Trial;
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::{MemberChange, MemberStatus};
use crate::guard::Outcome;

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

fn plan(case: &Case<'_>) -> Plan {
    if let Some(why) = bound_to_workdir(case) {
        return Plan::NotApplicable(why);
    }
    let collector = case.check.measurement.collector.as_str();
    let Some(runner) = RUNNERS.iter().find(|runner| **runner == collector) else {
        let why = if collector.is_empty() {
            "nothing reads members from this check".into()
        } else {
            format!("there is no sentinel for what {collector} reads")
        };
        return Plan::NotApplicable(why);
    };
    Plan::Run(Experiment::Sentinels(Suite {
        runner,
        success_exit: case.facts.policy().oracle.success_exit,
        newly_passing: newly_passing(case),
    }))
}

/// What is known of the suite before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    runner: &'static str,
    success_exit: i32,
    newly_passing: Vec<String>,
}

const SPELLED: &str = "the same tests in other words";
const SPELLED_AT_T0: &str = "the same tests in other words at t0";

/// The next run.
pub(super) fn step(suite: &Suite, ran: &[Ran]) -> Option<Step> {
    let step = |subject, base, plant| Some(Step { subject, base, plant });
    let runner = suite.runner;
    let Some((now, rest)) = ran.split_first() else {
        return step("sentinels", Base::Candidate, Plant::Sentinels { runner });
    };
    if rest.is_empty() && !now.planted.is_empty() && !shown(now, suite.success_exit) {
        return step("sentinels at t0", Base::Start, Plant::Sentinels { runner });
    }
    let fails = |ran: &Ran, id: &String| {
        let mut members = ran.reading.members.iter();
        members.any(|(other, status)| other == id && fell(*status))
    };
    let mind = |runs: &[&Ran]| {
        let mut newly = suite.newly_passing.iter();
        newly.any(|id| runs.iter().all(|ran| fails(ran, id)))
    };
    let spelled: Vec<&Ran> = ran.iter().filter(|ran| ran.step.plant == Plant::Respelled).collect();
    match spelled.as_slice() {
        [] if mind(&[now]) => step(SPELLED, Base::Candidate, Plant::Respelled),
        [again] if mind(&[now, again]) => step(SPELLED_AT_T0, Base::Start, Plant::Respelled),
        _ => None,
    }
}

/// It is shown, and as anything but passing.
fn fell(status: MemberStatus) -> bool {
    matches!(status, MemberStatus::Failed | MemberStatus::Error)
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

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    let is_spelled = |trial: &&Trial| [SPELLED, SPELLED_AT_T0].contains(&trial.subject.as_str());
    let (spelled, trials): (Vec<&Trial>, Vec<&Trial>) = trials.iter().partition(is_spelled);
    let outcome = weigh(case.facts.policy().oracle.success_exit, &trials);
    let minding = match (trials.first(), spelled.as_slice()) {
        (Some(now), [again, start @ ..]) => {
            let passed = |id: &str| case.facts.t0_passing.contains(id);
            let fell = |change: &MemberChange| passed(&change.id) && fell(change.status);
            let before = start.iter().any(|trial| trial.changes.iter().any(fell));
            minding(&newly_passing(case), now, again, before)
        }
        _ => Vec::new(),
    };
    if minding.is_empty() {
        return outcome;
    }
    let mut active = Outcome::active(outcome.findings);
    active.findings.extend(minding);
    active
}

/// Members that became green and fail whenever the tests are spelled otherwise, with sentinels beside them or without. Where
/// others did so `before` anybody worked, the suite is about its own text, and that is a note.
fn minding(newly_passing: &[String], now: &Trial, spelled: &Trial, before: bool) -> Vec<Finding> {
    let fails = |trial: &Trial, id: &String| {
        let mut changes = trial.changes.iter();
        changes.any(|change| change.id == *id && fell(change.status))
    };
    let found = newly_passing.iter().filter(|id| fails(now, id) && fails(spelled, id));
    let detail = "it fails when its tests are spelled otherwise, with a comment behind them and numbers in brackets, \
                  which changes nothing for who does not read them";
    let told = |id: &String| match before {
        true => VET.note(id.clone(), format!("{detail}; so did others at the start")),
        false => VET.violation(id.clone(), detail),
    };
    found.map(told).collect()
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
    use crate::event::finding::{GuardState, Severity};
    use crate::vet::bench::{self, trial};

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

    #[test]
    fn a_member_that_became_green_and_minds_how_its_tests_are_spelled_is_a_violation() {
        let suite = Suite {
            runner: "pytest",
            success_exit: 0,
            newly_passing: vec!["new".into(), "other".into()],
        };
        let made = |plant, members: &[(&str, MemberStatus)]| {
            let members = members
                .iter()
                .map(|(id, status)| (String::from(*id), *status))
                .collect();
            bench::ran(plant, members)
        };
        let sentinels = |new| {
            made(
                Plant::Sentinels { runner: "pytest" },
                &[("new", new), ("other", Passed), ("old", Failed)],
            )
        };
        let next = |ran: &[Ran]| step(&suite, ran).map(|step| step.plant);
        assert_eq!(next(&[sentinels(Passed)]), None, "who was green before may mind");
        assert_eq!(
            next(&[sentinels(MemberStatus::Absent)]),
            None,
            "a runner may stop at the first failure"
        );
        assert_eq!(next(&[sentinels(Failed)]), Some(Plant::Respelled));
        let again = |new| made(Plant::Respelled, &[("new", new)]);
        assert_eq!(next(&[sentinels(Failed), again(Passed)]), None);
        assert_eq!(
            next(&[sentinels(Failed), again(Failed)]),
            Some(Plant::Respelled),
            "at t0"
        );
        assert_eq!(next(&[sentinels(Failed), again(Failed), again(Passed)]), None);

        let shown = |new| Trial {
            changes: vec![MemberChange {
                id: "new".into(),
                status: new,
            }],
            ..trial(1)
        };
        let found = |now, spelled, before| {
            let found = minding(&suite.newly_passing, &shown(now), &shown(spelled), before);
            found.iter().map(|finding| finding.severity).collect::<Vec<_>>()
        };
        assert_eq!(found(Failed, Failed, false), [Severity::Violation]);
        assert_eq!(
            found(Failed, Failed, true),
            [Severity::Note],
            "a suite about its own text"
        );
        assert!(
            found(Failed, Passed, false).is_empty(),
            "the failure of a sentinel may be what it minds"
        );
    }
}
