//! Oracle mutation: does a test that became green notice when it demands something else?
//!
//! In one copy each of these tests expects another value. A product that equals everything, or that looks up what the
//! test wants, is as green as before. An honest test may stay green as well, where what was changed is never reached:
//! so that a test counts as fooled only when it fails once the opposite is demanded at the same place.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::sentinel_pair::RUNNERS;
use super::{Base, Case, Experiment, Plan, Plant, Ran, Step, Vet};
use crate::event::candidate::{Mutated, Trial};
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
fn newly_passing(case: &Case<'_>) -> Vec<String> {
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

/// The run that comes next.
pub(super) fn step(ran: &[Ran]) -> Option<Step> {
    let step = |subject, plant| Step {
        subject,
        base: Base::Candidate,
        plant,
    };
    match ran {
        [] => Some(step("other expected values", Plant::Expectations)),
        [first] => {
            let of = survivors(&first.mutants, &first.reading.members);
            (!of.is_empty()).then(|| step("the opposite of what made no difference", Plant::Opposites { of }))
        }
        _ => None,
    }
}

/// Members of the mutants that nobody noticed.
fn survivors(mutants: &[Mutated], seen: &[(String, MemberStatus)]) -> Vec<String> {
    let passes = |id: &String| seen.iter().any(|(other, status)| other == id && status.passes());
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

/// `known` are the members as the check of the turn showed them, `became_green` is how many could have been tried.
fn weigh(known: &Members, became_green: usize, trials: &[Trial]) -> Outcome {
    let Some(first) = trials.first().filter(|trial| !trial.mutants.is_empty()) else {
        let why = "in no test that became green an expected value was found that could be changed";
        return Outcome::not_applicable(why);
    };
    let opposite = trials.get(1);
    let noticed = |mutated: &Mutated| {
        let same = |other: &&Mutated| other.members == mutated.members && other.path == mutated.path;
        opposite.is_some_and(|trial| {
            let found = trial.mutants.iter().find(same);
            found.is_some_and(|other| fate(known, trial, other) == Fate::Killed)
        })
    };
    let (mut findings, mut lost, mut idle) = (Vec::new(), 0_usize, 0_usize);
    for mutated in &first.mutants {
        match fate(known, first, mutated) {
            Fate::Killed => {}
            Fate::Lost => lost += 1,
            Fate::Survived if noticed(mutated) => {
                let detail = format!(
                    "{}:{}: it passes with {} expected as it does with {}",
                    mutated.path, mutated.line, mutated.to, mutated.from
                );
                let member = mutated.members.first().cloned().unwrap_or_default();
                findings.push(VET.violation(member, detail));
            }
            Fate::Survived => idle += 1,
        }
    }
    let mutated = first.mutants.iter().flat_map(|mutated| &mutated.members).count();
    let left_out = became_green.saturating_sub(mutated);
    let mut outcome = Outcome::active(findings);
    outcome.note = said(&[
        (lost, "killed by an error: the member was not shown"),
        (idle, "changed where the test does not get to"),
        (left_out, "members left alone"),
    ]);
    outcome
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
    use crate::vet::bench::trial;

    use MemberStatus::{Absent, Failed, Passed};

    fn known() -> Members {
        members(&[("a", Passed), ("b", Passed)])
    }

    fn mutated(of: &[&str]) -> Mutated {
        Mutated {
            members: of.iter().map(|id| String::from(*id)).collect(),
            path: "t.py".into(),
            line: 3,
            operator: "expectation".into(),
            from: "2".into(),
            to: "3".into(),
        }
    }

    /// A run with a mutant in these members, in which these others are not what they were.
    fn ran(of: &[&[&str]], changes: &[(&str, MemberStatus)]) -> Trial {
        let change = |(id, status): &(&str, MemberStatus)| MemberChange {
            id: String::from(*id),
            status: *status,
        };
        Trial {
            mutants: of.iter().map(|of| mutated(of)).collect(),
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
        // Gone is no proof that the opposite was noticed.
        let gone = weigh(&known(), 1, &[ran(&[&["a"]], &[]), ran(&[&["a"]], &[("a", Absent)])]);
        assert_eq!(gone.findings.len(), 0);
        let lost = weigh(&known(), 1, &[ran(&[&["a"]], &[("a", Absent)])]);
        assert_eq!(lost.note, "1 killed by an error: the member was not shown");
    }

    #[test]
    fn where_nothing_was_changed_it_does_not_apply() {
        assert_eq!(weigh(&known(), 2, &[]).state, GuardState::NotApplicable);
    }

    #[test]
    fn a_second_run_is_made_for_what_survived_and_for_nothing_else() {
        let mutants = [mutated(&["a"]), mutated(&["b"])];
        let of = |a, b| survivors(&mutants, &[("a".into(), a), ("b".into(), b)]);
        assert_eq!(of(Failed, Failed), [""; 0]);
        assert_eq!(of(Failed, Passed), ["b"]);
        assert_eq!(survivors(&mutants, &[]), [""; 0]);
        assert_eq!(step(&[]).unwrap().plant, Plant::Expectations);
    }
}
