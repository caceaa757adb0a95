//! Mutants: one small change each, in the product or in what a test demands (SPEC 5.6.4, 5.6.5).
//!
//! A mutant that does not parse is none. In product code, documentation, logging, types and tests are left alone: what
//! changes there tells nothing about the tests. In a test, only what it demands is changed, and only so that an honest
//! product must fail it.

mod behind;
mod bound;
mod code;
mod failure;
mod literal;
mod oracle;
mod spelling;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub use spelling::respelled;

use crate::tree::{Tree, Unknown};
use crate::{Language, Span};

/// What to change.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// Product code on these lines, counted from 1.
    Code(&'a [RangeInclusive<u32>]),
    /// What the tests in these spans demand.
    Oracle(&'a [Span]),
    /// The whole of each assertion that one of these spans is part of, into its opposite.
    Opposite(&'a [Span]),
    /// These expected values of one test at once: the last assertion right in its body minds one, and at those before it
    /// the test ends, and has passed, where they take theirs. Nothing where they are not several.
    Several(&'a [Mutant]),
    /// The same, or one such value, with a failure where a value was taken.
    Behind(&'a [Mutant]),
    /// Nothing: a failure at the beginning of what the tests in these spans assert in.
    Failure(&'a [Span]),
}

/// How a mutant differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    Constant,
    Comparison,
    Arithmetic,
    ReturnNothing,
    CallNothing,
    DeleteStatement,
    Never,
    EmptyIterable,
    /// The lines that stood there before; made by whoever knows them.
    Undo,
    /// Another expected value.
    Expectation,
    /// The opposite of what an assertion demands.
    Inversion,
    /// A failure at the beginning of a test's body.
    Failure,
    /// The same in each function, or block with a manager, that the test asserts in and nowhere else.
    FailureWithin,
    /// Another expected value, and a failure right behind the assertion that has it.
    FailureBehind,
}

impl Operator {
    pub fn label(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Comparison => "comparison",
            Self::Arithmetic => "arithmetic",
            Self::ReturnNothing => "return_nothing",
            Self::CallNothing => "call_nothing",
            Self::DeleteStatement => "delete_statement",
            Self::Never => "never",
            Self::EmptyIterable => "empty_iterable",
            Self::Undo => "undo",
            Self::Expectation => "expectation",
            Self::Inversion => "inversion",
            Self::Failure => "failure",
            Self::FailureWithin => "failure_within",
            Self::FailureBehind => "failure_behind",
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutant {
    /// Where it begins, counted from 1.
    pub line: u32,
    pub span: Span,
    pub operator: Operator,
    pub original: String,
    pub replacement: String,
    /// Part of the assertion that minds it, where that stands elsewhere.
    pub minded: Option<Span>,
}

/// At most `max` mutants: one of every line first, then a second of every line, and so on.
pub fn mutants(language: Language, source: &[u8], what: &What<'_>, max: usize) -> Result<Vec<Mutant>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let mut candidates = match what {
        What::Code(lines) => code::candidates(&tree, lines),
        What::Oracle(spans) => oracle::candidates(&tree, spans),
        What::Opposite(parts) => oracle::opposites(&tree, parts),
        What::Several(values) => behind::several(&tree, values),
        What::Behind(values) => behind::failing(&tree, values),
        What::Failure(tests) => failure::candidates(&tree, tests),
    };
    candidates.sort();
    candidates.dedup();
    let mut by_line: BTreeMap<u32, Vec<Mutant>> = BTreeMap::new();
    for mutant in candidates {
        by_line.entry(mutant.line).or_default().push(mutant);
    }
    let mut kept = Vec::new();
    let mut tried = 0;
    let tries_max = max.saturating_mul(4);
    let mut lines: Vec<_> = by_line.into_values().map(Vec::into_iter).collect();
    while !lines.is_empty() && kept.len() < max && tried < tries_max {
        lines.retain_mut(|line| {
            let found = line.find(|mutant| {
                tried += 1;
                kept.len() < max && tried <= tries_max && viable(&tree, mutant)
            });
            found.map(|mutant| kept.push(mutant)).is_some()
        });
    }
    Ok(kept)
}

/// It changes something, and the result is still a program.
fn viable(tree: &Tree<'_>, mutant: &Mutant) -> bool {
    mutant.original != mutant.replacement && Tree::parses(tree.grammar, &apply(tree.source, mutant))
}

/// The source with the change made. One that does not fit the source changes nothing.
pub fn apply(source: &[u8], mutant: &Mutant) -> Vec<u8> {
    let Span { start, end } = mutant.span;
    let (Some(before), Some(replaced), Some(behind)) = (source.get(..start), source.get(start..end), source.get(end..))
    else {
        return source.to_vec();
    };
    if replaced != mutant.original.as_bytes() {
        return source.to_vec();
    }
    [before, mutant.replacement.as_bytes(), behind].concat()
}

/// One change that makes all of these, and leaves what is between them.
fn stitched(tree: &Tree<'_>, operator: Operator, mut edits: Vec<(Span, String)>) -> Option<Mutant> {
    edits.sort();
    let (start, end) = (edits.first()?.0.start, edits.last()?.0.end);
    let (mut text, mut at) = (String::new(), start);
    for (span, other) in &edits {
        text.push_str(std::str::from_utf8(tree.source.get(at..span.start)?).ok()?);
        text.push_str(other);
        at = span.end;
    }
    change(tree, Span { start, end }, operator, text)
}

/// A change of these bytes, when they are text.
fn change(tree: &Tree<'_>, span: Span, operator: Operator, replacement: String) -> Option<Mutant> {
    let original = std::str::from_utf8(tree.source.get(span.start..span.end)?)
        .ok()?
        .to_string();
    let line = tree.line(span.start);
    Some(Mutant {
        line,
        span,
        operator,
        original,
        replacement,
        minded: None,
    })
}
