//! Another expected value together with a failure right behind the assertion that has it.
//!
//! ```text
//!   assert f(1) == 2     -->     assert f(1) == 3; raise ...
//! ```
//!
//! Who minds the value stops, or has failed, before the failure is come to, whatever else holds the test: a test that
//! passes with the other value alone and fails with both let the other value pass.

use super::{Mutant, Operator, failure, oracle, stitched};
use crate::grammar::any;
use crate::suite::cases;
use crate::tree::{Id, Tree};
use crate::{Span, assertion};

/// What an assertion may be the first part of, up to the statement that is nothing but it.
const WHOLE: &[&str] = &[
    "assert_statement",
    "attribute",
    "await",
    "await_expression",
    "call",
    "call_expression",
    "expression_statement",
    "macro_invocation",
    "member_expression",
    "method_invocation",
];

/// Each of these changes of an expected value, with the failure.
pub(super) fn candidates(tree: &Tree<'_>, values: &[Mutant]) -> Vec<Mutant> {
    let cases = cases(tree);
    let both = |value: &Mutant| {
        let part = value.minded.unwrap_or(value.span);
        let assertion = oracle::minding(tree, part).next()?;
        let (_, case) = cases
            .iter()
            .filter(|(_, case)| tree.within(case.body).contains(&assertion))
            .max_by_key(|(_, case)| case.body)?;
        // What may be reached when the test is over shows nothing of it.
        failure::place(tree, assertion, case.body)?;
        let statement = statement(tree, assertion)?;
        let fails = match fails(tree, assertion) {
            Some(fails) => fails,
            None => (tree.grammar.failure)(tree, case)?.statement,
        };
        let end = tree.node(statement).span.end;
        let ended = tree.bytes(statement).ends_with(b";");
        let planted = format!("{}{fails}", if ended { " " } else { "; " });
        let edits = [
            (value.span, value.replacement.clone()),
            (Span { start: end, end }, planted),
        ];
        stitched(tree, Operator::FailureBehind, edits.to_vec())
    };
    values.iter().filter_map(both).collect()
}

/// The same word for it, where the assertion is a call that fails: a test within a test may have its own.
fn fails(tree: &Tree<'_>, assertion: Id) -> Option<String> {
    let call = tree.call(assertion)?;
    any(tree.grammar.failing, &call.callee).then_some(())?;
    let start = tree.node(assertion).span.start;
    let owner = std::str::from_utf8(tree.source.get(start..call.name.start)?).ok()?;
    Some(format!("{owner}Error(\"lx\");"))
}

/// The statement that is this assertion and nothing else, with others around it.
fn statement(tree: &Tree<'_>, assertion: Id) -> Option<Id> {
    let mut whole = assertion::decision(tree, assertion).unwrap_or(assertion);
    loop {
        let above = tree.node(whole).parent?;
        if tree.is(above, tree.grammar.blocks) || tree.is(above, &["statement_list"]) {
            return Some(whole);
        }
        if !tree.is(above, WHOLE) {
            return None;
        }
        whole = above;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Language, Operator, What, apply, mutants, tests};

    /// The source with the first expected value changed and the failure behind it.
    fn behind(path: &str, source: &str) -> Option<String> {
        let language = Language::of(path).unwrap();
        let parsed = tests(language, source.as_bytes()).unwrap();
        let spans: Vec<_> = parsed.tests.iter().map(|test| test.span).collect();
        let values = mutants(language, source.as_bytes(), &What::Oracle(&spans), 9).unwrap();
        let value = values
            .into_iter()
            .find(|m| m.operator == Operator::Expectation)
            .unwrap();
        let found = mutants(language, source.as_bytes(), &What::Behind(&[value]), 9).unwrap();
        let both = found.first()?;
        Some(String::from_utf8(apply(source.as_bytes(), both)).unwrap())
    }

    const JS: &str = "if ('lx'.length === 2) throw new Error('lx');";

    #[test]
    fn a_failure_stands_right_behind_the_assertion_whose_value_is_another_in_every_language() {
        for (path, source, expected) in [
            (
                "a.py",
                "def test_a():\n    assert f(1) == 2, 'why'\n    g()\n",
                "def test_a():\n    assert f(1) == 3, 'why'; raise AssertionError('lx')\n    g()\n".to_owned(),
            ),
            (
                "a.js",
                "test('a', async () => {\n  await expect(f(1)).toBe(2)\n  assert.equal(f(1), 2);\n});",
                format!("test('a', async () => {{\n  await expect(f(1)).toBe(3); {JS}\n  assert.equal(f(1), 2);\n}});"),
            ),
            (
                "a.rs",
                "#[test]\nfn a() { assert_eq!(f(1), 2); }",
                "#[test]\nfn a() { assert_eq!(f(1), 3); if \"lx\".len() == 2 { panic!(\"lx\"); } }".to_owned(),
            ),
            (
                "a.rs",
                "#[test]\nfn a() { let want = 2; assert_eq!(f(1), want) }",
                "#[test]\nfn a() { let want = 3; assert_eq!(f(1), want); if \"lx\".len() == 2 { panic!(\"lx\"); } }"
                    .to_owned(),
            ),
            (
                "a_test.go",
                "package x\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(in *testing.T) {\n\t\tif got := f(); got != 2 {\n\t\t\tt.Errorf(\"x\")\n\t\t}\n\t})\n}\n",
                "package x\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(in *testing.T) {\n\t\tif got := f(); got != 3 {\n\t\t\tt.Errorf(\"x\")\n\t\t}; t.Error(\"lx\");\n\t})\n}\n"
                    .to_owned(),
            ),
            (
                "A.java",
                "class A { @Test void a() { assertEquals(2, f()); } }",
                "class A { @Test void a() { assertEquals(3, f()); if (Boolean.TRUE) { throw new AssertionError(\"lx\"); } } }"
                    .to_owned(),
            ),
        ] {
            assert_eq!(behind(path, source).as_deref(), Some(expected.as_str()), "{path}");
        }
    }

    #[test]
    fn nothing_stands_behind_what_decides_whether_it_is_reached_or_comes_too_late() {
        for (path, source) in [
            ("a.js", "test('a', () => { if (f()) assert.equal(f(1), 2); });"),
            ("a.js", "test('a', () => { f() && assert.equal(f(1), 2); });"),
            ("a.js", "test('a', () => expect(f(1)).toBe(2));"),
            (
                "a.js",
                "test('a', () => { load().then((x) => { expect(x).toBe(2); }); });",
            ),
            (
                "a_test.go",
                "package x\nfunc TestA(t *testing.T) {\n\tgo func() { if f() != 2 { t.Error(1) } }()\n}\n",
            ),
            (
                "a_test.go",
                "package x\nfunc TestA(t *testing.T) {\n\tif a() {\n\t} else if f() != 2 { t.Error(1) }\n}\n",
            ),
        ] {
            assert_eq!(behind(path, source), None, "{source}");
        }
    }
}
