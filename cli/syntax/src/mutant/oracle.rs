//! Changes of what tests demand: another expected value or, where no literal is expected, the opposite.
//!
//! Only an equality whose one side is made of literals has an expected value. A bound that is moved by one, a part of
//! an alternative or an argument of the call under test may leave an honest test green: there the demand as a whole is
//! turned into its opposite. An expected value that has a name stands elsewhere, in a row of a table for instance: where
//! nobody minds types, another one of its kind, or a list that holds it, is demanded in its place; elsewhere the literals
//! that it is bound to are changed. An error that another one is asked to be becomes one that nobody knows.

use super::{Mutant, Operator, bound, change, literal, stitched};
use crate::tree::{Id, Tree};
use crate::{Span, assertion};

/// The import of the package that makes another error.
const ERRORS: &str = "errors\"";

pub(super) fn candidates(tree: &Tree<'_>, spans: &[Span]) -> Vec<Mutant> {
    let mut found = Vec::new();
    for id in tree.all() {
        let span = tree.node(id).span;
        if !assertion::is(tree, id) || !spans.iter().any(|test| test.contains(span)) {
            continue;
        }
        let demand = assertion::demand(tree, id);
        let before = found.len();
        if let Some((left, right)) = demand.equal.as_ref().or(demand.alike.as_ref()) {
            // A type of its own may not mind every part of a value.
            let minds = |side: &[Id]| demand.equal.is_some() || literals(tree, side) == 1;
            // With literals on both sides either is the expected one; then both are changed, one at a time.
            let expected =
                |side: &&Vec<Id>| (assertion::data(tree, side) || assertion::constructed(tree, side)) && minds(side);
            for side in [left, right].into_iter().filter(expected) {
                for token in assertion::tokens(tree, side) {
                    if let Some(other) = literal::other(tree, token) {
                        found.extend(change(tree, tree.node(token).span, Operator::Expectation, other));
                    }
                }
            }
            if found.len() == before {
                let other = || asked_for(tree, id, right);
                let named = another(tree, [left, right]).or_else(other);
                found.extend(named.or_else(|| bound(tree, (id, spans), [left, right], &minds)));
            }
        }
        if found.len() == before
            && let Some((span, opposite)) = demand.inverse
        {
            found.extend(change(tree, span, Operator::Inversion, opposite));
        }
    }
    found
}

/// The named side of an equality as something else; of two the second, which most libraries take as the expected one.
fn another(tree: &Tree<'_>, sides: [&Vec<Id>; 2]) -> Option<Mutant> {
    let (before, behind) = tree.grammar.another?;
    let side = sides.into_iter().rev().find(|side| assertion::named(tree, side))?;
    let span = assertion::span(tree, side)?;
    let text = std::str::from_utf8(tree.source.get(span.start..span.end)?).ok()?;
    change(tree, span, Operator::Expectation, format!("{before}{text}{behind}"))
}

/// What a function asks for as something else; none where the source cannot make one.
fn asked_for(tree: &Tree<'_>, assertion: Id, side: &[Id]) -> Option<Mutant> {
    let whole = assertion::decision(tree, assertion).map_or(assertion, |decision| {
        tree.field(decision, "condition").unwrap_or(decision)
    });
    let asks = |id| assertion::other(tree, &tree.call(id)?.callee);
    let (before, behind) = tree.within(whole).find_map(asks)?;
    let makes = tree.source.windows(ERRORS.len()).any(|part| part == ERRORS.as_bytes());
    let span = assertion::span(tree, side).filter(|_| makes)?;
    let text = std::str::from_utf8(tree.source.get(span.start..span.end)?).ok()?;
    change(tree, span, Operator::Expectation, format!("{before}{text}{behind}"))
}

fn literals(tree: &Tree<'_>, side: &[Id]) -> usize {
    let tokens = assertion::tokens(tree, side);
    tokens.iter().filter(|id| tree.literal(**id)).count()
}

/// Other literals where the named side of an equality gets its value; of two the first that is bound to literals.
fn bound(
    tree: &Tree<'_>,
    (assertion, spans): (Id, &[Span]),
    sides: [&Vec<Id>; 2],
    minds: &dyn Fn(&[Id]) -> bool,
) -> Option<Mutant> {
    if tree.grammar.another.is_some() {
        return None;
    }
    let test = tree
        .above(assertion)
        .find(|above| spans.contains(&tree.node(*above).span))?;
    sides.into_iter().find_map(|side| {
        let values = bound::values(tree, test, assertion, side)?;
        if !values.iter().all(|value| minds(value)) {
            return None;
        }
        let others = values.iter().map(|value| {
            let mut tokens = assertion::tokens(tree, value).into_iter();
            tokens.find_map(|token| Some((tree.node(token).span, literal::other(tree, token)?)))
        });
        let mutant = stitched(tree, Operator::Expectation, others.collect::<Option<_>>()?)?;
        let minded = assertion::span(tree, side);
        Some(Mutant { minded, ..mutant })
    })
}

