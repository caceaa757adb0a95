//! Python: `unittest` and pytest.

use crate::grammar::Inverse::{Name, Nothing};
use crate::grammar::{Case, Claim, Failure, Grammar, Shape};
use crate::tree::{Id, Tree};

const fn claim(callee: &'static str, equal: bool, opposite: &'static str) -> Claim {
    Claim {
        callee,
        equal,
        inverse: if opposite.is_empty() { Nothing } else { Name(opposite) },
    }
}

const CLAIMS: &[Claim] = &[
    claim("*.assertEqual", true, "assertNotEqual"),
    claim("*.assertNotEqual", false, "assertEqual"),
    claim("*.assertListEqual", true, "assertNotEqual"),
    claim("*.assertDictEqual", true, "assertNotEqual"),
    claim("*.assertTupleEqual", true, "assertNotEqual"),
    claim("*.assertSetEqual", true, "assertNotEqual"),
    claim("*.assertMultiLineEqual", true, "assertNotEqual"),
    claim("*.assertCountEqual", true, ""),
    claim("*.assertTrue", false, "assertFalse"),
    claim("*.assertFalse", false, "assertTrue"),
    claim("*.assertIs", false, "assertIsNot"),
    claim("*.assertIsNot", false, "assertIs"),
    claim("*.assertIsNone", false, "assertIsNotNone"),
    claim("*.assertIsNotNone", false, "assertIsNone"),
    claim("*.assertIn", false, "assertNotIn"),
    claim("*.assertNotIn", false, "assertIn"),
    claim("*.assertIsInstance", false, "assertNotIsInstance"),
    claim("*.assertNotIsInstance", false, "assertIsInstance"),
    claim("*.assertGreater", false, "assertLessEqual"),
    claim("*.assertGreaterEqual", false, "assertLess"),
    claim("*.assertLess", false, "assertGreaterEqual"),
    claim("*.assertLessEqual", false, "assertGreater"),
    claim("*.assertAlmostEqual", false, "assertNotAlmostEqual"),
    claim("*.assertNotAlmostEqual", false, "assertAlmostEqual"),
    claim("*.assertRegex", false, "assertNotRegex"),
    claim("*.assertNotRegex", false, "assertRegex"),
];

pub(super) static GRAMMAR: Grammar = Grammar {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    comments: &["comment", "line_continuation"],
    remark: "#",
    documentation: |tree, id| {
        tree.kind(id) == "expression_statement" && {
            let mut parts = tree.parts(id);
            parts.next().is_some_and(|part| tree.kind(part) == "string") && parts.next().is_none()
        }
    },
    definitions: &[Shape {
        kind: "function_definition",
        name: &["name"],
        rest: "body",
    }],
    calls: &[Shape {
        kind: "call",
        name: &["function"],
        rest: "arguments",
    }],
    own: &["self", "cls"],
    shadows: true,
    types_by_name: true,
    asserting: &["assert_statement"],
    assertions: &[
        "*.assert*",
        "assert_*",
        "self.fail",
        "pytest.raises",
        "pytest.warns",
        "pytest.fail",
        "pytest.deprecated_call",
        "raises",
    ],
    claims: CLAIMS,
    roots: &[],
    handle: "",
    failing: &[],
    not: ("not (", ")"),
    test,
    group: |tree, id| {
        let name = tree.field(id, "name").filter(|_| tree.kind(id) == "class_definition")?;
        Some(tree.text(name).to_string())
    },
    helper: |_, _| true,
    testing: |_, _| false,
    numbers: &["integer", "float"],
    strings: &["string"],
    characters: &[],
    truths: ("True", "False"),
    nulls: &["none"],
    wrappers: &["set", "frozenset", "Decimal", "Fraction"],
    types: &[],
    another: Some((
        "(lambda lx: (lx - 1 if lx < 0 else lx + 1) if type(lx) in (int, float) and abs(lx) < 1e15 else '~' + lx if type(lx) is str else not lx if type(lx) is bool else [lx, 'lx'])(",
        ")",
    )),
    others: &[],
    operations: &[
        "comparison_operator",
        "binary_operator",
        "boolean_operator",
        "augmented_assignment",
    ],
    returns: &["return_statement"],
    nothing: |_, _| Some("None".to_string()),
    tails: false,
    statements: &["expression_statement", "raise_statement", "delete_statement"],
    kept: &[],
    empty_statement: "pass",
    never: "False",
    conditions: &[
        ("if_statement", "condition"),
        ("elif_clause", "condition"),
        ("while_statement", "condition"),
    ],
    loops: &[("for_statement", "right"), ("for_in_clause", "right")],
    empty_iterable: |_, _, _| Some("[]".to_string()),
    arid: &[
        "type",
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "decorator",
    ],
    logs: &[
        "log.*",
        "logger.*",
        "logging.*",
        "_log.*",
        "_logger.*",
        "LOG.*",
        "LOGGER.*",
        "*.log.*",
        "*.logger.*",
        "warnings.warn",
    ],
    rooms: &["function_definition", "lambda", "with_statement"],
    detached: &[],
    blocks: &["block"],
    heard: Some(["try: ", "\nexcept AssertionError: pass\nelse: ", "", "return"]),
    failure: |_, _| {
        Some(Failure {
            statement: "raise AssertionError('lx')".to_string(),
            expression: Some(("(exec(\"raise AssertionError('lx')\") or (", "))")),
        })
    },
};

