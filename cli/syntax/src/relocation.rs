//! Whether a test that stands within a product is the same test in another source.
//!
//! ```text
//!   the test      its body, its arguments and its marks
//!   beside it     what the parts that hold nothing but tests define: nothing new, and all that the test speaks of
//!   by name       no macro or assertion that it calls is another one there
//! ```
//!
//! What it tests is the product, which may be anything (SPEC 5.3.3).

use std::collections::HashSet;

use crate::Language;
use crate::body::{self, Body};
use crate::grammar::{Case, any};
use crate::suite::cases;
use crate::tree::{Id, Tree, Unknown};

/// Whether the test `is` of one source demands what the test `was` of another does, with the same words. Only tests that
/// stand in parts for tests alone are known again.
///
/// # Errors
/// [`Unknown`] where nothing can be said about one of the sources.
pub fn is_same_test(
    language: Language,
    (before, was): (&[u8], &[String]),
    (after, is): (&[u8], &[String]),
) -> Result<bool, Unknown> {
    let (before, after) = (
        Tree::parse(language.grammar, before)?,
        Tree::parse(language.grammar, after)?,
    );
    let (Some(before), Some(after)) = (Place::of(&before, was), Place::of(&after, is)) else {
        return Ok(false);
    };
    Ok(before.whole() == after.whole() && before.surrounds_as(&after) && before.speaks_as(&after))
}

/// A test and where it stands.
pub(crate) struct Place<'t, 's> {
    pub(crate) tree: &'t Tree<'s>,
    case: Case,
    /// The outermost part around it that holds nothing but tests.
    around: Id,
    tests: HashSet<Id>,
}

/// An item beside tests.
pub(crate) struct Part {
    pub(crate) id: Id,
    pub(crate) form: Body,
    pub(crate) imports: bool,
}

impl<'t, 's> Place<'t, 's> {
    /// The only test of this path.
    pub(crate) fn of(tree: &'t Tree<'s>, path: &[String]) -> Option<Self> {
        let cases = cases(tree);
        let tests = cases.iter().map(|(_, case)| case.whole).collect();
        let mut named = cases.into_iter().filter(|(known, _)| known == path);
        let (_, case) = named.next().filter(|_| named.next().is_none())?;
        let testing = |id: &Id| (tree.grammar.testing)(tree, *id);
        let around = tree.above(case.whole).filter(testing).last()?;
        Some(Self {
            tree,
            case,
            around,
            tests,
        })
    }

    /// The test with its marks, without its name.
    pub(crate) fn whole(&self) -> Vec<Body> {
        let own = Some(self.case.name.as_str());
        let marks = marks(self.tree, self.case.whole);
        marks
            .chain([self.case.whole])
            .map(|id| body::of(self.tree, id, own))
            .collect()
    }

    /// Nothing stands beside the other that does not beside this one but imports, and nothing is gone that the other
    /// speaks of.
    fn surrounds_as(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.parts(), other.parts());
        let (Some(mine), Some(theirs)) = (mine, theirs) else {
            return self.form_of_around() == other.form_of_around();
        };
        let stands = |part: &Part, among: &[Part]| among.iter().any(|known| known.form == part.form);
        if !theirs.iter().all(|part| part.imports || stands(part, &mine)) {
            return false;
        }
        let spoken: HashSet<&str> = theirs
            .iter()
            .map(|part| part.id)
            .chain([other.case.whole])
            .flat_map(|id| other.words(id))
            .collect();
        let gone = mine.iter().filter(|part| !part.imports && !stands(part, &theirs));
        gone.into_iter().all(|part| {
            let names = self.names(part.id);
            !names.is_empty() && !names.iter().any(|name| spoken.contains(name))
        })
    }

    /// What brings the macros and assertions of the test into its source is the same in both.
    pub(crate) fn speaks_as(&self, other: &Self) -> bool {
        let called = self.called();
        let brings = |place: &Self| -> HashSet<Body> {
            let tree = place.tree;
            let defines = |id: &Id| tree.is(*id, &["macro_definition", "use_declaration"]);
            let speaks = |id: &Id| place.words(*id).any(|word| called.contains(word));
            let named = |id: &Id| match tree.field(*id, "name") {
                Some(name) => called.contains(tree.text(name)),
                None => speaks(id),
            };
            let found = tree.all().filter(defines).filter(named);
            found.map(|id| body::of(tree, id, None)).collect()
        };
        brings(self) == brings(other)
    }

    /// Names of macros and of assertions that the test calls.
    fn called(&self) -> HashSet<&'s str> {
        let words: Vec<Id> = self
            .tree
            .within(self.case.whole)
            .filter(|id| self.tree.leaf(*id))
            .collect();
        let next_is_mark = |at: usize| words.get(at + 1).is_some_and(|next| self.tree.text(*next) == "!");
        let names = words.iter().enumerate().map(|(at, id)| (at, self.tree.text(*id)));
        names
            .filter(|(at, name)| next_is_mark(*at) || any(self.tree.grammar.assertions, name))
            .map(|(_, name)| name)
            .collect()
    }

    /// Items of the part for tests that are no tests; none where the language keeps no list of items there.
    pub(crate) fn parts(&self) -> Option<Vec<Part>> {
        let mut open = vec![self.around];
        let mut found = Vec::new();
        while let Some(group) = open.pop() {
            let list = self
                .tree
                .field(group, "body")
                .filter(|_| self.tree.kind(group) == "mod_item")?;
            for id in self.tree.parts(list) {
                if self.tests.contains(&id) || self.tree.is(id, &["attribute_item", "inner_attribute_item"]) {
                    continue;
                }
                let holds_tests = self.tree.within(id).any(|within| self.tests.contains(&within));
                if holds_tests {
                    open.push(id);
                    continue;
                }
                let mut hasher = blake3::Hasher::new();
                for part in marks(self.tree, id).chain([id]) {
                    hasher.update(&body::of(self.tree, part, None).0);
                }
                found.push(Part {
                    id,
                    form: Body(*hasher.finalize().as_bytes()),
                    imports: self.tree.kind(id) == "use_declaration",
                });
            }
        }
        Some(found)
    }

    pub(crate) fn form_of_around(&self) -> Body {
        let is_test = |id: Id| {
            let alone = |id: Id| {
                self.tree
                    .is(id, self.tree.grammar.statements)
                    .then(|| self.tree.parts(id).next())
            };
            self.tests.contains(&id) || alone(id).flatten().is_some_and(|part| self.tests.contains(&part))
        };
        body::without(self.tree, self.around, None, &is_test)
    }

    pub(crate) fn test(&self) -> Id {
        self.case.whole
    }

    /// The import takes whatever there is.
    pub(crate) fn takes_all(&self, import: Id) -> bool {
        self.tree.within(import).any(|id| self.tree.text(id) == "*")
    }

    pub(crate) fn words(&self, id: Id) -> impl Iterator<Item = &'s str> + '_ {
        let leaves = self.tree.within(id).filter(|id| self.tree.leaf(*id));
        leaves
            .filter(|id| self.tree.kind(*id).ends_with("identifier"))
            .map(|id| self.tree.text(id))
    }

    /// What an item is known by: its name, or the types that it gives something to.
    pub(crate) fn names(&self, id: Id) -> Vec<&'s str> {
        if let Some(name) = self.tree.field(id, "name") {
            return vec![self.tree.text(name)];
        }
        let types = ["trait", "type"].map(|field| self.tree.field(id, field));
        let types = types.into_iter().flatten();
        types.flat_map(|id| self.words(id).collect::<Vec<_>>()).collect()
    }
}

