//! Other expected values in the tests of a copy.
//!
//! ```text
//!   member --> the source and the test that it is --> one expected value, or the assertion around it
//! ```
//!
//! A member is matched with a test by its name, and where more than one could be meant, or none, it is left alone.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::{fs, io};

use engine::event::candidate::Mutated;
use engine::event::id::Bytes;
use syntax::{Language, Mutant, Operator, Span, Test, What};

use super::titled::is_titled;
use crate::hunks::quoted;
use crate::oracle::suite;

/// Members that a test is looked for, and mutants among which the first expected value is.
const MEMBERS_MAX: usize = 1_024;
const MUTANTS_MAX: usize = 32;
/// What is said where an assertion has to fail.
const FAILURES_WANTED: &[&str] = &[
    "AssertionError",
    "catch_unwind",
    "expectedFailure",
    "should_panic",
    "throws(",
    "toThrow",
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
struct Source {
    language: Language,
    bytes: Vec<u8>,
    /// None that a later definition replaces.
    tests: Vec<Test>,
}

/// One change, and the members whose test it is in.
struct Chosen {
    path: String,
    members: Vec<String>,
    /// The test's place in the source.
    test: Span,
    mutant: Mutant,
}

/// The sources in which other values are expected, and what was changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    files: Vec<(String, Vec<u8>)>,
    pub(super) mutants: Vec<Mutated>,
}

impl Changed {
    /// One source with other content.
    pub(super) fn of(path: String, content: Vec<u8>, mutated: Mutated) -> Self {
        Self {
            files: vec![(path, content)],
            mutants: vec![mutated],
        }
    }

    /// # Errors
    /// When the copy cannot be written to.
    pub(super) fn write(&self, copy: &Path) -> io::Result<()> {
        self.files
            .iter()
            .try_for_each(|(path, bytes)| fs::write(copy.join(path), bytes))
    }
}

/// Changes one expected value in the tests of at most `max` of these members; or, with `opposite_of`, only in the tests of
/// those, the whole assertion around it into its opposite.
///
/// # Errors
/// When a source cannot be read.
pub(super) fn change(
    sources: &Sources<'_>,
    members: &[String],
    max: usize,
    opposite_of: Option<&[String]>,
) -> Result<Changed, String> {
    let mut library = Library {
        sources,
        read: HashMap::new(),
    };
    let mut chosen: Vec<Chosen> = Vec::new();
    for member in members.iter().take(MEMBERS_MAX) {
        let Some((path, test)) = library.find(member)? else {
            continue;
        };
        if let Some(same) = chosen
            .iter_mut()
            .find(|chosen| chosen.path == path && chosen.test == test)
        {
            same.members.push(member.clone());
        } else if chosen.len() < max
            && let Some(mutant) = library.expected_value(&path, test)
        {
            let members = vec![member.clone()];
            chosen.push(Chosen {
                path,
                members,
                test,
                mutant,
            });
        }
    }
    if let Some(of) = opposite_of {
        chosen.retain(|chosen| chosen.members.iter().any(|member| of.contains(member)));
        chosen.retain_mut(|chosen| {
            let part = chosen.mutant.minded.unwrap_or(chosen.mutant.span);
            let opposite = library.opposite(&chosen.path, part);
            opposite.map(|mutant| chosen.mutant = mutant).is_some()
        });
    }
    Ok(library.apply(chosen))
}

struct Library<'a> {
    sources: &'a Sources<'a>,
    read: HashMap<String, Option<Source>>,
}

