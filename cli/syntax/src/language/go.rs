//! Go: the `testing` package and testify.

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
    claim("require.Equal", true, "NotEqual"),
    claim("assert.Equal", true, "NotEqual"),
    claim("s.Equal", true, "NotEqual"),
    claim("s.Require.Equal", true, "NotEqual"),
    claim("require.NotEqual", false, "Equal"),
    claim("assert.NotEqual", false, "Equal"),
    claim("require.True", false, "False"),
    claim("assert.True", false, "False"),
    claim("s.True", false, "False"),
    claim("require.False", false, "True"),
    claim("assert.False", false, "True"),
    claim("s.False", false, "True"),
    claim("require.Nil", false, "NotNil"),
    claim("assert.Nil", false, "NotNil"),
    claim("require.NotNil", false, "Nil"),
    claim("assert.NotNil", false, "Nil"),
    claim("require.NoError", false, "Error"),
    claim("assert.NoError", false, "Error"),
    claim("s.NoError", false, "Error"),
    claim("require.Error", false, "NoError"),
    claim("assert.Error", false, "NoError"),
    claim("s.Error", false, "NoError"),
    claim("require.ErrorIs", false, "NotErrorIs"),
    claim("assert.ErrorIs", false, "NotErrorIs"),
    claim("require.*", false, ""),
    claim("assert.*", false, ""),
    claim("s.Require.*", false, ""),
    claim("s.Assert.*", false, ""),
];

/// An error that is no other one; the one that it takes the place of is still read, so that what it needs is.
const OTHER_ERROR: &str = "func(error) error { return errors.New(\"lx\") }(";
const OTHERS: &[(&str, &str, &str)] = &[
    ("errors.Is", OTHER_ERROR, ")"),
    ("require.ErrorIs", OTHER_ERROR, ")"),
    ("assert.ErrorIs", OTHER_ERROR, ")"),
];

const FUNCTIONS: &[&str] = &["function_declaration", "method_declaration", "func_literal"];

pub(super) static GRAMMAR: Grammar = Grammar {
    grammar: || tree_sitter_go::LANGUAGE.into(),
    comments: &["comment"],
    remark: "//",
    documentation: |_, _| false,
    definitions: &[
        Shape {
            kind: "function_declaration",
            name: &["name"],
            rest: "body",
        },
        Shape {
            kind: "method_declaration",
            name: &["name"],
            rest: "body",
        },
    ],
    calls: &[Shape {
        kind: "call_expression",
        name: &["function"],
        rest: "arguments",
    }],
    own: &["s", "suite"],
    shadows: false,
    types_by_name: false,
    asserting: &[],
    assertions: &[
        "s.Contains",
        "s.Len",
        "s.Nil",
        "s.NotNil",
        "s.ErrorIs",
        "s.Empty",
        "s.NotEqual",
        "s.JSONEq",
        "suite.*",
    ],
    claims: CLAIMS,
    roots: &[],
    handle: "t",
    failing: &[
        "t.Error",
        "t.Errorf",
        "t.Fatal",
        "t.Fatalf",
        "t.Fail",
        "t.FailNow",
        "*.T.Error",
        "*.T.Errorf",
        "*.T.Fatal",
        "*.T.Fatalf",
    ],
    not: ("!(", ")"),
    test,
    group: |_, _| None,
    helper: |_, _| true,
    testing: |_, _| false,
    numbers: &["int_literal", "float_literal"],
    strings: &["interpreted_string_literal", "raw_string_literal"],
    characters: &["rune_literal"],
    truths: ("true", "false"),
    nulls: &["nil"],
    wrappers: &["map"],
    types: &["type_identifier"],
    another: None,
    others: OTHERS,
    operations: &[
        "binary_expression",
        "assignment_statement",
        "inc_statement",
        "dec_statement",
    ],
    returns: &["return_statement"],
    nothing,
    tails: false,
    statements: &[
        "expression_statement",
        "assignment_statement",
        "inc_statement",
        "dec_statement",
        "send_statement",
    ],
    kept: &[],
    empty_statement: "{}",
    never: "false",
    conditions: &[("if_statement", "condition")],
    loops: &[("for_statement", "right")],
    empty_iterable: |_, _, text| Some(format!("({text})[:0]")),
    arid: &["import_declaration", "package_clause", "type_declaration", "array_type"],
    logs: &["log.*", "slog.*", "klog.*", "logger.*", "*.log.*", "*.logger.*"],
    rooms: &["func_literal"],
    detached: &["go_statement"],
    blocks: &["block"],
    heard: None,
    failure,
};

fn test(tree: &Tree<'_>, id: Id) -> Option<Case> {
    if !tree.is(id, &["function_declaration", "method_declaration"]) {
        return None;
    }
    let name = tree.text(tree.field(id, "name")?);
    let given = tree.text(tree.field(id, "parameters")?);
    // `Test` alone, or followed by anything but a small letter: what the tool itself goes by.
    let rest = name.strip_prefix("Test").or_else(|| name.strip_prefix("Fuzz"))?;
    let owner = tree
        .field(id, "receiver")
        .and_then(|list| tree.within(list).find(|part| tree.kind(*part) == "type_identifier"));
    let taken = if owner.is_some() {
        given == "()"
    } else {
        given.contains("testing.T") || given.contains("testing.F")
    };
    if rest.starts_with(|c: char| c.is_lowercase()) || !taken {
        return None;
    }
    let name = owner.map_or_else(|| name.to_string(), |owner| format!("{}.{name}", tree.text(owner)));
    Some(Case {
        name,
        body: tree.field(id, "body")?,
        whole: id,
        rows: Vec::new(),
        demands: 0,
        conditional: owner.is_some(),
    })
}

