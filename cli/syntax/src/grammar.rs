//! What one language looks like: names of nodes, names of functions, and the few questions that data cannot answer.
//!
//! Names of called functions are patterns over the dotted callee without its arguments (`self.assertEqual`,
//! `s.Require.NoError`, `assert_eq!`), with `*` at either end.

use crate::Span;
use crate::tree::{Id, Tree};

/// A node kind with the names of its interesting parts.
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    /// Fields that make up the name, in order.
    pub(crate) name: &'static [&'static str],
    /// The field, or the kind, of arguments or of the body.
    pub(crate) rest: &'static str,
}

/// How an assertion is turned into its opposite.
#[derive(Clone, Copy)]
pub(crate) enum Inverse {
    /// Another function, in place of the last name of the callee.
    Name(&'static str),
    /// The first argument between these two.
    Wrap(&'static str, &'static str),
    /// The value that `expect` holds is denied by this member.
    Member(&'static str),
    /// There is none.
    Nothing,
}

/// What a call of this name demands.
pub(crate) struct Claim {
    pub(crate) callee: &'static str,
    /// Whether its first two values must be equal.
    pub(crate) equal: bool,
    pub(crate) inverse: Inverse,
}

/// A loop or a decision: its kind, the field to replace, and with what.
pub(crate) type Place = (&'static str, &'static str);

pub(crate) struct Grammar {
    pub(crate) grammar: fn() -> tree_sitter::Language,
    pub(crate) comments: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub(crate) remark: &'static str,
    /// A statement that is documentation.
    pub(crate) documentation: fn(&Tree<'_>, Id) -> bool,
    /// Named functions.
    pub(crate) definitions: &'static [Shape],
    pub(crate) calls: &'static [Shape],
    /// Values before a name that mean the object or the type at hand.
    pub(crate) own: &'static [&'static str],
    /// A later definition of the same name in the same block replaces the earlier one.
    pub(crate) shadows: bool,
    /// A name with a capital is that of a type; elsewhere it may be any name that others may use.
    pub(crate) types_by_name: bool,

    /// Statements that assert without a call.
    pub(crate) asserting: &'static [&'static str],
    /// Functions that assert, beside those of `claims`.
    pub(crate) assertions: &'static [&'static str],
    pub(crate) claims: &'static [Claim],
    /// Functions whose result asserts once a member of it is used.
    pub(crate) roots: &'static [&'static str],
    /// The name of the value by which a test speaks, when it is handed to assertions; empty without one.
    pub(crate) handle: &'static str,
    /// Functions whose call fails a test that got there: the condition around them is the assertion.
    pub(crate) failing: &'static [&'static str],
    /// What may stand before and behind a condition to deny it.
    pub(crate) not: (&'static str, &'static str),

    /// The test that this node is.
    pub(crate) test: fn(&Tree<'_>, Id) -> Option<Case>,
    /// The name of the group of tests that this node is.
    pub(crate) group: fn(&Tree<'_>, Id) -> Option<String>,
    /// Whether a function may be a helper of tests, and is no part of the product.
    pub(crate) helper: fn(&Tree<'_>, Id) -> bool,
    /// Nodes that hold nothing but tests, beside the tests themselves.
    pub(crate) testing: fn(&Tree<'_>, Id) -> bool,

    pub(crate) numbers: &'static [&'static str],
    pub(crate) strings: &'static [&'static str],
    pub(crate) characters: &'static [&'static str],
    /// Kinds or texts of truth and falsehood.
    pub(crate) truths: (&'static str, &'static str),
    pub(crate) nulls: &'static [&'static str],
    /// Names that only wrap literals.
    pub(crate) wrappers: &'static [&'static str],
    pub(crate) types: &'static [&'static str],
    /// What makes of any value another one, where nobody minds its type.
    pub(crate) another: Option<(&'static str, &'static str)>,
    /// What makes another value of the second one that a function of this name asks for: the name, and what stands before
    /// and behind the value. Its first value has its own say in whether they are equal.
    pub(crate) others: &'static [(&'static str, &'static str, &'static str)],

    pub(crate) operations: &'static [&'static str],
    pub(crate) returns: &'static [&'static str],
    /// What a function returns when it does nothing; none where no text fits all types.
    pub(crate) nothing: fn(&Tree<'_>, Id) -> Option<String>,
    /// A body returns the value that it ends with.
    pub(crate) tails: bool,
    pub(crate) statements: &'static [&'static str],
    /// What as the first part of a statement makes it hold others.
    pub(crate) kept: &'static [&'static str],
    /// What stands where a statement was.
    pub(crate) empty_statement: &'static str,
    /// A condition that never holds.
    pub(crate) never: &'static str,
    pub(crate) conditions: &'static [Place],
    pub(crate) loops: &'static [Place],
    /// An iterable of the same kind without elements, in place of the one with this text.
    pub(crate) empty_iterable: fn(&Tree<'_>, Id, &str) -> Option<String>,
    /// Nodes in which a change means nothing to any test.
    pub(crate) arid: &'static [&'static str],
    /// Functions that log.
    pub(crate) logs: &'static [&'static str],

    /// Nodes whose `body` is run when somebody calls or enters it.
    pub(crate) rooms: &'static [&'static str],
    /// Nodes that are run beside a test, and perhaps longer.
    pub(crate) detached: &'static [&'static str],
    /// Bodies that are made of statements.
    pub(crate) blocks: &'static [&'static str],
    /// How an assertion is asked whether it takes a value, and stops nothing where it does not.
    pub(crate) heard: Option<Heard>,
    /// What fails in the body of this test.
    pub(crate) failure: fn(&Tree<'_>, &Case) -> Option<Failure>,
}

