//! Failures that no condition holds back, where nothing honest can miss them: at the beginning of what a test asserts in.
//!
//! ```text
//!   an assertion --> the body of the test                    it is reached when the test is run
//!               \--> a function, or a block with a manager,  it is reached when somebody else calls, or enters, it
//! ```
//!
//! Loops and conditions hold nothing back: that a list is empty may be what the test is about. In Rust the failure waits
//! there for the end, which a test that was cut off by the end of its process does not come to.

use super::{Mutant, Operator, change};
use crate::grammar::{Case, Failure, any};
use crate::suite::cases;
use crate::tree::{Id, Tree};
use crate::{Span, assertion};

/// What calls the function that it is given once for each of several values, as a loop does.
const LOOPS: &[&str] = &[
    "*.forEach",
    "*.for_each",
    "*.map",
    "*.every",
    "*.some",
    "*.all",
    "*.any",
    "*.filter",
    "map",
    "filter",
];
/// What calls the function that it is given when a test that does not wait is over.
const LATER: &[&str] = &[
    "*.on",
    "*.once",
    "*.addListener",
    "*.addEventListener",
    "*.subscribe",
    "setTimeout",
    "setInterval",
    "setImmediate",
    "queueMicrotask",
    "*.nextTick",
    "*spawn",
    "*.submit",
    "*.AfterFunc",
    "*Thread",
    "*.add_done_callback",
    "*.call_soon",
    "*.call_later",
];
/// The same, unless the test waits for what comes of it.
const PROMISED: &[&str] = &["*.then", "*.finally"];
/// In the name of what wants the function that it is given to fail.
const WANTED: &[&str] = &[
    "raise", "throw", "reject", "panic", "catch", "warn", "suppress", "error", "fail", "except",
];
/// What fails without a condition of its own: it is there not to be reached.
const FAILS: &[&str] = &[
    "fail",
    "*.fail",
    "*.Fail",
    "*.FailNow",
    "*.Error",
    "*.Errorf",
    "*.Fatal",
    "*.Fatalf",
    "panic!",
];

/// One failure, or several, in each test of these spans.
pub(super) fn candidates(tree: &Tree<'_>, tests: &[Span]) -> Vec<Mutant> {
    let cases = cases(tree);
    let meant = cases
        .iter()
        .filter(|(_, case)| tests.contains(&tree.node(case.whole).span));
    meant.flat_map(|(_, case)| of(tree, case)).collect()
}

fn of(tree: &Tree<'_>, case: &Case) -> Vec<Mutant> {
    let Some(failure) = (tree.grammar.failure)(tree, case) else {
        return Vec::new();
    };
    let rooms = rooms(tree, case.body);
    let operator = |room: Id| match room == case.body {
        true => Operator::Failure,
        false => Operator::FailureWithin,
    };
    let planted = rooms
        .into_iter()
        .filter_map(|room| begin(tree, room, &failure, operator(room)));
    planted.collect()
}

/// Where the assertions of a test stand: its body, or, if none stands right in it, what holds them there.
fn rooms(tree: &Tree<'_>, body: Id) -> Vec<Id> {
    let mut rooms = Vec::new();
    for id in tree.within(body).filter(|id| assertion::is(tree, *id)) {
        match place(tree, id, body) {
            Some(room) if room == body => return vec![body],
            Some(room) if !rooms.contains(&room) => rooms.push(room),
            _ => {}
        }
    }
    if rooms.is_empty() { vec![body] } else { rooms }
}

/// The innermost place that somebody else runs with the assertion in it, or the body; none where it is there not to be
/// reached, or may be reached when the test is over.
pub(super) fn place(tree: &Tree<'_>, assertion: Id, body: Id) -> Option<Id> {
    let mut room = None;
    for above in std::iter::once(assertion).chain(tree.above(assertion)) {
        if above == body {
            break;
        }
        if tree.is(above, tree.grammar.detached) {
            return None;
        }
        let holder = tree.node(above).parent.filter(|_| tree.role(above) == "body");
        let Some(holder) = holder.filter(|holder| tree.is(*holder, tree.grammar.rooms)) else {
            continue;
        };
        let call = speaker(tree, holder);
        let name = call
            .and_then(|call| tree.call(call))
            .map_or_else(String::new, |call| call.callee);
        let waits = tree.children(holder).any(|child| tree.kind(child) == "async") || any(PROMISED, &name);
        let left = waits && call.is_some_and(|call| !is_waited_for(tree, call, body));
        if is_wanted_to_fail(&name) || any(LATER, &name) || left {
            return None;
        }
        if !any(LOOPS, &name) {
            room = room.or(Some(above));
        }
    }
    let fails = tree.call(assertion).is_some_and(|call| any(FAILS, &call.callee));
    let held = !fails || assertion::demand(tree, assertion).inverse.is_some();
    match room {
        Some(room) => held.then_some(room),
        None => Some(body),
    }
}

