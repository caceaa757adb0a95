//! A workbench for the languages' tests.

use crate::{Language, What, contradictions, mutants, tests};

/// Path of names and assertions of every test, with a mark for what never runs.
pub(crate) fn counted(path: &str, source: &str) -> Vec<(String, u32)> {
    let parsed = tests(Language::of(path).unwrap(), source.as_bytes()).unwrap();
    let told = |test: crate::Test| {
        let mark = if test.duplicate { " (dead)" } else { "" };
        (format!("{}{mark}", test.path.join(" ")), test.assertions)
    };
    parsed.tests.into_iter().map(told).collect()
}

/// Assertions of a whole source.
pub(crate) fn total(path: &str, source: &str) -> u32 {
    tests(Language::of(path).unwrap(), source.as_bytes())
        .unwrap()
        .assertions
}

/// Rows of parameters of the first test.
pub(crate) fn rows(path: &str, source: &str) -> usize {
    tests(Language::of(path).unwrap(), source.as_bytes()).unwrap().tests[0]
        .parameters
        .len()
}

/// Mutants of all lines, as `operator: original -> replacement`.
pub(crate) fn code(path: &str, source: &str) -> Vec<String> {
    let found = mutants(
        Language::of(path).unwrap(),
        source.as_bytes(),
        &What::Code(&[1..=u32::MAX]),
        999,
    )
    .unwrap();
    found
        .into_iter()
        .map(|m| format!("{}: {} -> {}", m.operator.label(), m.original, m.replacement))
        .collect()
}

/// Mutants of what all tests demand.
pub(crate) fn oracle(path: &str, source: &str) -> Vec<String> {
    let language = Language::of(path).unwrap();
    let spans: Vec<_> = tests(language, source.as_bytes())
        .unwrap()
        .tests
        .iter()
        .map(|test| test.span)
        .collect();
    let found = mutants(language, source.as_bytes(), &What::Oracle(&spans), 999).unwrap();
    found
        .into_iter()
        .map(|m| format!("{} -> {}", m.original, m.replacement))
        .collect()
}

/// Calls that contradict each other within one source.
pub(crate) fn opposed(path: &str, source: &str) -> Vec<String> {
    let found = contradictions(Language::of(path).unwrap(), &[(path, source.as_bytes())]);
    found
        .into_iter()
        .map(|c| format!("{}: {} or {}", c.call, c.first.value, c.second.value))
        .collect()
}

/// Every one of `expected` is in `found`.
pub(crate) fn holds(found: &[String], expected: &[&str]) {
    for one in expected {
        assert!(found.iter().any(|line| line == one), "{one} is not in {found:#?}");
    }
}

/// Nothing in `found` changes one of these texts.
pub(crate) fn spares(found: &[String], texts: &[&str]) {
    for text in texts {
        assert!(!found.iter().any(|line| line.contains(text)), "{text} is in {found:#?}");
    }
}
