//! Which tests a source holds, what each asserts, and what makes one the other's equal.

use std::collections::HashMap;

use crate::body::{self, Body};
use crate::grammar::{Case, any};
use crate::tree::{Id, Tree, Unknown};
use crate::{Language, Span, assertion};

/// Calls from a test to a helper to a helper to a helper.
const HELPERS_DEPTH_MAX: u32 = 3;
/// Calls that are followed in one source.
const FOLLOWED_MAX: usize = 1 << 20;

/// What one source holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the source.
    pub tests: Vec<Test>,
    /// Of all tests that are live, or, in a source without a test, of its functions.
    pub assertions: u32,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Names of its groups and its own, outermost first.
    pub path: Vec<String>,
    pub span: Span,
    /// Its own, and those of the local helpers that it calls.
    pub assertions: u32,
    /// A later definition of the same name takes its place: it never runs.
    pub duplicate: bool,
    /// Skipped, or run under conditions that the source does not tell.
    pub conditional: bool,
    /// The same for two tests that differ in nothing but their names, layout, comments and documentation.
    pub body: Body,
    /// One for each set of arguments that the source lists, in ascending order.
    pub parameters: Vec<Body>,
}

/// The tests of a source, with their assertions (SPEC 5.3.10).
pub fn tests(language: Language, source: &[u8]) -> Result<Parsed, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let cases = cases(&tree);
    let mut counter = Counter::new(&tree);
    let mut parsed = Parsed {
        tests: Vec::new(),
        assertions: 0,
    };
    let latest = tree.grammar.shadows.then(|| Latest::of(&tree, &cases));
    for (path, case) in &cases {
        let duplicate = latest.as_ref().is_some_and(|latest| latest.replaces(&tree, path, case));
        let assertions = counter.of(case.body)?.saturating_add(case.demands);
        let mut parameters: Vec<Body> = case.rows.iter().map(|row| body::of(&tree, *row, None)).collect();
        parameters.sort_unstable();
        if !duplicate {
            parsed.assertions = parsed.assertions.saturating_add(assertions);
        }
        parsed.tests.push(Test {
            path: path.clone(),
            span: tree.node(case.whole).span,
            assertions,
            duplicate,
            conditional: case.conditional,
            body: body::of(&tree, case.body, Some(&case.name)),
            parameters,
        });
    }
    if parsed.tests.is_empty() {
        parsed.assertions = u32::try_from(counter.asserting.len()).unwrap_or(u32::MAX);
    }
    Ok(parsed)
}

/// Tests with the names of their groups.
pub(crate) fn cases(tree: &Tree<'_>) -> Vec<(Vec<String>, Case)> {
    let mut found = Vec::new();
    for id in tree.all() {
        let Some(case) = (tree.grammar.test)(tree, id) else {
            continue;
        };
        let mut path = vec![case.name.clone()];
        path.extend(tree.above(id).filter_map(|above| (tree.grammar.group)(tree, above)));
        path.reverse();
        found.push((path, case));
    }
    found
}

/// The last definition of each name in each block.
struct Latest<'c> {
    cases: HashMap<(Option<Id>, &'c [String]), Id>,
    groups: HashMap<(Option<Id>, String), Id>,
}

impl<'c> Latest<'c> {
    fn of(tree: &Tree<'_>, cases: &'c [(Vec<String>, Case)]) -> Self {
        let block = |id: Id| tree.node(id).parent;
        let named = |id: Id| (tree.grammar.group)(tree, id).map(|name| ((block(id), name), id));
        Self {
            cases: cases
                .iter()
                .map(|(path, case)| ((block(case.whole), path.as_slice()), case.whole))
                .collect(),
            groups: tree.all().filter_map(named).collect(),
        }
    }

    /// Whether a later definition, of the test or of a group around it, takes the place of this one.
    fn replaces(&self, tree: &Tree<'_>, path: &[String], case: &Case) -> bool {
        let block = |id: Id| tree.node(id).parent;
        let own = self
            .cases
            .get(&(block(case.whole), path))
            .is_some_and(|last| *last != case.whole);
        own || groups(tree, case.whole).into_iter().any(|(name, group)| {
            self.groups
                .get(&(block(group), name))
                .is_some_and(|last| *last != group)
        })
    }
}

