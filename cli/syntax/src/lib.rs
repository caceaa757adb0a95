//! What loopexec reads from source text by its syntax tree.
//!
//! ```text
//!   (language, bytes) --> Tree --+--> tests           who asserts how much (SPEC 5.3.10), and what equals what (5.2.4)
//!                                +--> mutants         one change each, that still parses (5.6.4, 5.6.5)
//!                                +--> functions       what a product defines, and where
//!                                +--> is_same_test, examples  which test another one is, where a product moved (5.3.3)
//!                                +--> standing        what became of the tests within a product, where they stand (5.4.13)
//!                                +--> judges          whether a program compares what the work gives (5.4.7)
//!                                +--> contradictions  two assertions that nobody can satisfy (4.3.10)
//! ```
//!
//! Pure functions of bytes: no file is opened, nothing is run, and no bytes make them panic. Size, depth, number of
//! nodes and the parser's own work are bounded; what exceeds a bound, or does not parse, is [`Unknown`] and never
//! zero. What a language calls a test, an assertion or a loop is data: [`language`] has one file for each and one
//! list. Read [`Language`] and [`Parsed`] first.

#![forbid(unsafe_code)]

mod around;
mod assertion;
#[cfg(test)]
mod bench;
mod body;
mod contradiction;
mod example;
mod function;
mod grammar;
mod judging;
pub mod language;
mod mutant;
mod relocation;
mod standing;
mod suite;
mod tree;

pub use around::around;
pub use body::Body;
pub use contradiction::{Contradiction, Demanded, contradictions};
pub use example::{examples, examples_by_name};
pub use function::{Function, functions};
pub use judging::judges;
pub use language::Language;
pub use mutant::{Mutant, Operator, What, apply, mutants, respelled};
pub use relocation::is_same_test;
pub use standing::{Standing, standing};
pub use suite::{Parsed, Test, tests};
pub use tree::{DEPTH_MAX, NODES_MAX, SIZE_MAX_BYTES, Unknown};

/// Bytes of the source, from `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pieces that grammars have opinions about, to get beyond the first token.
    const PIECES: &[&str] = &[
        "def test_a(x):\n",
        "    assert f(1) == 2\n",
        "class T:\n",
        "#[test]\n",
        "fn a() {",
        "}",
        "assert_eq!(f(1), 2);",
        "func TestA(t *testing.T) {\n",
        "t.Errorf(\"x\")\n",
        "it('a', () => {",
        "expect(f(1)).toBe(2)",
        "})",
        "\n",
        "(",
        ")",
        "@Test void a() {",
        "assertEquals(1, f(2));",
        "if x > 1:\n",
        "return -1;",
        "for i in [1]:\n",
        "'",
        "\"",
        "\t",
        "`${",
        "\0",
        "class A { ",
        "while (true) {",
        "x += 1\n",
        "[]",
        "é",
        "#[cfg(test)] mod tests {",
        "for i := range x {",
        "\\",
    ];

    fn all_of(language: Language, source: &[u8]) {
        let lines = 1..=u32::MAX;
        let code = mutants(language, source, &What::Code(&[lines]), 64).unwrap_or_default();
        let spans: Vec<Span> = tests(language, source)
            .map(|p| p.tests.iter().map(|t| t.span).collect())
            .unwrap_or_default();
        let oracle = mutants(language, source, &What::Oracle(&spans), 64).unwrap_or_default();
        let failures = mutants(language, source, &What::Failure(&spans), 64).unwrap_or_default();
        for mutant in code.iter().chain(&oracle).chain(&failures) {
            let mutated = apply(source, mutant);
            assert_ne!(mutated, source, "{mutant:?}");
            assert!(
                tests(language, &mutated).is_ok(),
                "{mutant:?}: {}",
                String::from_utf8_lossy(&mutated)
            );
        }
        contradictions(language, &[("a", source), ("b", source)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn no_bytes_make_it_panic_and_every_mutant_parses(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for language in Language::all() {
                all_of(language, &bytes);
            }
        }

        #[test]
        fn no_pieces_of_sources_make_it_panic_and_every_mutant_parses(pieces in prop::collection::vec(0..PIECES.len(), 0..24)) {
            let source: String = pieces.into_iter().map(|i| PIECES[i]).collect();
            for language in Language::all() {
                all_of(language, source.as_bytes());
            }
        }
    }

    #[test]
    fn what_is_too_large_or_too_deep_is_unknown_with_its_bound() {
        let python = Language::of("a.py").unwrap();
        let large = vec![b' '; SIZE_MAX_BYTES + 1];
        assert_eq!(
            tests(python, &large).unwrap_err(),
            Unknown::TooLarge {
                size_bytes: SIZE_MAX_BYTES + 1
            }
        );
        let deep = "(".repeat(DEPTH_MAX + 1) + &")".repeat(DEPTH_MAX + 1);
        assert_eq!(tests(python, deep.as_bytes()).unwrap_err(), Unknown::TooDeep);
    }

    #[test]
    fn what_does_not_parse_is_unknown_with_its_line_and_never_zero() {
        let python = Language::of("a.py").unwrap();
        let broken = b"def test_a():\n    assert f(1) == 1\n\ndef test_b(:\n    pass\n";
        let why = tests(python, broken).unwrap_err();
        assert_eq!(why, Unknown::Broken { line: 4 });
        assert_eq!(why.to_string(), "it does not parse near line 4");
    }
}
