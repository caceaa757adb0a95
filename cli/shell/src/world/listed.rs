//! What the index and the commit of `HEAD` hold of the watched paths, at t0 and now (SPEC 5.4.8).
//!
//! An entry is no change if index, commit or tree held the same of its path at t0: what the user had staged is
//! t0, and staging or committing what was in the tree at t0 changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{ChangeKind, Place};
use serde::{Deserialize, Serialize};

use super::surface::Watched;
use crate::tree::{GitEntry, Listing};

const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;

/// Mode and blob of one entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Held {
    mode: u32,
    id: String,
}

type Entries = BTreeMap<Bytes, BTreeSet<Held>>;

/// Index and commit at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    index: Entries,
    commit: Entries,
    /// Not checked out: their absence from the tree says nothing.
    sparse: BTreeSet<Bytes>,
}

/// An entry that neither index nor commit held at t0; whether the tree did is for git to say.
pub(super) struct Suspect<'a> {
    pub(super) path: &'a Bytes,
    pub(super) place: Place,
    pub(super) kind: ChangeKind,
    at_t0: Claim<'a>,
    now: Claim<'a>,
}

/// What the tree held of an entry's path.
#[derive(Clone, Copy)]
enum Claim<'a> {
    /// Something else, whatever it was.
    Other,
    /// Nothing, as the entry.
    Nothing,
    /// A file of this mode: its content, and the blob it would have to be.
    File(Digest, &'a str),
}

impl Claim<'_> {
    fn content(self) -> Option<[u8; 32]> {
        match self {
            Self::File(content, _) => Some(content.0),
            Self::Other | Self::Nothing => None,
        }
    }

    fn holds(self, names: &HashMap<[u8; 32], String>) -> bool {
        match self {
            Self::File(content, id) => names.get(&content.0).is_some_and(|name| name == id),
            Self::Nothing => true,
            Self::Other => false,
        }
    }
}

impl Suspect<'_> {
    /// The contents whose git names decide.
    pub(super) fn contents(&self) -> impl Iterator<Item = [u8; 32]> {
        self.at_t0.content().into_iter().chain(self.now.content())
    }

    /// Staged or committed as it was in the tree.
    pub(super) fn cleared(&self, names: &HashMap<[u8; 32], String>) -> bool {
        self.at_t0.holds(names)
    }

    /// Staged or committed as it is in the tree.
    pub(super) fn as_in_tree(&self, names: &HashMap<[u8; 32], String>) -> bool {
        self.now.holds(names)
    }
}

impl Listed {
    /// Entries of `now` that are not t0's, given the watched files of the tree at t0, and of the tree now.
    pub(super) fn suspects<'a>(
        &'a self,
        now: &'a Self,
        tree: &BTreeMap<Bytes, Watched>,
        tree_now: &BTreeMap<Bytes, Watched>,
    ) -> Vec<Suspect<'a>> {
        let places = [
            (Place::Index, &self.index, &now.index),
            (Place::Commit, &self.commit, &now.commit),
        ];
        let mut suspects = Vec::new();
        for (place, before, after) in places.into_iter().filter(|(_, before, after)| before != after) {
            let removed = before.keys().filter(|path| !after.contains_key(*path));
            let gone = removed.filter(|path| self.held_everywhere(path, tree));
            suspects.extend(gone.map(|path| Suspect {
                path,
                place,
                kind: ChangeKind::Removed,
                at_t0: Claim::Other,
                now: if tree_now.contains_key(path) || now.sparse.contains(path) {
                    Claim::Other
                } else {
                    Claim::Nothing
                },
            }));
            for (path, entries) in after {
                let fresh = entries.iter().filter(|entry| !self.held(path, entry));
                suspects.extend(fresh.map(|entry| Suspect {
                    path,
                    place,
                    kind: kind(before.get(path), entry),
                    at_t0: claim(tree.get(path), entry),
                    now: claim(tree_now.get(path), entry),
                }));
            }
        }
        suspects
    }

    /// Whether one of them holds something of this path.
    pub(super) fn names(&self, path: &Bytes) -> bool {
        self.index.contains_key(path) || self.commit.contains_key(path)
    }

    fn held(&self, path: &Bytes, entry: &Held) -> bool {
        let places = [&self.index, &self.commit];
        places
            .iter()
            .any(|place| place.get(path).is_some_and(|held| held.contains(entry)))
    }

    /// Absent nowhere at t0.
    fn held_everywhere(&self, path: &Bytes, tree: &BTreeMap<Bytes, Watched>) -> bool {
        let in_tree = tree.contains_key(path) || self.sparse.contains(path);
        in_tree && self.index.contains_key(path) && self.commit.contains_key(path)
    }
}

fn claim<'a>(file: Option<&Watched>, entry: &'a Held) -> Claim<'a> {
    let Some(file) = file else {
        return Claim::Other;
    };
    let mode = match file {
        Watched { link: true, .. } => LINK,
        Watched { mode, .. } if mode & 0o100 != 0 => PROGRAM,
        Watched { .. } => FILE,
    };
    if mode == entry.mode {
        Claim::File(file.digest, entry.id.as_str())
    } else {
        Claim::Other
    }
}

