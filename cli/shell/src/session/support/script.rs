//! Modules of JavaScript, TypeScript and Python that tests load and nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, Project, directory, ending, is_named_for_tests, joined, quoted};

const SCRIPTS: &[&str] = &["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];
/// Loaded by tests and what helps them.
const FOR_TESTS: &[&str] = &[
    "@jest/globals",
    "@playwright/test",
    "ava",
    "chai",
    "expect",
    "mocha",
    "node:test",
    "should",
    "sinon",
    "tap",
    "tape",
    "uvu",
    "uvu/assert",
    "vitest",
];
/// Loaded by tests, and by work that is careful.
const ASSERTING: &[&str] = &["assert", "assert/strict", "node:assert", "node:assert/strict"];
/// Packages of Python that only tests load.
const PYTHON_FOR_TESTS: &[&str] = &["hypothesis", "nose", "pytest", "unittest"];

/// Modules that tests load, no source of the work does, and that say what they are for.
pub(super) fn find(project: &Project, found: &mut Found) {
    let loads = loads(project);
    let of_work: BTreeSet<&str> = of(project, &loads, false);
    for path in of(project, &loads, true)
        .difference(&of_work)
        .filter(|path| !project.is_test(path))
    {
        if !helps(path, project.texts.get(*path).map_or("", String::as_str)) {
            continue;
        }
        found.part_of_tests(path);
        for name in shadows(path) {
            found.part_of_tests(&name);
        }
    }
}

/// Files that sources of the tests load, or those of the work.
fn of<'a>(project: &Project, loads: &'a BTreeMap<&str, BTreeSet<String>>, tests: bool) -> BTreeSet<&'a str> {
    let sources = loads.iter().filter(|(path, _)| project.is_test(path) == tests);
    sources.flat_map(|(_, loaded)| loaded).map(String::as_str).collect()
}

/// What each source loads of the workdir.
fn loads(project: &Project) -> BTreeMap<&str, BTreeSet<String>> {
    let scripts = project.sources(SCRIPTS).map(|(path, text)| {
        let names = quoted(text)
            .into_iter()
            .filter(|name| name.starts_with("./") || name.starts_with("../"));
        (
            path,
            names
                .filter_map(|name| script(project, directory(path), name))
                .collect(),
        )
    });
    let python = project.sources(&["py"]).map(|(path, text)| {
        let modules = imported(text);
        (
            path,
            modules
                .iter()
                .filter_map(|module| python(project, directory(path), module))
                .collect(),
        )
    });
    scripts.chain(python).collect()
}

/// The file that a relative name of a script means.
fn script(project: &Project, dir: &str, name: &str) -> Option<String> {
    let path = joined(dir, name)?;
    let source = |path: &String| project.has(path) && ending(path).is_some_and(|ending| SCRIPTS.contains(&ending));
    let with = SCRIPTS.iter().map(|ending| format!("{path}.{ending}"));
    let index = SCRIPTS.iter().map(|ending| format!("{path}/index.{ending}"));
    [path.clone()].into_iter().chain(with).chain(index).find(source)
}

/// Names that would be found before this one: `support.js` before `support/index.js`.
fn shadows(path: &str) -> Vec<String> {
    let dir = path.rsplit_once("/index.").map(|(dir, _)| dir);
    let names = dir.map(|dir| SCRIPTS.iter().map(move |ending| format!("{dir}.{ending}")));
    names.into_iter().flatten().collect()
}

/// The file that a module means for a source in `dir`: beside it, or from the top.
fn python(project: &Project, dir: &str, module: &str) -> Option<String> {
    let module = module.replace('.', "/");
    let places = [dir, ""].map(|dir| joined(dir, &module)).into_iter().flatten();
    places
        .flat_map(|path| [format!("{path}.py"), format!("{path}/__init__.py")])
        .find(|path| project.has(path))
}

