//! Which functions a source defines, and where: whoever wants to bend one of them has to find it first.

use std::ops::RangeInclusive;

use crate::Language;
use crate::suite::definition;
use crate::tree::{Tree, Unknown};

/// A named function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Of its body, counted from 1.
    pub lines: RangeInclusive<u32>,
}

/// The named functions of a source, in its order; one that is defined within another stands behind it.
pub fn functions(language: Language, source: &[u8]) -> Result<Vec<Function>, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let found = tree.all().filter_map(|id| definition(&tree, id));
    Ok(found
        .map(|(name, body)| {
            let last = tree.node(body).span.end.saturating_sub(1);
            let lines = tree.node(body).line..=tree.line(last);
            Function { name, lines }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, source: &str) -> Vec<String> {
        let found = functions(Language::of(path).unwrap(), source.as_bytes()).unwrap();
        let told = |f: &Function| format!("{} {}-{}", f.name, f.lines.start(), f.lines.end());
        found.iter().map(told).collect()
    }

    #[test]
    fn functions_and_methods_are_found_with_their_lines() {
        let python = "class Basket:\n    def add(self, x):\n        if x:\n            return 1\n        return 2\n\ndef total():\n    return 3\n";
        assert_eq!(told("a.py", python), ["add 3-5", "total 8-8"]);
        let rust = "impl Time {\n    fn later(self) -> u32 {\n        1\n    }\n}\n";
        assert_eq!(told("a.rs", rust), ["later 2-4"]);
        let script = "function range(a) {\n  return a;\n}\nconst clamp = (v) => v;\n";
        assert_eq!(told("a.js", script), ["range 1-3", "clamp 4-4"]);
    }
}
