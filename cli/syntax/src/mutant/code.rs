//! Changes of product code: the operators of SPEC 5.6.5.

use std::ops::RangeInclusive;

use super::{Mutant, Operator, change, literal};
use crate::Span;
use crate::grammar::any;
use crate::suite::definition;
use crate::tree::{Id, Tree};

/// What decides, and what decides otherwise.
const COMPARISONS: &[(&str, &str)] = &[
    ("<", ">="),
    (">=", "<"),
    (">", "<="),
    ("<=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("===", "!=="),
    ("!==", "==="),
    ("is", "is not"),
    ("is not", "is"),
    ("in", "not in"),
    ("not in", "in"),
    ("and", "or"),
    ("or", "and"),
    ("&&", "||"),
    ("||", "&&"),
];

const ARITHMETIC: &[(&str, &str)] = &[
    ("+", "-"),
    ("-", "+"),
    ("*", "/"),
    ("/", "*"),
    ("//", "*"),
    ("%", "*"),
    ("**", "*"),
    ("<<", ">>"),
    (">>", "<<"),
    ("&", "|"),
    ("|", "&"),
    ("^", "&"),
    ("+=", "-="),
    ("-=", "+="),
    ("*=", "/="),
    ("/=", "*="),
    ("//=", "*="),
    ("%=", "*="),
    ("<<=", ">>="),
    (">>=", "<<="),
    ("&=", "|="),
    ("|=", "&="),
    ("^=", "&="),
    ("++", "--"),
    ("--", "++"),
];

pub(super) fn candidates(tree: &Tree<'_>, lines: &[RangeInclusive<u32>]) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut next = 0;
    while next < tree.all().end {
        if barren(tree, next) {
            next = tree.within(next).end;
            continue;
        }
        let line = tree.node(next).line;
        if lines.iter().any(|range| range.contains(&line)) {
            at(tree, next, &mut found);
        }
        next += 1;
    }
    found
}

/// Nothing below is worth a mutant.
fn barren(tree: &Tree<'_>, id: Id) -> bool {
    let known = tree.grammar;
    tree.comment(id)
        || tree.is(id, known.arid)
        || (known.documentation)(tree, id)
        || (known.testing)(tree, id)
        || (known.test)(tree, id).is_some()
        || tree.call(id).is_some_and(|call| any(known.logs, &call.callee))
}

fn at(tree: &Tree<'_>, id: Id, found: &mut Vec<Mutant>) {
    let known = tree.grammar;
    let span = tree.node(id).span;
    let mut push = |span: Span, operator, with: String| found.extend(change(tree, span, operator, with));

    if tree.literal(id)
        && let Some(other) = literal::other(tree, id)
    {
        push(span, Operator::Constant, other);
    }
    if tree.is(id, known.operations) {
        for part in tree
            .children(id)
            .filter(|part| !tree.node(*part).named || tree.leaf(*part))
        {
            let text = tree.text(part);
            let other = |table: &[(&str, &str)]| {
                table
                    .iter()
                    .find(|(from, _)| *from == text)
                    .map(|(_, to)| (*to).to_string())
            };
            let binary = part != id + 1 || matches!(text, "++" | "--");
            if let Some(other) = other(COMPARISONS).filter(|_| binary) {
                push(tree.node(part).span, Operator::Comparison, other);
            }
            if let Some(other) = other(ARITHMETIC).filter(|_| binary) {
                push(tree.node(part).span, Operator::Arithmetic, other);
            }
        }
    }
    if tree.is(id, known.returns)
        && let Some(value) = tree.parts(id).last()
        && let Some(nothing) = (known.nothing)(tree, id)
    {
        push(tree.node(value).span, Operator::ReturnNothing, nothing);
    }
    if let Some(value) = tail(tree, id)
        && let Some(nothing) = (known.nothing)(tree, value)
    {
        push(tree.node(value).span, Operator::ReturnNothing, nothing);
    }
    let statement = |id: Id| {
        tree.node(id)
            .parent
            .is_some_and(|parent| tree.is(parent, known.statements))
    };
    if tree.call(id).is_some()
        && !statement(id)
        && let Some(nothing) = (known.nothing)(tree, id)
    {
        push(span, Operator::CallNothing, nothing);
    }
    if known.statements.contains(&tree.kind(id)) && deletable(tree, id) {
        push(span, Operator::DeleteStatement, known.empty_statement.to_string());
    }
    for (_, field) in known.conditions.iter().filter(|(kind, _)| tree.is(id, &[kind])) {
        if let Some(condition) = part(tree, id, field) {
            let no = known.never;
            let bracketed = tree.is(condition, &["parenthesized_expression"]);
            push(
                tree.node(condition).span,
                Operator::Never,
                if bracketed { format!("({no})") } else { no.to_string() },
            );
        }
    }
    for (_, field) in known.loops.iter().filter(|(kind, _)| tree.is(id, &[kind])) {
        if let Some(iterable) = part(tree, id, field)
            && let Some(empty) = (known.empty_iterable)(tree, id, tree.text(iterable))
        {
            push(tree.node(iterable).span, Operator::EmptyIterable, empty);
        }
    }
}

/// The part of a loop or a decision: a field, or a field of the clause within.
fn part(tree: &Tree<'_>, id: Id, field: &str) -> Option<Id> {
    let inner = || {
        tree.children(id).find_map(|child| {
            tree.field(child, field)
                .filter(|_| tree.kind(child).ends_with("_clause"))
        })
    };
    tree.field(id, field).or_else(inner)
}

/// A statement of its own, that holds no others and does more than log.
fn deletable(tree: &Tree<'_>, statement: Id) -> bool {
    let clause = ["initializer", "increment", "update", "init"];
    let alone = !clause.contains(&tree.role(statement));
    let alone = alone
        && tree
            .node(statement)
            .parent
            .is_some_and(|parent| !tree.is(parent, &["for_clause"]));
    let first = tree.parts(statement).next();
    alone && first.is_none_or(|only| !tree.is(only, tree.grammar.kept) && !barren(tree, only))
}

/// The value that a body ends with, where a language returns that.
fn tail(tree: &Tree<'_>, id: Id) -> Option<Id> {
    let (_, body) = definition(tree, id).filter(|_| tree.grammar.tails)?;
    let last = tree.parts(body).last()?;
    let kind = tree.kind(last);
    let value = !["_statement", "_declaration", "_item", "macro_invocation"]
        .iter()
        .any(|end| kind.ends_with(end));
    value.then_some(last)
}
