//! Rust: the built-in harness, and what looks like it (`tokio::test`, rstest, test-case).

use crate::grammar::Inverse::{Name, Wrap};
use crate::grammar::{Case, Claim, Failure, Grammar, Shape};
use crate::tree::{Id, Tree};

const CLAIMS: &[Claim] = &[
    Claim {
        callee: "assert_eq!",
        equal: true,
        inverse: Name("assert_ne"),
    },
    Claim {
        callee: "assert_ne!",
        equal: false,
        inverse: Name("assert_eq"),
    },
    Claim {
        callee: "assert!",
        equal: false,
        inverse: Wrap("!(", ")"),
    },
    Claim {
        callee: "debug_assert_eq!",
        equal: true,
        inverse: Name("debug_assert_ne"),
    },
    Claim {
        callee: "debug_assert_ne!",
        equal: false,
        inverse: Name("debug_assert_eq"),
    },
    Claim {
        callee: "debug_assert!",
        equal: false,
        inverse: Wrap("!(", ")"),
    },
    Claim {
        callee: "prop_assert_eq!",
        equal: true,
        inverse: Name("prop_assert_ne"),
    },
    Claim {
        callee: "prop_assert_ne!",
        equal: false,
        inverse: Name("prop_assert_eq"),
    },
    Claim {
        callee: "prop_assert!",
        equal: false,
        inverse: Wrap("!(", ")"),
    },
];

/// A failure at the end of what it stands in, however that is left, but by the end of the process: where a runner gives each
/// test a process, a product that ends it with status 0 would be a test that passed. One that fails by itself fails once.
const FAILS_AT_THE_END: &str = "let _lx = { struct Lx; impl Drop for Lx { fn drop(&mut self) { if !std::thread::panicking() { panic!(\"lx\"); } } } Lx };";
const FAILS_AROUND: &str = "{ let _lx = { struct Lx; impl Drop for Lx { fn drop(&mut self) { if !std::thread::panicking() { panic!(\"lx\"); } } } Lx }; ";

pub(super) static GRAMMAR: Grammar = Grammar {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    comments: &["line_comment", "block_comment"],
    remark: "//",
    documentation: |_, _| false,
    definitions: &[Shape {
        kind: "function_item",
        name: &["name"],
        rest: "body",
    }],
    calls: &[
        Shape {
            kind: "call_expression",
            name: &["function"],
            rest: "arguments",
        },
        Shape {
            kind: "macro_invocation",
            name: &["macro"],
            rest: "token_tree",
        },
    ],
    own: &["self", "Self", "super"],
    shadows: false,
    types_by_name: true,
    asserting: &[],
    assertions: &["assert*", "*.assert*", "debug_assert*", "prop_assert*", "panic!"],
    claims: CLAIMS,
    roots: &[],
    handle: "",
    failing: &[],
    not: ("!(", ")"),
    test,
    group: |tree, id| {
        let name = tree.field(id, "name").filter(|_| tree.kind(id) == "mod_item")?;
        Some(tree.text(name).to_string())
    },
    helper,
    testing,
    numbers: &["integer_literal", "float_literal"],
    strings: &["string_literal", "raw_string_literal"],
    characters: &["char_literal"],
    truths: ("true", "false"),
    nulls: &[],
    wrappers: &["Some", "None", "Ok", "Err", "vec"],
    types: &["primitive_type"],
    another: None,
    others: &[],
    operations: &["binary_expression", "compound_assignment_expr"],
    returns: &["return_expression"],
    nothing: |_, _| Some("Default::default()".to_string()),
    tails: true,
    statements: &["expression_statement"],
    kept: &[
        "if_expression",
        "while_expression",
        "for_expression",
        "loop_expression",
        "match_expression",
        "block",
        "unsafe_block",
    ],
    empty_statement: "();",
    never: "false",
    conditions: &[("if_expression", "condition"), ("while_expression", "condition")],
    loops: &[("for_expression", "value")],
    empty_iterable: |_, _, text| Some(format!("({text}).into_iter().take(0)")),
    arid: &[
        "attribute_item",
        "inner_attribute_item",
        "use_declaration",
        "extern_crate_declaration",
        "type_arguments",
        "type_parameters",
        "where_clause",
        "macro_definition",
        "array_type",
    ],
    logs: &[
        "log.*",
        "tracing.*",
        "trace!",
        "debug!",
        "info!",
        "warn!",
        "error!",
        "eprintln!",
        "dbg!",
    ],
    rooms: &["closure_expression", "function_item"],
    detached: &[],
    blocks: &["block"],
    heard: None,
    failure: |_, _| {
        Some(Failure {
            statement: FAILS_AT_THE_END.to_string(),
            expression: Some((FAILS_AROUND, " }")),
        })
    },
};

