//! Java: JUnit 4 and 5, TestNG, Hamcrest, AssertJ.

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
    claim("assertEquals", true, "assertNotEquals"),
    claim("*.assertEquals", true, "assertNotEquals"),
    claim("assertNotEquals", false, "assertEquals"),
    claim("*.assertNotEquals", false, "assertEquals"),
    claim("assertArrayEquals", true, ""),
    claim("assertTrue", false, "assertFalse"),
    claim("*.assertTrue", false, "assertFalse"),
    claim("assertFalse", false, "assertTrue"),
    claim("*.assertFalse", false, "assertTrue"),
    claim("assertNull", false, "assertNotNull"),
    claim("*.assertNull", false, "assertNotNull"),
    claim("assertNotNull", false, "assertNull"),
    claim("*.assertNotNull", false, "assertNull"),
    claim("assertSame", false, "assertNotSame"),
    claim("assertNotSame", false, "assertSame"),
    claim("*.isEqualTo", true, "isNotEqualTo"),
    claim("*.isNotEqualTo", false, "isEqualTo"),
    claim("*.isTrue", false, "isFalse"),
    claim("*.isFalse", false, "isTrue"),
    claim("*.isNull", false, "isNotNull"),
    claim("*.isNotNull", false, "isNull"),
];

const NUMBERS: &[&str] = &[
    "decimal_integer_literal",
    "hex_integer_literal",
    "octal_integer_literal",
    "binary_integer_literal",
    "decimal_floating_point_literal",
];

/// Types that are no objects, with their zeros and the classes that wrap them.
const PRIMITIVES: &[(&str, &str, &str)] = &[
    ("boolean", "false", "Boolean"),
    ("byte", "0", "Byte"),
    ("char", "'\\0'", "Character"),
    ("double", "0", "Double"),
    ("float", "0", "Float"),
    ("int", "0", "Integer"),
    ("long", "0", "Long"),
    ("short", "0", "Short"),
];

pub(super) static GRAMMAR: Grammar = Grammar {
    grammar: || tree_sitter_java::LANGUAGE.into(),
    comments: &["line_comment", "block_comment"],
    remark: "//",
    documentation: |_, _| false,
    definitions: &[Shape {
        kind: "method_declaration",
        name: &["name"],
        rest: "body",
    }],
    calls: &[Shape {
        kind: "method_invocation",
        name: &["object", "name"],
        rest: "arguments",
    }],
    own: &["this"],
    shadows: false,
    types_by_name: true,
    asserting: &["assert_statement"],
    assertions: &[
        "assert*",
        "*.assert*",
        "fail",
        "*.fail",
        "verify",
        "Mockito.verify",
        "verifyNo*",
        "expectThrows",
    ],
    claims: CLAIMS,
    roots: &["assertThat", "Assertions.assertThat", "Truth.assertThat", "then"],
    handle: "",
    failing: &[],
    not: ("!(", ")"),
    test,
    group: |tree, id| {
        let named = tree.is(
            id,
            &["class_declaration", "record_declaration", "interface_declaration"],
        );
        Some(tree.text(tree.field(id, "name").filter(|_| named)?).to_string())
    },
    helper: |_, _| true,
    testing: |_, _| false,
    numbers: NUMBERS,
    strings: &["string_literal"],
    characters: &["character_literal"],
    truths: ("true", "false"),
    nulls: &["null_literal"],
    wrappers: &[],
    types: &["integral_type", "floating_point_type", "type_identifier"],
    another: None,
    others: &[],
    operations: &["binary_expression", "assignment_expression", "update_expression"],
    returns: &["return_statement"],
    nothing,
    tails: false,
    statements: &["expression_statement"],
    kept: &[],
    empty_statement: ";",
    // Behind a literal falsehood the compiler would find code that nothing reaches.
    never: "Boolean.FALSE",
    conditions: &[("if_statement", "condition"), ("while_statement", "condition")],
    loops: &[("enhanced_for_statement", "value")],
    empty_iterable: |tree, id, _| {
        let element = tree.text(tree.field(id, "type")?);
        let boxed = PRIMITIVES
            .iter()
            .find(|(name, ..)| *name == element)
            .map_or(element, |(.., class)| class);
        Some(format!(
            "java.util.List.<{}>of()",
            if boxed == "var" { "Object" } else { boxed }
        ))
    },
    arid: &[
        "import_declaration",
        "package_declaration",
        "annotation",
        "marker_annotation",
        "type_arguments",
        "type_parameters",
    ],
    logs: &[
        "log.*",
        "logger.*",
        "LOG.*",
        "LOGGER.*",
        "*.log.*",
        "*.logger.*",
        "System.err.*",
    ],
    rooms: &["lambda_expression"],
    detached: &[],
    blocks: &["block"],
    heard: None,
    failure: |_, _| {
        Some(Failure {
            statement: "if (Boolean.TRUE) { throw new AssertionError(\"lx\"); }".to_string(),
            expression: None,
        })
    },
};

