//! Assertions: which nodes assert, what they demand, and how to demand the opposite.
//!
//! A *side* is what stands on one hand of an equality, as a list of neighbouring nodes: where a language parses the
//! arguments of its assertions there is one, inside a macro there are as many as it has tokens.

use crate::Span;
use crate::grammar::{Call, Claim, Inverse, any, matches};
use crate::tree::{Id, Tree};

/// What one assertion demands.
#[derive(Default)]
pub(crate) struct Demand {
    /// Two sides that must be equal, when that is all it demands.
    pub(crate) equal: Option<(Vec<Id>, Vec<Id>)>,
    /// Two sides that their own type must call equal, by whatever it minds.
    pub(crate) alike: Option<(Vec<Id>, Vec<Id>)>,
    /// Replacing these bytes makes it demand the opposite.
    pub(crate) inverse: Option<(Span, String)>,
}

/// Members through which an assertion library is spoken to.
const RECEIVERS: &[&str] = &["object", "value", "operand"];

pub(crate) fn is(tree: &Tree<'_>, id: Id) -> bool {
    let known = tree.grammar;
    if tree.is(id, known.asserting) {
        return true;
    }
    if let Some(call) = tree.call(id) {
        return asserts(tree, id, &call);
    }
    // Inside a macro there are only tokens: a name, an exclamation mark, brackets.
    tree.leaf(id) && tree.node(id).named && in_tokens(tree, id) && {
        let name = format!("{}!", tree.text(id));
        any(known.assertions, &name) || claim(tree, &name).is_some()
    }
}

fn in_tokens(tree: &Tree<'_>, id: Id) -> bool {
    let inside = tree
        .node(id)
        .parent
        .is_some_and(|parent| tree.is(parent, &["token_tree"]));
    let end = tree.all().end;
    inside && id + 2 < end && tree.text(id + 1) == "!" && tree.is(id + 2, &["token_tree"])
}

fn asserts(tree: &Tree<'_>, id: Id, call: &Call) -> bool {
    let known = tree.grammar;
    if known.roots.contains(&call.callee.as_str()) {
        let used = RECEIVERS.contains(&tree.role(id));
        return used || call.arguments.len() > 1;
    }
    // A member of what a root gave: the root is counted.
    if known
        .roots
        .iter()
        .any(|root| call.callee.strip_prefix(root).is_some_and(|rest| rest.starts_with('.')))
    {
        return standalone(tree, id) && any(known.assertions, &call.callee);
    }
    any(known.assertions, &call.callee) || any(known.failing, &call.callee) || claim(tree, &call.callee).is_some()
}

/// A function of the library itself, such as `expect.fail()`, and not of what it was given.
fn standalone(tree: &Tree<'_>, id: Id) -> bool {
    !tree.within(id).skip(1).any(|part| {
        tree.call(part)
            .is_some_and(|call| tree.grammar.roots.contains(&call.callee.as_str()))
    })
}