fn groups(tree: &Tree<'_>, id: Id) -> Vec<(String, Id)> {
    let named = |above: Id| (tree.grammar.group)(tree, above).map(|name| (name, above));
    tree.above(id).filter_map(named).collect()
}

/// A function of the file that tests may call.
struct Helper {
    node: Id,
    /// The group around it.
    owner: Option<Id>,
}

struct Counter<'t, 's> {
    tree: &'t Tree<'s>,
    /// Nodes that assert, in ascending order.
    asserting: Vec<Id>,
    /// Calls that could be of a helper, in ascending order, with the name.
    calls: Vec<(Id, String)>,
    helpers: HashMap<String, Vec<Helper>>,
    followed: usize,
}

impl<'t, 's> Counter<'t, 's> {
    fn new(tree: &'t Tree<'s>) -> Self {
        let mut counter = Self {
            tree,
            asserting: Vec::new(),
            calls: Vec::new(),
            helpers: HashMap::new(),
            followed: 0,
        };
        for id in tree.all() {
            if let Some((name, body)) = definition(tree, id)
                && (tree.grammar.helper)(tree, id)
            {
                let helper = Helper {
                    node: body,
                    owner: owner(tree, id),
                };
                counter.helpers.entry(name).or_default().push(helper);
            }
        }
        for id in tree.all() {
            // A function of the file is followed, whatever it is called.
            if let Some(call) = tree.call(id)
                && let Some(name) = tree.local(&call.callee)
                && counter.helpers.contains_key(name)
            {
                counter.calls.push((id, name.to_string()));
            } else if assertion::is(tree, id) {
                counter.asserting.push(id);
            }
        }
        counter
    }

    fn of(&mut self, body: Id) -> Result<u32, Unknown> {
        let mut path = Vec::new();
        self.follow(body, &mut path)
    }

    /// Direct nodes and those of helpers; `path` holds the bodies that are being counted.
    fn follow(&mut self, body: Id, path: &mut Vec<Id>) -> Result<u32, Unknown> {
        let range = self.tree.within(body);
        let from = self.asserting.partition_point(|id| *id < range.start);
        let to = self.asserting.partition_point(|id| *id < range.end);
        let mut count = u32::try_from(to - from).unwrap_or(u32::MAX);
        if path.len() >= HELPERS_DEPTH_MAX as usize {
            return Ok(count);
        }
        path.push(body);
        let from = self.calls.partition_point(|(id, _)| *id < range.start);
        let to = self.calls.partition_point(|(id, _)| *id < range.end);
        for at in from..to {
            self.followed += 1;
            if self.followed > FOLLOWED_MAX {
                return Err(Unknown::TooCostly);
            }
            let (call, name) = &self.calls[at];
            let Some(helper) = self.resolve(*call, name) else {
                continue;
            };
            // What is defined inside is counted where it stands; a cycle is cut.
            if path.contains(&helper) || path.iter().any(|outer| self.tree.within(*outer).contains(&helper)) {
                continue;
            }
            count = count.saturating_add(self.follow(helper, path)?);
        }
        path.pop();
        Ok(count)
    }

    /// The function that a call means: of the nearest group around it, or the only one of that name.
    fn resolve(&self, call: Id, name: &str) -> Option<Id> {
        let known = self.helpers.get(name)?;
        let mut around: Vec<Option<Id>> = groups(self.tree, call)
            .into_iter()
            .map(|(_, group)| Some(group))
            .collect();
        around.push(None);
        let near = around
            .iter()
            .find_map(|owner| known.iter().rev().find(|helper| helper.owner == *owner));
        let only = (known.len() == 1).then(|| &known[0]);
        near.or(only).map(|helper| helper.node)
    }
}

fn owner(tree: &Tree<'_>, id: Id) -> Option<Id> {
    tree.above(id)
        .find(|above| (tree.grammar.group)(tree, *above).is_some())
}

/// Name and body of a function that is defined here.
pub(crate) fn definition(tree: &Tree<'_>, id: Id) -> Option<(String, Id)> {
    let shape = tree
        .grammar
        .definitions
        .iter()
        .find(|shape| shape.kind == tree.kind(id))?;
    let name = tree.field(id, shape.name.first()?)?;
    let body = tree.field(id, shape.rest)?;
    let value = shape.rest == "value";
    let function = any(&["*function*", "*closure*", "*lambda*"], tree.kind(body));
    (!value || function).then(|| (tree.text(name).to_string(), body))
}
