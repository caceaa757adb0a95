//! Other expected values, and what is done where an assertion takes one.
//!
//! ```text
//!   assert f(1) == 2     -->     try: assert f(1) == 3            at each but the last: nothing goes on where it passes
//!                                except AssertionError: pass
//!                                else: return                     a failure, once the test has passed so
//!   assert f(4) == 5     -->     assert f(4) == 6; raise ..       the last; the failure only then
//! ```
//!
//! Who minds its value has failed before what stands behind it is come to, whatever else holds the test: a test that passes
//! with other values, and does not once a failure stands where they are taken, let another value pass.

use super::{Mutant, Operator, failure, oracle, stitched};
use crate::grammar::{Case, Heard, any};
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
/// Assertions of one test that are tried at once.
const SEVERAL_MAX: usize = 16;

/// One assertion, with another value.
struct Asked<'t, 'v> {
    value: &'v Mutant,
    case: &'t Case,
    assertion: Id,
    statement: Id,
}

/// These values at once, if they are several; the test ends where one of them is taken.
pub(super) fn several(tree: &Tree<'_>, values: &[Mutant]) -> Vec<Mutant> {
    let cases = all(tree);
    let asked = asked(tree, &cases, values);
    let (Some(heard), Some((last, before))) = (&tree.grammar.heard, split(tree, &asked)) else {
        return Vec::new();
    };
    let [.., leave] = heard;
    let mut edits = vec![(last.value.span, last.value.replacement.clone())];
    for asked in &before {
        edits.extend(asked.wrapped(tree, heard, leave));
    }
    let found = (edits.len() > 1).then(|| stitched(tree, Operator::Expectation, edits));
    found.flatten().into_iter().collect()
}

/// The same, or the first value alone, with a failure where it is taken.
pub(super) fn failing(tree: &Tree<'_>, values: &[Mutant]) -> Vec<Mutant> {
    let cases = all(tree);
    let asked = asked(tree, &cases, values);
    let several = (values.len() > 1).then(|| split(tree, &asked)).flatten();
    let (last, before) = match several.zip(tree.grammar.heard.as_ref()) {
        Some(((last, before), heard)) => (Some(last), before.into_iter().zip(std::iter::repeat(heard)).collect()),
        None => (asked.first(), Vec::new()),
    };
    let edits = last.and_then(|last| {
        let end = tree.node(last.statement).span.end;
        let ended = tree.bytes(last.statement).ends_with(b";");
        let planted = format!("{}{}", if ended { " " } else { "; " }, last.fails(tree)?);
        let mut edits = vec![
            (last.value.span, last.value.replacement.clone()),
            (Span { start: end, end }, planted),
        ];
        for (asked, heard) in before {
            edits.extend(asked.fails(tree).and_then(|fails| asked.wrapped(tree, heard, &fails)));
        }
        Some(edits)
    });
    let found = edits.and_then(|edits| stitched(tree, Operator::FailureBehind, edits));
    found.into_iter().collect()
}

fn all(tree: &Tree<'_>) -> Vec<Case> {
    cases(tree).into_iter().map(|(_, case)| case).collect()
}

/// One value of each assertion that is a statement and is done before its test is over.
fn asked<'t, 'v>(tree: &Tree<'_>, cases: &'t [Case], values: &'v [Mutant]) -> Vec<Asked<'t, 'v>> {
    let mut found: Vec<Asked<'t, 'v>> = Vec::new();
    for value in values {
        let part = value.minded.unwrap_or(value.span);
        let Some(assertion) = oracle::minding(tree, part).next() else {
            continue;
        };
        let around = cases.iter().filter(|case| tree.within(case.body).contains(&assertion));
        let Some(case) = around.max_by_key(|case| case.body) else {
            continue;
        };
        // What may be reached when the test is over shows nothing of it.
        let statement = failure::place(tree, assertion, case.body).and_then(|_| statement(tree, assertion));
        let Some(statement) = statement.filter(|_| found.iter().all(|other| other.assertion != assertion)) else {
            continue;
        };
        found.push(Asked {
            value,
            case,
            assertion,
            statement,
        });
    }
    found
}

/// The last of them that stands right in the body of the test, and those before it.
fn split<'a, 't, 'v>(
    tree: &Tree<'_>,
    asked: &'a [Asked<'t, 'v>],
) -> Option<(&'a Asked<'t, 'v>, Vec<&'a Asked<'t, 'v>>)> {
    let is_right_there = |asked: &&Asked<'_, '_>| tree.node(asked.statement).parent == Some(asked.case.body);
    let last = asked
        .iter()
        .filter(is_right_there)
        .max_by_key(|asked| asked.statement)?;
    let before = asked.iter().filter(|asked| asked.statement < last.statement);
    Some((last, before.take(SEVERAL_MAX).collect()))
}

