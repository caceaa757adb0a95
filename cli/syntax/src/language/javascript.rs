//! JavaScript: Jest, Vitest, Mocha, `node:test`, with `expect` or `assert`.

use crate::grammar::Inverse::{Member, Name, Nothing, Wrap};
use crate::grammar::{Case, Claim, Failure, Grammar, Shape, any};
use crate::tree::{Id, Tree};

const fn expect(callee: &'static str, equal: bool) -> Claim {
    Claim {
        callee,
        equal,
        inverse: Member("not"),
    }
}

const fn assert(callee: &'static str, equal: bool, opposite: &'static str) -> Claim {
    Claim {
        callee,
        equal,
        inverse: Name(opposite),
    }
}

const CLAIMS: &[Claim] = &[
    // What a promise comes to is denied behind the word, which no two libraries spell alike.
    Claim {
        callee: "expect.resolves.*",
        equal: false,
        inverse: Nothing,
    },
    Claim {
        callee: "expect.rejects.*",
        equal: false,
        inverse: Nothing,
    },
    expect("expect.toBe", true),
    expect("expect.toEqual", true),
    expect("expect.toStrictEqual", true),
    expect("expect.to.equal", true),
    expect("expect.to.eql", true),
    expect("expect.to.deep.equal", true),
    expect("expect.*", false),
    assert("assert.equal", true, "notEqual"),
    assert("assert.strictEqual", true, "notStrictEqual"),
    assert("assert.deepEqual", true, "notDeepEqual"),
    assert("assert.deepStrictEqual", true, "notDeepStrictEqual"),
    assert("assert.notEqual", false, "equal"),
    assert("assert.notStrictEqual", false, "strictEqual"),
    assert("assert.notDeepEqual", false, "deepEqual"),
    assert("assert.notDeepStrictEqual", false, "deepStrictEqual"),
    Claim {
        callee: "assert.ok",
        equal: false,
        inverse: Wrap("!(", ")"),
    },
    Claim {
        callee: "assert",
        equal: false,
        inverse: Wrap("!(", ")"),
    },
];

/// What a product asks before it runs the tests that it holds.
const IN_SOURCE: &str = "import.meta.vitest";

pub(super) const ARID: &[&str] = &["import_statement", "decorator"];

