//! Assertions that nobody can satisfy together (SPEC 4.3.10).
//!
//! Two live tests call the same function with the same literal arguments and demand different constants. There are no
//! false alarms: whatever could make the two calls different things - arguments from elsewhere, fixtures, marks,
//! set-up, anything that runs before the assertion, a function that the file itself defines or replaces - takes the
//! assertion out of the comparison.

use std::collections::{BTreeMap, HashMap};

use crate::suite::{self, definition};
use crate::tree::{Id, Tree};
use crate::{Language, assertion};

/// One demand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demanded {
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub value: String,
}

/// A call, and two values that it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    pub call: String,
    pub first: Demanded,
    pub second: Demanded,
}

/// Contradictions among the tests of these sources, at most one for each call.
pub fn contradictions(language: Language, sources: &[(&str, &[u8])]) -> Vec<Contradiction> {
    let mut demands: BTreeMap<(String, String), Vec<Demanded>> = BTreeMap::new();
    for (path, source) in sources {
        let Ok(tree) = Tree::parse(language.grammar, source) else {
            continue;
        };
        for (call, origin, line, value) in lone(&tree, path) {
            demands.entry((origin, call)).or_default().push(Demanded {
                path: (*path).to_string(),
                line,
                value,
            });
        }
    }
    let opposed = |((_, call), mut demanded): (_, Vec<Demanded>)| {
        demanded.sort();
        let first = demanded.first()?.clone();
        let second = demanded.into_iter().find(|other| other.value != first.value)?;
        Some(Contradiction { call, first, second })
    };
    demands.into_iter().filter_map(opposed).collect()
}

/// Assertions that are all their test does: call, where the function comes from, line, value.
fn lone(tree: &Tree<'_>, path: &str) -> Vec<(String, String, u32, String)> {
    let cases = suite::cases(tree);
    let parsed = names(tree);
    let mut found = Vec::new();
    let mut times: HashMap<&[String], u32> = HashMap::new();
    for (group, _) in &cases {
        *times.entry(group).or_default() += 1;
    }
    for (group, case) in &cases {
        let twice = times.get(group.as_slice()).is_some_and(|count| *count > 1);
        if case.conditional || !case.rows.is_empty() || twice || case.demands > 0 {
            continue;
        }
        let Some(only) = only_assertion(tree, case.body) else {
            continue;
        };
        let Some((left, right)) = assertion::demand(tree, only).equal else {
            continue;
        };
        let (call, value) = if assertion::data(tree, &right) {
            (left, right)
        } else {
            (right, left)
        };
        let Some(function) = assertion::plain_call(tree, &call) else {
            continue;
        };
        if !assertion::data(tree, &value) || !comparable(tree, &value) {
            continue;
        }
        let first = function.split(['.', ':']).next().unwrap_or_default();
        let Some(origin) = parsed.origin(tree, first, path) else {
            continue;
        };
        found.push((
            spelled(tree, &call),
            origin,
            tree.node(only).line,
            spelled(tree, &value),
        ));
    }
    found
}

/// One literal, perhaps negative: of lists and numbers of other types, two spellings may be equal.
fn comparable(tree: &Tree<'_>, value: &[Id]) -> bool {
    let tokens: Vec<Id> = assertion::tokens(tree, value);
    match tokens.as_slice() {
        [only] => simple(tree, *only),
        [sign, only] => tree.text(*sign) == "-" && simple(tree, *only) && tree.text(*only) != "0",
        _ => false,
    }
}

/// A whole number in plain decimal digits, or a string without escapes, prefixes and joins.
fn simple(tree: &Tree<'_>, id: Id) -> bool {
    let text = tree.text(id);
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let quoted = text.starts_with('"') && text.ends_with('"') && !text.contains('\\') && !text.starts_with("\"\"\"");
    (tree.is(id, tree.grammar.numbers) && digits) || (tree.is(id, tree.grammar.strings) && quoted && text.len() >= 2)
}

fn spelled(tree: &Tree<'_>, side: &[Id]) -> String {
    assertion::tokens(tree, side)
        .into_iter()
        .map(|id| tree.text(id))
        .collect()
}