fn kind(before: Option<&BTreeSet<Held>>, entry: &Held) -> ChangeKind {
    let Some(before) = before else {
        return ChangeKind::Added;
    };
    let link = |held: &Held| held.mode == LINK;
    if before.iter().all(|held| link(held) != link(entry)) {
        ChangeKind::Type
    } else if before.iter().any(|held| held.id == entry.id) {
        ChangeKind::Mode
    } else {
        ChangeKind::Modified
    }
}

impl From<crate::tree::Listed> for Listed {
    fn from(listed: crate::tree::Listed) -> Self {
        Self {
            index: entries(listed.index),
            commit: entries(listed.commit),
            sparse: listed.sparse.into_iter().map(Bytes).collect(),
        }
    }
}

fn entries(listing: Listing) -> Entries {
    let held = |GitEntry { mode, id }| Held { mode, id };
    listing
        .into_iter()
        .map(|(path, all)| (Bytes(path), all.into_iter().map(held).collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(held: &[(&str, u32, &str)]) -> Entries {
        let mut entries = Entries::new();
        for (path, mode, id) in held {
            let held = Held {
                mode: *mode,
                id: (*id).into(),
            };
            entries.entry((*path).into()).or_default().insert(held);
        }
        entries
    }

    fn listed(index: &[(&str, u32, &str)], commit: &[(&str, u32, &str)]) -> Listed {
        Listed {
            index: listing(index),
            commit: listing(commit),
            sparse: BTreeSet::new(),
        }
    }

    fn tree(files: &[(&str, u8, u32)]) -> BTreeMap<Bytes, Watched> {
        let file = |(path, content, mode): &(&str, u8, u32)| {
            let watched = Watched {
                digest: Digest([*content; 32]),
                link: false,
                mode: *mode,
            };
            ((*path).into(), watched)
        };
        files.iter().map(file).collect()
    }

    #[test]
    fn what_index_commit_or_tree_held_may_be_in_each_of_them() {
        let before = listed(&[("t/a", FILE, "2"), ("t/gone", FILE, "1")], &[("t/a", FILE, "1")]);
        let (held, known) = (tree(&[("t/a", 3, 0o644)]), HashMap::from([([3; 32], "3".to_owned())]));
        for id in ["1", "2", "3"] {
            let after = listed(&[("t/a", FILE, id)], &[("t/a", FILE, id)]);
            let suspects = before.suspects(&after, &held, &held);
            assert!(suspects.iter().all(|suspect| suspect.cleared(&known)), "{id}");
        }
        let after = listed(&[("t/a", FILE, "4"), ("t/gone", FILE, "1")], &[("t/a", PROGRAM, "3")]);
        let suspects = before.suspects(&after, &held, &held);
        let told: Vec<_> = suspects.iter().map(|s| (s.place, s.kind, s.cleared(&known))).collect();
        assert_eq!(
            told,
            [
                (Place::Index, ChangeKind::Modified, false),
                (Place::Commit, ChangeKind::Modified, false)
            ]
        );
    }

    #[test]
    fn what_is_staged_or_removed_as_the_tree_has_it_is_told_apart() {
        let all = &[("t/a", FILE, "1"), ("t/b", FILE, "1")][..];
        let before = listed(all, all);
        let (held, now) = (
            tree(&[("t/a", 1, 0o644), ("t/b", 1, 0o644)]),
            tree(&[("t/a", 2, 0o644)]),
        );
        let known = HashMap::from([([1; 32], "1".to_owned()), ([2; 32], "2".to_owned())]);
        let same = |index: &[(&str, u32, &str)]| {
            let after = listed(index, all);
            let suspects = before.suspects(&after, &held, &now);
            suspects
                .iter()
                .map(|suspect| suspect.as_in_tree(&known))
                .collect::<Vec<_>>()
        };
        assert_eq!(same(&[("t/a", FILE, "2"), ("t/b", FILE, "1")]), [true]);
        assert_eq!(same(&[("t/a", FILE, "3"), ("t/b", FILE, "1")]), [false]);
        assert_eq!(same(&[("t/a", FILE, "1")]), [true], "it is gone from the tree as well");
        assert_eq!(same(&[("t/b", FILE, "1")]), [false], "it is still in the tree");
    }

    #[test]
    fn an_entry_that_is_gone_is_told_unless_its_file_was_gone_before() {
        let (all, none) = (&[("t/a", FILE, "1")][..], &[][..]);
        let before = listed(all, all);
        let after = listed(none, all);
        assert_eq!(
            before.suspects(&after, &tree(&[("t/a", 1, 0o644)]), &tree(&[])).len(),
            1
        );
        assert_eq!(before.suspects(&after, &tree(&[]), &tree(&[])).len(), 0);
        let sparse = Listed {
            sparse: BTreeSet::from(["t/a".into()]),
            ..before
        };
        assert_eq!(sparse.suspects(&after, &tree(&[]), &tree(&[])).len(), 1);
    }

    #[test]
    fn a_conflict_of_known_versions_is_fine_and_one_with_an_unknown_is_not() {
        let before = listed(&[("t/a", FILE, "1")], &[("t/a", FILE, "2")]);
        let conflict = [("t/a", FILE, "1"), ("t/a", FILE, "2")];
        let after = listed(&conflict, &[("t/a", FILE, "2")]);
        assert!(before.suspects(&after, &tree(&[]), &tree(&[])).is_empty());
        let after = listed(&[conflict[0], ("t/a", FILE, "3")], &[("t/a", FILE, "2")]);
        assert_eq!(before.suspects(&after, &tree(&[]), &tree(&[])).len(), 1);
    }
}
