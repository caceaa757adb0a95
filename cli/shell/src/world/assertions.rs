//! What the tests of a tree assert, and what differs from t0. It is read by syntax tree, once for each content: a
//! later walk compares digests and reads what is new.

use std::collections::{BTreeMap, HashMap};

use engine::event::id::{Bytes, Digest};
use engine::event::measurement::{AssertionsFallen, AssertionsSeen, AssertionsUnknown};
use engine::event::policy::GuardPolicy;
use engine::guard::surface;
use serde::{Deserialize, Serialize};
use syntax::Language;

use super::surface::Suites;
use crate::tree::{Entry, Kind};

/// Tests and files that are named; the rest is counted.
const NAMED_MAX: usize = 32;

/// What is known of the tests of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Counted {
    /// Assertions of each test by its name, and of the whole file. No test and none: a file that is not watched.
    Known { tests: BTreeMap<String, u32>, total: u64 },
    /// It does not parse, or cannot be read.
    Unknown(String),
}

/// Files that are watched or hold tests.
pub(super) type Counts = BTreeMap<Bytes, (Digest, Counted)>;

/// Reads content by its digest, or says why not.
type Content<'c> = &'c dyn Fn(&[u8; 32]) -> Result<Vec<u8>, String>;

/// A file of one walk.
pub(super) type Seen<'a> = (&'a [u8], Digest, &'a Counted);

/// What a later walk compares with.
pub(super) fn kept(now: &[Seen<'_>]) -> Counts {
    let kept = |(path, digest, counted): &Seen<'_>| (Bytes(path.to_vec()), (*digest, (*counted).clone()));
    now.iter().map(kept).collect()
}

/// How a file counts, by its path.
#[derive(Clone, Copy, Debug)]
struct Role {
    language: Language,
    /// All of it belongs to the tests; else only what it marks.
    suite: bool,
}

/// What was read in this life.
#[derive(Debug, Default)]
pub(crate) struct Assertions {
    suites: Suites,
    roles: HashMap<Vec<u8>, Option<Role>>,
    /// By path as well: one content may be a suite here and a product there.
    read: HashMap<Vec<u8>, (Digest, Counted)>,
}

impl Assertions {
    /// From here on these are the files of the tests.
    pub(super) fn follow(&mut self, suites: &Suites) {
        if *suites != self.suites {
            self.roles.clear();
            self.read.clear();
            self.suites = suites.clone();
        }
    }

    /// Counts over these entries, in the order of their paths. `known` is what t0 knew; `content` reads what is in
    /// neither.
    pub(super) fn count<'a>(
        &'a mut self,
        entries: &'a [Entry],
        policy: &GuardPolicy,
        known: Option<&'a Counts>,
        content: Content<'_>,
    ) -> Vec<Seen<'a>> {
        let at_t0 = |entry: &Entry| {
            let found = known.and_then(|known| known.get(&Bytes(entry.path.clone())));
            found.filter(|(digest, _)| digest.0 == entry.digest)
        };
        let mut files = Vec::new();
        for entry in entries.iter().filter(|entry| entry.kind == Kind::File) {
            let Some(role) = self.role(&entry.path, policy) else {
                continue;
            };
            files.push(entry);
            let read_before = self
                .read
                .get(&entry.path)
                .is_some_and(|(digest, _)| digest.0 == entry.digest);
            if !read_before && at_t0(entry).is_none() {
                let counted = content(&entry.digest).map_or_else(Counted::Unknown, |bytes| read(role, &bytes));
                self.read.insert(entry.path.clone(), (Digest(entry.digest), counted));
            }
        }
        let seen = |entry: &'a Entry| {
            let (digest, counted) = at_t0(entry).or_else(|| self.read.get(&entry.path))?;
            (!counted.is_empty()).then_some((entry.path.as_slice(), *digest, counted))
        };
        files.into_iter().filter_map(seen).collect()
    }

    fn role(&mut self, path: &[u8], policy: &GuardPolicy) -> Option<Role> {
        if let Some(known) = self.roles.get(path) {
            return *known;
        }
        let language = std::str::from_utf8(path).ok().and_then(Language::of);
        let role = language.and_then(|language| {
            let named = surface::test_source(path) || surface::classify(policy, path).is_some();
            let suite = named || self.suites.holds(&Bytes(path.to_vec()));
            (suite || !language.in_source.is_empty()).then_some(Role { language, suite })
        });
        self.roles.insert(path.to_vec(), role);
        role
    }
}