/// The call that a function is given to, or that makes the manager of a block.
fn speaker(tree: &Tree<'_>, holder: Id) -> Option<Id> {
    let is_call = |id: &Id| tree.call(*id).is_some();
    let manager = tree.children(holder).find(|child| tree.kind(*child) == "with_clause");
    match manager {
        Some(clause) => tree.within(clause).find(is_call),
        None => tree.above(holder).take(2).find(is_call),
    }
}

/// The test waits for what comes of this call, or hands it to its runner.
fn is_waited_for(tree: &Tree<'_>, call: Id, body: Id) -> bool {
    for above in std::iter::once(call).chain(tree.above(call)) {
        if above == body || tree.is(above, &["return_statement", "await_expression"]) {
            return true;
        }
        if tree.is(above, tree.grammar.statements) || tree.is(above, &["lexical_declaration"]) {
            return false;
        }
    }
    false
}

fn is_wanted_to_fail(name: &str) -> bool {
    let name = name.to_lowercase();
    WANTED.iter().any(|word| name.contains(word))
}

/// The failure at the beginning of this body.
fn begin(tree: &Tree<'_>, body: Id, failure: &Failure, operator: Operator) -> Option<Mutant> {
    let span = tree.node(body).span;
    if !tree.grammar.blocks.contains(&tree.kind(body)) {
        let (before, behind) = failure.expression?;
        return change(tree, span, operator, format!("{before}{}{behind}", tree.text(body)));
    }
    if tree.bytes(body).first() == Some(&b'{') {
        let start = span.start + 1;
        return change(
            tree,
            Span { start, end: start },
            operator,
            format!(" {}", failure.statement),
        );
    }
    // A block without brackets begins with its first statement; documentation stays the first.
    let is_said = |part: &Id| (tree.grammar.documentation)(tree, *part);
    let first = tree.parts(body).find(|part| !is_said(part)).unwrap_or(body);
    let start = tree.node(first).span.start;
    let line = tree.source.get(..start)?.iter().rposition(|byte| *byte == b'\n');
    let indent = std::str::from_utf8(tree.source.get(line.map_or(0, |at| at + 1)..start)?).ok()?;
    let behind = match indent.trim().is_empty() {
        true => format!("\n{indent}"),
        false => "; ".to_owned(),
    };
    let at = Span { start, end: start };
    change(tree, at, operator, format!("{}{behind}", failure.statement))
}

#[cfg(test)]
mod tests {
    use crate::{Language, What, apply, mutants, tests};

    /// The source with all failures in it, without white space that does not matter.
    fn failing(path: &str, source: &str) -> String {
        let language = Language::of(path).unwrap();
        let spans: Vec<_> = tests(language, source.as_bytes())
            .unwrap()
            .tests
            .iter()
            .map(|test| test.span)
            .collect();
        let mut found = mutants(language, source.as_bytes(), &What::Failure(&spans), 99).unwrap();
        found.sort_by_key(|mutant| std::cmp::Reverse(mutant.span));
        let text = found
            .iter()
            .fold(source.as_bytes().to_vec(), |text, mutant| apply(&text, mutant));
        String::from_utf8(text).unwrap()
    }

    const PY: &str = "raise AssertionError('lx')";
    const RS: &str = "let _lx = { struct Lx; impl Drop for Lx { fn drop(&mut self) { if !std::thread::panicking() { panic!(\"lx\"); } } } Lx };";
    const JS: &str = "if ('lx'.length === 2) throw new Error('lx');";

