//! Packages of Go that help tests and are no tests by their names.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, Project, directory, quoted};

/// Imported by nothing but tests and what helps them.
const FOR_TESTS: &[&str] = &[
    "testing",
    "testing/fstest",
    "testing/iotest",
    "testing/quick",
    "github.com/google/go-cmp/cmp",
    "github.com/onsi/gomega",
    "github.com/stretchr/testify/assert",
    "github.com/stretchr/testify/require",
];

/// A package whose own sources import what only tests use. One alone in its module is the work.
pub(super) fn find(project: &Project, found: &mut Found) {
    let mut packages: BTreeMap<&str, bool> = BTreeMap::new();
    for (path, text) in project.sources(&["go"]).filter(|(path, _)| !project.is_test(path)) {
        let is_program = text.lines().any(|line| line.trim() == "package main");
        let helps = !is_program && imports(text).iter().any(|name| FOR_TESTS.contains(name));
        *packages.entry(directory(path)).or_default() |= helps;
    }
    let (helping, work): (BTreeSet<_>, BTreeSet<_>) = packages.into_iter().partition(|(_, helps)| *helps);
    if work.is_empty() {
        return;
    }
    for (dir, _) in helping.into_iter().filter(|(dir, _)| !dir.is_empty()) {
        found.part_of_tests(&format!("{dir}/"));
    }
}

/// What stands in `import "x"` and in `import (` up to `)`.
fn imports(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        match line {
            _ if line.starts_with("import (") => inside = true,
            ")" => inside = false,
            _ if inside || line.starts_with("import ") => names.extend(quoted(line)),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn a_package_that_only_tests_can_use_belongs_to_them() {
        let helper = "package testutil\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n";
        let work = ("calc/calc.go", "package calc\n");
        assert_eq!(
            found(&[("internal/testutil/equal.go", helper), work]).0,
            ["/internal/testutil/"]
        );
        let product = "package calc\n\nimport \"fmt\"\n// \"testing\"\n";
        assert_eq!(
            found(&[("calc/calc.go", product), ("x/x.go", "package x\n")]).0,
            [""; 0]
        );
        let alone = "package check\n\nimport \"testing\"\n";
        assert_eq!(
            found(&[("check/check.go", alone)]).0,
            [""; 0],
            "a library for tests is the work"
        );
    }
}
