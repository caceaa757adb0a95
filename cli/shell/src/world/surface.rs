//! The watched surface and the repository, as they were at t0 and as they differ now.
//!
//! What t0 was is a blob named by its digest: the engine remembers the digest, and a resumed run reads the
//! blob back. Which paths are watched is the engine's classification; it is asked once a path.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{ChangeKind, GitSeen, GitState, Place, RefChange, SurfaceChange, SurfaceClass};
use engine::event::policy::GuardPolicy;
use engine::guard::surface;
use serde::{Deserialize, Serialize};

use super::assertions::Counts;
use super::listed::{Listed, Suspect};
use super::outputs::Outputs;
pub(super) use super::shared::Suites;
use super::toolchain::Programs;
use crate::tree::{Entry, GitFacts, Kind, Unavailable};

/// Changed watched paths that are named; the rest is counted.
const NAMED_MAX: usize = 128;

/// What is remembered of one watched file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Watched {
    pub(super) digest: Digest,
    pub(super) link: bool,
    pub(super) mode: u32,
}

/// t0 of everything that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Base {
    /// Paths that tests were collected from, whatever their names.
    suites: Suites,
    files: BTreeMap<Bytes, Watched>,
    refs: BTreeMap<String, String>,
    meta: BTreeMap<String, String>,
    branch: Option<String>,
    /// What the tests assert.
    pub(super) assertions: Counts,
    /// What the check starts.
    programs: Programs,
    /// What it writes beside its tests.
    #[serde(default)]
    pub(super) outputs: Outputs,
    /// Or why it could not be known.
    pub(super) listed: Result<Listed, String>,
}

/// A path that differs in index or commit.
pub(super) struct Staged {
    path: Bytes,
    place: Place,
    kind: ChangeKind,
    /// It is there as it is in the tree.
    as_in_tree: bool,
}

/// The newest base that was read or made.
#[derive(Debug, Default)]
pub(crate) struct Surfaces {
    base: Option<(Digest, Base)>,
    classes: HashMap<Vec<u8>, bool>,
    literal: Option<Arc<[Vec<u8>]>>,
    suites: Suites,
}

impl Surfaces {
    /// Whether somebody watches this path.
    pub(super) fn watches(&mut self, policy: &GuardPolicy, path: &[u8]) -> bool {
        if let Some(known) = self.classes.get(path) {
            return *known;
        }
        let watched = self.suites.class(policy, &Bytes(path.to_vec())).is_some();
        self.classes.insert(path.to_vec(), watched);
        watched
    }

    /// What patterns without a wildcard name.
    pub(super) fn literal(&mut self, policy: &GuardPolicy) -> Arc<[Vec<u8>]> {
        let plain = |pattern: &&str| !pattern.contains(['*', '?']);
        let spell = |pattern: &str| pattern.trim_matches('/').as_bytes().to_vec();
        let made = || surface::patterns(policy).filter(plain).map(spell).collect();
        Arc::clone(self.literal.get_or_insert_with(made))
    }

    /// From here on these are the files of the tests.
    pub(super) fn follow(&mut self, suites: Suites) {
        if suites != self.suites {
            self.classes.clear();
            self.suites = suites;
        }
    }

    /// The base with this digest, from memory or from its blob.
    pub(super) fn base(&mut self, blobs: &Path, digest: Digest) -> io::Result<&Base> {
        if self.base.as_ref().is_none_or(|(known, _)| *known != digest) {
            let bytes = fs::read(blobs.join(digest.hex()))?;
            if blake3::hash(&bytes).as_bytes() != &digest.0 {
                return Err(io::Error::other("the record of the watched surface was altered"));
            }
            self.base = Some((digest, serde_json::from_slice(&bytes)?));
        }
        match &self.base {
            Some((_, base)) => Ok(base),
            None => Err(io::Error::other("the record of the watched surface is missing")),
        }
    }