fn claim(tree: &Tree<'_>, callee: &str) -> Option<&'static Claim> {
    tree.grammar.claims.iter().find(|claim| matches(claim.callee, callee))
}

/// What the assertion at this node demands.
pub(crate) fn demand(tree: &Tree<'_>, id: Id) -> Demand {
    let known = tree.grammar;
    if tree.is(id, known.asserting) {
        return tree
            .parts(id)
            .next()
            .map_or_else(Demand::default, |condition| held(tree, condition, "=="));
    }
    let Some(call) = tree.call(id) else {
        return Demand::default();
    };
    if any(known.failing, &call.callee) {
        let condition = decided(tree, id).and_then(|whole| tree.field(whole, "condition"));
        return condition.map_or_else(Demand::default, |condition| held(tree, condition, "!="));
    }
    if known.roots.contains(&call.callee.as_str()) {
        return chained(tree, id, &call);
    }
    let Some(claim) = claim(tree, &call.callee) else {
        return Demand::default();
    };
    let arguments = values(tree, &call);
    let mut demand = Demand {
        equal: None,
        alike: None,
        inverse: inverse(tree, &call, &arguments, claim.inverse),
    };
    if claim.equal
        && let [left, right, rest @ ..] = arguments.as_slice()
        && rest.first().is_none_or(|third| message(tree, third))
    {
        demand.equal = Some((left.clone(), right.clone()));
    } else if let (Inverse::Wrap(..), Some(condition)) = (claim.inverse, arguments.first()) {
        demand.equal = equality(tree, condition, "==");
    } else if let (Some(_), [left, right, ..]) = (other(tree, &call.callee), arguments.as_slice()) {
        demand.alike = Some((left.clone(), right.clone()));
    }
    demand
}

/// What makes another value of the second one that a function of this name asks for.
pub(crate) fn other(tree: &Tree<'_>, callee: &str) -> Option<(&'static str, &'static str)> {
    let mut others = tree.grammar.others.iter();
    let (_, before, behind) = others.find(|(name, ..)| *name == callee)?;
    Some((before, behind))
}

/// The arguments that are compared: without the test's handle, without a message that comes first.
fn values(tree: &Tree<'_>, call: &Call) -> Vec<Vec<Id>> {
    let mut arguments = call.arguments.clone();
    let text = |argument: &[Id]| argument.first().map_or("", |id| tree.text(*id));
    if !tree.grammar.handle.is_empty()
        && arguments
            .first()
            .is_some_and(|first| text(first) == tree.grammar.handle)
    {
        arguments.remove(0);
    }
    if arguments.len() == 3 && message(tree, &arguments[0]) && !message(tree, &arguments[2]) {
        arguments.remove(0);
    }
    arguments
}

fn message(tree: &Tree<'_>, argument: &[Id]) -> bool {
    argument
        .first()
        .is_some_and(|id| tree.is(*id, tree.grammar.strings) || tree.text(*id).starts_with("msg"))
}

fn inverse(tree: &Tree<'_>, call: &Call, arguments: &[Vec<Id>], inverse: Inverse) -> Option<(Span, String)> {
    match inverse {
        Inverse::Name(name) => Some((call.name, name.to_string())),
        Inverse::Wrap(before, behind) => {
            let span = span(tree, arguments.first()?)?;
            Some((
                span,
                format!(
                    "{before}{}{behind}",
                    std::str::from_utf8(&tree.source[span.start..span.end]).ok()?
                ),
            ))
        }
        Inverse::Member(_) | Inverse::Nothing => None,
    }
}

pub(crate) fn span(tree: &Tree<'_>, side: &[Id]) -> Option<Span> {
    Some(Span {
        start: tree.node(*side.first()?).span.start,
        end: tree.node(*side.last()?).span.end,
    })
}

/// A condition that must hold (`==`), or that must not (`!=`: reaching what is behind it fails).
fn held(tree: &Tree<'_>, condition: Id, operator: &str) -> Demand {
    let (before, behind) = tree.grammar.not;
    Demand {
        equal: equality(tree, &[condition], operator).or_else(|| compared(tree, condition, operator, COMPARING)),
        alike: compared(tree, condition, operator, &["*.Equal", "errors.Is"]),
        inverse: Some((
            tree.node(condition).span,
            format!("{before}{}{behind}", tree.text(condition)),
        )),
    }
}

/// The sides of an equality, when the condition is nothing else.
fn equality(tree: &Tree<'_>, condition: &[Id], operator: &str) -> Option<(Vec<Id>, Vec<Id>)> {
    let parts = match condition {
        [only] if tree.is(*only, tree.grammar.operations) => {
            tree.children(*only).filter(|part| !tree.comment(*part)).collect()
        }
        [only] if tree.is(*only, &["parenthesized_expression"]) => {
            return equality(tree, &[tree.parts(*only).next()?], operator);
        }
        tokens => tokens.to_vec(),
    };
    let at = parts.iter().position(|part| same(operator, tree.text(*part)))?;
    let plain = |part: &Id| !OPERATORS.contains(&tree.text(*part)) || tree.node(*part).named;
    let (left, right) = (&parts[..at], &parts[at + 1..]);
    let alone = left.iter().chain(right).all(plain) && !left.is_empty() && !right.is_empty();
    alone.then(|| (left.to_vec(), right.to_vec()))
}

/// The sides of a comparison for equality, whatever follows from it.
pub(crate) fn compared_plainly(tree: &Tree<'_>, id: Id) -> Option<(Vec<Id>, Vec<Id>)> {
    let operation = tree.is(id, tree.grammar.operations);
    let sides = |operator| equality(tree, &[id], operator);
    operation.then(|| sides("==").or_else(|| sides("!="))).flatten()
}

/// Functions that compare all that their two arguments hold.
const COMPARING: &[&str] = &["reflect.DeepEqual", "bytes.Equal", "slices.Equal", "maps.Equal"];

/// The sides of a call that says whether they are equal, where reaching what is behind its denial fails: the two arguments
/// of a function, or the object of a method and its argument.
fn compared(tree: &Tree<'_>, condition: Id, operator: &str, callees: &[&str]) -> Option<(Vec<Id>, Vec<Id>)> {
    let mark = tree.children(condition).next().map(|mark| tree.text(mark));
    let denied = tree.kind(condition) == "unary_expression" && mark == Some("!") && operator == "!=";
    let id = tree.parts(condition).last().filter(|_| denied)?;
    let call = tree.call(id).filter(|call| any(callees, &call.callee))?;
    match call.arguments.as_slice() {
        [left, right] => Some((left.clone(), right.clone())),
        [right] => {
            let object = tree.field(tree.field(id, "function")?, "operand")?;
            Some((vec![object], right.clone()))
        }
        _ => None,
    }
}

fn same(operator: &str, text: &str) -> bool {
    text == operator || (text == "===" && operator == "==") || (text == "!==" && operator == "!=")
}

/// What makes a list of tokens more than one comparison.
const OPERATORS: &[&str] = &[
    "==", "!=", "===", "!==", "<", ">", "<=", ">=", "&&", "||", "and", "or", "in", "is", "!", "?", "as",
];

/// The statement that decides whether a failing call is reached, where this node is one.
pub(crate) fn decision(tree: &Tree<'_>, id: Id) -> Option<Id> {
    let call = tree.call(id)?;
    any(tree.grammar.failing, &call.callee)
        .then(|| decided(tree, id))
        .flatten()
}

fn decided(tree: &Tree<'_>, id: Id) -> Option<Id> {
    let mut below = id;
    for above in tree.above(id) {
        if tree.is(above, &["if_statement"]) {
            return (tree.role(below) == "consequence").then_some(above);
        }
        // Only what stands right in the block of the condition is decided by it.
        if !tree.is(above, &["block", "statement_list", "expression_statement"]) {
            return None;
        }
        below = above;
    }
    None
}

/// `expect(actual).not.toBe(expected)`: a root, members, and a call of the last.
fn chained(tree: &Tree<'_>, root: Id, call: &Call) -> Demand {
    let mut denied = None;
    let mut outer = None;
    for above in tree.above(root) {
        if tree.call(above).is_some() {
            outer = Some(above);
            break;
        }
        let Some(member) = tree.field(above, "property").or_else(|| tree.field(above, "name")) else {
            break;
        };
        let Span { start, end } = tree.node(member).span;
        if tree.text(member) == "not" && tree.source.get(start.wrapping_sub(1)) == Some(&b'.') {
            denied = Some(Span { start: start - 1, end });
        }
    }
    let end = tree.node(root).span.end;
    let Some((outer, last)) = outer.and_then(|outer| Some((outer, tree.call(outer)?))) else {
        return Demand::default();
    };
    let Some(claim) = claim(tree, &last.callee.replace(".not.", ".")) else {
        return Demand::default();
    };
    let further = RECEIVERS.contains(&tree.role(outer));
    let inverse = match (claim.inverse, denied) {
        (Inverse::Member(_), Some(span)) => Some((span, String::new())),
        (Inverse::Member(name), None) => Some((Span { start: end, end }, format!(".{name}"))),
        (Inverse::Name(name), _) => Some((last.name, name.to_string())),
        (Inverse::Wrap(..) | Inverse::Nothing, _) => None,
    };
    let equal = match (call.arguments.as_slice(), last.arguments.as_slice()) {
        ([actual], [expected, ..]) if claim.equal && denied.is_none() && !further => {
            Some((actual.clone(), expected.clone()))
        }
        _ => None,
    };
    Demand {
        equal,
        alike: None,
        inverse: inverse.filter(|_| !further),
    }
}

/// The tokens of a side; a literal is one.
pub(crate) fn tokens(tree: &Tree<'_>, side: &[Id]) -> Vec<Id> {
    let mut tokens = Vec::new();
    for id in side {
        let mut next = *id;
        let until = tree.within(*id).end;
        while next < until {
            if tree.comment(next) {
                next = tree.within(next).end;
            } else if tree.literal(next) || tree.leaf(next) {
                tokens.push(next);
                next = tree.within(next).end;
            } else {
                next += 1;
            }
        }
    }
    tokens
}

/// Made of literals, brackets and the names that wrap them; nothing that computes.
pub(crate) fn data(tree: &Tree<'_>, side: &[Id]) -> bool {
    let tokens = tokens(tree, side);
    let known = tree.grammar;
    let fits = |id: &Id| {
        let text = tree.text(*id);
        (tree.literal(*id) && !computed(tree, *id))
            || ["(", ")", "[", "]", "{", "}", ",", ":", "-", "&", "!", "new"].contains(&text)
            || known.wrappers.contains(&text)
            || tree.is(*id, known.types)
    };
    !subscripted(tree, side) && tokens.iter().all(fits) && tokens.iter().any(|id| tree.literal(*id))
}

/// A name, or a member of what a name means: the value stands elsewhere.
pub(crate) fn named(tree: &Tree<'_>, side: &[Id]) -> bool {
    let tokens = tokens(tree, side);
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    let (yes, no) = tree.grammar.truths;
    let fits = |id: &Id| {
        let text = tree.text(*id);
        text == "." || is_name(text) && !tree.literal(*id) && ![yes, no].contains(&text)
    };
    !subscripted(tree, side) && !tokens.is_empty() && tokens.iter().all(fits)
}

/// A string with an expression in it.
fn computed(tree: &Tree<'_>, id: Id) -> bool {
    tree.within(id)
        .any(|part| tree.is(part, &["interpolation", "template_substitution"]))
}

/// A part that looks like a list and takes an element.
fn subscripted(tree: &Tree<'_>, side: &[Id]) -> bool {
    side.iter().flat_map(|id| tree.within(*id)).any(|part| {
        tree.is(
            part,
            &[
                "subscript",
                "subscript_expression",
                "index_expression",
                "slice_expression",
                "array_access",
            ],
        )
    })
}

/// A value of a named type around one literal, which then is what tells it from another.
pub(crate) fn constructed(tree: &Tree<'_>, side: &[Id]) -> bool {
    let literals = tokens(tree, side).iter().filter(|id| tree.literal(**id)).count();
    let name = plain_call(tree, side).filter(|_| literals == 1);
    let named = |name: &str| {
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        last.starts_with(char::is_uppercase)
    };
    tree.grammar.types_by_name && name.is_some_and(|name| named(&name))
}

/// A call of a named function with literals and nothing else: its name, when it is one and has an argument.
pub(crate) fn plain_call(tree: &Tree<'_>, side: &[Id]) -> Option<String> {
    let tokens = tokens(tree, side);
    let open = tokens.iter().position(|id| tree.text(*id) == "(")?;
    let (path, list) = tokens.split_at(open);
    let inner = list.get(1..list.len().checked_sub(1)?)?;
    let name = |id: &Id| tree.node(*id).named && tree.leaf(*id) || matches!(tree.text(*id), "." | "::");
    let plain = |id: &Id| {
        let text = tree.text(*id);
        tree.literal(*id) && !computed(tree, *id) || matches!(text, "[" | "]" | "," | "-" | "{" | "}" | ":")
    };
    let whole = tree.text(*list.last()?) == ")" && !path.is_empty();
    let fits = path.iter().all(name) && inner.iter().all(plain) && inner.iter().any(|id| tree.literal(*id));
    (whole && fits).then(|| path.iter().map(|id| tree.text(*id)).collect())
}
