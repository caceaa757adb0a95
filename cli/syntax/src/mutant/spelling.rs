//! The same program in other words: who minds reads its text.

use crate::Language;
use crate::tree::{Id, Tree, Unknown};

/// Lists of values, which stand in tables of tests.
const LISTS: &[&str] = &["array", "list", "tuple"];
/// Values that are a number, or the negative of one.
const SIGNED: &[&str] = &["unary_expression", "unary_operator"];

/// The source with another comment at its end and, where a language minds no brackets, the numbers in its lists in
/// brackets of their own.
///
/// # Errors
/// [`Unknown`] where nothing can be said about the source.
pub fn respelled(language: Language, source: &[u8], mark: &str) -> Result<Vec<u8>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let mut text = Vec::with_capacity(source.len() + mark.len());
    let mut from = 0;
    for id in tree.all().filter(|id| is_listed(&tree, *id)) {
        let span = tree.node(id).span;
        text.extend_from_slice(&source[from..span.start]);
        text.push(b'(');
        text.extend_from_slice(tree.bytes(id));
        text.push(b')');
        from = span.end;
    }
    text.extend_from_slice(&source[from..]);
    let sign = tree.grammar.remark;
    text.extend_from_slice(format!("\n{sign} {mark}\n").as_bytes());
    if Tree::parses(language.grammar, &text) {
        Ok(text)
    } else {
        Ok([source, format!("\n{sign} {mark}\n").as_bytes()].concat())
    }
}

/// A number that is an element of a list, where brackets around it are nothing to a compiler.
fn is_listed(tree: &Tree<'_>, id: Id) -> bool {
    let number = |id: Id| tree.is(id, tree.grammar.numbers);
    let signed = || tree.is(id, SIGNED) && tree.children(id).last().is_some_and(number);
    let listed = tree.node(id).parent.is_some_and(|parent| tree.is(parent, LISTS));
    tree.grammar.another.is_some() && listed && (number(id) || signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn respelled(path: &str, source: &str) -> String {
        let text = super::respelled(Language::of(path).unwrap(), source.as_bytes(), "5e").unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_of_a_table_stand_in_brackets_and_a_comment_at_the_end() {
        assert_eq!(
            respelled("a.js", "for (const [x, y] of [[[-4, 2], -2]]) { f(3, 'a', [x]); }"),
            "for (const [x, y] of [[[(-4), (2)], (-2)]]) { f(3, 'a', [x]); }\n// 5e\n"
        );
        assert_eq!(
            respelled("a.py", "@p('a', [(1, -2)])\ndef test_a(x): assert x == [3, 'b']\n"),
            "@p('a', [((1), (-2))])\ndef test_a(x): assert x == [(3), 'b']\n\n# 5e\n"
        );
        assert_eq!(
            respelled("a.rs", "const A: [u8; 1] = [1];\n"),
            "const A: [u8; 1] = [1];\n\n// 5e\n"
        );
    }
}