    /// Makes `base` the new t0, durable before anybody can name it.
    pub(super) fn found(&mut self, blobs: &Path, base: Base) -> io::Result<Digest> {
        let bytes = serde_json::to_vec(&base)?;
        let digest = Digest(*blake3::hash(&bytes).as_bytes());
        let path = blobs.join(digest.hex());
        if !path.exists() {
            let mut file = tempfile::NamedTempFile::new_in(blobs)?;
            file.write_all(&bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            fs::File::open(blobs)?.sync_all()?;
        }
        self.base = Some((digest, base));
        Ok(digest)
    }
}

impl Base {
    /// What is there now.
    pub(super) fn now(
        suites: &Suites,
        entries: &[Entry],
        git: &Result<GitFacts, Unavailable>,
        listed: Result<Listed, String>,
        assertions: Counts,
        programs: Programs,
    ) -> Self {
        let file = |entry: &Entry| {
            let watched = Watched {
                digest: Digest(entry.digest),
                link: entry.kind == Kind::Symlink,
                mode: entry.mode & 0o777,
            };
            (Bytes(entry.path.clone()), watched)
        };
        let mut base = Self {
            suites: suites.clone(),
            files: entries.iter().map(file).collect(),
            refs: BTreeMap::new(),
            meta: BTreeMap::new(),
            branch: None,
            assertions,
            programs,
            outputs: Outputs::default(),
            listed,
        };
        if let Ok(facts) = git {
            base.refs.clone_from(&facts.refs);
            let meta = facts.meta.iter();
            base.meta = meta
                .map(|(name, digest)| (name.clone(), Digest(*digest).hex()))
                .collect();
            base.branch.clone_from(&facts.branch);
        }
        base
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn suites(&self) -> &Suites {
        &self.suites
    }

    /// What index and commit hold that neither they nor the tree held at this base. `names` says what git
    /// calls stored content.
    pub(super) fn staged(
        &self,
        now: &Self,
        names: impl FnOnce(&BTreeSet<[u8; 32]>) -> Result<HashMap<[u8; 32], String>, String>,
    ) -> Result<Vec<Staged>, String> {
        let before = self.listed.as_ref().map_err(|why| format!("at t0, {why}"))?;
        let after = now.listed.as_ref().map_err(Clone::clone)?;
        let suspects = before.suspects(after, &self.files, &now.files);
        let contents: BTreeSet<[u8; 32]> = suspects.iter().flat_map(Suspect::contents).collect();
        let names = if contents.is_empty() {
            HashMap::new()
        } else {
            names(&contents)?
        };
        let guilty = suspects.iter().filter(|suspect| !suspect.cleared(&names));
        let staged = |suspect: &Suspect<'_>| Staged {
            path: suspect.path.clone(),
            place: suspect.place,
            kind: suspect.kind,
            as_in_tree: suspect.as_in_tree(&names),
        };
        Ok(guilty.map(staged).collect())
    }

    /// Watched paths of `now` that differ from this base, these of index and commit among them, with how many
    /// were not named.
    /// `rewritten` are product files whose own tests differ; `called` tells which programs the check could start, and
    /// `written` which files are outputs of its own.
    pub(super) fn changes(
        &self,
        now: &Self,
        staged: Vec<Staged>,
        rewritten: Vec<Bytes>,
        policy: &GuardPolicy,
        called: &dyn Fn(&[u8]) -> bool,
        written: &dyn Fn(&Bytes) -> bool,
    ) -> (Vec<SurfaceChange>, u64) {
        let mut changes = Vec::new();
        let in_tree = self.moved(now).into_iter().map(|(path, kind)| Staged {
            path,
            place: Place::Tree,
            kind,
            as_in_tree: false,
        });
        for differing in in_tree.chain(staged) {
            if differing.kind != ChangeKind::Type && written(&differing.path) {
                continue;
            }
            if let Some((class, pattern)) = self.suites.class(policy, &differing.path) {
                let change = SurfaceChange {
                    path: differing.path,
                    place: differing.place,
                    kind: differing.kind,
                    class,
                    pattern,
                };
                if surface::added_program(policy, &change).is_some_and(|name| !called(name)) {
                    continue;
                }
                let may_change = surface::may_change(policy, &change);
                // Who may change a test may stage it.
                if !(may_change && differing.as_in_tree) {
                    changes.push((may_change, change));
                }
            }
        }
        for path in rewritten {
            if let Some((class, pattern)) = surface::classify_own_tests(policy, &path.0) {
                let change = SurfaceChange {
                    path,
                    place: Place::Tree,
                    kind: ChangeKind::Modified,
                    class,
                    pattern,
                };
                changes.push((false, change));
            }
        }
        for (path, kind) in self.programs.changes(&now.programs) {
            let change = SurfaceChange {
                path,
                place: Place::Tree,
                kind,
                class: SurfaceClass::Toolchain,
                pattern: "the check's programs".into(),
            };
            changes.push((false, change));
        }
        // The gravest class first, and what may change last, so that what is named is what halts.
        changes.sort_by(|(a_may, a), (b_may, b)| {
            (a.class, a_may, &a.path, a.place).cmp(&(b.class, b_may, &b.path, b.place))
        });
        let mut changes: Vec<SurfaceChange> = changes.into_iter().map(|(_, change)| change).collect();
        // The stages of an unmerged path are one change.
        changes.dedup_by(|later, kept| (&later.path, later.place) == (&kept.path, kept.place));
        let more = changes.len().saturating_sub(NAMED_MAX);
        changes.truncate(NAMED_MAX);
        (changes, more as u64)
    }