/// The opposite of each assertion around one of these parts of it.
pub(super) fn opposites(tree: &Tree<'_>, parts: &[Span]) -> Vec<Mutant> {
    let opposite = |id| {
        let (span, opposite) = assertion::demand(tree, id).inverse?;
        change(tree, span, Operator::Inversion, opposite)
    };
    parts
        .iter()
        .flat_map(|part| minding(tree, *part).filter_map(opposite))
        .collect()
}

/// The assertions in which one of the sides that must be equal holds this part.
pub(super) fn minding(tree: &Tree<'_>, part: Span) -> impl Iterator<Item = Id> {
    tree.all().filter(move |id| {
        let is_around = |side: &Vec<Id>| assertion::span(tree, side).is_some_and(|side| side.contains(part));
        assertion::is(tree, *id) && {
            let demand = assertion::demand(tree, *id);
            let mut sides = demand.equal.iter().chain(&demand.alike);
            sides.any(|(left, right)| is_around(left) || is_around(right))
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::bench::oracle as changed;
    use crate::{Language, Operator, Span, What, mutants};

    #[test]
    fn the_opposite_is_demanded_where_an_expected_value_stands_and_nowhere_else() {
        let opposite = |path: &str, source: &str| {
            let language = Language::of(path).unwrap();
            let all = [Span {
                start: 0,
                end: source.len(),
            }];
            let values = mutants(language, source.as_bytes(), &What::Oracle(&all), 9).unwrap();
            let value = values
                .iter()
                .find(|mutant| mutant.operator == Operator::Expectation)
                .unwrap();
            let found = mutants(language, source.as_bytes(), &What::Opposite(&[value.span]), 9).unwrap();
            let told = |mutant: &crate::Mutant| format!("{} -> {}", mutant.original, mutant.replacement);
            found.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(
            opposite("a.py", "def test_a():\n    assert g()\n    assert f(1) == 2\n"),
            ["f(1) == 2 -> not (f(1) == 2)"]
        );
        assert_eq!(
            opposite("a.rs", "#[test]\nfn a() { assert_eq!(f(1), 2); assert!(g()); }\n"),
            ["assert_eq -> assert_ne"]
        );
        assert_eq!(
            opposite("a.js", "test('a', () => { expect(f(1)).toBe(2); });\n"),
            [" -> .not"]
        );
    }

    #[test]
    fn an_expected_value_is_changed_and_never_an_argument_or_a_message() {
        assert_eq!(
            changed("a.py", "def test_a():\n    assert f(1) == 2, 'why 3'\n"),
            ["2 -> 3"]
        );
        assert_eq!(
            changed("a.py", "def test_a():\n    assert [1, 'a'] == f(7)\n"),
            ["1 -> 2", "'a' -> '~a'"]
        );
        assert_eq!(
            changed(
                "a.rs",
                "#[test]\nfn a() { assert_eq!(f(1), Some(2), \"why {}\", 3); }\n"
            ),
            ["2 -> 3"]
        );
    }

    #[test]
    fn a_call_that_compares_is_an_equality_and_one_of_a_type_where_one_literal_is_all_there_is() {
        let go = |condition: &str| {
            let test = format!("if {condition} {{\nt.Fatal()\n}}");
            let found = changed(
                "a_test.go",
                &format!("package a\n\nfunc TestA(t *testing.T) {{\n{test}\n}}\n"),
            );
            found.into_iter().find(|told| !told.contains("!("))
        };
        assert_eq!(go("!reflect.DeepEqual(f(1), []int{2, 3})").as_deref(), Some("2 -> 3"));
        assert_eq!(go("!f(1).Equal(Money{2})").as_deref(), Some("2 -> 3"));
        assert_eq!(go("!f(1).Equal(Money{2, \"EUR\"})"), None);
        assert_eq!(go("f(1).Equal(Money{2})"), None);
        assert_eq!(go("!cmp.Equal(f(1), Money{2}, cmpopts.EquateEmpty())"), None);
    }

    #[test]
    fn a_bound_or_an_alternative_is_turned_into_its_opposite() {
        assert_eq!(
            changed("a.py", "def test_a():\n    assert f(1) > 0\n"),
            ["f(1) > 0 -> not (f(1) > 0)"]
        );
        assert_eq!(
            changed("a.py", "def test_a():\n    assert f(1) == 2 or f(1) == 3\n"),
            ["f(1) == 2 or f(1) == 3 -> not (f(1) == 2 or f(1) == 3)"]
        );
        assert_eq!(
            changed("a.rs", "#[test]\nfn a() { assert!(f(1) < 2); }\n"),
            ["f(1) < 2 -> !(f(1) < 2)"]
        );
        assert_eq!(
            changed("a.rs", "#[test]\nfn a() { assert_eq!(f(1), g(2)); }\n"),
            ["assert_eq -> assert_ne"]
        );
        assert_eq!(changed("a.rs", "#[test]\nfn a() { assert!(f(1) == 2); }\n"), ["2 -> 3"]);
    }

    #[test]
    fn a_value_of_a_named_type_is_changed_by_its_only_literal() {
        let rust = |expected: &str| format!("#[test]\nfn a() {{ assert_eq!(later(Time(7), 20), {expected}); }}\n");
        assert_eq!(changed("a.rs", &rust("Time(10)")), ["10 -> 11"]);
        assert_eq!(changed("a.rs", &rust("day::Time(10)")), ["10 -> 11"]);
        assert_eq!(changed("a.rs", &rust("Span(10, 2)")), ["assert_eq -> assert_ne"]);
        assert_eq!(changed("a.rs", &rust("time(10)")), ["assert_eq -> assert_ne"]);
        assert_eq!(
            changed("a.py", "def test_a():\n    assert f(1) == Cents(3)\n"),
            ["3 -> 4"]
        );
    }

    #[test]
    fn an_expected_value_that_has_a_name_becomes_another_of_its_kind_or_a_list_that_holds_it() {
        for (path, source, name) in [
            (
                "a.py",
                "def test_a(xs, want):\n    got = f(xs)\n    assert got == want\n",
                "want",
            ),
            (
                "a.py",
                "def test_a(case):\n    assert case.want == f(case.given)\n",
                "case.want",
            ),
            (
                "a.js",
                "test.each([[1, 2]])('a', (x, want) => { expect(f(x)).toEqual(want); });\n",
                "want",
            ),
        ] {
            let found = changed(path, source);
            let [one] = found.as_slice() else {
                panic!("{found:?}");
            };
            let is_kept = one.starts_with(&format!("{name} -> (")) && one.ends_with(&format!("[lx, 'lx'])({name})"))
                || one.ends_with(&format!("[lx, 'lx']))({name})"));
            assert!(is_kept, "{one}");
        }
        assert_eq!(
            changed("a.rs", "#[test]\nfn a() { let want = 2; assert_eq!(f(1), want); }\n"),
            ["2 -> 3"],
            "types would not fit"
        );
    }

    #[test]
    fn an_error_that_another_one_is_asked_to_be_becomes_one_that_nobody_knows() {
        let go = |import: &str, test: &str| {
            changed(
                "a_test.go",
                &format!("package a\n\nimport {import}\n\nfunc TestA(t *testing.T) {{\n{test}\n}}\n"),
            )
        };
        let other = "io.EOF -> func(error) error { return errors.New(\"lx\") }(io.EOF)";
        let asked = "if err := f(); !errors.Is(err, io.EOF) {\nt.Fatal()\n}";
        assert_eq!(go("\"errors\"", asked), [other]);
        assert_eq!(go("\"errors\"", "require.ErrorIs(t, f(), io.EOF)"), [other]);
        assert_eq!(
            go("\"io\"", "require.ErrorIs(t, f(), io.EOF)"),
            ["ErrorIs -> NotErrorIs"]
        );
        let denied = "if errors.Is(f(), io.EOF) {\nt.Fatal()\n}";
        assert!(!go("\"errors\"", denied).concat().contains("errors.New"));
    }

    #[test]
    fn a_tolerance_or_an_element_is_no_expected_value() {
        assert_eq!(
            changed("a.py", "def test_a():\n    assert f(1) == pytest.approx(100, abs=5)\n"),
            ["f(1) == pytest.approx(100, abs=5) -> not (f(1) == pytest.approx(100, abs=5))"]
        );
        assert_eq!(changed("a.py", "def test_a():\n    assert xs[0] == 3\n"), ["3 -> 4"]);
    }
}
