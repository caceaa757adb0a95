//! What stands around the tests that a product holds: what they are set up with, and where they get their words from.

use std::collections::HashSet;

use crate::Language;
use crate::body::{self, Body};
use crate::suite::cases;
use crate::tree::{Id, Tree, Unknown};

/// The canonical form of the parts of a source that hold nothing but tests, without the tests; nothing where it has no
/// such part (SPEC 5.4.10).
///
/// # Errors
/// [`Unknown`] where nothing can be said about the source.
pub fn around(language: Language, source: &[u8]) -> Result<Option<Body>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let testing = |id: Id| (tree.grammar.testing)(&tree, id);
    let outermost = tree
        .all()
        .filter(|id| testing(*id) && !tree.above(*id).any(testing))
        .collect::<Vec<_>>();
    if outermost.is_empty() {
        return Ok(None);
    }
    let tests: HashSet<Id> = cases(&tree).iter().map(|(_, case)| case.whole).collect();
    let is_test = |id: Id| {
        let alone = |id: Id| tree.is(id, tree.grammar.statements).then(|| tree.parts(id).next());
        tests.contains(&id) || alone(id).flatten().is_some_and(|part| tests.contains(&part))
    };
    let mut hasher = blake3::Hasher::new();
    for id in outermost {
        hasher.update(&body::without(&tree, id, None, &is_test).0);
    }
    Ok(Some(Body(*hasher.finalize().as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Option<Body> {
        around(Language::of("a.ts").unwrap(), source.as_bytes()).unwrap()
    }

    #[test]
    fn product_and_tests_make_no_difference_and_what_the_tests_speak_with_does() {
        let source = |product: &str, words: &str, tests: &str| {
            of(&format!(
                "export const f = {product};\nif (import.meta.vitest) {{ const {{ it, expect }} = {words}; {tests} }}\n"
            ))
        };
        let test = "it('a', () => { expect(f).toBe(1); });";
        let start = source("1", "import.meta.vitest", test);
        assert!(start.is_some());
        assert_eq!(start, source("2", "import.meta.vitest", test));
        assert_eq!(
            start,
            source(
                "1",
                "import.meta.vitest",
                &format!("{test} it('b', () => {{ expect(f); }});")
            )
        );
        assert_ne!(start, source("1", "mine", test));
        assert_ne!(
            start,
            source("1", "import.meta.vitest", &format!("beforeEach(bend); {test}"))
        );
        assert_eq!(
            of("export const f = 1;\nit('a', () => { expect(f).toBe(1); });\n"),
            None
        );
    }
}