impl Library<'_> {
    /// The one source and test that a member is.
    fn find(&mut self, member: &str) -> Result<Option<(String, Span)>, String> {
        let own = suite::files([member].into_iter());
        let paths = self.sources.paths.clone();
        let is_own = |path: &&str| own.contains(&Bytes(path.as_bytes().to_vec()));
        let mut files: Vec<&str> = paths.iter().copied().filter(is_own).collect();
        if files.is_empty() {
            files = paths;
        }
        let mut found: Vec<(&str, Span, usize)> = Vec::new();
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
                [only] => found.push((path, only.span, longest)),
                _ => return Ok(None),
            }
        }
        if found.len() > 1 {
            found.retain(|(path, ..)| names_source(member, path));
        }
        Ok(match found.as_slice() {
            [(path, span, _)] => Some(((*path).to_owned(), *span)),
            _ => None,
        })
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

    fn known(&self, path: &str) -> Option<&Source> {
        self.read.get(path).and_then(Option::as_ref)
    }

    fn expected_value(&self, path: &str, test: Span) -> Option<Mutant> {
        let source = self.known(path)?;
        let found = syntax::mutants(source.language, &source.bytes, &What::Oracle(&[test]), MUTANTS_MAX).ok()?;
        let mut values = found
            .into_iter()
            .filter(|mutant| mutant.operator == Operator::Expectation && !is_tiny(&mutant.original));
        values.next()
    }

    fn opposite(&self, path: &str, part: Span) -> Option<Mutant> {
        let source = self.known(path)?;
        let found = syntax::mutants(source.language, &source.bytes, &What::Opposite(&[part]), 1).ok()?;
        found.into_iter().next()
    }

    /// The sources with all of these changes made, the last of each first, so that the others stay where they are. One
    /// that overlaps another is left out.
    fn apply(&self, mut chosen: Vec<Chosen>) -> Changed {
        chosen.sort_by_key(|chosen| std::cmp::Reverse(chosen.mutant.span));
        let mut files: BTreeMap<String, (Vec<u8>, usize)> = BTreeMap::new();
        let mut mutants = Vec::new();
        for Chosen {
            path, members, mutant, ..
        } in chosen
        {
            let Some(source) = self.known(&path) else {
                continue;
            };
            let (bytes, before) = files
                .entry(path.clone())
                .or_insert_with(|| (source.bytes.clone(), usize::MAX));
            if mutant.span.end > *before {
                continue;
            }
            *before = mutant.span.start;
            *bytes = syntax::apply(bytes, &mutant);
            mutants.push(Mutated {
                members,
                path,
                line: mutant.line,
                operator: mutant.operator.label().to_owned(),
                from: quoted(&mutant.original),
                to: quoted(&mutant.replacement),
            });
        }
        mutants.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Changed {
            files: files.into_iter().map(|(path, (bytes, _))| (path, bytes)).collect(),
            mutants,
        }
    }
}