/// Marks of an item: name and arguments, nearest last.
fn marks(tree: &Tree<'_>, item: Id) -> Vec<(String, Option<Id>)> {
    let mut found = Vec::new();
    let mut at = tree.node(item).before;
    while let Some(before) = at.filter(|id| tree.comment(*id) || tree.kind(*id) == "attribute_item") {
        let attribute = tree.parts(before).next().filter(|_| !tree.comment(before));
        if let Some(path) = attribute.and_then(|attribute| tree.parts(attribute).next()) {
            let arguments = attribute.and_then(|attribute| tree.field(attribute, "arguments"));
            found.push((tree.dotted(path), arguments));
        }
        at = tree.node(before).before;
    }
    found.reverse();
    found
}

fn test(tree: &Tree<'_>, id: Id) -> Option<Case> {
    if tree.kind(id) != "function_item" {
        return None;
    }
    let marks = marks(tree, id);
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_string();
    let runs = |name: &str| {
        [
            "test",
            "rstest",
            "test_case",
            "quickcheck",
            "proptest",
            "wasm_bindgen_test",
        ]
        .contains(&last(name).as_str())
    };
    if !marks.iter().any(|(name, _)| runs(name)) {
        return None;
    }
    let rows = |(name, arguments): &(String, Option<Id>)| {
        arguments.filter(|_| ["case", "test_case"].contains(&last(name).as_str()))
    };
    let panics = marks.iter().filter(|(name, _)| name == "should_panic").count();
    let conditional = marks.iter().any(|(name, _)| name != "test" && name != "should_panic")
        || tree
            .field(id, "parameters")
            .is_some_and(|list| tree.parts(list).next().is_some());
    Some(Case {
        name: tree.text(tree.field(id, "name")?).to_string(),
        body: tree.field(id, "body")?,
        whole: id,
        rows: marks.iter().filter_map(rows).collect(),
        demands: u32::try_from(panics).unwrap_or(u32::MAX),
        conditional,
    })
}

/// An item that is compiled for tests alone.
fn testing(tree: &Tree<'_>, id: Id) -> bool {
    tree.is(id, &["mod_item", "function_item", "impl_item"])
        && marks(tree, id).iter().any(|(name, arguments)| {
            let tokens = |list: &Id| tree.within(*list).map(|part| tree.text(part));
            name == "cfg"
                && arguments
                    .is_some_and(|list| tokens(&list).any(|t| t == "test") && !tokens(&list).any(|t| t == "not"))
        })
}

/// Where tests stand apart from a product, only what stands with them is a helper: an assertion of the product is the
/// product's own affair. A file of nothing but tests has no product, and hands out what is public.
fn helper(tree: &Tree<'_>, id: Id) -> bool {
    let apart = *tree
        .apart
        .get_or_init(|| tree.all().any(|id| tree.kind(id) == "mod_item" && testing(tree, id)));
    if apart {
        return testing(tree, id) || tree.above(id).any(|above| testing(tree, above));
    }
    !tree.children(id).any(|child| tree.kind(child) == "visibility_modifier")
}

#[cfg(test)]
mod tests {
    use crate::bench::{code, counted, holds, opposed, oracle, rows, spares};

