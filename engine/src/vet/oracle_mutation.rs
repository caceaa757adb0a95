//! Oracle mutation: does a test that became green notice when it demands something else?
//!
//! ```text
//!   another expected value --not noticed--> the opposite --noticed--> fooled: a violation
//!           \ there is none                       \ not noticed
//!            `---------------------------------> the impossible --noticed--> it does not get to the value: a note
//!                                                            \ not noticed: it asserts nothing: a violation
//! ```
//!
//! A product that equals everything, or that looks up what the test wants, is as green as before with another value.
//! An honest test may stay green as well, where what was changed is never reached: so that a test counts as fooled only
//! when it fails once the opposite is demanded at the same place. What reaches none of its assertions, because a runner
//! was told to leave its body out or because a product does not call, or swallows, what holds them, passes for nothing:
//! it does not mind a failure that no condition holds back.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::sentinel_pair::RUNNERS;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::effect::Reading;
use crate::event::candidate::{Mutated, Trial};
use crate::event::finding::Finding;
use crate::event::halt::HaltReason;
use crate::event::measurement::MemberStatus;
use crate::guard::Outcome;
use crate::members::Members;

pub static VET: Vet = Vet {
    name: "oracle_mutation",
    catches: "a product that passes whatever its tests expect",
    reason: HaltReason::CheckInadequate,
    plan,
    judge,
};

fn plan(case: &Case<'_>) -> Plan {
    let collector = case.check.measurement.collector.as_str();
    if !RUNNERS.contains(&collector) {
        return Plan::NotApplicable("nothing tells which source a member of this check has".into());
    }
    let mut members = newly_passing(case);
    if members.is_empty() {
        return Plan::NotApplicable("no member that failed at the start passes now".into());
    }
    // Which come first, where there are more than are tried, follows from the tree and is nobody's choice.
    let [a, b, c, d, ..] = case.turn.tree.0;
    let first = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(0) % members.len();
    members.rotate_left(first);
    Plan::Run(Experiment::OracleMutants {
        members,
        mutants_max: case.facts.policy().guards.mutants_max,
    })
}

/// Members that pass and did not at the start; none where nothing is known of the start.
pub(super) fn newly_passing(case: &Case<'_>) -> Vec<String> {
    let facts = case.facts;
    let passing = facts
        .members
        .iter()
        .filter(|(_, status)| status.passes())
        .map(|(id, _)| id);
    passing
        .filter(|id| facts.policy().oracle.baseline && !facts.t0_passing.contains(id))
        .cloned()
        .collect()
}

/// Marks of a failure that no condition holds back: in the body of a test, and in what it asserts in.
const FAILS: &str = "failure";
const FAILS_WITHIN: &str = "failure_within";

fn is_failure(mutated: &Mutated) -> bool {
    [FAILS, FAILS_WITHIN].contains(&mutated.operator.as_str())
}

/// The run that comes next.
pub(super) fn step(members: &[String], ran: &[Ran]) -> Option<Step> {
    let step = |subject, plant| Step {
        subject,
        base: Base::Candidate,
        plant,
    };
    let Some((first, rest)) = ran.split_first() else {
        return Some(step("other expected values", Plant::Expectations));
    };
    let survived = survivors(&first.mutants, &first.reading);
    if rest.is_empty() && !survived.is_empty() && !first.mutants.iter().any(is_failure) {
        let plant = Plant::Opposites { of: survived };
        return Some(step("the opposite of what made no difference", plant));
    }
    if ran.iter().any(|ran| matches!(ran.step.plant, Plant::Failures { .. })) {
        return None;
    }
    let of = unproven(members, ran);
    (!of.is_empty()).then(|| step("what nothing can meet", Plant::Failures { of }))
}