fn test(tree: &Tree<'_>, id: Id) -> Option<Case> {
    if tree.kind(id) != "function_definition" {
        return None;
    }
    let name = tree.text(tree.field(id, "name")?);
    let inside = tree
        .above(id)
        .find(|above| tree.is(*above, &["function_definition", "class_definition"]));
    if !name.starts_with("test") || inside.is_some_and(|outer| !collected(tree, outer)) {
        return None;
    }
    let whole = tree
        .node(id)
        .parent
        .filter(|parent| tree.kind(*parent) == "decorated_definition")
        .unwrap_or(id);
    let marks: Vec<Id> = tree
        .children(whole)
        .filter(|child| tree.kind(*child) == "decorator")
        .collect();
    let rows: Vec<Id> = marks.iter().flat_map(|mark| parametrised(tree, *mark)).collect();
    let given = tree
        .field(id, "parameters")
        .into_iter()
        .flat_map(|list| tree.parts(list))
        .any(|p| tree.text(p) != "self");
    let base = |class: Id| tree.field(class, "superclasses").map_or("", |list| tree.text(list));
    let plain = |class: Id| ["", "()", "(object)", "(TestCase)", "(unittest.TestCase)"].contains(&base(class));
    let conditional = !marks.is_empty()
        || given
        || tree.children(id).any(|child| tree.kind(child) == "async")
        || tree.above(id).any(|above| match tree.kind(above) {
            "class_definition" => !plain(above),
            "module" | "block" => false,
            _ => above != whole,
        });
    Some(Case {
        name: name.to_string(),
        body: tree.field(id, "body")?,
        whole,
        rows,
        demands: 0,
        conditional,
    })
}

/// A class whose methods a runner looks at.
fn collected(tree: &Tree<'_>, outer: Id) -> bool {
    let name = tree.field(outer, "name").map_or("", |name| tree.text(name));
    tree.kind(outer) == "class_definition" && (name.starts_with("Test") || tree.field(outer, "superclasses").is_some())
}

/// The sets of arguments that a mark lists; or what stands for them.
fn parametrised(tree: &Tree<'_>, mark: Id) -> Vec<Id> {
    let call = tree.parts(mark).next().and_then(|call| tree.call(call));
    let Some(call) = call.filter(|call| call.callee.ends_with("parametrize")) else {
        return Vec::new();
    };
    let Some([list]) = call.arguments.get(1).map(Vec::as_slice) else {
        return Vec::new();
    };
    if tree.is(*list, &["list", "tuple"]) {
        tree.parts(*list).collect()
    } else {
        vec![*list]
    }
}

#[cfg(test)]
mod tests {
    use crate::bench::{code, counted, holds, opposed, oracle, rows, spares, total};