pub(super) const BASE: Grammar = Grammar {
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    comments: &["comment"],
    remark: "//",
    documentation: |tree, id| {
        tree.kind(id) == "expression_statement" && tree.parts(id).next().is_some_and(|part| tree.kind(part) == "string")
    },
    definitions: &[
        Shape {
            kind: "function_declaration",
            name: &["name"],
            rest: "body",
        },
        Shape {
            kind: "method_definition",
            name: &["name"],
            rest: "body",
        },
        Shape {
            kind: "variable_declarator",
            name: &["name"],
            rest: "value",
        },
    ],
    calls: &[Shape {
        kind: "call_expression",
        name: &["function"],
        rest: "arguments",
    }],
    own: &["this"],
    shadows: false,
    types_by_name: true,
    asserting: &[],
    assertions: &[
        "assert",
        "assert.*",
        "*.assert.*",
        "chai.assert*",
        "*.should.*",
        "expect.fail",
        "t.is",
        "t.not",
        "t.deepEqual",
        "t.truthy",
        "t.falsy",
        "t.true",
        "t.false",
        "t.throws*",
        "t.like",
        "t.regex",
        "t.snapshot",
        "t.fail",
        "t.equal",
        "t.ok",
    ],
    claims: CLAIMS,
    roots: &["expect", "expectTypeOf"],
    handle: "",
    failing: &[],
    not: ("!(", ")"),
    test,
    group: |tree, id| {
        let call = tree.call(id)?;
        let named = any(
            &[
                "describe",
                "describe.*",
                "fdescribe",
                "xdescribe",
                "context",
                "suite",
                "suite.*",
            ],
            &call.callee,
        );
        title(tree, &call.arguments).filter(|_| named && function(tree, &call.arguments).is_some())
    },
    helper: |_, _| true,
    testing: |tree, id| {
        let condition = tree.field(id, "condition").filter(|_| tree.kind(id) == "if_statement");
        condition.is_some_and(|condition| tree.text(condition).contains(IN_SOURCE))
    },
    numbers: &["number"],
    strings: &["string", "template_string"],
    characters: &[],
    truths: ("true", "false"),
    nulls: &["null", "undefined"],
    wrappers: &["Set", "Map"],
    types: &["predefined_type", "type_identifier"],
    another: Some((
        "((lx) => (typeof lx === 'number' && Math.abs(lx) < 1e15 ? (lx < 0 ? lx - 1 : lx + 1) : typeof lx === 'string' ? `~${lx}` : typeof lx === 'boolean' ? !lx : [lx, 'lx']))(",
        ")",
    )),
    others: &[],
    operations: &[
        "binary_expression",
        "augmented_assignment_expression",
        "update_expression",
    ],
    returns: &["return_statement"],
    nothing: |tree, id| {
        let loads = tree
            .call(id)
            .is_some_and(|call| ["require", "super", "import"].contains(&call.callee.as_str()));
        (!loads).then(|| "undefined".to_string())
    },
    tails: false,
    statements: &["expression_statement"],
    kept: &[],
    empty_statement: ";",
    never: "false",
    conditions: &[("if_statement", "condition"), ("while_statement", "condition")],
    loops: &[("for_in_statement", "right")],
    empty_iterable: |_, _, _| Some("[]".to_string()),
    arid: ARID,
    logs: &["console.*", "logger.*", "log.*", "debug"],
    rooms: &[
        "arrow_function",
        "function_expression",
        "function_declaration",
        "method_definition",
    ],
    detached: &[],
    blocks: &["statement_block"],
    heard: Some([
        "lx: { try { ",
        " } catch (e) { if (e.code !== 'ERR_ASSERTION' && !e.matcherResult && !/Assert/.test(e.name)) throw e; break lx; } ",
        " }",
        "return;",
    ]),
    failure: |_, _| {
        Some(Failure {
            statement: "if ('lx'.length === 2) throw new Error('lx');".to_string(),
            expression: Some(("(() => { throw new Error('lx'); })() || (", ")")),
        })
    },
};

pub(super) static GRAMMAR: Grammar = BASE;

/// The first argument as a title.
fn title(tree: &Tree<'_>, arguments: &[Vec<Id>]) -> Option<String> {
    let first = *arguments.first()?.first()?;
    let text = tree
        .is(first, &["string", "template_string"])
        .then(|| tree.text(first))?;
    Some(text.get(1..text.len().checked_sub(1)?)?.to_string())
}

/// The argument that is a function: its body.
fn function(tree: &Tree<'_>, arguments: &[Vec<Id>]) -> Option<Id> {
    let functions = ["arrow_function", "function_expression", "generator_function"];
    arguments
        .iter()
        .flatten()
        .copied()
        .find(|argument| tree.is(*argument, &functions))
}

fn test(tree: &Tree<'_>, id: Id) -> Option<Case> {
    let call = tree.call(id)?;
    let names = [
        "it", "test", "specify", "it.*", "test.*", "fit", "xit", "xtest", "*.test",
    ];
    if !any(&names, &call.callee) || call.callee.starts_with("test.describe") {
        return None;
    }
    let run = function(tree, &call.arguments)?;
    let rows = tree
        .field(id, "function")
        .and_then(|callee| tree.call(callee))
        .and_then(|each| each.arguments.first().cloned());
    let rows = rows
        .and_then(|first| first.first().copied())
        .map_or_else(Vec::new, |list| match tree.kind(list) {
            "array" => tree.parts(list).collect(),
            _ => vec![list],
        });
    let plain = ["it", "test", "specify"].contains(&call.callee.as_str());
    let given = tree
        .field(run, "parameters")
        .is_some_and(|list| tree.parts(list).next().is_some());
    let waits = tree.children(run).any(|child| tree.kind(child) == "async");
    Some(Case {
        name: title(tree, &call.arguments)?,
        body: tree.field(run, "body")?,
        whole: id,
        rows,
        demands: 0,
        conditional: !plain || given || waits || tree.field(run, "parameter").is_some(),
    })
}

