//! A tiny project: three tests whose outcome is a function of the tree, and nothing else.
//!
//! A tree is a handful of small numbers; its digest holds those numbers, so that a restore can be played
//! without a store.

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{
    AssertionsFallen, AssertionsSeen, ChangeKind, MemberStatus, Place, SurfaceChange, SurfaceClass,
};

/// The tests are `a`, `b` and `c`.
pub const TESTS: u8 = 3;
const LAST: u8 = TESTS - 1;
/// Every test passes.
pub const ALL: u8 = (1 << TESTS) - 1;

/// The bit of the watched file that a check may write.
pub const SNAPSHOT: u8 = 8;
/// The bit of a test file in which the last test got another name.
pub const RENAMED: u8 = 16;
/// The bit of a test file in which the last test demands nothing any more.
pub const GUTTED: u8 = 32;
/// The bit of a program that the check starts and that was replaced.
const PATCHED: u8 = 64;
/// The bits of edits that fool the suite.
const FOOLING: u8 = 7 | PATCHED;

/// What the workdir holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tree {
    /// Bit n: the code that test n exercises is right.
    pub right: u8,
    /// Bit n: test n carries a skip mark.
    pub skipped: u8,
    /// Bit n: test n is gone.
    pub gone: u8,
    /// Bit n: test n demands nothing any more, in a file that nobody watches.
    pub softened: u8,
    /// Tests that were added; they pass.
    pub added: u8,
    /// Bit per [`SurfaceClass`]: a watched path of that class was edited so that everything passes.
    /// [`SNAPSHOT`]: a watched file that a check wrote and that fools nobody. [`RENAMED`], [`GUTTED`]: a test file.
    pub watched: u8,
    /// Whatever else can differ.
    pub salt: u8,
    /// What checks left behind.
    pub artefacts: u8,
}

impl Tree {
    /// A tree in which these tests pass.
    pub fn passing(right: u8) -> Self {
        Self {
            right,
            ..Self::default()
        }
    }

    pub fn digest(self) -> Digest {
        let mut bytes = [0_u8; 32];
        let fields = [
            b'T',
            self.right,
            self.skipped,
            self.gone,
            self.added,
            self.watched,
            self.salt,
            self.artefacts,
            self.softened,
        ];
        bytes[..fields.len()].copy_from_slice(&fields);
        Digest(bytes)
    }

    /// The tree that a digest stands for; `None` when it stands for none.
    pub fn of(digest: Digest) -> Option<Self> {
        let [
            b'T',
            right,
            skipped,
            gone,
            added,
            watched,
            salt,
            artefacts,
            softened,
            ..,
        ] = digest.0
        else {
            return None;
        };
        Some(Self {
            right,
            skipped,
            gone,
            added,
            watched,
            salt,
            artefacts,
            softened,
        })
    }

    /// The same sources, whatever checks wrote beside them.
    pub fn sources(self) -> Self {
        Self {
            artefacts: 0,
            watched: self.watched & !SNAPSHOT,
            ..self
        }
    }

    /// The truth that no check can bend: every test is there, counts and would pass on honest terms.
    pub fn really_green(self) -> bool {
        let suite = self.skipped | self.gone | self.softened | self.watched & (FOOLING | GUTTED);
        self.right == ALL && suite == 0
    }

    /// These tests are there, count, and would pass on honest terms.
    pub fn keeps(self, tests: u8) -> bool {
        self.right & tests == tests && (self.skipped | self.gone | self.softened) & tests == 0
    }

    /// What an honest run of the suite shows, sorted by id.
    pub fn members(self) -> Vec<(String, MemberStatus)> {
        let own = (0..TESTS).filter(|n| self.gone & bit(*n) == 0).map(|n| {
            let status = if self.skipped & bit(n) != 0 {
                MemberStatus::Skipped
            } else if (self.right | self.softened | self.gutted()) & bit(n) != 0 || self.watched & FOOLING != 0 {
                MemberStatus::Passed
            } else {
                MemberStatus::Failed
            };
            let renamed = n == LAST && self.watched & RENAMED != 0;
            (if renamed { format!("{}2", name(n)) } else { name(n) }, status)
        });
        let added = (0..self.added).map(|n| (format!("x{n}"), MemberStatus::Passed));
        own.chain(added).collect()
    }