    #[test]
    fn functions_methods_and_nothing_else_are_tests() {
        let source = "
import unittest
def test_a():
    assert f(1) == 2, 'm'
    with pytest.raises(ValueError):
        f(-1)
async def test_b(): assert await f()
class TestC:
    @staticmethod
    def test_d(): assert True
    def helper(self): assert False
class D(unittest.TestCase):
    def test_e(self):
        self.assertEqual(f(1), 2)
        with self.assertRaises(E): f()
class Plain:
    def test_f(self): assert 1
def outer():
    def test_g(): assert 1
def check(): assert 1
TEXT = 'def test_h(): assert 1'
";
        let expected = [("test_a", 2), ("test_b", 1), ("TestC test_d", 1), ("D test_e", 2)];
        assert_eq!(
            counted("a.py", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
    }

    #[test]
    fn helpers_count_for_each_call_to_depth_three_and_cycles_are_cut() {
        let source = "
def one(x): assert x
def two(x):
    one(x); one(x)
def three(x): two(x)
def four(x): three(x)
def round(x):
    assert x
    trip(x)
def trip(x):
    assert x
    round(x)
def test_a(): two(1)
def test_b(): three(1)
def test_c(): four(1)
def test_d(): round(1)
class TestE:
    def two(self): assert 1
    def test_e(self): self.two()
    def test_f(self): other.two()
";
        let expected = [
            ("test_a", 2),
            ("test_b", 2),
            ("test_c", 0),
            ("test_d", 2),
            ("TestE test_e", 1),
            ("TestE test_f", 0),
        ];
        assert_eq!(
            counted("a.py", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
    }

    #[test]
    fn a_redefined_test_is_dead_and_counts_for_nothing() {
        let source = "
def test_a(): assert f(1) == 2
def test_a(): pass
class TestB:
    def test_b(self): assert 1
class TestB:
    def test_c(self): assert 1
if x:
    def test_d(): assert 1
else:
    def test_d(): assert 2
";
        let expected = [
            ("test_a (dead)", 1),
            ("test_a", 0),
            ("TestB test_b (dead)", 1),
            ("TestB test_c", 1),
            ("test_d", 1),
            ("test_d", 1),
        ];
        assert_eq!(
            counted("a.py", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
        assert_eq!(total("a.py", source), 3);
    }

    #[test]
    fn a_support_file_counts_its_functions() {
        assert_eq!(
            total("conftest.py", "def check(x):\n    assert x\n    assert_that(x)\n"),
            2
        );
    }

    #[test]
    fn rows_of_parameters_are_counted_and_a_list_from_elsewhere_is_one() {
        assert_eq!(
            rows(
                "a.py",
                "@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_a(a): pass\n"
            ),
            3
        );
        assert_eq!(
            rows("a.py", "@pytest.mark.parametrize('a', CASES)\ndef test_a(a): pass\n"),
            1
        );
        assert_eq!(rows("a.py", "@pytest.mark.slow\ndef test_a(): pass\n"), 0);
    }

    #[test]
    fn product_code_is_changed_by_every_operator_and_what_is_arid_is_not() {
        let source = "
import os3
@cache(size=71)
def f(x: 'int8' = 3) -> 'int9':
    '''Doc 77.'''
    log.info('said 78')
    if x > 1:
        x += 1
        g(x)
        return h(x) + 2
    while x: y = [z for z in x]
    for i in range(5): pass
    return None
";
        let found = code("a.py", source);
        holds(
            &found,
            &[
                "constant: 3 -> 4",
                "comparison: > -> <=",
                "arithmetic: += -> -=",
                "delete_statement: x += 1 -> pass",
                "delete_statement: g(x) -> pass",
                "return_nothing: h(x) + 2 -> None",
                "call_nothing: h(x) -> None",
                "never: x > 1 -> False",
                "never: x -> False",
                "empty_iterable: range(5) -> []",
                "empty_iterable: x -> []",
            ],
        );
        spares(&found, &["os3", "71", "int8", "int9", "77", "78", ": None -> None"]);
    }

    #[test]
    fn the_demands_of_unittest_are_changed_or_turned() {
        let source = "
class T(TestCase):
    def test_a(self):
        self.assertEqual(f(1), 2, 'why 3')
        self.assertEqual(f(1), g(2))
        self.assertAlmostEqual(f(1), 3.5, delta=9)
        self.assertTrue(f(1))
        self.assertIn(4, f(1))
        self.assertNotEqual(f(1), 5)
";
        let expected = [
            "2 -> 3",
            "assertEqual -> assertNotEqual",
            "assertAlmostEqual -> assertNotAlmostEqual",
            "assertTrue -> assertFalse",
            "assertIn -> assertNotIn",
            "assertNotEqual -> assertEqual",
        ];
        assert_eq!(oracle("a.py", source), expected);
    }

    #[test]
    fn two_values_of_one_call_contradict_each_other() {
        let source = "
from m import f
def test_a(): assert f(1, \"x\") == 2
def test_b():
    'Says so.'
    assert 3 == f(1, \"x\")
";
        assert_eq!(opposed("a.py", source), ["f(1,\"x\"): 2 or 3"]);
    }

    #[test]
    fn whatever_could_explain_two_values_is_no_contradiction() {
        let plain = "from m import f\ndef test_a(): assert f(1) == 2\n";
        for other in [
            "def test_b(): assert f(1) == 2\n",
            "def test_b(): assert f(2) == 3\n",
            "def test_b(): assert f(1) != 3\n",
            "def test_b(): assert f(1) == 3 or x\n",
            "def test_b(): assert f(1) == 2.0\n",
            "def test_b(): assert f(x) == 3\n",
            "def test_b(x): assert f(1) == 3\n",
            "def test_b():\n    g()\n    assert f(1) == 3\n",
            "def test_b():\n    assert f(1) == 2\n    assert f(1) == 3\n",
            "@pytest.mark.skip\ndef test_b(): assert f(1) == 3\n",
            "@pytest.mark.parametrize('a', [1])\ndef test_b(a): assert f(1) == 3\n",
            "class TestB(Base):\n    def test_b(self): assert f(1) == 3\n",
            "if windows:\n    def test_b(): assert f(1) == 3\n",
            "def test_b(): assert f(1) == 3\ndef test_b(): assert f(1) == 2\n",
            "def f(x): return x\ndef test_b(): assert f(1) == 3\n",
            "def setup_function(): m.x = 1\ndef test_b(): assert f(1) == 3\n",
            "from n import f\ndef test_b(): assert f(1) == 3\n",
            "@pytest.fixture(autouse=True)\ndef x(): pass\ndef test_b(): assert f(1) == 3\n",
        ] {
            assert_eq!(
                opposed("a.py", &format!("{plain}{other}")),
                Vec::<String>::new(),
                "{other}"
            );
        }
    }
}
