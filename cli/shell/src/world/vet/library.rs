//! The test that a member is, by its name, among those of the sources of a copy.
//!
//! Where more than one could be meant, or none, nothing is.

use std::collections::HashMap;

use engine::event::id::Bytes;
use syntax::{Language, Span, Test};

use super::titled::is_titled;
use crate::oracle::suite;

/// What is said where an assertion has to fail.
const FAILURES_WANTED: &[&str] = &[
    "AssertionError",
    "catch_unwind",
    "expectedFailure",
    "expected_failure",
    "should_panic",
    "throws(",
    "toThrow",
    ".failing",
    ".fails",
];
/// What stands between the parts of a member's name.
pub(super) const MARKS: &[&str] = &["::", " > ", ".", "/", " "];

/// What tests may be read from.
pub(super) struct Sources<'a> {
    /// Paths of the tree in a language of this build that may hold tests.
    pub(super) paths: Vec<&'a str>,
    pub(super) content: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
}

/// A source that was read.
pub(super) struct Source {
    pub(super) language: Language,
    pub(super) bytes: Vec<u8>,
    /// None that a later definition replaces.
    tests: Vec<Test>,
}

/// The test that a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) test: Span,
    /// Nothing else can be meant: what the member says of its file or module is this source.
    pub(super) sure: bool,
}

pub(super) struct Library<'a> {
    sources: &'a Sources<'a>,
    read: HashMap<String, Option<Source>>,
}

impl<'a> Library<'a> {
    pub(super) fn new(sources: &'a Sources<'a>) -> Self {
        Self {
            sources,
            read: HashMap::new(),
        }
    }

    /// The one source and test that a member is.
    pub(super) fn find(&mut self, member: &str) -> Result<Option<Found>, String> {
        let own = suite::files([member].into_iter());
        let paths = self.sources.paths.clone();
        let is_own = |path: &&str| own.contains(&Bytes(path.as_bytes().to_vec()));
        let mut files: Vec<&str> = paths.iter().copied().filter(is_own).collect();
        if files.is_empty() {
            files = paths;
        }
        let mut found: Vec<Found> = Vec::new();
        for path in files {
            let Some(source) = self.source(path, member)? else {
                continue;
            };
            let exact = source.tests.iter().any(|test| is_named(member, &test.path));
            let fitting = source.tests.iter().filter(|test| match exact {
                true => is_named(member, &test.path),
                false => is_titled(member, &test.path),
            });
            let longest = fitting.clone().map(|test| test.path.len()).max().unwrap_or(0);
            let fitting: Vec<&Test> = fitting.filter(|test| test.path.len() == longest).collect();
            match fitting.as_slice() {
                [] => {}
                [only] => found.push(Found {
                    path: path.to_owned(),
                    test: only.span,
                    sure: match path.ends_with(".py") {
                        true => is_all_of(member, path, &only.path),
                        false => own.is_empty() || is_own(&path),
                    },
                }),
                _ => return Ok(None),
            }
        }
        if found.len() > 1 {
            found.retain(|found| names_source(member, &found.path));
        }
        let only = found.len() == 1;
        Ok(found.pop().filter(|_| only))
    }

    /// A source that could hold this member.
    fn source(&mut self, path: &str, member: &str) -> Result<Option<&Source>, String> {
        if !self.read.contains_key(path) {
            let bytes = (self.sources.content)(path)?;
            let holds = |mark: &&str| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
            let language = Language::of(path);
            let language = language.filter(|known| known.in_source.is_empty() || known.in_source.iter().any(holds));
            let source = language.and_then(|language| {
                let mut tests = syntax::tests(language, &bytes).ok()?.tests;
                tests.retain(|test| !test.duplicate && !turned_round(&bytes, test.span));
                (!tests.is_empty()).then_some(Source { language, bytes, tests })
            });
            self.read.insert(path.to_owned(), source);
        }
        let read = self.read.get(path).and_then(Option::as_ref);
        let fits = |test: &Test| is_named(member, &test.path) || is_titled(member, &test.path);
        Ok(read.filter(|source| source.tests.iter().any(fits)))
    }

    pub(super) fn known(&self, path: &str) -> Option<&Source> {
        self.read.get(path).and_then(Option::as_ref)
    }
}

/// The test wants something in it to fail: what it expects there may be anything but right.
fn turned_round(bytes: &[u8], test: Span) -> bool {
    // Attributes may stand before what a language takes for the test.
    let before = &bytes[..test.start.min(bytes.len())];
    let from = before.windows(2).rposition(|pair| pair == b"\n\n").unwrap_or(0);
    let text = bytes.get(from..test.end).unwrap_or_default();
    FAILURES_WANTED
        .iter()
        .any(|word| text.windows(word.len()).any(|window| window == word.as_bytes()))
}

/// The member's name ends with that of the test; what stands in brackets behind it are parameters.
fn is_named(member: &str, path: &[String]) -> bool {
    !path.is_empty() && befores(member, path).next().is_some()
}

/// What stands before the test's name in that of the member, with the mark between them.
fn befores<'m>(member: &'m str, path: &'m [String]) -> impl Iterator<Item = &'m str> {
    let bare = member.ends_with(']').then(|| member.match_indices('['));
    let bare = bare.into_iter().flatten().map(|(at, _)| &member[..at]);
    let ends = move |name: &'m str| {
        let befores = MARKS
            .iter()
            .filter_map(move |mark| name.strip_suffix(path.join(mark).as_str()));
        befores.filter(|before| before.is_empty() || MARKS.iter().any(|mark| before.ends_with(mark)))
    };
    std::iter::once(member).chain(bare).flat_map(ends)
}

/// The member's name is that of this module, as seen from somewhere above it, and that of the test: no class between
/// them that could have it from elsewhere.
fn is_all_of(member: &str, source: &str, path: &[String]) -> bool {
    let module = source.trim_end_matches(".py").replace('/', ".");
    let ends = |whole: &str, end: &str, mark: char| {
        let before = whole.strip_suffix(end).filter(|_| !end.is_empty());
        before.is_some_and(|before| before.is_empty() || before.ends_with(mark))
    };
    befores(member, path)
        .map(|before| before.trim_end_matches([':', '.', ' ', '/', '>']))
        .any(|before| ends(source, before, '/') || ends(&module, before, '.'))
}

/// The member's name holds that of the source, as one of its parts.
fn names_source(member: &str, path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let stem = parts
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map(|(stem, _)| stem);
    let stem = match stem {
        Some("mod") => parts.next(),
        other => other,
    };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    stem.is_some_and(|stem| member.split(|c| !word(c)).any(|part| part == stem))
}
