//! Expected values that have a name: what it was bound to, in the same test.
//!
//! ```text
//!   let want = 3; assert_eq!(f(1), want)                 a variable
//!   for (x, want) in [(1, 2), (3, 4)] { .. want .. }     a column of a table of tuples
//!   for _, tt := range tests { .. tt.want .. }           a column of a table of structs
//! ```
//!
//! Where a language minds types no other value can be put in the name's place, and the literals of all rows are changed
//! instead. Only where the assertion is all that the name is used for: whatever else reads it would read another value.

use crate::grammar::any;
use crate::tree::{Id, Tree};
use crate::{Span, assertion};

/// Longer tables are left alone: what was changed is recorded.
const TABLE_MAX_BYTES: usize = 4096;
/// Names of names that are followed.
const STEPS_MAX: usize = 3;

/// A value, as a list of neighbouring nodes.
type Side = Vec<Id>;

/// The literals that the named side of this assertion stands for, in the order of the source; none where it cannot be
/// said for certain.
pub(super) fn values(tree: &Tree<'_>, test: Id, assertion: Id, side: &[Id]) -> Option<Vec<Side>> {
    let name = Name::of(tree, side)?;
    let found = match &name {
        Name::Plain(name) => {
            let (binding, place) = binding(tree, test, name)?;
            only_for(tree, test, assertion, side, name, &[binding])?;
            match place {
                Place::Value(value) => vec![vec![value]],
                Place::Column(table, column) => rows(tree, test, &table, STEPS_MAX)?
                    .iter()
                    .map(|row| elements(tree, row)?.get(column).cloned())
                    .collect::<Option<Vec<Side>>>()?,
            }
        }
        Name::Member(base, member) => {
            let (_, table) = looped(tree, test, base)?;
            whole_row_goes_nowhere(tree, test, base)?;
            only_for(tree, test, assertion, side, member, &[])?;
            let rows = rows(tree, test, &table, STEPS_MAX)?;
            rows.iter()
                .map(|row| field(tree, row, member))
                .collect::<Option<Vec<Side>>>()?
        }
    };
    let span = Span {
        start: assertion::span(tree, found.first()?)?.start,
        end: assertion::span(tree, found.last()?)?.end,
    };
    let fits = span
        .end
        .checked_sub(span.start)
        .is_some_and(|bytes| bytes <= TABLE_MAX_BYTES);
    let literal = |side: &Side| assertion::data(tree, side) || assertion::constructed(tree, side);
    (fits && found.iter().all(literal)).then_some(found)
}

/// How the side of an equality is called.
enum Name<'s> {
    Plain(&'s str),
    Member(&'s str, &'s str),
}

