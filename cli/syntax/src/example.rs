//! Examples in the documentation of a product, which a runner takes for tests.

use std::collections::BTreeMap;

use crate::Language;
use crate::tree::{Id, Tree, Unknown};

/// The text of each example of the one definition of this name, layout left out; nothing where it has none, or where more
/// than one definition of that name has some.
///
/// # Errors
/// [`Unknown`] where nothing can be said about the source.
pub fn examples(language: Language, source: &[u8], name: &str) -> Result<Vec<String>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let named = |id: &Id| tree.field(*id, "name").is_some_and(|field| tree.text(field) == name);
    let documented = tree
        .all()
        .filter(named)
        .map(|id| [fenced(&comments(&tree, id)), prompted(docstring(&tree, id))].concat());
    let mut found = documented.filter(|examples| !examples.is_empty());
    let only = found.next().filter(|_| found.next().is_none());
    Ok(only.unwrap_or_default())
}

/// The text of each example of every definition that has some, by the definition's name; those of the source itself under
/// none.
///
/// # Errors
/// [`Unknown`] where nothing can be said about the source.
pub fn examples_by_name(language: Language, source: &[u8]) -> Result<BTreeMap<String, Vec<String>>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for id in tree.all() {
        let Some(name) = tree.field(id, "name") else { continue };
        let own = [fenced(&comments(&tree, id)), prompted(docstring(&tree, id))].concat();
        if !own.is_empty() {
            found.entry(tree.text(name).to_owned()).or_default().extend(own);
        }
    }
    let text = String::from_utf8_lossy(source);
    let inner = text.lines().filter_map(|line| line.trim_start().strip_prefix("//!"));
    let mut own = fenced(&inner.map(|line| line.trim().to_owned()).collect::<Vec<_>>());
    let first = tree.all().next().and_then(|root| tree.parts(root).next());
    let documents = first.filter(|id| (tree.grammar.documentation)(&tree, *id));
    own.extend(documents.map_or_else(Vec::new, |id| prompted(tree.text(id))));
    if !own.is_empty() {
        found.insert(String::new(), own);
    }
    Ok(found)
}

/// The lines of documentation that stand as comments before a definition.
fn comments(tree: &Tree<'_>, id: Id) -> Vec<String> {
    let before = std::iter::successors(tree.node(id).before, |id| tree.node(*id).before);
    let own = before.take_while(|id| tree.comment(*id) || tree.kind(*id) == "attribute_item");
    let mut blocks: Vec<&str> = own.filter(|id| tree.comment(*id)).map(|id| tree.text(id)).collect();
    blocks.reverse();
    let lines = blocks.into_iter().flat_map(str::lines).map(str::trim);
    let documents = lines.filter_map(|line| {
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("/**"));
        text.or_else(|| line.strip_prefix('*'))
    });
    documents.map(|line| line.trim().to_owned()).collect()
}

/// What stands between fences, and how they are marked.
fn fenced(lines: &[String]) -> Vec<String> {
    let (mut found, mut open): (Vec<String>, Option<String>) = (Vec::new(), None);
    for line in lines {
        let fence = line.starts_with("```") || line.starts_with("~~~");
        match (&mut open, fence) {
            (None, true) => open = Some(line.clone()),
            (None, false) => {}
            (Some(_), true) => found.extend(open.take()),
            (Some(text), false) => {
                text.push('\n');
                text.push_str(line);
            }
        }
    }
    found
}

/// The text with which a definition's body begins.
fn docstring<'s>(tree: &Tree<'s>, id: Id) -> &'s str {
    let first = tree.field(id, "body").and_then(|body| tree.parts(body).next());
    let text = first.filter(|id| tree.is(*id, tree.grammar.strings) || (tree.grammar.documentation)(tree, *id));
    text.map_or("", |id| tree.text(id))
}

/// Everything from a prompt to the next empty line.
fn prompted(text: &str) -> Vec<String> {
    let paragraphs = text.split("\n\n").map(|part| {
        let lines = part.lines().map(str::trim).filter(|line| !line.is_empty());
        lines
            .skip_while(|line| !line.starts_with(">>>"))
            .collect::<Vec<_>>()
            .join("\n")
    });
    paragraphs.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, source: &str) -> Vec<String> {
        examples(Language::of(path).unwrap(), source.as_bytes(), "total").unwrap()
    }

    #[test]
    fn examples_are_found_with_their_marks_and_without_the_words_around_them() {
        let rust = "/// Adds.\n///\n/// ```no_run\n/// assert_eq!(total(), 1);\n/// ```\n#[inline]\npub fn total() -> u8 { 1 }\n/// ```\n/// other();\n/// ```\nfn other() {}\n";
        assert_eq!(of("a.rs", rust), ["```no_run\nassert_eq!(total(), 1);"]);
        let python =
            "def total(x):\n    \"\"\"Adds.\n\n    >>> total(1)\n    1\n\n    Words.\n    \"\"\"\n    return x\n";
        assert_eq!(of("a.py", python), [">>> total(1)\n1"]);
    }

    #[test]
    fn examples_of_a_source_are_known_by_what_they_document() {
        let by_name = |path: &str, source: &str| {
            let found = examples_by_name(Language::of(path).unwrap(), source.as_bytes()).unwrap();
            found
                .into_iter()
                .map(|(name, own)| format!("{name}: {}", own.join("|")))
                .collect::<Vec<_>>()
        };
        let rust = "//! ```\n//! one();\n//! ```\n\n/// ```\n/// two();\n/// ```\nfn total() {}\n\n/// Words.\nfn other() {}\n";
        assert_eq!(by_name("a.rs", rust), [": ```\none();", "total: ```\ntwo();"]);
        let python = "\"\"\"Sums.\n\n>>> total(1)\n1\n\"\"\"\n\ndef total(x):\n    \"\"\"Adds.\n\n    >>> total(2)\n    2\n    \"\"\"\n    return x\n";
        let found = by_name("a.py", python);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with(": >>> total(1)") && found[1].starts_with("total: >>> total(2)"),
            "{found:?}"
        );
    }

    #[test]
    fn a_name_that_two_definitions_with_examples_have_is_nobodys() {
        let twice = "impl A {\n    /// ```\n    /// a();\n    /// ```\n    fn total() {}\n}\nimpl B {\n    /// ```\n    /// b();\n    /// ```\n    fn total() {}\n}\n";
        assert_eq!(of("a.rs", twice), [""; 0]);
    }
}
