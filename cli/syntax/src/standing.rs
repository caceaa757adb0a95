//! What became of the tests that stand within a product, in a later form of its source (SPEC 5.4.13).
//!
//! ```text
//!   a test there --> gone | as it was | another one: its body and marks, what it speaks of beside it, its imports and macros
//! ```
//!
//! What it tests is the product, which may be anything; tests beside it, and what they alone speak of, may come.

use std::collections::HashSet;

use crate::relocation::{Part, Place};
use crate::suite::cases;
use crate::tree::{Tree, Unknown};
use crate::{Language, body};

/// Tests of the earlier form, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// They are there under the same path, and are other ones.
    pub rewritten: Vec<Vec<String>>,
    /// No test of that path is there.
    pub gone: Vec<Vec<String>>,
}

/// What became of each test of `before` in `after`.
///
/// # Errors
/// [`Unknown`] where nothing can be said about one of the sources.
pub fn standing(language: Language, before: &[u8], after: &[u8]) -> Result<Standing, Unknown> {
    let (was, is) = (
        Tree::parse(language.grammar, before)?,
        Tree::parse(language.grammar, after)?,
    );
    let (earlier, later) = (cases(&was), cases(&is));
    let mut standing = Standing::default();
    for (path, case) in &earlier {
        let mut named = later.iter().filter(|(other, _)| other == path).peekable();
        if named.peek().is_none() {
            standing.gone.push(path.clone());
            continue;
        }
        let same = match (Place::of(&was, path), Place::of(&is, path)) {
            (Some(before), Some(after)) => before.stays_as(&after),
            // Beside the product and not in a part for tests alone, or one of several of that name.
            (None, None) => named.any(|(_, other)| {
                let bodies = [(&was, case), (&is, other)];
                let [one, two] = bodies.map(|(tree, case)| body::of(tree, case.whole, Some(&case.name)));
                one == two
            }),
            _ => false,
        };
        if !same {
            standing.rewritten.push(path.clone());
        }
    }
    Ok(standing)
}

impl Place<'_, '_> {
    /// The other test is this one, where it stood.
    fn stays_as(&self, other: &Self) -> bool {
        self.whole() == other.whole() && self.keeps_beside(other) && self.speaks_as(other)
    }

    /// All that the test speaks of beside it, at once or by way of that, is what it was.
    fn keeps_beside(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (self.parts(), other.parts()) else {
            return self.form_of_around() == other.form_of_around();
        };
        let stands = |part: &Part, among: &[Part]| among.iter().any(|known| known.form == part.form);
        let (kept, new): (Vec<&Part>, Vec<&Part>) = theirs.iter().partition(|part| stands(part, &mine));
        let gone: Vec<&Part> = mine.iter().filter(|part| !stands(part, &theirs)).collect();
        let spoken: HashSet<&str> = kept
            .iter()
            .filter(|part| !part.imports)
            .map(|part| part.id)
            .chain([other.test()])
            .flat_map(|id| other.words(id))
            .collect();
        let is_spoken = |place: &Self, part: &Part| {
            let names: Vec<&str> = if part.imports {
                place.words(part.id).collect()
            } else {
                place.names(part.id)
            };
            names.iter().any(|name| spoken.contains(name)) || names.is_empty() && !part.imports
        };
        let takes_all = |place: &Self, part: &&&Part| part.imports && place.takes_all(part.id);
        // What one took from everywhere may be taken from elsewhere now.
        let is_redirected =
            gone.iter().any(|part| takes_all(self, &part)) && new.iter().any(|part| takes_all(other, &part));
        !is_redirected
            && !new
                .iter()
                .filter(|part| {
                    !mine
                        .iter()
                        .any(|all| self.takes_all(all.id) && other.is_one_of(part, self, all))
                })
                .any(|part| is_spoken(other, part))
            && !gone
                .iter()
                .filter(|part| !part.imports)
                .any(|part| is_spoken(self, part))
    }