impl<'s> Name<'s> {
    fn of(tree: &Tree<'s>, side: &[Id]) -> Option<Self> {
        let words: Vec<&str> = assertion::tokens(tree, side)
            .into_iter()
            .map(|id| tree.text(id))
            .collect();
        match words.as_slice() {
            [name] | ["*" | "&", name] if is_word(name) => Some(Self::Plain(name)),
            [base, ".", member] if is_word(base) && is_word(member) => Some(Self::Member(base, member)),
            _ => None,
        }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// What a variable stands for.
enum Place {
    Value(Id),
    /// A column of this table of tuples.
    Column(Side, usize),
}

/// Where the name gets its value, when that is one place: the name there, and what it stands for.
fn binding(tree: &Tree<'_>, test: Id, name: &str) -> Option<(Id, Place)> {
    let mut found = tree.within(test).filter_map(|id| match tree.kind(id) {
        "let_declaration" => {
            let pattern = tree
                .field(id, "pattern")
                .filter(|pattern| tree.text(*pattern) == name)?;
            Some((pattern, Place::Value(tree.field(id, "value")?)))
        }
        "short_var_declaration" => {
            let [left, right] = ["left", "right"].map(|side| tree.field(id, side));
            let (left, right) = (only(tree, left?)?, only(tree, right?)?);
            (tree.text(left) == name).then_some((left, Place::Value(right)))
        }
        "for_expression" => {
            let pattern = bare(tree, tree.field(id, "pattern")?);
            let columns: Vec<Id> = tree.parts(pattern).collect();
            let plain = tree.kind(pattern) == "tuple_pattern" && !columns.iter().any(|part| tree.text(*part) == "..");
            let own = |part: &Id| tree.text(bare(tree, *part)) == name;
            let at = columns.iter().position(own).filter(|_| plain)?;
            let table = vec![tree.field(id, "value")?];
            Some((bare(tree, *columns.get(at)?), Place::Column(table, at)))
        }
        _ => None,
    });
    found.next().filter(|_| found.next().is_none())
}

/// The loop that gives each row this name: the name there, and the table.
fn looped(tree: &Tree<'_>, test: Id, name: &str) -> Option<(Id, Side)> {
    let mut found = tree.within(test).filter_map(|id| match tree.kind(id) {
        "for_expression" => {
            let pattern = bare(tree, tree.field(id, "pattern")?);
            (tree.text(pattern) == name).then_some((pattern, vec![tree.field(id, "value")?]))
        }
        "range_clause" => {
            let last = tree.parts(tree.field(id, "left")?).last()?;
            (tree.text(last) == name).then_some((last, vec![tree.field(id, "right")?]))
        }
        _ => None,
    });
    found.next().filter(|_| found.next().is_none())
}

/// Without the marks of a reference.
fn bare(tree: &Tree<'_>, id: Id) -> Id {
    match tree.kind(id) {
        "reference_pattern" | "reference_expression" | "literal_element" | "parenthesized_expression" => {
            tree.parts(id).last().map_or(id, |inner| bare(tree, inner))
        }
        _ => id,
    }
}

fn only(tree: &Tree<'_>, list: Id) -> Option<Id> {
    let mut parts = tree.parts(list);
    let first = parts.next()?;
    parts.next().is_none().then_some(first)
}

/// The rows of a table that stands here, or that a variable of the test, used for nothing else, stands for.
fn rows(tree: &Tree<'_>, test: Id, table: &[Id], steps: usize) -> Option<Vec<Side>> {
    let [table] = table else { return None };
    let table = bare(tree, *table);
    match tree.kind(table) {
        "array_expression" => Some(tree.parts(table).map(|row| vec![row]).collect()),
        "macro_invocation" if tree.call(table)?.callee == "vec!" => Some(tree.call(table)?.arguments),
        "call_expression" => {
            let function = tree.field(table, "function")?;
            let plain = tree.field(function, "field").map(|field| tree.text(field));
            let value = tree
                .field(function, "value")
                .filter(|_| matches!(plain, Some("iter" | "into_iter")))?;
            rows(tree, test, &[value], steps)
        }
        "composite_literal" => {
            let body = tree.field(table, "body")?;
            let value = |id: Id| match tree.kind(id) {
                "keyed_element" => tree.parts(id).last(),
                _ => Some(id),
            };
            tree.parts(body)
                .map(|row| value(row).map(|id| vec![bare(tree, id)]))
                .collect()
        }
        "identifier" if steps > 0 => {
            let name = tree.text(table);
            let (binding, Place::Value(value)) = binding(tree, test, name)? else {
                return None;
            };
            let leaves = tree.within(test).filter(|id| tree.leaf(*id) && tree.text(*id) == name);
            let uses = leaves.filter(|id| ![binding, table].contains(id)).count();
            (uses == 0).then(|| rows(tree, test, &[value], steps - 1)).flatten()
        }
        _ => None,
    }
}

/// The parts of a row of a table of tuples.
fn elements(tree: &Tree<'_>, row: &[Id]) -> Option<Vec<Side>> {
    let [row] = row else { return None };
    match tree.kind(*row) {
        "tuple_expression" => Some(tree.parts(*row).map(|part| vec![part]).collect()),
        "token_tree" => Some(tree.split(*row)),
        _ => None,
    }
}

/// The value of a member in a row: by its name, or by where the type of the table declares it.
fn field(tree: &Tree<'_>, row: &[Id], member: &str) -> Option<Side> {
    let [row] = row else { return None };
    let body = match tree.kind(*row) {
        "struct_expression" | "composite_literal" => tree.field(*row, "body")?,
        "literal_value" => *row,
        _ => return None,
    };
    let parts: Vec<Id> = tree.parts(body).collect();
    let named = parts.iter().find_map(|part| match tree.kind(*part) {
        "keyed_element" => {
            let (key, value) = (tree.parts(*part).next()?, tree.parts(*part).last()?);
            (tree.text(bare(tree, key)) == member).then_some(bare(tree, value))
        }
        "field_initializer" => {
            let name = tree.field(*part, "field").or_else(|| tree.field(*part, "name"))?;
            (tree.text(name) == member)
                .then(|| tree.field(*part, "value"))
                .flatten()
        }
        _ => None,
    });
    let keyed = parts
        .iter()
        .any(|part| tree.is(*part, &["keyed_element", "field_initializer"]));
    if keyed || named.is_some() {
        return named.map(|value| vec![value]);
    }
    let declared = declared(tree, *row)?;
    let at = declared.iter().position(|name| *name == member)?;
    (parts.len() == declared.len()).then_some(())?;
    parts.get(at).map(|part| vec![bare(tree, *part)])
}

/// The members of the type that the literal around a row spells out, in order.
fn declared<'s>(tree: &Tree<'s>, row: Id) -> Option<Vec<&'s str>> {
    let table = tree.above(row).find(|above| tree.kind(*above) == "composite_literal")?;
    let kind = tree.field(table, "type")?;
    let list = tree
        .within(kind)
        .find(|id| tree.kind(*id) == "field_declaration_list")?;
    let names = tree.parts(list).flat_map(|declaration| {
        let names = tree.parts(declaration).filter(|part| tree.role(*part) == "name");
        names.map(|name| tree.text(name)).collect::<Vec<_>>()
    });
    Some(names.collect())
}