/// Attributes before an item, nearest first.
fn marks(tree: &Tree<'_>, item: Id) -> impl Iterator<Item = Id> {
    let before = std::iter::successors(tree.node(item).before, |id| tree.node(*id).before);
    let own = before.take_while(|id| tree.comment(*id) || tree.kind(*id) == "attribute_item");
    own.filter(|id| !tree.comment(*id)).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[cfg(test)]\nmod tests {\n    use super::*;\n    const TWO: u8 = 2;\n    fn check(x: u8, y: u8) { assert_eq!(x, y) }\n    #[test]\n    fn adds() { check(add(1, 1), TWO); }\n    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n}\n";

    fn moved(after: &str) -> bool {
        let path = ["tests".to_owned(), "adds".to_owned()];
        let language = Language::of("a.rs").unwrap();
        let before = format!("fn add(a: u8, b: u8) -> u8 {{ a - b }}\n{TESTS}");
        is_same_test(language, (before.as_bytes(), &path), (after.as_bytes(), &path)).unwrap()
    }

    #[test]
    fn a_test_is_the_same_beside_another_product_and_without_what_it_does_not_speak_of() {
        assert!(moved(&format!(
            "//! Sums.\nfn add(a: u8, b: u8) -> u8 {{ a + b }}\n{TESTS}"
        )));
        let parted = TESTS.replace("    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n", "");
        assert!(moved(&parted));
        assert!(moved(
            &parted.replace("use super::*;", "use super::add;\n    use crate::Sum;")
        ));
        assert!(moved(&TESTS.replace("    const", "    // Why.\n    const")));
    }

    #[test]
    fn a_test_that_demands_another_thing_is_another() {
        for (from, to) in [
            ("add(1, 1), TWO", "add(1, 1), 3"),
            ("u8 = 2", "u8 = 0"),
            ("{ assert_eq!(x, y) }", "{}"),
            ("    fn check(x: u8, y: u8) { assert_eq!(x, y) }\n", ""),
            ("    const TWO: u8 = 2;\n", ""),
            ("#[test]\n    fn adds", "#[test]\n    #[should_panic]\n    fn adds"),
            ("    const", "    fn add(_: u8, _: u8) -> u8 { 2 }\n    const"),
        ] {
            let other = TESTS.replace(from, to);
            assert!(other != TESTS && !moved(&other), "{to}");
        }
    }

    #[test]
    fn a_macro_that_the_test_calls_is_not_another_one_there() {
        let path = ["tests".to_owned(), "zero".to_owned()];
        let moved = |after: &str| {
            let language = Language::of("a.rs").unwrap();
            is_same_test(language, (TESTS.as_bytes(), &path), (after.as_bytes(), &path)).unwrap()
        };
        assert!(moved(TESTS));
        assert!(!moved(&format!(
            "macro_rules! assert_eq {{ ($($t:tt)*) => {{}} }}\n{TESTS}"
        )));
        assert!(!moved(&TESTS.replace("use super::*", "use crate::bent::assert_eq")));
        assert!(!moved(&format!("use crate::nothing as assert_eq;\n{TESTS}")));
    }

    #[test]
    fn a_test_of_a_script_keeps_all_that_stands_around_it() {
        let script = |words: &str| {
            format!(
                "if (import.meta.vitest) {{ const {{ it, expect }} = {words}; it('a', () => {{ expect(f).toBe(1); }}); }}\n"
            )
        };
        let moved = |after: &str| {
            let path = ["a".to_owned()];
            let (language, before) = (Language::of("a.ts").unwrap(), script("import.meta.vitest"));
            is_same_test(language, (before.as_bytes(), &path), (after.as_bytes(), &path)).unwrap()
        };
        assert!(moved(&format!("export const f = 1;\n{}", script("import.meta.vitest"))));
        assert!(!moved(&script("mine")));
    }
}