    /// The import brings by name what an import of everything brought before, from the same place.
    fn is_one_of(&self, part: &Part, earlier: &Self, all: &Part) -> bool {
        let words = |place: &Self, part: &Part| -> Vec<&str> {
            let leaves = place.tree.within(part.id).filter(|id| place.tree.leaf(*id));
            leaves.map(|id| place.tree.text(id)).collect()
        };
        let (all, named) = (words(earlier, all), words(self, part));
        let Some(place) = all.iter().position(|word| *word == "*").and_then(|at| all.get(..at)) else {
            return false;
        };
        let behind = named.strip_prefix(place).filter(|_| part.imports);
        behind.is_some_and(|rest| !rest.iter().any(|word| ["as", "::", "*"].contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[cfg(test)]\nmod tests {\n    use super::*;\n    const TWO: u8 = 2;\n    fn check(x: u8, y: u8) { assert_eq!(x, y) }\n    #[test]\n    fn adds() { check(add(1, 1), TWO); }\n    #[test]\n    fn zero() { assert_eq!(add(0, 0), 0); }\n}\n";

    fn of(after: &str) -> (Vec<String>, Vec<String>) {
        let before = format!("fn add(a: u8, b: u8) -> u8 {{ a - b }}\n{TESTS}");
        let after = format!("fn add(a: u8, b: u8) -> u8 {{ a + b }}\n{after}");
        let found = standing(Language::of("a.rs").unwrap(), before.as_bytes(), after.as_bytes()).unwrap();
        let told = |paths: Vec<Vec<String>>| paths.into_iter().map(|path| path.join("::")).collect();
        (told(found.rewritten), told(found.gone))
    }

    #[test]
    fn a_test_stays_what_it_was_beside_another_product_and_more_tests() {
        for (from, to) in [
            ("", ""),
            ("    const", "    // Why.\n    const"),
            ("use super::*;", "use super::{add, Sum};"),
            ("use super::*;", "use super::add;"),
            (
                "check(add(1, 1), TWO)",
                "check(\n        add(1, 1),\n        TWO,\n    )",
            ),
            (
                "use super::*;",
                "use super::*;\n    use std::collections::HashMap;\n    use proptest::prelude::*;",
            ),
            (
                "    #[test]\n    fn zero",
                "    fn more() -> u8 { 3 }\n    struct Fake;\n    impl Iterator for Fake { type Item = u8; fn next(&mut self) -> Option<u8> { None } }\n    #[test]\n    fn three() { check(add(1, 2), more()); }\n    #[test]\n    fn zero",
            ),
        ] {
            let now = TESTS.replacen(from, to, 1);
            assert_eq!(of(&now), (vec![], vec![]), "{to}");
        }
    }

    #[test]
    fn a_test_that_demands_another_thing_or_means_another_product_is_another() {
        for (from, to) in [
            ("add(1, 1), TWO", "add(1, 1), 3"),
            ("u8 = 2", "u8 = 0"),
            ("{ assert_eq!(x, y) }", "{}"),
            ("#[test]\n    fn adds", "#[test]\n    #[should_panic]\n    fn adds"),
            ("    const", "    fn add(_: u8, _: u8) -> u8 { 2 }\n    const"),
            ("use super::*;", "use super::*;\n    use crate::bent::add;"),
            ("use super::*;", "use crate::bent::*;"),
            ("use super::*;", "use super::bent::add;"),
            ("use super::*;", "use super::{bent as add};"),
            ("use super::*;", "use super::{bent::add};"),
            (
                "use super::*;",
                "use super::*;\n    macro_rules! check { ($($x:tt)*) => {} }",
            ),
        ] {
            let now = TESTS.replacen(from, to, 1);
            assert!(now != TESTS && of(&now).0.contains(&"tests::adds".to_owned()), "{to}");
        }
        let bent = TESTS.replace("use super::*;", "use super::*;\n    use crate::bent::assert_eq;");
        assert!(of(&bent).0.contains(&"tests::zero".to_owned()));
    }

    #[test]
    fn who_is_not_there_any_more_is_gone() {
        let gone = ["tests::adds", "tests::zero"].map(str::to_owned).to_vec();
        assert_eq!(of("#[cfg(test)]\nmod tests;\n"), (vec![], gone.clone()));
        assert_eq!(
            of(&TESTS.replace("fn zero", "fn nothing")),
            (vec![], vec![gone[1].clone()])
        );
    }
}