#[cfg(test)]
mod tests {
    use crate::bench::{code, counted, holds, opposed, oracle, rows, spares};

    #[test]
    fn tests_are_named_by_their_groups_and_every_library_counts() {
        let source = "
describe('a', () => {
  beforeEach(() => {});
  describe.only(`b`, function () {
    it('c', async () => {
      expect(f(1)).toBe(2);
      await expect(p).rejects.toThrow();
      expect(x).not.toEqual(expect.objectContaining({}));
      expect(y);
      check(1);
    });
  });
  it.each([[1, 2], [3, 4]])('d %d', (a, b) => { expect(a).toBe(b); });
  it.skip('e', () => { assert.equal(1, 2); assert(x); expect.fail(); });
  it('pending');
});
const check = (x) => { assert.ok(x); expect(x).to.be.true; };
test('g', (t) => { t.assert.equal(1, 2); t.is(1, 2); });
/x/.test('y');
";
        let expected = [("a b c", 5), ("a d %d", 1), ("a e", 3), ("g", 2)];
        assert_eq!(
            counted("a.js", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
        assert_eq!(rows("a.js", "it.each([[1, 2], [3, 4]])('d', (a) => {})"), 2);
    }

    #[test]
    fn two_tests_of_one_name_both_run() {
        let source = "it('a', () => { assert(1) }); it('a', () => { assert(2) });";
        assert_eq!(counted("a.js", source), [("a".to_string(), 1), ("a".to_string(), 1)]);
    }

    #[test]
    fn product_code_is_changed_by_every_operator_and_logging_is_not() {
        let source = "
'use strict 70';
import x from './71';
// 72
function f(x) {
  console.log('said 73');
  if (x === 1) { x += 1; g(x); return h(x) + 2; }
  while (x) { x--; }
  for (const i of [5, 6]) { k(i); }
  return undefined;
}
";
        let found = code("a.js", source);
        holds(
            &found,
            &[
                "constant: 5 -> 6",
                "comparison: === -> !==",
                "arithmetic: + -> -",
                "arithmetic: -- -> ++",
                "delete_statement: g(x); -> ;",
                "return_nothing: h(x) + 2 -> undefined",
                "call_nothing: h(x) -> undefined",
                "never: (x === 1) -> (false)",
                "never: (x) -> (false)",
                "empty_iterable: [5, 6] -> []",
            ],
        );
        spares(&found, &["70", "71", "72", "73"]);
    }

    #[test]
    fn demands_are_changed_or_turned_in_the_way_of_the_library() {
        let source = "
test('a', async () => {
  expect(f(1)).toBe(2);
  expect(f(1)).not.toBe(3);
  expect(f(1)).toBeGreaterThan(4);
  expect(f(1)).to.equal('x');
  await expect(f(1)).resolves.toBe(5);
  assert.strictEqual(f(1), 6, 'why 7');
  assert.deepEqual(f(1), g(8));
  assert(f(1) > 9);
  assert(f(1) === 10);
});
";
        let expected = [
            "2 -> 3",
            ".not -> ",
            " -> .not",
            "'x' -> '~x'",
            "6 -> 7",
            "deepEqual -> notDeepEqual",
            "f(1) > 9 -> !(f(1) > 9)",
            "10 -> 11",
        ];
        assert_eq!(oracle("a.js", source), expected);
    }

    #[test]
    fn two_values_of_one_call_contradict_each_other_and_mocks_explain_them() {
        let both = "import { f } from 'm';\ntest('a', () => { expect(f(1)).toBe(2); });\ntest('b', () => { expect(f(1)).toEqual(3); });\n";
        assert_eq!(opposed("a.js", both), ["f(1): 2 or 3"]);
        for more in ["jest.mock('m');", "beforeEach(() => {});", "const f = g;", "f = g;"] {
            assert_eq!(
                opposed("a.js", &format!("{both}{more}")),
                Vec::<String>::new(),
                "{more}"
            );
        }
    }
}