/// The assertion of a body that has one statement and nothing else.
fn only_assertion(tree: &Tree<'_>, body: Id) -> Option<Id> {
    let mut at = body;
    loop {
        if assertion::is(tree, at) {
            return Some(at);
        }
        // `expect(call).toBe(value)`: what asserts is the innermost.
        if let Some(receiver) = tree.field(at, "function").or_else(|| tree.field(at, "object")) {
            at = receiver;
            continue;
        }
        if !tree.is(
            at,
            &["block", "statement_list", "statement_block", "expression_statement"],
        ) {
            return None;
        }
        let mut parts = tree.parts(at).filter(|part| !(tree.grammar.documentation)(tree, *part));
        let (first, second) = (parts.next()?, parts.next());
        if second.is_some() {
            return None;
        }
        at = first;
    }
}

/// What a file binds names to.
struct Names {
    /// Texts of statements that bring names in, with the names.
    imported: Vec<(String, Vec<String>)>,
    /// Names that the file itself defines or assigns anywhere.
    bound: Vec<String>,
    /// Something may run before a test, or stand in for what it calls.
    prepared: bool,
}

/// Words of set-up and stand-ins: a file with one of them is not looked into.
const PREPARED: &[&str] = &[
    "mock",
    "patch",
    "fixture",
    "setup",
    "setup_method",
    "setup_function",
    "setup_class",
    "setup_module",
    "setUp",
    "setUpClass",
    "setUpModule",
    "teardown",
    "tearDown",
    "beforeEach",
    "beforeAll",
    "afterEach",
    "afterAll",
    "before",
    "after",
    "jest",
    "vi",
    "sinon",
    "Mock",
    "MagicMock",
    "monkeypatch",
    "usefixtures",
    "Before",
    "BeforeEach",
    "BeforeAll",
    "BeforeClass",
    "TestMain",
    "SetupTest",
    "pytestmark",
    "SetupSuite",
    "global",
    "nonlocal",
    "static",
    "thread_local",
];

fn names(tree: &Tree<'_>) -> Names {
    let mut names = Names {
        imported: Vec::new(),
        bound: Vec::new(),
        prepared: false,
    };
    for id in tree.all() {
        let importing = || tree.above(id).any(|above| tree.kind(above).contains("import"));
        if tree.leaf(id) && PREPARED.contains(&tree.text(id)) && !importing() {
            names.prepared = true;
        }
        if tree.kind(id).contains("import") || tree.is(id, &["use_declaration"]) {
            let leaves = tree
                .within(id)
                .filter(|part| tree.leaf(*part) && tree.node(*part).named);
            let text: String = tree.text(id).split_whitespace().collect::<Vec<_>>().join(" ");
            if tree
                .node(id)
                .parent
                .is_some_and(|parent| !tree.kind(parent).contains("import"))
            {
                names
                    .imported
                    .push((text, leaves.map(|part| tree.text(part).to_string()).collect()));
            }
        }
        if let Some((name, _)) = definition(tree, id)
            && (tree.grammar.helper)(tree, id)
        {
            names.bound.push(name);
        }
        if binds(tree, id) {
            let leaves = tree.within(id).filter(|part| tree.leaf(*part));
            names.bound.extend(leaves.map(|part| tree.text(part).to_string()));
        }
    }
    names
}

/// What gets a value here, whatever its shape.
fn binds(tree: &Tree<'_>, id: Id) -> bool {
    let Some(parent) = tree.node(id).parent else {
        return false;
    };
    let kind = tree.kind(parent);
    let computes = tree.grammar.operations.contains(&kind) && !kind.contains("assignment");
    match tree.role(id) {
        "left" | "pattern" => !computes,
        "name" => kind.contains("declarator") || kind.ends_with("_spec"),
        _ => false,
    }
}

impl Names {
    /// Where a function comes from, as words that are equal only for the same function.
    fn origin(&self, tree: &Tree<'_>, first: &str, path: &str) -> Option<String> {
        let product = !self.bound.iter().any(|name| name == first) && !tree.grammar.own.contains(&first);
        if self.prepared || !product {
            return None;
        }
        let from: Vec<&String> = self
            .imported
            .iter()
            .filter(|(_, names)| names.iter().any(|n| n == first))
            .map(|(text, _)| text)
            .collect();
        match from.as_slice() {
            [] => Some(format!("in {path}")),
            // A relative import means another thing in another directory.
            [only] if only.contains('.') || only.contains("super") || only.contains("self") => {
                Some(format!("in {path}: {only}"))
            }
            [only] => Some((*only).clone()),
            _ => None,
        }
    }
}