/// Modules that a source of Python imports, and those that it names as plugins.
fn imported(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("from ") {
            let (from, names) = rest.split_once(" import ").unwrap_or((rest, ""));
            let from = from.trim_start_matches('.');
            modules.push(from.to_owned());
            let names = names
                .trim_matches(['(', ')'])
                .split(',')
                .filter_map(|name| name.split_whitespace().next());
            modules.extend(names.map(|name| format!("{from}.{name}").trim_start_matches('.').to_owned()));
        } else if let Some(names) = line.strip_prefix("import ") {
            let names = names.split(',').filter_map(|name| name.split_whitespace().next());
            modules.extend(names.map(ToOwned::to_owned));
        } else if line.starts_with("pytest_plugins") {
            modules.extend(quoted(line).into_iter().map(ToOwned::to_owned));
        }
    }
    modules
}

/// Whether a source says by what it loads that it is there for tests.
fn helps(path: &str, text: &str) -> bool {
    if ending(path) == Some("py") {
        let modules = imported(text);
        let mut packages = modules.iter().filter_map(|module| module.split('.').next());
        let asserts = text.lines().any(|line| line.trim_start().starts_with("assert "));
        return packages.any(|package| PYTHON_FOR_TESTS.contains(&package)) || asserts && is_named_for_tests(path);
    }
    let names = quoted(text);
    let loads = |list: &[&str]| names.iter().any(|name| list.contains(name));
    // A global of the runner that nobody declares here.
    let expects = text.contains("expect(") && !text.contains("function expect") && !text.contains(".expect(");
    loads(FOR_TESTS) || is_named_for_tests(path) && (loads(ASSERTING) || expects)
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    const TEST: (&str, &str) = (
        "calc.test.js",
        "const { same } = require('./lib/testing.js');\nconst { sum } = require('./src/calc.js');\n",
    );

    #[test]
    fn a_module_that_only_tests_load_and_that_asserts_belongs_to_them() {
        let helper = "const assert = require('node:assert');\nexports.same = (a, b) => assert.equal(a, b);\n";
        let work = ("src/calc.js", "const assert = require('node:assert');\n");
        assert_eq!(found(&[TEST, ("lib/testing.js", helper), work]).0, ["/lib/testing.js"]);
        let other = ("src/cli.js", "require('../lib/testing.js');\n");
        assert_eq!(
            found(&[TEST, ("lib/testing.js", helper), work, other]).0,
            [""; 0],
            "the work loads it too"
        );
        assert_eq!(
            found(&[TEST, ("lib/testing.js", "exports.x = 1;\n"), work]).0,
            [""; 0],
            "it asserts nothing"
        );
    }

    #[test]
    fn what_would_be_found_before_a_helper_belongs_to_it() {
        let test = ("a.test.mjs", "import { same } from './support';\n");
        let helper = ("support/index.mjs", "import { expect } from 'vitest';\n");
        let found = found(&[test, helper]).0;
        assert!(
            found.contains(&"/support/index.mjs".into()) && found.contains(&"/support.js".into()),
            "{found:?}"
        );
    }

    #[test]
    fn a_helper_in_python_belongs_to_the_tests_and_a_plugin_that_is_the_work_does_not() {
        let helper = ("helpers.py", "import pytest\n");
        let test = ("test_a.py", "from helpers import same\nimport shop.price\n");
        let work = ("shop/price.py", "def f():\n    assert True\n");
        assert_eq!(found(&[helper, test, work]).0, ["/helpers.py"]);
        let asserting = ("testing_support.py", "def same(a, b):\n    assert a == b\n");
        let test = ("test_a.py", "import testing_support, shop.price\n");
        assert_eq!(found(&[asserting, test, work]).0, ["/testing_support.py"]);
        let plugin = ("conftest.py", "pytest_plugins = ['kit.fixtures']\n");
        assert_eq!(
            found(&[plugin, ("kit/fixtures.py", "import pytest\n")]).0,
            ["/kit/fixtures.py"]
        );
        let product = ("shop/plugin.py", "import pytest\n");
        let used = ("shop/main.py", "from shop import plugin\n");
        assert_eq!(
            found(&[product, used, ("test_a.py", "from shop import plugin\n")]).0,
            [""; 0]
        );
    }
}