    #[test]
    fn the_body_of_a_test_begins_with_a_failure_in_every_language() {
        for (path, source, expected) in [
            (
                "a.py",
                "def test_a():\n    'Says.'\n    for x in f():\n        assert x\n",
                format!("def test_a():\n    'Says.'\n    {PY}\n    for x in f():\n        assert x\n"),
            ),
            ("a.py", "def test_a(): pass\n", format!("def test_a(): {PY}; pass\n")),
            (
                "a.js",
                "test('a', () => { f(); });",
                format!("test('a', () => {{ {JS} f(); }});"),
            ),
            (
                "a.ts",
                "test('a', () => assert(f()));",
                "test('a', () => (() => { throw new Error('lx'); })() || (assert(f())));".to_owned(),
            ),
            (
                "a.rs",
                "#[test]\nfn a() { f(); }",
                format!("#[test]\nfn a() {{ {RS} f(); }}"),
            ),
            (
                "a_test.go",
                "package x\nfunc TestA(tt *testing.T) { f() }\nfunc (s *My) TestB() { f() }\n",
                "package x\nfunc TestA(tt *testing.T) { tt.Error(\"lx\"); f() }\nfunc (s *My) TestB() { s.T().Error(\"lx\"); f() }\n"
                    .to_owned(),
            ),
            (
                "A.java",
                "class A { @Test void a() { f(); } }",
                "class A { @Test void a() { if (Boolean.TRUE) { throw new AssertionError(\"lx\"); } f(); } }".to_owned(),
            ),
        ] {
            assert_eq!(failing(path, source), expected, "{path}");
        }
    }

    #[test]
    fn what_asserts_in_nothing_but_what_others_call_fails_there() {
        let swallowed = "test('a', () => load(3).then((x) => { assert.equal(x, 6); }));";
        let expected = format!("test('a', () => load(3).then((x) => {{ {JS} assert.equal(x, 6); }}));");
        assert_eq!(failing("a.js", swallowed), expected);
        let each = "test('a', () => { each([3], (x) => expect(x).toBe(6)); });";
        assert!(
            failing("a.js", each).contains("(x) => (() => { throw"),
            "{}",
            failing("a.js", each)
        );
        let go = "package x\nfunc TestA(t *testing.T) {\n\tEach(xs, func(x int) {\n\t\tif x != 6 { t.Errorf(\"x\") }\n\t})\n}\n";
        assert!(failing("a_test.go", go).contains("func(x int) { t.Error(\"lx\");\n"));
        let rust = "#[test]\nfn a() { each(&[3], |x| assert_eq!(x, 6)); }";
        assert!(failing("a.rs", rust).contains(&format!("|x| {{ {RS} assert_eq!(x, 6) }}")));
        let python = "def test_a():\n    with session() as s:\n        assert s.f() == 1\n";
        assert!(failing("a.py", python).contains(&format!("as s:\n        {PY}\n        assert")));
        let lambda =
            "class TestA(TestCase):\n    def test_a(self):\n        each([3], lambda x: self.assertEqual(x, 6))\n";
        assert!(failing("a.py", lambda).contains("lambda x: (exec("));
    }

    #[test]
    fn what_need_not_be_reached_is_none_of_it() {
        let begins = format!("test('a', () => {{ {JS} ");
        for body in [
            "each(xs, (x) => expect(x).toBe(6)); expect(done).toBe(true);",
            "xs.forEach((x) => { assert.equal(x.level, 'info'); });",
            "lint(src, (problem) => { assert.fail(problem); });",
            "expectFailure(() => { assert.equal(1, 2); });",
            "s.on('end', (x) => assert.equal(x, 6));",
            "load(3).then((x) => { assert.equal(x, 6); });",
            "soon(async () => { assert.equal(1, 2); });",
        ] {
            let text = failing("a.js", &format!("test('a', () => {{ {body} }});"));
            assert!(text.starts_with(&begins), "{text}");
        }
        let raises = "def test_a():\n    with pytest.raises(E):\n        assert f() == 1\n";
        assert!(failing("a.py", raises).starts_with(&format!("def test_a():\n    {PY}\n")));
        let go = "package x\nfunc TestA(t *testing.T) {\n\tLint(src, func(p P) { t.Errorf(\"%v\", p) })\n\tgo func() { if f() != 1 { t.Error(1) } }()\n}\n";
        assert!(failing("a_test.go", go).contains("testing.T) { t.Error(\"lx\");"));
    }
}
