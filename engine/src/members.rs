//! Sets of members: who is collected, who passes, who fails (SPEC 4.2).
//!
//! A member that the universe knows and the runner no longer names counts as failing, so that a
//! collection crash cannot look like progress. Without a collector the exit code is all there is: a red
//! check then fails the one pseudo-member [`CHECK`].

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use crate::event::measurement::{MemberChange, MemberStatus};

/// The pseudo-member that fails when the check is red and no member says why.
pub const CHECK: &str = "(check)";

/// What one fact may say of members, in bytes: the journal has to hold it in one batch (SPEC 6.3.7, 12.3.3).
pub(crate) const TOLD_BYTES_MAX: usize = 6 << 20;
/// What a change takes beside its name, rounded up.
const BESIDE_BYTES: usize = 16;

/// How much a fact says that tells these changes.
pub(crate) fn told_bytes(changes: &[MemberChange]) -> usize {
    changes.iter().map(|change| change.id.len() + BESIDE_BYTES).sum()
}

/// Ids in round brackets stand for containers and for the check itself: never part of the universe.
pub(crate) fn is_pseudo(id: &str) -> bool {
    id.starts_with('(')
}

/// Statuses by member, shared between clones of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Members(Rc<BTreeMap<String, MemberStatus>>);

impl Members {
    /// What changed from `self` to the sorted `now`.
    pub fn changes_to(&self, now: &[(String, MemberStatus)]) -> Vec<MemberChange> {
        let mut changes: Vec<MemberChange> = now
            .iter()
            .filter(|(id, status)| self.0.get(id) != Some(status))
            .map(|(id, status)| MemberChange {
                id: id.clone(),
                status: *status,
            })
            .collect();
        let gone = self
            .0
            .keys()
            .filter(|id| now.binary_search_by(|(other, _)| other.cmp(id)).is_err());
        changes.extend(gone.map(|id| MemberChange {
            id: id.clone(),
            status: MemberStatus::Absent,
        }));
        changes
    }

    /// Applies a recorded change list.
    pub fn apply(&mut self, changes: &[MemberChange]) {
        if changes.is_empty() {
            return;
        }
        let map = Rc::make_mut(&mut self.0);
        for change in changes {
            if change.status == MemberStatus::Absent {
                map.remove(&change.id);
            } else {
                map.insert(change.id.clone(), change.status);
            }
        }
    }

    /// Takes over every status of `newer` and keeps what `newer` does not name.
    pub(crate) fn cover(&mut self, newer: &Self) {
        let fresh = |(id, status): &(&String, MemberStatus)| self.status(id) != Some(*status);
        let missing: Vec<(String, MemberStatus)> = newer.iter().filter(fresh).map(|(id, s)| (id.clone(), s)).collect();
        if !missing.is_empty() {
            Rc::make_mut(&mut self.0).extend(missing);
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn status(&self, id: &str) -> Option<MemberStatus> {
        self.0.get(id).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, MemberStatus)> {
        self.0.iter().map(|(id, status)| (id, *status))
    }

    /// Members that pass: `known` itself when it holds them already, for most turns move few members.
    pub fn passing(&self, known: Option<&IdSet>) -> IdSet {
        let passing = || self.iter().filter(|(_, status)| status.passes()).map(|(id, _)| id);
        known
            .filter(|known| known.iter().eq(passing()))
            .map_or_else(|| passing().cloned().collect(), IdSet::clone)
    }

    /// The failing set over `universe` (SPEC 4.2).
    pub fn failing(&self, universe: &IdSet, green: bool) -> IdSet {
        let mut failing: BTreeSet<String> = self
            .iter()
            .filter(|(_, status)| status.fails())
            .map(|(id, _)| id.clone())
            .collect();
        failing.extend(universe.iter().filter(|id| !self.0.contains_key(*id)).cloned());
        if failing.is_empty() && !green {
            failing.insert(CHECK.into());
        }
        IdSet(Rc::new(failing))
    }
}

/// A shared, sorted set of member ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IdSet(Rc<BTreeSet<String>>);

impl IdSet {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }

    /// Members of `self` that are not in `other`, in order.
    pub fn minus(&self, other: &Self) -> Vec<String> {
        self.0.difference(&other.0).cloned().collect()
    }

    /// Adds every id of `ids`.
    pub fn extend<'a>(&mut self, ids: impl Iterator<Item = &'a String>) {
        let missing: Vec<String> = ids.filter(|id| !self.0.contains(*id)).cloned().collect();
        if !missing.is_empty() {
            Rc::make_mut(&mut self.0).extend(missing);
        }
    }
}

impl FromIterator<String> for IdSet {
    fn from_iter<I: IntoIterator<Item = String>>(ids: I) -> Self {
        Self(Rc::new(ids.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemberStatus::{Failed, Passed, Skipped};

    fn list(items: &[(&str, MemberStatus)]) -> Vec<(String, MemberStatus)> {
        items.iter().map(|(id, status)| ((*id).into(), *status)).collect()
    }

    fn members(items: &[(&str, MemberStatus)]) -> Members {
        let mut members = Members::default();
        let changes = members.changes_to(&list(items));
        members.apply(&changes);
        members
    }

    #[test]
    fn a_change_list_leads_from_one_measurement_to_the_next() {
        let mut before = members(&[("a", Passed), ("b", Failed), ("c", Passed)]);
        let after = list(&[("a", Passed), ("b", Passed), ("d", Skipped)]);
        let changes = before.changes_to(&after);
        assert_eq!(changes.len(), 3);
        before.apply(&changes);
        assert_eq!(before, members(&[("a", Passed), ("b", Passed), ("d", Skipped)]));
        assert!(before.changes_to(&after).is_empty());
    }

    #[test]
    fn a_passing_set_is_shared_until_it_changes() {
        let now = members(&[("a", Passed), ("b", Failed), ("c", Passed)]);
        let known = now.passing(None);
        assert_eq!(known.iter().collect::<Vec<_>>(), ["a", "c"]);
        assert!(Rc::ptr_eq(&known.0, &now.passing(Some(&known)).0));
        for other in [&[("a", Passed)][..], &[("a", Passed), ("b", Passed), ("c", Passed)]] {
            let other = members(other).passing(None);
            assert_eq!(now.passing(Some(&other)), known);
        }
    }

    #[test]
    fn a_member_of_the_universe_that_is_gone_counts_as_failing() {
        let universe: IdSet = ["a", "b"].iter().map(|id| String::from(*id)).collect();
        let failing = members(&[("a", Passed)]).failing(&universe, false);
        assert_eq!(failing.iter().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_red_check_without_a_failing_member_fails_the_pseudo_member() {
        let failing = members(&[("a", Passed)]).failing(&IdSet::default(), false);
        assert!(failing.contains(CHECK) && failing.len() == 1);
        assert!(members(&[("a", Passed)]).failing(&IdSet::default(), true).is_empty());
    }
}