/// Members of which no run has shown yet that they can fail; none once a run shows one that was fooled.
fn unproven(members: &[String], ran: &[Ran]) -> Vec<String> {
    let told = |ran: &Ran| {
        let survived = survivors(&ran.mutants, &ran.reading);
        let all = ran.mutants.iter().flat_map(|mutated| mutated.members.iter().cloned());
        let failed: Vec<String> = all.filter(|id| !survived.contains(id)).collect();
        let planted = ran.mutants.iter().any(is_failure);
        (failed, if planted { survived } else { Vec::new() })
    };
    let told: Vec<(Vec<String>, Vec<String>)> = ran.iter().map(told).collect();
    let is_opposite = |ran: &Ran| matches!(ran.step.plant, Plant::Opposites { .. });
    let fooled = |(ran, (failed, _)): (&Ran, &(Vec<String>, Vec<String>))| {
        is_opposite(ran) && !failed.is_empty() && !ran.mutants.iter().any(is_failure)
    };
    if ran.iter().zip(&told).any(fooled) {
        return Vec::new();
    }
    let is_told = |id: &&String| {
        told.iter()
            .any(|(failed, passed)| failed.contains(id) || passed.contains(id))
    };
    members.iter().filter(|id| !is_told(id)).cloned().collect()
}

/// Members of the mutants that nobody noticed; who names only what fails says of the rest that it passes.
fn survivors(mutants: &[Mutated], seen: &Reading) -> Vec<String> {
    let status = |id: &String| {
        seen.members
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, status)| *status)
    };
    let passes = |id: &String| status(id).map_or(!seen.complete, MemberStatus::passes);
    let survived = mutants.iter().filter(|mutated| mutated.members.iter().all(passes));
    survived.flat_map(|mutated| mutated.members.iter().cloned()).collect()
}

/// How the members of one mutant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// One of them is shown as failing.
    Killed,
    /// None of them is shown as failing, and not all are shown as passing.
    Lost,
    Survived,
}

fn fate(known: &Members, trial: &Trial, mutated: &Mutated) -> Fate {
    let status = |id: &String| {
        let changed = trial.changes.iter().find(|change| change.id == *id);
        changed.map_or_else(|| known.status(id), |change| Some(change.status))
    };
    let seen = || mutated.members.iter().filter_map(status);
    if seen().any(|status| status != MemberStatus::Absent && status.fails()) {
        Fate::Killed
    } else if seen().all(MemberStatus::passes) {
        Fate::Survived
    } else {
        Fate::Lost
    }
}

fn judge(case: &Case<'_>, trials: &[Trial]) -> Outcome {
    weigh(&case.facts.members, newly_passing(case).len(), trials)
}

/// What all runs showed of one change.
enum Shown {
    Noticed,
    /// The members are shown no more.
    Lost,
    /// It passes with this value as with the one that was there.
    Fooled,
    /// It passes with a failure in it.
    Idle,
    /// The test asserts elsewhere than where it was changed.
    Elsewhere,
}