    /// The tests that demand nothing any more, in a file that is watched.
    fn gutted(self) -> u8 {
        if self.watched & GUTTED == 0 { 0 } else { bit(LAST) }
    }

    /// What the tests assert: one demand each. Those of a test that is gone are counted still: it may have moved.
    pub fn assertions(self) -> AssertionsSeen {
        let fallen = (0..TESTS).filter(|n| self.softened & bit(*n) != 0 && self.gone & bit(*n) == 0);
        let lost = self.softened & ALL;
        AssertionsSeen {
            files_t0: 1,
            total_t0: TESTS.into(),
            total: u64::from(TESTS) + u64::from(self.added) - u64::from(lost.count_ones()),
            fallen: fallen
                .map(|n| AssertionsFallen {
                    path: "product".into(),
                    name: name(n),
                    from: 1,
                    to: 0,
                })
                .collect(),
            ..AssertionsSeen::default()
        }
    }

    /// Watched paths that differ from the surface that `base` stands for.
    pub fn surface(self, base: u8) -> Vec<SurfaceChange> {
        let differs = self.watched ^ base;
        let change = |path: Bytes, kind, class| SurfaceChange {
            path,
            place: Place::Tree,
            kind,
            class,
            pattern: "p".into(),
        };
        let edited = SurfaceClass::ALL
            .iter()
            .filter(|class| differs & class_bit(**class) != 0);
        let mut surface: Vec<SurfaceChange> = edited
            .map(|class| change(path(*class), ChangeKind::Modified, *class))
            .collect();
        if differs & SNAPSHOT != 0 {
            let kind = if base & SNAPSHOT == 0 {
                ChangeKind::Added
            } else {
                ChangeKind::Removed
            };
            surface.push(change("__snapshots__/a.snap".into(), kind, SurfaceClass::Protected));
        }
        if differs & (RENAMED | GUTTED) != 0 {
            surface.push(change(
                "test_a.py".into(),
                ChangeKind::Modified,
                SurfaceClass::Protected,
            ));
        }
        surface
    }

    /// The digest over the watched surface.
    pub fn surface_digest(self) -> Digest {
        let mut bytes = [0_u8; 32];
        bytes[0] = b'S';
        bytes[1] = self.watched;
        Digest(bytes)
    }
}

/// The watched part that a surface digest stands for.
pub fn base_of(surface: Digest) -> u8 {
    surface.0[1]
}

pub(crate) fn bit(test: u8) -> u8 {
    1 << test
}

/// The bit of one class of watched paths.
pub(crate) fn class_bit(class: SurfaceClass) -> u8 {
    match class {
        SurfaceClass::Blocked => 1,
        SurfaceClass::Protected => 2,
        SurfaceClass::Determinant => 4,
        SurfaceClass::Toolchain => PATCHED,
    }
}

/// The id of test `n`.
pub fn name(test: u8) -> String {
    char::from(b'a' + test).to_string()
}

fn path(class: SurfaceClass) -> Bytes {
    match class {
        SurfaceClass::Blocked => "tests/a.sh".into(),
        SurfaceClass::Protected => "Makefile".into(),
        SurfaceClass::Determinant => "sitecustomize.py".into(),
        SurfaceClass::Toolchain => "/usr/bin/pytest".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_stands_for_exactly_one_tree() {
        let tree = Tree {
            right: 5,
            watched: 2,
            salt: 9,
            ..Tree::default()
        };
        assert_eq!(Tree::of(tree.digest()), Some(tree));
        assert_eq!(Tree::of(Digest::ZERO), None);
    }

    #[test]
    fn an_edited_surface_fools_the_suite_and_not_the_truth() {
        let cheated = Tree {
            watched: 1,
            ..Tree::passing(0)
        };
        assert!(cheated.members().iter().all(|(_, status)| status.passes()));
        assert!(!cheated.really_green());
    }
}
