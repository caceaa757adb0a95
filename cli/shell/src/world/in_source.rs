//! Tests of Rust that stand in the product, and examples in its documentation: members that are no file of tests
//! (SPEC 5.4.13).
//!
//! ```text
//!   members of t0 --> the sources that hold them, as they were --> each is still there? it is what it was
//!                                                          \-----> it is gone: whoever has its name elsewhere is it
//! ```
//!
//! What is gone altogether is named by its member. Sources that nobody can read as syntax are left to the count of
//! assertions.

use std::collections::{BTreeMap, BTreeSet};

use engine::event::id::{Bytes, Digest};
use serde::{Deserialize, Serialize};
use syntax::{Body, Language, is_same_test, standing};

use super::relocated::{example_file, last_name};
use super::shared::Content;
use crate::tree::Entry;

/// The sources of t0, by what they held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InSource {
    /// Every source that could hold some, whether it does or not.
    sources: BTreeMap<Bytes, Digest>,
    tests: BTreeSet<Bytes>,
    examples: BTreeSet<Bytes>,
}

impl InSource {
    /// What these members are in `sources`, which are the product; of some it is known that their examples are members.
    pub(super) fn settle<'e>(
        sources: impl Iterator<Item = &'e Entry>,
        members: &[&str],
        known: &BTreeSet<Bytes>,
        content: Content<'_>,
    ) -> Self {
        let names: BTreeSet<&str> = members.iter().map(|id| last_name(id)).collect();
        let documented: BTreeSet<String> = members.iter().filter_map(|id| example_file(id)).collect();
        let is_documented = |path: &str| {
            let is = |file: &String| path.strip_suffix(file.as_str());
            let mut dirs = documented.iter().filter_map(is);
            dirs.any(|dir| dir.is_empty() || dir.ends_with('/'))
        };
        let mut found = Self::default();
        for entry in sources {
            let Ok(path) = std::str::from_utf8(&entry.path) else {
                continue;
            };
            let key = Bytes(entry.path.clone());
            let is_rust = path.ends_with(".rs");
            let is_documented = known.contains(&key) || is_documented(path);
            let Some(language) = Language::of(path).filter(|_| is_rust || is_documented) else {
                continue;
            };
            let Ok(bytes) = content(&entry.digest) else { continue };
            found.sources.insert(key.clone(), Digest(entry.digest));
            if is_rust && speaks_of_tests(&bytes) {
                let tests = syntax::tests(language, &bytes).map(|parsed| parsed.tests);
                let is_member =
                    |test: &syntax::Test| test.path.last().is_some_and(|name| names.contains(name.as_str()));
                if tests.is_ok_and(|tests| tests.iter().any(is_member)) {
                    found.tests.insert(key.clone());
                }
            }
            if is_documented && syntax::examples_by_name(language, &bytes).is_ok_and(|known| !known.is_empty()) {
                found.examples.insert(key);
            }
        }
        found
    }

    /// Files whose tests or examples of t0 are other ones now.
    pub(super) fn rewritten(&self, entries: &[Entry], content: Content<'_>) -> Vec<Bytes> {
        let now = Now {
            before: self,
            entries,
            content,
        };
        let tests = self.tests.iter().filter(|path| now.tests_differ(path) == Some(true));
        let examples = self
            .examples
            .iter()
            .filter(|path| now.examples_differ(path) == Some(true));
        let all: BTreeSet<&Bytes> = tests.chain(examples).collect();
        all.into_iter().cloned().collect()
    }
}

/// A later tree beside the sources of t0.
struct Now<'a> {
    before: &'a InSource,
    entries: &'a [Entry],
    content: Content<'a>,
}

impl Now<'_> {
    fn entry(&self, path: &Bytes) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.path.cmp(&path.0)).ok()?;
        self.entries.get(at)
    }

    /// Before, and now where it is still there; nothing where it did not change or cannot be read.
    fn versions(&self, path: &Bytes) -> Option<(Language, Vec<u8>, Option<Vec<u8>>)> {
        let digest = self.before.sources.get(path)?;
        let entry = self.entry(path);
        if entry.is_some_and(|entry| entry.digest == digest.0) {
            return None;
        }
        let language = Language::of(std::str::from_utf8(&path.0).ok()?)?;
        let before = (self.content)(&digest.0).ok()?;
        let after = entry.map(|entry| (self.content)(&entry.digest)).transpose().ok()?;
        Some((language, before, after))
    }

    fn tests_differ(&self, path: &Bytes) -> Option<bool> {
        let (language, before, after) = self.versions(path)?;
        let found = standing(language, &before, after.as_deref().unwrap_or_default()).ok()?;
        Some(!found.rewritten.is_empty() || self.is_another_elsewhere(language, &before, &found.gone))
    }

    /// One that is gone from its source stands in a new one, and is another test there.
    fn is_another_elsewhere(&self, language: Language, before: &[u8], gone: &[Vec<String>]) -> bool {
        if gone.is_empty() {
            return false;
        }
        let new: Vec<Vec<u8>> = self.entries.iter().filter_map(|entry| self.new_source(entry)).collect();
        let own = body_of(language, before);
        gone.iter().any(|path| {
            let found: Vec<bool> = new
                .iter()
                .flat_map(|source| {
                    let there = syntax::tests(language, source)
                        .map(|parsed| parsed.tests)
                        .unwrap_or_default();
                    let named = there.into_iter().filter(|test| test.path.last() == path.last());
                    named
                        .map(|test| {
                            own.get(path.as_slice()) == Some(&(test.body, test.parameters))
                                || is_same_test(language, (before, path), (source, &test.path)) == Ok(true)
                        })
                        .collect::<Vec<_>>()
                })
                .collect();
            !found.is_empty() && !found.contains(&true)
        })
    }

    /// The content of a source of Rust that was not there at t0.
    fn new_source(&self, entry: &Entry) -> Option<Vec<u8>> {
        let key = Bytes(entry.path.clone());
        let is_new = entry.path.ends_with(b".rs") && !self.before.sources.contains_key(&key);
        let bytes = is_new.then(|| (self.content)(&entry.digest).ok()).flatten()?;
        speaks_of_tests(&bytes).then_some(bytes)
    }

    fn examples_differ(&self, path: &Bytes) -> Option<bool> {
        let (language, before, after) = self.versions(path)?;
        let before = syntax::examples_by_name(language, &before).ok()?;
        let after = syntax::examples_by_name(language, &after?).ok()?;
        let other = |(name, was): (&String, &Vec<String>)| {
            let is = after.get(name);
            is.is_some_and(|is| was.iter().any(|example| !is.contains(example)))
        };
        Some(before.iter().any(other))
    }
}

/// What the tests of a source demand, by their paths.
fn body_of(language: Language, source: &[u8]) -> BTreeMap<Vec<String>, (Body, Vec<Body>)> {
    let tests = syntax::tests(language, source)
        .map(|parsed| parsed.tests)
        .unwrap_or_default();
    tests
        .into_iter()
        .map(|test| (test.path, (test.body, test.parameters)))
        .collect()
}

fn speaks_of_tests(source: &[u8]) -> bool {
    source.windows(5).any(|word| word == b"test]")
}