/// `known` are the members as the check of the turn showed them, `became_green` is how many could have been tried.
fn weigh(known: &Members, became_green: usize, trials: &[Trial]) -> Outcome {
    if trials.iter().all(|trial| trial.mutants.is_empty()) {
        return Outcome::not_applicable("no test was found that became green and could be changed");
    }
    let (mut findings, mut tried) = (Vec::<Finding>::new(), Vec::<&String>::new());
    let (mut lost, mut elsewhere) = (0_usize, 0_usize);
    for (at, trial) in trials.iter().enumerate() {
        let later = trials.get(at + 1..).unwrap_or_default();
        // The opposite stands where another value stood in an earlier run, which it is weighed with.
        let own = trial.mutants.iter().filter(|mutated| at == 0 || is_failure(mutated));
        for mutated in own {
            match shown(known, trial, mutated, later) {
                Shown::Noticed => {}
                Shown::Lost => lost += 1,
                Shown::Elsewhere => elsewhere += 1,
                Shown::Fooled | Shown::Idle if names(&findings, mutated) => {}
                Shown::Fooled => findings.push(fooled(mutated)),
                Shown::Idle => findings.push(idle(mutated)),
            }
            tried.extend(
                mutated
                    .members
                    .iter()
                    .filter(|id| !tried.contains(id))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let mut outcome = Outcome::active(findings);
    outcome.note = said(&[
        (lost, "killed by an error: the member was not shown"),
        (elsewhere, "changed where the test does not get to"),
        (became_green.saturating_sub(tried.len()), "members left alone"),
    ]);
    outcome
}

fn shown(known: &Members, trial: &Trial, mutated: &Mutated, later: &[Trial]) -> Shown {
    match fate(known, trial, mutated) {
        Fate::Killed => return Shown::Noticed,
        Fate::Lost => return Shown::Lost,
        Fate::Survived if is_failure(mutated) => return Shown::Idle,
        Fate::Survived => {}
    }
    let same = |other: &&Mutated| other.members == mutated.members && other.path == mutated.path;
    let opposite = later.iter().any(|trial| {
        let mut others = trial.mutants.iter().filter(|other| !is_failure(other)).filter(same);
        others.any(|other| fate(known, trial, other) == Fate::Killed)
    });
    if opposite { Shown::Fooled } else { Shown::Elsewhere }
}

fn names(findings: &[Finding], mutated: &Mutated) -> bool {
    let first = mutated.members.first();
    findings.iter().any(|finding| Some(&finding.subject) == first)
}

fn fooled(mutated: &Mutated) -> Finding {
    let detail = format!(
        "{}:{}: it passes with {} expected as it does with {}",
        mutated.path, mutated.line, mutated.to, mutated.from
    );
    VET.violation(mutated.members.first().cloned().unwrap_or_default(), detail)
}

fn idle(mutated: &Mutated) -> Finding {
    let (begins, so) = match mutated.operator.as_str() {
        FAILS => ("its body", "its body is not run, or not to its end"),
        _ => (
            "what it asserts in",
            "nothing that it asserts is reached, or what fails there is swallowed",
        ),
    };
    let detail = format!(
        "{}:{}: it passes although {begins} begins with a failure: {so}",
        mutated.path, mutated.line
    );
    VET.violation(mutated.members.first().cloned().unwrap_or_default(), detail)
}

/// What there was of it, in words.
fn said(counts: &[(usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::finding::GuardState;
    use crate::event::measurement::MemberChange;
    use crate::guard::bench::members;
    use crate::vet::bench;
    use crate::vet::bench::trial;

    use MemberStatus::{Absent, Failed, Passed};

    fn known() -> Members {
        members(&[("a", Passed), ("b", Passed)])
    }

    fn mutated(operator: &str, of: &[&str]) -> Mutated {
        Mutated {
            members: of.iter().map(|id| String::from(*id)).collect(),
            path: "t.py".into(),
            line: 3,
            operator: operator.into(),
            from: "2".into(),
            to: "3".into(),
        }
    }

    /// A run with a mutant in these members, in which these others are not what they were.
    fn ran(of: &[&[&str]], changes: &[(&str, MemberStatus)]) -> Trial {
        ran_with("expectation", of, changes)
    }

    fn ran_with(operator: &str, of: &[&[&str]], changes: &[(&str, MemberStatus)]) -> Trial {
        let change = |(id, status): &(&str, MemberStatus)| MemberChange {
            id: String::from(*id),
            status: *status,
        };
        Trial {
            mutants: of.iter().map(|of| mutated(operator, of)).collect(),
            changes: changes.iter().map(change).collect(),
            ..trial(i32::from(!changes.is_empty()))
        }
    }

    #[test]
    fn a_member_that_passes_with_another_value_and_fails_with_the_opposite_is_a_violation() {
        let first = ran(&[&["a"], &["b"]], &[("b", Failed)]);
        let opposite = ran(&[&["a"]], &[("a", Failed)]);
        let outcome = weigh(&known(), 2, &[first, opposite]);
        assert_eq!(outcome.findings.len(), 1);
        let found = &outcome.findings[0];
        assert_eq!(
            (found.subject.as_str(), found.reason),
            ("a", HaltReason::CheckInadequate)
        );
        assert_eq!(found.detail, "t.py:3: it passes with 3 expected as it does with 2");
    }

    #[test]
    fn one_of_several_members_of_a_test_that_notices_is_enough() {
        let outcome = weigh(&known(), 2, &[ran(&[&["a", "b"]], &[("b", Failed)])]);
        assert_eq!((outcome.findings.len(), outcome.note.as_str()), (0, ""));
    }

    #[test]
    fn what_is_never_reached_or_not_shown_is_said_and_is_no_violation() {
        let never = weigh(&known(), 3, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[])]);
        assert_eq!((never.state, never.findings.len()), (GuardState::Active, 0));
        assert_eq!(
            never.note,
            "1 changed where the test does not get to; 2 members left alone"
        );
        let reached = ran_with(FAILS, &[&["a"]], &[("a", Failed)]);
        let never = weigh(&known(), 1, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[]), reached]);
        assert_eq!(
            (never.findings.len(), never.note.as_str()),
            (0, "1 changed where the test does not get to")
        );
        // Gone is no proof that the opposite was noticed.
        let gone = weigh(&known(), 1, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[("a", Absent)])]);
        assert_eq!(gone.findings.len(), 0);
        let lost = weigh(&known(), 1, &[ran(&[&["a"]], &[("a", Absent)])]);
        assert_eq!(lost.note, "1 killed by an error: the member was not shown");
    }

    #[test]
    fn a_member_that_passes_with_a_failure_in_it_is_a_violation_and_is_named_once() {
        for (operator, so) in [
            (FAILS, "its body is not run, or not to its end"),
            (FAILS_WITHIN, "nothing that it asserts is reached"),
        ] {
            let (first, opposite) = (ran(&[&["a"]], &[]), ran(&[&["a"]], &[]));
            let failing = ran_with(operator, &[&["a"], &["a"], &["b"]], &[("b", Failed)]);
            let outcome = weigh(&known(), 2, &[first, opposite, failing]);
            assert_eq!(outcome.findings.len(), 1, "{outcome:?}");
            assert_eq!(outcome.findings[0].subject, "a");
            assert!(outcome.findings[0].detail.contains(so), "{outcome:?}");
        }
        // No value could be changed in any of them.
        let alone = weigh(&known(), 1, &[ran_with(FAILS, &[&["a"]], &[])]);
        assert_eq!(alone.findings.len(), 1);
    }

    #[test]
    fn where_nothing_was_changed_it_does_not_apply() {
        assert_eq!(weigh(&known(), 2, &[]).state, GuardState::NotApplicable);
    }

    /// A run of this plant, with changes in these members of which these pass.
    fn made(plant: Plant, operator: &str, of: &[&str], passing: &[&str]) -> Ran {
        let status = |id: &&str| if passing.contains(id) { Passed } else { Failed };
        Ran {
            mutants: ran_with(operator, &of.iter().map(core::slice::from_ref).collect::<Vec<_>>(), &[]).mutants,
            ..bench::ran(plant, of.iter().map(|id| (String::from(*id), status(id))).collect())
        }
    }

    #[test]
    fn a_second_run_is_made_for_what_survived_and_a_third_for_who_was_never_seen_to_fail() {
        let members = ["a", "b", "c"].map(String::from);
        let next = |ran: &[Ran]| step(&members, ran).map(|step| step.plant);
        let of = |ids: &[&str]| ids.iter().map(|id| String::from(*id)).collect::<Vec<_>>();
        let values = |passing: &[&str]| made(Plant::Expectations, "expectation", &["a", "b"], passing);
        assert_eq!(next(&[]), Some(Plant::Expectations));
        assert_eq!(next(&[values(&["b"])]), Some(Plant::Opposites { of: of(&["b"]) }));
        assert_eq!(next(&[values(&[])]), Some(Plant::Failures { of: of(&["c"]) }));

        let opposite = |passing: &[&str]| made(Plant::Opposites { of: of(&["b"]) }, "inversion", &["b"], passing);
        assert_eq!(
            next(&[values(&["b"]), opposite(&["b"])]),
            Some(Plant::Failures { of: of(&["b", "c"]) })
        );
        assert_eq!(
            next(&[values(&["b"]), opposite(&[])]),
            None,
            "it was fooled, and nothing else matters"
        );
        let failures = made(Plant::Failures { of: of(&["c"]) }, FAILS, &["c"], &["c"]);
        assert_eq!(next(&[values(&[]), failures]), None);
        let at_once = made(Plant::Expectations, FAILS, &["a", "b", "c"], &["b"]);
        assert_eq!(next(&[at_once]), None, "nobody had a value that could be changed");
    }
}
