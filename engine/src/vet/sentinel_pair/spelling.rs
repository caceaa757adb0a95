//! Who minds how the tests are spelled: nobody does who only runs them.
//!
//! In the copy with sentinels the project's own tests are spelled otherwise. A member that became green and fails there is
//! asked once more, without the sentinels: then its text is all that differs, and a product that minds it looks at its tests.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Suite, VET};
use crate::event::candidate::Trial;
use crate::event::finding::Finding;
use crate::event::measurement::{MemberChange, MemberStatus};
use crate::vet::oracle_mutation::newly_passing;
use crate::vet::{Base, Case, Plant, Ran, Step};

pub(super) const SPELLED: &str = "the same tests in other words";
pub(super) const SPELLED_AT_T0: &str = "the same tests in other words at t0";

/// The suite in other words alone, where one that became green failed beside the sentinels; and where it fails again, that of
/// the start.
pub(super) fn minds(suite: &Suite, now: &Ran, spelled: &[&Ran]) -> Option<Step> {
    let fails = |ran: &Ran, id: &String| {
        let mut members = ran.reading.members.iter();
        members.any(|(other, status)| other == id && fell(*status))
    };
    let mind = |runs: &[&Ran]| {
        let mut newly = suite.newly_passing.iter();
        newly.any(|id| runs.iter().all(|ran| fails(ran, id)))
    };
    let step = |subject, base| {
        let plant = Plant::Respelled;
        Some(Step { subject, base, plant })
    };
    match spelled {
        [] if mind(&[now]) => step(SPELLED, Base::Candidate),
        [again] if mind(&[now, again]) => step(SPELLED_AT_T0, Base::Start),
        _ => None,
    }
}

/// What the runs in other words say of the members that became green in the run beside the sentinels.
pub(super) fn judge(case: &Case<'_>, beside: Option<&Trial>, spelled: &[&Trial]) -> Vec<Finding> {
    let (Some(now), [again, start @ ..]) = (beside, spelled) else {
        return Vec::new();
    };
    let fell_since = |change: &MemberChange| case.facts.t0_passing.contains(&change.id) && fell(change.status);
    let before = start.iter().any(|trial| trial.changes.iter().any(fell_since));
    minding(&newly_passing(case), now, again, before)
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

/// It is shown, and as anything but passing.
fn fell(status: MemberStatus) -> bool {
    matches!(status, MemberStatus::Failed | MemberStatus::Error)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::event::finding::Severity;
    use crate::vet::bench::{self, trial};
    use crate::vet::sentinel_pair::step;

    use MemberStatus::{Failed, Passed};

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
                Plant::Sentinels {
                    runner: "pytest",
                    in_place: false,
                },
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