/// What stands around an assertion that must fail: before it, between it and what is done where it passes, and behind that;
/// and what leaves the test, which has passed then. A break of line stands for one with the indent of the statement.
pub(crate) type Heard = [&'static str; 4];

/// What fails whatever is tested.
pub(crate) struct Failure {
    pub(crate) statement: String,
    /// What stands before and behind an expression that is not come to; none where no body is an expression.
    pub(crate) expression: Option<(&'static str, &'static str)>,
}

/// A test as it stands in its source.
pub(crate) struct Case {
    pub(crate) name: String,
    /// What is run.
    pub(crate) body: Id,
    /// The node that the test's name, marks and body belong to.
    pub(crate) whole: Id,
    /// One of each set of arguments that it is run with, when the source lists them.
    pub(crate) rows: Vec<Id>,
    /// Marks that assert: that it panics, that it throws.
    pub(crate) demands: u32,
    /// Not run by default, or run under conditions that the source does not tell.
    pub(crate) conditional: bool,
}

/// A call: its dotted callee, the node that names it, and its arguments, each a list of neighbouring nodes.
pub(crate) struct Call {
    pub(crate) callee: String,
    pub(crate) name: Span,
    pub(crate) arguments: Vec<Vec<Id>>,
}

/// Whether `text` is what `pattern` describes; `*` at either end stands for anything.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (Some(_), Some(_)) => text.contains(pattern.trim_matches('*')),
        (None, None) => text == pattern,
    }
}

pub(crate) fn any(patterns: &[&str], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

impl Tree<'_> {
    /// The dotted name of what an expression names: arguments, generics and white space left out.
    pub(crate) fn dotted(&self, id: Id) -> String {
        let mut name = String::new();
        let mut next = id;
        let until = self.within(id).end;
        while next < until {
            let list = next != id && self.is(next, &["arguments", "argument_list", "type_arguments", "token_tree"]);
            if list || self.comment(next) {
                next = self.within(next).end;
                continue;
            }
            if self.leaf(next) {
                match self.text(next) {
                    "." | "::" | "?." => name.push('.'),
                    text => name.push_str(text),
                }
            }
            next += 1;
        }
        name
    }

    pub(crate) fn call(&self, id: Id) -> Option<Call> {
        let shape = self.grammar.calls.iter().find(|shape| shape.kind == self.kind(id))?;
        let parts: Vec<Id> = shape.name.iter().filter_map(|field| self.field(id, field)).collect();
        let last = *parts.last()?;
        let mut callee = parts
            .iter()
            .map(|part| self.dotted(*part))
            .collect::<Vec<_>>()
            .join(".");
        let list = self
            .field(id, shape.rest)
            .or_else(|| self.children(id).find(|child| self.is(*child, &[shape.rest])))?;
        let macros = self.is(list, &["token_tree"]);
        if macros {
            callee.push('!');
        }
        let name = self.within(last).rev().find(|part| self.leaf(*part)).unwrap_or(last);
        let arguments = if macros {
            self.split(list)
        } else {
            self.parts(list).map(|argument| vec![argument]).collect()
        };
        Some(Call {
            callee,
            name: self.node(name).span,
            arguments,
        })
    }

    /// What stands between the brackets of a token tree, by commas.
    pub(crate) fn split(&self, list: Id) -> Vec<Vec<Id>> {
        let inner: Vec<Id> = self.children(list).filter(|child| !self.comment(*child)).collect();
        let Some(inner) = inner.get(1..inner.len().saturating_sub(1)) else {
            return Vec::new();
        };
        let groups = inner.split(|child| self.text(*child) == ",").map(<[Id]>::to_vec);
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// The last name of a callee that this file itself could define: a bare name, or one of the object at hand.
    pub(crate) fn local<'c>(&self, callee: &'c str) -> Option<&'c str> {
        match callee.rsplit_once('.') {
            None => Some(callee),
            Some((owner, name)) => self.grammar.own.contains(&owner).then_some(name),
        }
    }

    pub(crate) fn literal(&self, id: Id) -> bool {
        let known = self.grammar;
        let (yes, no) = known.truths;
        self.is(id, known.numbers)
            || self.is(id, known.strings)
            || self.is(id, known.characters)
            || self.is(id, known.nulls)
            || (self.leaf(id) && [yes, no].contains(&self.text(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_at_either_end() {
        assert!(matches("assert*", "assertEqual") && !matches("assert*", "myassert"));
        assert!(matches("*.Error", "t.Error") && !matches("*.Error", "t.Errorf"));
        assert!(matches("*assert*", "self.assertX") && matches("fail", "fail") && !matches("fail", "failed"));
    }
}