fn test(tree: &Tree<'_>, id: Id) -> Option<Case> {
    if tree.kind(id) != "method_declaration" {
        return None;
    }
    let modifiers = tree.children(id).find(|child| tree.kind(*child) == "modifiers")?;
    let marks: Vec<(&str, Id)> = tree
        .parts(modifiers)
        .filter(|part| tree.is(*part, &["annotation", "marker_annotation"]))
        .filter_map(|mark| Some((tree.text(tree.field(mark, "name")?).rsplit('.').next()?, mark)))
        .collect();
    let runs = [
        "Test",
        "ParameterizedTest",
        "RepeatedTest",
        "TestFactory",
        "TestTemplate",
        "Property",
    ];
    if !marks.iter().any(|(name, _)| runs.contains(name)) {
        return None;
    }
    let throws = |(name, mark): &&(&str, Id)| *name == "Test" && tree.text(*mark).contains("expected");
    let rows = marks
        .iter()
        .filter(|(name, _)| name.ends_with("Source"))
        .flat_map(|(_, mark)| {
            let list = tree
                .within(*mark)
                .find(|part| tree.kind(*part) == "element_value_array_initializer");
            list.map_or_else(|| vec![*mark], |list| tree.parts(list).collect())
        });
    let given = tree
        .field(id, "parameters")
        .is_some_and(|list| tree.parts(list).next().is_some());
    let base = tree.above(id).any(|above| tree.field(above, "superclass").is_some());
    Some(Case {
        name: tree.text(tree.field(id, "name")?).to_string(),
        body: tree.field(id, "body")?,
        whole: id,
        rows: rows.collect(),
        demands: u32::try_from(marks.iter().filter(throws).count()).unwrap_or(u32::MAX),
        conditional: given || base || marks.iter().any(|(_, mark)| tree.kind(*mark) == "annotation") || marks.len() > 1,
    })
}

/// What the method around returns when it does nothing; of a call, an object that is none.
fn nothing(tree: &Tree<'_>, id: Id) -> Option<String> {
    if tree.kind(id) != "return_statement" {
        return Some("null".to_string());
    }
    let around = tree
        .above(id)
        .find(|above| tree.is(*above, &["method_declaration", "lambda_expression"]))?;
    let kind = tree.field(around, "type").map_or("", |kind| tree.text(kind));
    let zero = PRIMITIVES
        .iter()
        .find(|(name, ..)| *name == kind)
        .map_or("null", |(_, zero, _)| zero);
    Some(zero.to_string())
}

#[cfg(test)]
mod tests {
    use crate::bench::{code, counted, holds, opposed, oracle, rows, spares};

    #[test]
    fn annotated_methods_are_tests_and_every_library_counts() {
        let source = "
class A {
  /** Doc. */
  @Test public void a() throws E {
    assertEquals(2, f(1));
    Assertions.assertThrows(X.class, () -> f(1));
    assertThat(x).as(\"y\").isEqualTo(3);
    assertThat(x, is(3));
    check(1);
    this.check(2);
    assert x > 1 : \"m\";
  }
  @Test(expected = X.class) void b() { f(1); }
  void check(int x) { assertTrue(x == 1); }
  @Nested class B { @ParameterizedTest @ValueSource(ints = {1, 2}) void c(int x) { fail(\"a\"); } }
  @Before void setUp() { assertNull(x); }
}
";
        let expected = [("A a", 7), ("A b", 1), ("A B c", 1)];
        assert_eq!(
            counted("A.java", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
        assert_eq!(
            rows(
                "A.java",
                "class A { @ParameterizedTest @ValueSource(ints = {1, 2}) void c(int x) {} }"
            ),
            2
        );
    }

    #[test]
    fn product_code_is_changed_by_every_operator_and_types_get_their_zeros() {
        let source = "
class A {
  @Size(max = 71) int f(int x) {
    log.info(\"said 72\");
    if (x > 1) { x += 1; g(x); return h(x) + 2; }
    while (x > 0) { x--; }
    for (int i : xs) { k(i); }
    return x;
  }
  Object o() { return p(); }
  boolean t() { return !x; }
}
";
        let found = code("A.java", source);
        holds(
            &found,
            &[
                "constant: 2 -> 3",
                "comparison: > -> <=",
                "arithmetic: += -> -=",
                "arithmetic: -- -> ++",
                "delete_statement: g(x); -> ;",
                "return_nothing: h(x) + 2 -> 0",
                "return_nothing: p() -> null",
                "return_nothing: !x -> false",
                "never: (x > 1) -> (Boolean.FALSE)",
                "never: (x > 0) -> (Boolean.FALSE)",
                "empty_iterable: xs -> java.util.List.<Integer>of()",
            ],
        );
        spares(&found, &["71", "72"]);
    }

    #[test]
    fn demands_are_changed_or_turned_in_the_way_of_the_library() {
        let source = "
class A {
  @Test void a() {
    assertEquals(2, f(1));
    assertEquals(\"why 3\", 4, f(1));
    assertEquals(5.0, f(1), 0.1);
    assertTrue(f(6));
    assertThat(f(1)).isEqualTo(7);
    assertThat(f(1)).isTrue();
    assert f(1) > 8 : \"why\";
  }
}
";
        let expected = [
            "2 -> 3",
            "4 -> 5",
            "assertEquals -> assertNotEquals",
            "assertTrue -> assertFalse",
            "7 -> 8",
            "isTrue -> isFalse",
            "f(1) > 8 -> !(f(1) > 8)",
        ];
        assert_eq!(oracle("A.java", source), expected);
    }

    #[test]
    fn two_values_of_one_call_contradict_each_other() {
        let both = |value: u8| {
            format!(
                "import static m.M.f;\nclass A {{ @Test void a() {{ assertEquals(2, f(1)); }}\n@Test void b() {{ assertEquals({value}, f(1)); }} }}"
            )
        };
        assert_eq!(opposed("A.java", &both(3)), ["f(1): 2 or 3"]);
        assert_eq!(opposed("A.java", &both(2)), Vec::<String>::new());
    }
}