impl Asked<'_, '_> {
    /// The same word for it, where the assertion is a call that fails: a test within a test may have its own.
    fn fails(&self, tree: &Tree<'_>) -> Option<String> {
        match fails(tree, self.assertion) {
            Some(fails) => Some(fails),
            None => Some((tree.grammar.failure)(tree, self.case)?.statement),
        }
    }

    /// The statement with the other value, and what is done where it passes; none where it shares its line.
    fn wrapped(&self, tree: &Tree<'_>, [open, between, close, _]: &Heard, taken: &str) -> Option<(Span, String)> {
        let span = tree.node(self.statement).span;
        let before = tree.source.get(..span.start)?;
        let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let indent = std::str::from_utf8(before.get(line..)?).ok()?;
        let is_first = indent.trim().is_empty();
        let behind = tree
            .source
            .get(span.end..)?
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t'));
        if between.contains('\n') && (!is_first || behind == Some(&b';')) {
            return None;
        }
        let value = self.value.span;
        let [head, tail] = [span.start..value.start, value.end..span.end]
            .map(|part| tree.source.get(part).and_then(|part| std::str::from_utf8(part).ok()));
        let said = format!("{}{}{}", head?, self.value.replacement, tail?);
        let between = between.replace('\n', &format!("\n{indent}"));
        Some((span, format!("{open}{said}{between}{taken}{close}")))
    }
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
                "#[test]\nfn a() { assert_eq!(f(1), 3); let _lx = { struct Lx; impl Drop for Lx { fn drop(&mut self) { if !std::thread::panicking() { panic!(\"lx\"); } } } Lx }; }".to_owned(),
            ),
            (
                "a.rs",
                "#[test]\nfn a() { let want = 2; assert_eq!(f(1), want) }",
                "#[test]\nfn a() { let want = 3; assert_eq!(f(1), want); let _lx = { struct Lx; impl Drop for Lx { fn drop(&mut self) { if !std::thread::panicking() { panic!(\"lx\"); } } } Lx }; }"
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
    fn of_several_assertions_each_is_asked_and_the_last_right_in_the_body_has_to_notice() {
        let both = |path: &str, source: &str| {
            let language = Language::of(path).unwrap();
            let parsed = tests(language, source.as_bytes()).unwrap();
            let spans: Vec<_> = parsed.tests.iter().map(|test| test.span).collect();
            let values = mutants(language, source.as_bytes(), &What::Oracle(&spans), 9).unwrap();
            [What::Several(&values), What::Behind(&values)].map(|what| {
                let found = mutants(language, source.as_bytes(), &what, 9).unwrap();
                let text = found.first().map(|one| apply(source.as_bytes(), one));
                text.map(|text| String::from_utf8(text).unwrap())
            })
        };
        let python = "def test_a():\n    for x in f():\n        assert x == 2\n    assert f(1) == 4\n    if g():\n        assert h() == 6\n";
        let asked = |taken: &str, last: &str| {
            Some(format!(
                "def test_a():\n    for x in f():\n        try: assert x == 3\n        except AssertionError: pass\n        else: {taken}\n    assert f(1) == 5{last}\n    if g():\n        assert h() == 6\n"
            ))
        };
        let fails = "raise AssertionError('lx')";
        assert_eq!(
            both("a.py", python),
            [asked("return", ""), asked(fails, &format!("; {fails}"))]
        );

        let script = "test('a', async () => {\n  assert.equal(await f(1), 2)\n  expect(f(2)).toBe(4);\n});";
        let asked = |taken: &str, last: &str| {
            let but =
                "if (e.code !== 'ERR_ASSERTION' && !e.matcherResult && !/Assert/.test(e.name)) throw e; break lx;";
            Some(format!(
                "test('a', async () => {{\n  lx: {{ try {{ assert.equal(await f(1), 3) }} catch (e) {{ {but} }} {taken} }}\n  expect(f(2)).toBe(5);{last}\n}});"
            ))
        };
        assert_eq!(
            both("a.js", script),
            [asked("return;", ""), asked(JS, &format!(" {JS}"))]
        );

        let alone = "def test_a():\n    assert f(1) == 4\n";
        assert_eq!(both("a.py", alone)[0], None);
        let rust = "#[test]\nfn a() { assert_eq!(f(1), 2); assert_eq!(f(2), 3); }";
        assert_eq!(both("a.rs", rust)[0], None, "no other value may fit its type");
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