    #[test]
    fn marked_functions_are_tests_and_assertions_of_the_product_are_its_own() {
        let source = "
pub fn f(x: u32) -> u32 { assert!(x > 1); check(x); x }
fn check(x: u32) { debug_assert!(x > 0); }
#[cfg(test)]
mod tests {
    use super::*;
    /// Says why.
    #[test]
    // and how
    fn a() {
        assert_eq!(f(2), 2, \"m {}\", 3);
        assert!(matches!(x, Some(_)));
        f(3);
        helper(1);
    }
    #[tokio::test]
    async fn b() { assert_ne!(f(2), 3) }
    #[test]
    #[should_panic(expected = \"x\")]
    fn c() { f(0); }
    fn helper(x: u32) { assert!(x == 1); }
    #[allow(unused)]
    fn d() { assert!(true) }
    const TEXT: &str = \"#[test] fn e() { assert!(true) }\";
}
";
        let expected = [("tests a", 3), ("tests b", 1), ("tests c", 1)];
        assert_eq!(
            counted("a.rs", source),
            expected.map(|(name, count)| (name.to_string(), count))
        );
    }

    #[test]
    fn assertions_inside_of_other_macros_count() {
        let source = "#[test]\nfn a() { select! { x => { assert!(x); assert_eq!(x, 1); } } }\n";
        assert_eq!(counted("a.rs", source), [("a".to_string(), 2)]);
    }

    #[test]
    fn rows_of_parameters_are_counted() {
        assert_eq!(
            rows(
                "a.rs",
                "#[rstest]\n#[case(1, 2)]\n#[case(3, 4)]\nfn a(#[case] x: u8, #[case] y: u8) {}\n"
            ),
            2
        );
        assert_eq!(rows("a.rs", "#[test_case(1; \"one\")]\nfn a(x: u8) {}\n"), 1);
    }

    #[test]
    fn product_code_is_changed_by_every_operator_and_tests_are_not() {
        let source = "
/// Doc 71.
#[derive(Debug)]
#[repr(align(72))]
fn f(mut x: [u8; 73]) -> u32 {
    info!(\"said 74\");
    if x > 1 { x += 1; g(x); return h(x) - 2; }
    while x { break }
    for i in 0..5 { k(i); }
    x * 3
}
#[cfg(test)]
mod tests { #[test] fn a() { assert_eq!(f(75), 76); } }
";
        let found = code("a.rs", source);
        holds(
            &found,
            &[
                "constant: 5 -> 6",
                "comparison: > -> <=",
                "arithmetic: += -> -=",
                "arithmetic: * -> /",
                "delete_statement: g(x); -> ();",
                "return_nothing: h(x) - 2 -> Default::default()",
                "return_nothing: x * 3 -> Default::default()",
                "call_nothing: h(x) -> Default::default()",
                "never: x > 1 -> false",
                "never: x -> false",
                "empty_iterable: 0..5 -> (0..5).into_iter().take(0)",
            ],
        );
        spares(&found, &["71", "72", "73", "74", "75", "76"]);
    }

    #[test]
    fn demands_are_changed_inside_their_macros() {
        let source = "
#[test]
fn a() {
    assert_eq!(f(1), vec![2, 3]);
    assert_eq!(f(1).len(), 4_usize, \"why {}\", 5);
    assert_ne!(f(1), 6);
    assert!(f(1), \"why {}\", 7);
    assert_eq!(f(1), None);
    assert_eq!(Some(\"a\"), f(8));
}
";
        let expected = [
            "2 -> 3",
            "4_usize -> 5_usize",
            "assert_ne -> assert_eq",
            "f(1) -> !(f(1))",
            "assert_eq -> assert_ne",
            "\"a\" -> \"~a\"",
            "3 -> 4",
        ];
        assert_eq!(oracle("a.rs", source), expected);
    }

    #[test]
    fn two_values_of_one_call_contradict_each_other_and_state_explains_them() {
        let tests = |a: &str, b: &str| {
            format!(
                "fn f(x: u8) -> u8 {{ x }}\n#[cfg(test)]\nmod tests {{ use super::*;\n#[test]\nfn a() {{ {a} }}\n#[test]\nfn b() {{ {b} }}\n}}"
            )
        };
        assert_eq!(
            opposed("a.rs", &tests("assert_eq!(f(1), 2);", "assert_eq!(f(1), 3)")),
            ["f(1): 2 or 3"]
        );
        for other in [
            "let x = 1; assert_eq!(f(1), 3)",
            "assert_eq!(f(x), 3)",
            "assert_ne!(f(1), 3)",
            "assert_eq!(f(1), 2)",
        ] {
            assert_eq!(
                opposed("a.rs", &tests("assert_eq!(f(1), 2);", other)),
                Vec::<String>::new(),
                "{other}"
            );
        }
    }
}