/// A number so small that a type may take it and its neighbour for one.
fn is_tiny(literal: &str) -> bool {
    let number = literal.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    number && ["e-", "E-"].iter().any(|power| literal.contains(power))
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
    let bare = member.ends_with(']').then(|| member.match_indices('['));
    let bare = bare.into_iter().flatten().map(|(at, _)| &member[..at]);
    let ends = |name: &str| {
        MARKS.iter().any(|mark| {
            let before = name.strip_suffix(path.join(mark).as_str());
            before.is_some_and(|before| before.is_empty() || MARKS.iter().any(|mark| before.ends_with(mark)))
        })
    };
    !path.is_empty() && std::iter::once(member).chain(bare).any(ends)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: &str = "def test_total():\n    assert total(1) == 2\n\ndef test_label(a):\n    assert label(a) == 'x'\n\ndef test_loose():\n    assert label(1)\n";
    const DAY: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn late() { assert_eq!(later(1), 9); }\n}\n";

    fn changed(files: &[(&str, &str)], members: &[&str], max: usize, of: Option<&[String]>) -> Vec<String> {
        let content = |path: &str| {
            let found = files.iter().find(|(known, _)| *known == path);
            Ok(found.unwrap().1.as_bytes().to_vec())
        };
        let sources = Sources {
            paths: files.iter().map(|(path, _)| *path).collect(),
            content: &content,
        };
        let members: Vec<String> = members.iter().map(|id| (*id).to_owned()).collect();
        let changed = change(&sources, &members, max, of).unwrap();
        for mutated in &changed.mutants {
            let (_, bytes) = changed.files.iter().find(|(path, _)| *path == mutated.path).unwrap();
            assert!(String::from_utf8_lossy(bytes).contains(&mutated.to));
        }
        let told = |m: &Mutated| format!("{} {}:{} {}->{}", m.members.join("+"), m.path, m.line, m.from, m.to);
        changed.mutants.iter().map(told).collect()
    }

    #[test]
    fn rows_that_fill_a_title_share_the_value_that_their_test_expects() {
        let source = "describe('max', () => {\n  test.each([[1, 2], [3, 4]])('of %j', (x, want) => { expect(f(x)).toEqual(want); });\n  test('of one', () => { expect(f(1)).toBe(2); });\n});\n";
        let members = ["a.test.js > max > of 3", "a.test.js > max > of one"];
        assert_eq!(
            changed(&[("a.test.js", source)], &members, 9, None),
            [
                "a.test.js > max > of 3 a.test.js:2 want->[want, 'lx']",
                "a.test.js > max > of one a.test.js:3 2->3"
            ]
        );
    }

    #[test]
    fn a_test_of_each_member_expects_another_value_and_its_parameters_share_one() {
        let members = [
            "t/p.py::test_label[a]",
            "t/p.py::test_total",
            "t/p.py::test_label[b::c]",
        ];
        let expected = [
            "t/p.py::test_total t/p.py:2 2->3",
            "t/p.py::test_label[a]+t/p.py::test_label[b::c] t/p.py:5 'x'->'~x'",
        ];
        assert_eq!(
            changed(&[("t/p.py", PRICE), ("u.py", PRICE)], &members, 9, None),
            expected
        );
        assert_eq!(changed(&[("t/p.py", PRICE)], &members, 1, None), [expected[1]]);
    }

    #[test]
    fn a_test_in_which_an_assertion_has_to_fail_is_left_alone() {
        let panics = "#[test]\nfn early() { assert_eq!(f(1), 2); }\n\n#[test]\n#[should_panic]\nfn late() { assert_eq!(f(1), 2); }\n";
        assert_eq!(changed(&[("tests/a.rs", panics)], &["late"], 9, None), [""; 0]);
        assert_eq!(changed(&[("tests/a.rs", panics)], &["early"], 9, None).len(), 1);
        let raises = "def test_a():\n    with raises(AssertionError):\n        assert f(1) == 2\n";
        assert_eq!(changed(&[("a.py", raises)], &["a.py::test_a"], 9, None), [""; 0]);
        let tiny = "def test_a():\n    assert f(1) == 1e-9\n";
        assert_eq!(changed(&[("a.py", tiny)], &["a.py::test_a"], 9, None), [""; 0]);
    }

    #[test]
    fn the_opposite_stands_where_a_value_was_changed_before() {
        let members = ["p.py::test_total", "p.py::test_label"];
        let of = ["p.py::test_total".to_owned()];
        assert_eq!(
            changed(&[("p.py", PRICE)], &members, 9, Some(&of)),
            ["p.py::test_total p.py:2 total(1) == 2->not (total(1) == 2)"]
        );
    }

    #[test]
    fn a_member_that_could_be_several_tests_or_none_or_expects_no_value_is_left_alone() {
        let twice = [("src/a.rs", DAY), ("src/b.rs", DAY)];
        assert_eq!(changed(&twice, &["tests::late"], 9, None), [""; 0]);
        assert_eq!(
            changed(&twice, &["b::tests::late"], 9, None),
            ["b::tests::late src/b.rs:4 9->10"]
        );
        assert_eq!(
            changed(
                &[("p.py", PRICE)],
                &["p.py::test_loose", "p.py::test_other", "total"],
                9,
                None
            ),
            [""; 0]
        );
    }
}