impl Counted {
    fn nothing() -> Self {
        Self::Known {
            tests: BTreeMap::new(),
            total: 0,
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Known { tests, total: 0 } if tests.is_empty())
    }
}

fn read(role: Role, bytes: &[u8]) -> Counted {
    let holds = |mark: &&str| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
    if !role.suite && !role.language.in_source.iter().any(holds) {
        return Counted::nothing();
    }
    let parsed = match syntax::tests(role.language, bytes) {
        Ok(parsed) => parsed,
        Err(why) => return Counted::Unknown(why.to_string()),
    };
    if !role.suite && parsed.tests.is_empty() {
        return Counted::nothing();
    }
    let mut tests = BTreeMap::new();
    for test in parsed.tests.iter().filter(|test| !test.duplicate) {
        *tests.entry(test.path.join("::")).or_default() += test.assertions;
    }
    Counted::Known {
        tests,
        total: parsed.assertions.into(),
    }
}

/// What differs. A file that was unknown at t0 is left out of both sides, and so is one that is unknown now.
pub(super) fn against(before: &Counts, now: &[Seen<'_>]) -> AssertionsSeen {
    let mut seen = AssertionsSeen::default();
    let (mut fallen, mut unknown) = (Vec::new(), Vec::new());
    for (path, (_, counted)) in before {
        let Counted::Known { tests, total } = counted else {
            continue;
        };
        seen.files_t0 += 1;
        let later = now
            .binary_search_by(|(other, ..)| (*other).cmp(&path.0))
            .ok()
            .map(|at| now[at].2);
        if let Some(Counted::Unknown(why)) = later {
            unknown.push(AssertionsUnknown {
                path: path.clone(),
                why: why.clone(),
            });
            continue;
        }
        seen.total_t0 += total;
        let Some(Counted::Known { tests: later, .. }) = later else {
            continue;
        };
        let less = |(name, from): (&String, &u32)| {
            let to = *later.get(name)?;
            (to < *from).then(|| AssertionsFallen {
                path: path.clone(),
                name: name.clone(),
                from: *from,
                to,
            })
        };
        fallen.extend(tests.iter().filter_map(less));
    }
    for (path, _, counted) in now {
        let compared = !matches!(before.get(&Bytes(path.to_vec())), Some((_, Counted::Unknown(_))));
        if let (Counted::Known { total, .. }, true) = (counted, compared) {
            seen.total += total;
        }
    }
    (seen.fallen, seen.fallen_more) = named(fallen);
    (seen.unknown, seen.unknown_more) = named(unknown);
    seen
}

fn named<T>(mut list: Vec<T>) -> (Vec<T>, u64) {
    let more = list.len().saturating_sub(NAMED_MAX);
    list.truncate(NAMED_MAX);
    (list, more as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Files(Vec<(&'static str, &'static str)>);

    impl Files {
        /// Counts, what differs from `known`, and how many files were read for them.
        fn count(&self, assertions: &mut Assertions, known: &Counts) -> (Counts, AssertionsSeen, u32) {
            let digest = |text: &str| *blake3::hash(text.as_bytes()).as_bytes();
            let entry = |(path, text): &(&str, &str)| Entry {
                path: (*path).into(),
                kind: Kind::File,
                mode: 0o644,
                size: text.len() as u64,
                digest: digest(text),
            };
            let entries: Vec<Entry> = self.0.iter().map(entry).collect();
            let reads = Cell::new(0);
            let content = |wanted: &[u8; 32]| {
                reads.set(reads.get() + 1);
                let found = self.0.iter().find(|(_, text)| digest(text) == *wanted);
                Ok(found.unwrap().1.as_bytes().to_vec())
            };
            let now = assertions.count(&entries, &GuardPolicy::default(), Some(known), &content);
            (kept(&now), against(known, &now), reads.get())
        }
    }

    const PRODUCT: &str =
        "fn f() { assert!(true) }\n#[cfg(test)] mod tests { #[test] fn a() { assert!(1); assert!(2); } }";
    const SOFTER: &str = "fn f() { assert!(true) }\n#[cfg(test)] mod tests { #[test] fn a() { assert!(1); } }";
    const MENDED: &str = "fn f() {}\n#[cfg(test)] mod tests { #[test] fn a() { assert!(1); assert!(2); } }";

    fn start() -> (Assertions, Counts) {
        let mut assertions = Assertions::default();
        let files = Files(vec![
            ("README.md", "#[test]"),
            ("src/a.rs", PRODUCT),
            ("src/b.rs", "fn g() { assert!(1) }"),
        ]);
        let (counts, _, reads) = files.count(&mut assertions, &Counts::new());
        assert_eq!((counts.len(), reads), (1, 2));
        (assertions, counts)
    }

    fn later(files: Vec<(&'static str, &'static str)>) -> AssertionsSeen {
        let (mut assertions, t0) = start();
        Files(files).count(&mut assertions, &t0).1
    }

    #[test]
    fn a_file_that_did_not_change_is_never_read_again() {
        let (mut assertions, t0) = start();
        let files = Files(vec![
            ("src/a.rs", PRODUCT),
            ("src/b.rs", "fn g() { assert!(1) }"),
            ("src/c.rs", SOFTER),
        ]);
        assert_eq!(files.count(&mut assertions, &t0).2, 1);
        assert_eq!(files.count(&mut assertions, &t0).2, 0);
    }

    #[test]
    fn tests_inside_of_a_product_file_count_and_its_own_assertions_do_not() {
        assert_eq!(later(vec![("src/a.rs", MENDED)]).fallen, []);
        let seen = later(vec![("src/a.rs", SOFTER)]);
        assert_eq!((seen.files_t0, seen.total_t0, seen.total), (1, 2, 1));
        let fallen = &seen.fallen[0];
        assert_eq!((fallen.name.as_str(), fallen.from, fallen.to), ("tests::a", 2, 1));
    }

    #[test]
    fn a_test_that_moved_keeps_the_total_and_one_that_is_gone_does_not() {
        let moved = later(vec![("src/c.rs", PRODUCT)]);
        assert_eq!((moved.total_t0, moved.total, moved.fallen.len()), (2, 2, 0));
        let gone = later(vec![("src/a.rs", "fn f() {}")]);
        assert_eq!((gone.total_t0, gone.total, gone.fallen.len()), (2, 0, 0));
    }

    #[test]
    fn what_no_longer_parses_is_unknown_on_both_sides() {
        let seen = later(vec![("src/a.rs", "#[test] fn a( {")]);
        assert_eq!((seen.files_t0, seen.total_t0, seen.total), (1, 0, 0));
        assert_eq!(seen.unknown[0].path.text(), "src/a.rs");
    }

    #[test]
    fn what_never_parsed_is_no_start_to_compare_with() {
        let mut assertions = Assertions::default();
        let (t0, ..) = Files(vec![("tests/broken.py", "def test_a(:")]).count(&mut assertions, &Counts::new());
        let later = Files(vec![("tests/broken.py", "def test_a(): assert 1")]);
        assert_eq!(later.count(&mut assertions, &t0).1, AssertionsSeen::default());
    }
}