/// The test's own word for it, which no recovery takes back and nothing behind it has to be left out for.
fn failure(tree: &Tree<'_>, case: &Case) -> Option<Failure> {
    let name = |field: &str| {
        let list = tree.field(case.whole, field)?;
        let first = tree.parts(list).next()?;
        Some(tree.text(tree.field(first, "name")?)).filter(|name| *name != "_")
    };
    let statement = match name("receiver") {
        Some(suite) => format!("{suite}.T().Error(\"lx\");"),
        None => format!("{}.Error(\"lx\");", name("parameters")?),
    };
    Some(Failure {
        statement,
        expression: None,
    })
}

/// A zero of every type that the function around returns. What a call gives cannot be told.
fn nothing(tree: &Tree<'_>, id: Id) -> Option<String> {
    if tree.kind(id) != "return_statement" {
        return None;
    }
    let function = tree.above(id).find(|above| tree.is(*above, FUNCTIONS))?;
    let result = tree.field(function, "result")?;
    let types: Vec<Id> = if tree.kind(result) == "parameter_list" {
        tree.parts(result).filter_map(|one| tree.field(one, "type")).collect()
    } else {
        vec![result]
    };
    let zeros: Vec<String> = types
        .into_iter()
        .map(|one| format!("*new({})", tree.text(one)))
        .collect();
    (!zeros.is_empty()).then(|| zeros.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::bench::{code, counted, holds, opposed, oracle, spares};

    #[test]
    fn functions_of_the_tool_and_methods_of_a_suite_are_tests() {
        let source = "
package x
func TestA(t *testing.T) {
	if got := F(1); got != 2 { t.Errorf(\"x %d\", got) }
	require.Equal(t, 2, F(1))
	t.Run(\"sub\", func(t *testing.T) { t.Fatal(\"x\") })
	check(t, 3)
}
func check(t *testing.T, x int) { t.Helper(); assert.True(t, x > 1) }
func TestMain(m *testing.M) { os.Exit(m.Run()) }
func Testable(t *testing.T) { t.Fatal() }
func (s *Suite) TestB() { s.Equal(1, 2); s.Require().NoError(err) }
func FuzzC(f *testing.F) {}
";
        let expected = [("TestA", 4), ("Suite.TestB", 2), ("FuzzC", 0)];
        assert_eq!(
            counted("a_test.go", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
    }

    #[test]
    fn product_code_is_changed_by_every_operator_and_results_get_their_zeros() {
        let source = "
package x
import \"fmt71\"
func f(x int, s [72]int) (int, error) {
	log.Println(\"said 73\")
	if x > 1 { x += 1; g(x); return h(x) + 2, nil }
	for _, i := range []int{5} { x++ }
	for i := 0; i < 3; i++ {}
	return x, nil
}
func k() *T { return &T{} }
";
        let found = code("a.go", source);
        holds(
            &found,
            &[
                "constant: 5 -> 6",
                "comparison: > -> <=",
                "arithmetic: += -> -=",
                "arithmetic: ++ -> --",
                "delete_statement: g(x) -> {}",
                "return_nothing: h(x) + 2, nil -> *new(int), *new(error)",
                "return_nothing: &T{} -> *new(*T)",
                "never: x > 1 -> false",
                "empty_iterable: []int{5} -> ([]int{5})[:0]",
            ],
        );
        spares(&found, &["71", "72", "73", "delete_statement: i++", "call_nothing"]);
    }

    #[test]
    fn the_condition_of_a_failure_is_the_demand() {
        let source = "
package x
func TestA(t *testing.T) {
	if got := F(1); got != 2 { t.Errorf(\"x %d\", 3) }
	if F(1) < 4 { t.Fatal(\"x\") }
	require.Equal(t, 5, F(1), \"why 6\")
	assert.NoError(t, G(7))
	if x { for { t.Fatal(8) } }
}
";
        let expected = ["2 -> 3", "F(1) < 4 -> !(F(1) < 4)", "5 -> 6", "NoError -> Error"];
        assert_eq!(oracle("a_test.go", source), expected);
    }

    #[test]
    fn two_values_of_one_call_contradict_each_other() {
        let one =
            |name: &str, value: u8| format!("func Test{name}(t *testing.T) {{ require.Equal(t, {value}, m.F(1)) }}\n");
        let head = "package x\nimport \"m\"\n";
        assert_eq!(
            opposed("a_test.go", &format!("{head}{}{}", one("A", 2), one("B", 3))),
            ["m.F(1): 2 or 3"]
        );
        assert_eq!(
            opposed("a_test.go", &format!("{head}{}{}", one("A", 2), one("B", 2))),
            Vec::<String>::new()
        );
    }
}
