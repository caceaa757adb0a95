//! Programs that judge: they compare what others give for literal arguments with literals.

use crate::tree::{Id, Tree, Unknown};
use crate::{Language, assertion};

/// What brings names from elsewhere.
const IMPORTS: &[&str] = &[
    "import_from_statement",
    "import_statement",
    "lexical_declaration",
    "variable_declaration",
];
/// By these a source gives something to others, and is more than a program.
const EXPORTS: &[&str] = &["module.exports", "exports.", "export "];

/// Whether the source compares, with a literal, what a function gives for literals that comes from a module of which
/// `is_own` says that it is one of the same work; and gives nothing to others itself.
pub fn judges(language: Language, source: &[u8], is_own: &dyn Fn(&str) -> bool) -> Result<bool, Unknown> {
    let tree = Tree::parse(language.grammar, source)?;
    let text = String::from_utf8_lossy(source);
    if EXPORTS.iter().any(|word| text.contains(word)) {
        return Ok(false);
    }
    let imports = tree.all().filter(|id| tree.is(*id, IMPORTS));
    let own: Vec<&str> = imports
        .filter(|id| module(&tree, *id).is_some_and(is_own))
        .flat_map(|id| {
            tree.within(id)
                .filter(|part| tree.leaf(*part))
                .map(|part| tree.text(part))
        })
        .collect();
    let judged = |side: &[Id]| {
        let name = assertion::plain_call(&tree, side);
        name.is_some_and(|name| own.contains(&name.split(['.', ':']).next().unwrap_or_default()))
    };
    let compares = |id: Id| {
        let demanded = assertion::is(&tree, id)
            .then(|| assertion::demand(&tree, id).equal)
            .flatten();
        let sides = demanded.or_else(|| assertion::compared_plainly(&tree, id));
        sides.is_some_and(|(left, right)| {
            judged(&left) && assertion::data(&tree, &right) || judged(&right) && assertion::data(&tree, &left)
        })
    };
    Ok(tree.all().any(compares))
}

/// The module that an import names.
fn module<'t>(tree: &Tree<'t>, import: Id) -> Option<&'t str> {
    if let Some(name) = tree
        .field(import, "module_name")
        .or_else(|| tree.field(import, "source"))
    {
        return Some(tree.text(name).trim_matches(['\'', '"', '`']));
    }
    let call = tree
        .within(import)
        .find(|id| tree.call(*id).is_some_and(|call| call.callee == "require"));
    match call {
        Some(call) => {
            let argument = *tree.call(call)?.arguments.first()?.first()?;
            Some(tree.text(argument).trim_matches(['\'', '"', '`']))
        }
        None => tree.field(import, "name").map(|name| tree.text(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judging(path: &str, source: &str) -> bool {
        let own = |module: &str| module.starts_with('.') || module == "calc";
        judges(Language::of(path).unwrap(), source.as_bytes(), &own).unwrap()
    }

    #[test]
    fn who_compares_what_the_work_gives_for_literals_with_literals_judges_it() {
        let script = "const { max, sum } = require('../src/calc.js');\nif (sum([1, 2]) !== 3 || max([-2]) !== -2) process.exit(1);\n";
        assert!(judging("a.js", script));
        assert!(judging(
            "a.mjs",
            "import * as calc from './calc.js';\nassert.equal(calc.sum([1]), 1);\n"
        ));
        assert!(judging(
            "a.py",
            "from calc import total\nif total([1, 2]) != 3:\n    raise SystemExit(1)\n"
        ));
        assert!(judging("a.py", "import calc\nassert calc.total([1, 2]) == 3\n"));
    }

    #[test]
    fn who_runs_the_work_or_gives_something_to_others_judges_nothing() {
        for (path, source) in [
            (
                "a.js",
                "const { run } = require('./src/run.js');\nif (process.argv.indexOf('-v') !== -1) run(1);\n",
            ),
            (
                "a.js",
                "const { sum } = require('./calc.js');\nif (sum([1]) !== 1) throw 1;\nmodule.exports = { sum };\n",
            ),
            (
                "a.js",
                "const { run } = require('./run.js');\nif (run(process.argv) !== 0) process.exit(1);\n",
            ),
            (
                "a.py",
                "import os, calc\nif os.getenv('X') == '1':\n    calc.total([1])\n",
            ),
            (
                "a.py",
                "from calc import total\nif total(lines) == 0:\n    raise SystemExit(1)\n",
            ),
        ] {
            assert!(!judging(path, source), "{source}");
        }
    }
}