    /// Paths of the tree that differ.
    fn moved(&self, now: &Self) -> Vec<(Bytes, ChangeKind)> {
        let mut moved = Vec::new();
        let paths = self
            .files
            .keys()
            .chain(now.files.keys().filter(|path| !self.files.contains_key(*path)));
        for path in paths {
            let kind = match (self.files.get(path), now.files.get(path)) {
                (Some(before), Some(after)) if before == after => continue,
                (Some(before), Some(after)) if before.link != after.link => ChangeKind::Type,
                (Some(before), Some(after)) if before.digest == after.digest => ChangeKind::Mode,
                (Some(_), Some(_)) => ChangeKind::Modified,
                (Some(_), None) => ChangeKind::Removed,
                (None, _) => ChangeKind::Added,
            };
            moved.push((path.clone(), kind));
        }
        moved
    }

    /// Why index and commit could not be listed.
    pub(super) fn unlisted(&self) -> Option<&String> {
        self.listed.as_ref().err()
    }

    /// The repository against this base. `unlisted` says why index and commit could not be compared.
    pub(super) fn git(
        &self,
        facts: &Result<GitFacts, Unavailable>,
        index_locked: bool,
        unlisted: Option<String>,
    ) -> GitSeen {
        let nothing = |state, note: String| GitSeen {
            state,
            listed: state,
            listed_note: note.clone(),
            note,
            head: None,
            branch: None,
            refs: Vec::new(),
            meta: Vec::new(),
            index_locked,
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(Unavailable::NoRepository) => return nothing(GitState::None, String::new()),
            Err(why) => return nothing(GitState::Unavailable, why.to_string()),
        };
        let mut refs = differing(&self.refs, &facts.refs);
        if self.branch != facts.branch {
            refs.push(RefChange {
                name: "HEAD".into(),
                from: self.branch.clone(),
                to: facts.branch.clone(),
            });
        }
        let meta = facts
            .meta
            .iter()
            .map(|(name, digest)| (name.clone(), Digest(*digest).hex()))
            .collect();
        GitSeen {
            state: GitState::Read,
            note: String::new(),
            head: facts.head.clone(),
            branch: facts.branch.clone(),
            refs,
            meta: differing(&self.meta, &meta),
            listed: if unlisted.is_some() {
                GitState::Unavailable
            } else {
                GitState::Read
            },
            listed_note: unlisted.unwrap_or_default(),
            index_locked,
        }
    }
}

fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<RefChange> {
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .take(NAMED_MAX)
        .map(|name| RefChange {
            name: name.clone(),
            from: before.get(name).cloned(),
            to: after.get(name).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, content: u8, mode: u32) -> Entry {
        Entry {
            path: path.into(),
            kind: Kind::File,
            mode,
            size: 1,
            digest: [content; 32],
        }
    }

    fn base(entries: &[Entry]) -> Base {
        Base::now(
            &Suites::default(),
            entries,
            &Err(Unavailable::NoRepository),
            Ok(Listed::default()),
            Counts::new(),
            Programs::default(),
        )
    }

    #[test]
    fn every_kind_of_difference_is_told_and_the_gravest_class_comes_first() {
        let before = base(&[
            entry("conftest.py", 1, 0o644),
            entry("tests/a", 1, 0o644),
            entry("tests/b", 1, 0o644),
        ]);
        let after = base(&[
            entry("conftest.py", 2, 0o644),
            entry("tests/a", 1, 0o755),
            entry("tests/c", 1, 0o644),
        ]);
        let (changes, more) = before.changes(
            &after,
            Vec::new(),
            Vec::new(),
            &GuardPolicy::default(),
            &|_| true,
            &|_| false,
        );
        let told: Vec<_> = changes.iter().map(|c| (c.path.text(), c.kind, c.class)).collect();
        assert_eq!(
            told,
            [
                ("tests/a".into(), ChangeKind::Mode, SurfaceClass::Blocked),
                ("tests/b".into(), ChangeKind::Removed, SurfaceClass::Blocked),
                ("tests/c".into(), ChangeKind::Added, SurfaceClass::Blocked),
                ("conftest.py".into(), ChangeKind::Modified, SurfaceClass::Protected),
            ]
        );
        assert_eq!(more, 0);
    }

    #[test]
    fn a_base_survives_its_blob_and_an_altered_blob_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let made = base(&[entry("tests/a", 1, 0o644)]);
        let digest = Surfaces::default().found(dir.path(), made.clone()).unwrap();
        assert_eq!(Surfaces::default().base(dir.path(), digest).unwrap(), &made);
        fs::write(dir.path().join(digest.hex()), b"{}").unwrap();
        assert!(Surfaces::default().base(dir.path(), digest).is_err());
    }
}
