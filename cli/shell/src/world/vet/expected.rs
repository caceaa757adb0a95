//! Other demands in the tests of a copy: another value, the opposite, or what nothing can meet.
//!
//! ```text
//!   member --> the source and the test that it is --> one expected value, or the assertion around it,
//!                                                     or the place where the test begins to assert
//! ```
//!
//! Who belongs to no test, or could to several, is left alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use engine::event::candidate::Mutated;
use syntax::{Mutant, Operator, Span, What};

use super::library::{Found, Library, Sources};
use crate::hunks::quoted;

/// Members that a test is looked for, and mutants of one among which the first expected value is.
const MEMBERS_MAX: usize = 1_024;
const MUTANTS_MAX: usize = 32;
/// What a value is said to be that is made when the test runs.
const ANOTHER: &str = "another value";

/// What the tests of some members are to demand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Demand<'a> {
    /// Another expected value; where no test has one that could be changed, the impossible.
    Another,
    /// The same other value of each of these, with a failure right behind the assertion around it, or, where none can
    /// stand there, the opposite of that assertion; where none has either, the impossible.
    Beyond(&'a [String]),
    /// The impossible of the tests of these: they fail where they begin to assert.
    Impossible(&'a [String]),
}

/// One change, and the members whose test it is in.
struct Chosen {
    path: String,
    members: Vec<String>,
    /// The test's place in the source.
    test: Span,
    change: Change,
}

/// One change, and the expected values that it is made of, if it is.
struct Change {
    mutant: Mutant,
    values: Vec<Mutant>,
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

    /// Sources in other words, which change nothing.
    pub(super) fn respelled(files: Vec<(String, Vec<u8>)>) -> Self {
        Self {
            files,
            mutants: Vec::new(),
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

/// Changes what the tests of at most `max` of these members demand.
///
/// # Errors
/// When a source cannot be read.
pub(super) fn change(
    sources: &Sources<'_>,
    members: &[String],
    max: usize,
    demand: Demand<'_>,
) -> Result<Changed, String> {
    let mut library = Library::new(sources);
    let mut chosen = match demand {
        Demand::Impossible(_) => Vec::new(),
        Demand::Another | Demand::Beyond(_) => library.chosen(members, max, Library::expected_values)?,
    };
    if let Demand::Beyond(of) = demand {
        chosen.retain(|chosen| chosen.members.iter().any(|member| of.contains(member)));
        chosen.retain_mut(|chosen| {
            let beyond = library.beyond(&chosen.path, &chosen.change.values);
            beyond.map(|mutant| chosen.change.mutant = mutant).is_some()
        });
    }
    if chosen.is_empty() {
        let of = match demand {
            Demand::Another => members,
            Demand::Beyond(of) | Demand::Impossible(of) => of,
        };
        chosen = library.chosen(of, max, Library::failures)?;
    }
    Ok(library.apply(chosen))
}

impl Library<'_> {
    /// The changes of at most `max` tests, with the members that share each.
    fn chosen(
        &mut self,
        members: &[String],
        max: usize,
        changes: impl Fn(&Self, &Found) -> Vec<Change>,
    ) -> Result<Vec<Chosen>, String> {
        let (mut chosen, mut tests) = (Vec::<Chosen>::new(), 0);
        for member in members.iter().take(MEMBERS_MAX) {
            let Some(found) = self.find(member)? else {
                continue;
            };
            let is_same = |chosen: &&mut Chosen| chosen.path == found.path && chosen.test == found.test;
            let mut same = chosen.iter_mut().filter(is_same).peekable();
            if same.peek().is_some() {
                same.for_each(|same| same.members.push(member.clone()));
                continue;
            }
            drop(same);
            if tests == max {
                continue;
            }
            let before = chosen.len();
            chosen.extend(changes(self, &found).into_iter().map(|change| Chosen {
                path: found.path.clone(),
                members: vec![member.clone()],
                test: found.test,
                change,
            }));
            tests += usize::from(chosen.len() > before);
        }
        Ok(chosen)
    }

    /// Other expected values of its assertions, where the language can ask for several at once; else one, if there is any.
    fn expected_values(&self, found: &Found) -> Vec<Change> {
        let values = self.mutants(&found.path, &What::Oracle(&[found.test]), MUTANTS_MAX);
        let is_value = |mutant: &Mutant| mutant.operator == Operator::Expectation && !is_tiny(&mutant.original);
        let values: Vec<Mutant> = values.into_iter().filter(is_value).collect();
        if let Some(mutant) = self.mutants(&found.path, &What::Several(&values), 1).pop() {
            return vec![Change { mutant, values }];
        }
        let one = values.into_iter().take(1);
        one.map(|mutant| Change {
            values: vec![mutant.clone()],
            mutant,
        })
        .collect()
    }

    /// What makes the test fail wherever it begins to assert; nothing where the test could be another.
    fn failures(&self, found: &Found) -> Vec<Change> {
        let failures = || self.mutants(&found.path, &What::Failure(&[found.test]), MUTANTS_MAX);
        let failures = if found.sure { failures() } else { Vec::new() };
        let plain = failures.into_iter().map(|mutant| Change {
            mutant,
            values: Vec::new(),
        });
        plain.collect()
    }

    fn mutants(&self, path: &str, what: &What<'_>, max: usize) -> Vec<Mutant> {
        let source = self.known(path);
        let found = source.map(|source| syntax::mutants(source.language, &source.bytes, what, max));
        found.and_then(Result::ok).unwrap_or_default()
    }

    fn beyond(&self, path: &str, values: &[Mutant]) -> Option<Mutant> {
        let behind = self.mutants(path, &What::Behind(values), 1).pop();
        let parts: Vec<Span> = values.iter().map(|value| value.minded.unwrap_or(value.span)).collect();
        behind.or_else(|| self.mutants(path, &What::Opposite(&parts), 1).pop())
    }

    /// The sources with all of these changes made, the last of each first, so that the others stay where they are. One
    /// that overlaps another is left out.
    fn apply(&self, mut chosen: Vec<Chosen>) -> Changed {
        chosen.sort_by_key(|chosen| std::cmp::Reverse(chosen.change.mutant.span));
        let mut files: BTreeMap<String, (Vec<u8>, usize)> = BTreeMap::new();
        let mut mutants = Vec::new();
        for Chosen {
            path, members, change, ..
        } in chosen
        {
            let mutant = &change.mutant;
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
            *bytes = syntax::apply(bytes, mutant);
            mutants.push(Mutated {
                members,
                path,
                line: mutant.line,
                operator: mutant.operator.label().to_owned(),
                from: change.told(|value| value.original.clone()),
                to: change.told(told),
            });
        }
        mutants.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Changed {
            files: files.into_iter().map(|(path, (bytes, _))| (path, bytes)).collect(),
            mutants,
        }
    }
}

impl Change {
    /// In words: each value that was changed, or all of it.
    fn told(&self, words: impl Fn(&Mutant) -> String) -> String {
        let whole = &self.mutant;
        if whole.operator != Operator::Expectation {
            return quoted(&words(whole));
        }
        let own = self.values.iter().filter(|value| whole.span.contains(value.span));
        quoted(&own.map(words).collect::<Vec<_>>().join(", "))
    }
}

/// What stands there now: a value that is made of the one that has a name is said to be another.
fn told(mutant: &Mutant) -> String {
    let is_made = mutant.replacement.ends_with(&format!("({})", mutant.original));
    match is_made && mutant.operator == Operator::Expectation {
        true => ANOTHER.to_owned(),
        false => mutant.replacement.clone(),
    }
}

/// A number so small that a type may take it and its neighbour for one.
fn is_tiny(literal: &str) -> bool {
    let number = literal.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    number && ["e-", "E-"].iter().any(|power| literal.contains(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: &str = "def test_total():\n    assert total(1) == 2\n\ndef test_label(a):\n    assert label(a) == 'x'\n\ndef test_loose():\n    assert label(1)\n";
    const DAY: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn late() { assert_eq!(later(1), 9); }\n}\n";

    fn changed(files: &[(&str, &str)], members: &[&str], max: usize, demand: Demand<'_>) -> Vec<String> {
        let content = |path: &str| {
            let found = files.iter().find(|(known, _)| *known == path);
            Ok(found.unwrap().1.as_bytes().to_vec())
        };
        let sources = Sources {
            paths: files.iter().map(|(path, _)| *path).collect(),
            content: &content,
        };
        let members: Vec<String> = members.iter().map(|id| (*id).to_owned()).collect();
        let changed = change(&sources, &members, max, demand).unwrap();
        for mutated in &changed.mutants {
            let (_, bytes) = changed.files.iter().find(|(path, _)| *path == mutated.path).unwrap();
            let parts = || mutated.to.split(", ");
            let is_long = mutated.operator == "failure_behind";
            assert!(is_long || parts().all(|to| to == ANOTHER || String::from_utf8_lossy(bytes).contains(to)));
        }
        let told = |m: &Mutated| format!("{} {}:{} {}->{}", m.members.join("+"), m.path, m.line, m.from, m.to);
        changed.mutants.iter().map(told).collect()
    }

    #[test]
    fn rows_that_fill_a_title_share_the_value_that_their_test_expects() {
        let source = "describe('max', () => {\n  test.each([[1, 2], [3, 4]])('of %j', (x, want) => { expect(f(x)).toEqual(want); });\n  test('of one', () => { expect(f(1)).toBe(2); });\n});\n";
        let members = ["a.test.js > max > of 3", "a.test.js > max > of one"];
        assert_eq!(
            changed(&[("a.test.js", source)], &members, 9, Demand::Another),
            [
                "a.test.js > max > of 3 a.test.js:2 want->another value",
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
            changed(&[("t/p.py", PRICE), ("u.py", PRICE)], &members, 9, Demand::Another),
            expected
        );
        assert_eq!(
            changed(&[("t/p.py", PRICE)], &members, 1, Demand::Another),
            [expected[1]]
        );
    }

    #[test]
    fn a_test_in_which_an_assertion_has_to_fail_is_left_alone() {
        let panics = "#[test]\nfn early() { assert_eq!(f(1), 2); }\n\n#[test]\n#[should_panic]\nfn late() { assert_eq!(f(1), 2); }\n";
        assert_eq!(
            changed(&[("tests/a.rs", panics)], &["late"], 9, Demand::Another),
            [""; 0]
        );
        assert_eq!(
            changed(&[("tests/a.rs", panics)], &["early"], 9, Demand::Another).len(),
            1
        );
        let raises = "def test_a():\n    with raises(AssertionError):\n        assert f(1) == 2\n";
        assert_eq!(
            changed(&[("a.py", raises)], &["a.py::test_a"], 9, Demand::Another),
            [""; 0]
        );
        let tiny = "def test_a():\n    assert f(1) == 1e-9\n";
        assert_eq!(
            changed(&[("a.py", tiny)], &["a.py::test_a"], 9, Demand::Another),
            ["a.py::test_a a.py:2 ->raise AssertionError('lx')"]
        );
    }

    #[test]
    fn a_test_without_a_value_fails_where_it_begins_to_assert_if_it_can_be_no_other() {
        let loose = ["p.py::test_loose".to_owned()];
        let failing = |members: &[&str], demand: Demand<'_>| changed(&[("t/p.py", PRICE)], members, 9, demand);
        let expected = ["p.py::test_loose t/p.py:8 ->raise AssertionError('lx')"];
        assert_eq!(
            failing(&["p.py::test_loose"], Demand::Another),
            expected,
            "nobody has a value"
        );
        let all = ["p.py::test_total", "p.py::test_loose"];
        assert_eq!(failing(&all, Demand::Another).len(), 1, "one has");
        assert_eq!(failing(&all, Demand::Impossible(&loose)), expected);
        assert_eq!(
            failing(&all, Demand::Beyond(&loose)),
            expected,
            "it cannot be turned round"
        );
        // Inherited from who knows where, or installed.
        for member in [
            "p.py::TestLoose::test_loose",
            "lib/t/p.py::test_loose",
            "q.TestLoose.test_loose",
        ] {
            assert_eq!(failing(&[member], Demand::Another), [""; 0], "{member}");
        }
        assert_eq!(failing(&["t.p.test_loose"], Demand::Another).len(), 1);
        let both = "test('a', () => { each([3], (x) => check(x)); each([4], (x) => { expect(x).toBe(8); }); });";
        let both = changed(
            &[("a.test.js", both)],
            &["a.test.js > a"],
            9,
            Demand::Impossible(&["a.test.js > a".to_owned()]),
        );
        assert_eq!(both.len(), 1, "{both:?}");
    }

    #[test]
    fn a_failure_stands_behind_a_value_that_was_changed_before_and_else_the_opposite() {
        let members = ["p.py::test_total", "p.py::test_label"];
        let of = ["p.py::test_total".to_owned()];
        assert_eq!(
            changed(&[("p.py", PRICE)], &members, 9, Demand::Beyond(&of)),
            ["p.py::test_total p.py:2 2->3; raise AssertionError('lx')"]
        );
        let short = "test('a', () => expect(f(1)).toBe(2));";
        let of = ["a.test.js > a".to_owned()];
        assert_eq!(
            changed(&[("a.test.js", short)], &["a.test.js > a"], 9, Demand::Beyond(&of)),
            ["a.test.js > a a.test.js:1 ->.not"]
        );
    }

    #[test]
    fn all_values_of_a_test_are_asked_for_at_once_where_the_language_can() {
        let several = "def test_a():\n    assert f(1) == 2\n    assert f(3) == 'x'\n";
        let members = ["a.py::test_a"];
        assert_eq!(
            changed(&[("a.py", several)], &members, 9, Demand::Another),
            ["a.py::test_a a.py:2 2, 'x'->3, '~x'"]
        );
        let of = members.map(str::to_owned);
        let beyond = changed(&[("a.py", several)], &members, 9, Demand::Beyond(&of)).concat();
        assert!(
            beyond.contains("else: raise AssertionError('lx') assert f(3) == '~x'; raise AssertionE"),
            "{beyond}"
        );
        let rust = "#[test]\nfn a() { assert_eq!(f(1), 2); assert_eq!(f(3), 4); }\n";
        let one = changed(&[("tests/a.rs", rust)], &["a"], 9, Demand::Another);
        assert_eq!(one, ["a tests/a.rs:2 2->3"]);
    }

    #[test]
    fn a_member_that_could_be_several_tests_or_none_is_left_alone() {
        let twice = [("src/a.rs", DAY), ("src/b.rs", DAY)];
        assert_eq!(changed(&twice, &["tests::late"], 9, Demand::Another), [""; 0]);
        assert_eq!(
            changed(&twice, &["b::tests::late"], 9, Demand::Another),
            ["b::tests::late src/b.rs:4 9->10"]
        );
        assert_eq!(
            changed(&[("p.py", PRICE)], &["p.py::test_other", "total"], 9, Demand::Another),
            [""; 0]
        );
    }
}
