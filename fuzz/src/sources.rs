//! The target over source text that somebody else wrote: `syntax`.

use std::collections::BTreeSet;

use syntax::{Language, Mutant, Span, What, apply, around, contradictions, functions, mutants, tests};

use crate::text::SEPARATOR;

/// Mutants of one kind that one case asks for.
const MUTANTS_MAX: usize = 24;

/// The first byte chooses the language; then one source, or two of one suite.
///
/// # Panics
/// When a span lies outside of its source, when a mutant is none or does not parse, or when an empty line at the end
/// changes what a test is.
pub fn syntax(data: &[u8]) -> String {
    let languages: Vec<Language> = Language::all().collect();
    let Some((which, rest)) = data.split_first() else {
        return "nothing".to_owned();
    };
    let language = languages[usize::from(which.wrapping_sub(b'a')) % languages.len()];
    let mut parts = rest.split(|byte| *byte == SEPARATOR);
    let (source, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let opposed = contradictions(language, &[("a", source), ("b", second)]);
    for found in &opposed {
        assert_ne!(found.first.value, found.second.value, "{}", found.call);
    }
    let Ok(parsed) = tests(language, source) else {
        return format!("{language:?}-unknown");
    };
    let spans: Vec<Span> = parsed.tests.iter().map(|test| test.span).collect();
    spans.iter().for_each(|span| within(*span, source));
    let named: BTreeSet<&[String]> = parsed.tests.iter().map(|test| test.path.as_slice()).collect();
    assert!(named.iter().all(|path| !path.is_empty()), "a test has a name");

    let longer = tests(language, &[source, b"\n"].concat());
    assert!(longer.is_err() || bodies(&parsed) == longer.as_ref().map(bodies).unwrap_or_default());
    assert!(around(language, source).is_ok());
    let lines = u32::try_from(source.split(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX);
    for function in functions(language, source).unwrap_or_default() {
        assert!(
            *function.lines.start() >= 1 && *function.lines.end() <= lines,
            "{function:?} of {lines}"
        );
    }

    let every = 1..=u32::MAX;
    let code = of(language, source, &What::Code(&[every]));
    let oracle = of(language, source, &What::Oracle(&spans));
    of(
        language,
        source,
        &What::Opposite(&oracle.iter().map(|mutant| mutant.span).collect::<Vec<_>>()),
    );
    of(language, source, &What::Behind(&oracle));
    let what = match (
        parsed.tests.is_empty(),
        oracle.is_empty(),
        code.is_empty(),
        opposed.is_empty(),
    ) {
        (_, _, _, false) => "opposed",
        (false, false, ..) => "demands",
        (false, true, ..) => "tests",
        (true, _, false, _) => "product",
        (true, _, true, _) => "idle",
    };
    format!("{language:?}-{what}")
}

/// What tells the tests of a source apart.
fn bodies(parsed: &syntax::Parsed) -> Vec<(&[String], syntax::Body, u32)> {
    let tests = parsed.tests.iter();
    tests
        .map(|test| (test.path.as_slice(), test.body, test.assertions))
        .collect()
}

/// The mutants, each held to what it must be.
fn of(language: Language, source: &[u8], what: &What<'_>) -> Vec<Mutant> {
    let found = mutants(language, source, what, MUTANTS_MAX).unwrap_or_default();
    assert!(found.len() <= MUTANTS_MAX);
    for mutant in &found {
        within(mutant.span, source);
        let mutated = apply(source, mutant);
        assert_ne!(mutated, source, "{mutant:?} changes nothing");
        assert!(tests(language, &mutated).is_ok(), "{mutant:?} does not parse");
    }
    found
}

fn within(span: Span, source: &[u8]) {
    assert!(span.start <= span.end && span.end <= source.len(), "{span:?}");
}