/// Every use of the name is its binding, this side of the assertion, or a word of what is said when it fails.
fn only_for(tree: &Tree<'_>, test: Id, assertion: Id, side: &[Id], name: &str, bindings: &[Id]) -> Option<()> {
    let known = tree.grammar;
    let says = |id: Id| {
        let call = tree.call(id);
        call.is_some_and(|call| any(known.failing, &call.callee) || any(known.logs, &call.callee))
    };
    let is_said = |id: Id| tree.above(id).any(|above| above == assertion || says(above));
    let is_key = |id: Id| {
        let element = tree.above(id).find(|above| !tree.is(*above, &["literal_element"]));
        let declares = |above: &Id| tree.kind(*above) == "field_declaration" && tree.role(id) == "name";
        let keyed = element.filter(|above| tree.is(*above, &["keyed_element", "field_initializer"]));
        let first = keyed.and_then(|keyed| tree.parts(keyed).next());
        element.is_some_and(|above| declares(&above)) || first.is_some_and(|key| tree.within(key).contains(&id))
    };
    let in_side = |id: Id| side.iter().any(|part| tree.within(*part).contains(&id));
    let leaves = tree.within(test).filter(|id| tree.leaf(*id) && tree.text(*id) == name);
    let mut others = leaves.filter(|id| !bindings.contains(id) && !in_side(*id) && !is_said(*id) && !is_key(*id));
    others.next().is_none().then_some(())
}

/// The row is only ever asked for its members, or bound once more to its own name.
fn whole_row_goes_nowhere(tree: &Tree<'_>, test: Id, base: &str) -> Option<()> {
    let is_asked = |id: Id| {
        let next = tree.within(id).end;
        let asked = next < tree.all().end && tree.text(next) == ".";
        let parent = tree
            .above(id)
            .find(|above| !tree.is(*above, &["expression_list", "reference_pattern"]));
        let bound = parent
            .filter(|above| tree.is(*above, &["range_clause", "for_expression"]))
            .is_some_and(|looped| {
                let name = tree.field(looped, "left").or_else(|| tree.field(looped, "pattern"));
                name.is_some_and(|name| tree.within(name).contains(&id))
            });
        let again = parent.is_some_and(|above| {
            let words: Vec<&str> = tree
                .within(above)
                .filter(|id| tree.leaf(*id))
                .map(|id| tree.text(id))
                .collect();
            tree.kind(above) == "short_var_declaration" && words == [base, ":=", base]
        });
        asked || bound || again
    };
    let mut leaves = tree.within(test).filter(|id| tree.leaf(*id) && tree.text(*id) == base);
    leaves.all(is_asked).then_some(())
}

#[cfg(test)]
mod tests {
    use crate::bench::oracle as changed;

    fn go(body: &str) -> Vec<String> {
        let source = format!("package a\n\nfunc TestA(t *testing.T) {{\n{body}\n}}\n");
        let found = changed("a_test.go", &source);
        found.into_iter().filter(|told| !told.contains("!(")).collect()
    }

    fn rust(body: &str) -> Vec<String> {
        let found = changed("a.rs", &format!("#[test]\nfn a() {{ {body} }}\n"));
        found.into_iter().filter(|told| !told.contains("assert_ne")).collect()
    }

    const CHECKS: &str = "for _, tt := range tests {\ntt := tt\nif got := f(tt.in); got != tt.want {\nt.Errorf(\"%d %d\", got, tt.want)\n}\n}";

    #[test]
    fn a_column_of_a_table_is_changed_in_every_row() {
        let keyed = "tests := []struct{ in, want int }{{in: 1, want: 2}, {in: 3, want: 4}}";
        assert_eq!(
            go(&format!("{keyed}\n{CHECKS}")),
            ["2}, {in: 3, want: 4 -> 3}, {in: 3, want: 5"]
        );
        let plain = "tests := []struct {\nin int\nwant string\n}{{1, \"a\"}, {3, \"b\"}}";
        assert_eq!(
            go(&format!("{plain}\n{CHECKS}")),
            ["\"a\"}, {3, \"b\" -> \"~a\"}, {3, \"~b\""]
        );
        let map = "tests := map[string]struct{ in, want int }{\"x\": {in: 1, want: 2}}";
        assert_eq!(go(&format!("{map}\n{CHECKS}")), ["2 -> 3"]);
        assert_eq!(
            rust("for (x, want) in [(1, 2), (3, 4)] { assert_eq!(f(x), want, \"{want} {}\", want); }"),
            ["2), (3, 4 -> 3), (3, 5"]
        );
        assert_eq!(
            rust(
                "let cases = vec![(1, \"a\"), (3, \"b\")]; for &(x, want) in cases.iter() { assert_eq!(f(x), want); }"
            ),
            ["\"a\"), (3, \"b\" -> \"~a\"), (3, \"~b\""]
        );
        assert_eq!(
            rust("for case in [Case { x: 1, want: 2 }] { assert_eq!(f(case.x), case.want); }"),
            ["2 -> 3"]
        );
    }

    #[test]
    fn a_variable_is_changed_where_it_is_bound() {
        assert_eq!(rust("let want = Some(3); assert_eq!(f(1), want);"), ["3 -> 4"]);
        assert_eq!(
            go("want := 3\nif got := f(1); want != got {\nt.Fatalf(\"%d\", want)\n}"),
            ["3 -> 4"]
        );
    }

    #[test]
    fn what_is_read_elsewhere_or_is_no_literal_in_some_row_is_left_alone() {
        for body in [
            "let want = 3; g(want); assert_eq!(f(1), want);",
            "let want = g(3); assert_eq!(f(1), want);",
            "let want = 3; let want = 4; assert_eq!(f(1), want);",
            "for (x, want) in [(1, 2), (3, g(4))] { assert_eq!(f(x), want); }",
            "let cases = [(1, 2)]; g(&cases); for (x, want) in cases { assert_eq!(f(x), want); }",
            "for case in [Case { x: 1, want: 2 }] { g(&case); assert_eq!(f(case.x), case.want); }",
        ] {
            assert_eq!(rust(body), [""; 0], "{body}");
        }
        let table = "tests := []struct{ in, want int }{{in: 1, want: 2}, {in: 3}}";
        assert_eq!(go(&format!("{table}\n{CHECKS}")), [""; 0], "a row without the value");
        let table = "tests := []struct{ in, want int }{{in: 1, want: 2}}";
        let skips = CHECKS.replace("tt := tt", "if tt.want == 2 { continue }");
        assert_eq!(go(&format!("{table}\n{skips}")), [""; 0]);
        let passed = CHECKS.replace("tt := tt", "check(t, tt)");
        assert_eq!(go(&format!("{table}\n{passed}")), [""; 0]);
    }
}
