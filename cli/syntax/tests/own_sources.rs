//! The sources of this repository, as sources that nobody wrote for a parser.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use syntax::{Language, Unknown, What, apply, mutants, tests};

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut open: Vec<PathBuf> = ["engine/src", "journal/src", "cli/shell/src"]
        .iter()
        .map(|folder| root.join(folder))
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_source_parses_and_every_marked_function_is_a_test() {
    let rust = Language::of("a.rs").unwrap();
    let (mut total, mut bare) = (0, Vec::new());
    for path in sources() {
        let source = fs::read(&path).unwrap();
        let parsed = tests(rust, &source).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let text = String::from_utf8(source).unwrap();
        // A mark inside a macro has no function of its own; one in a text stands at its margin, or is no test of ours.
        let in_module = text.contains("#[cfg(test)]\nmod tests {");
        let marked = text
            .lines()
            .filter(|line| line.trim() == "#[test]" && (!in_module || line.starts_with(' ')))
            .count();
        let in_macros = text.matches("proptest! {").count() + text.matches("proptest!{").count();
        assert!(
            parsed.tests.len() == marked || in_macros > 0,
            "{}: {} of {marked}",
            path.display(),
            parsed.tests.len()
        );
        total += parsed.tests.len();
        bare.extend(
            parsed
                .tests
                .into_iter()
                .filter(|test| test.assertions == 0)
                .map(|test| test.path.join("::")),
        );
    }
    assert!(total > 300, "{total}");
    // Some assert by not panicking.
    assert!(bare.len() * 20 < total, "{bare:?}");
}

#[test]
fn mutants_of_a_large_source_are_bounded_and_one_of_every_line_comes_first() {
    let rust = Language::of("a.rs").unwrap();
    let path = sources()
        .into_iter()
        .find(|path| path.ends_with("engine/src/state.rs"))
        .unwrap();
    let source = fs::read(path).unwrap();
    let found = mutants(rust, &source, &What::Code(&[1..=u32::MAX]), 40).unwrap();
    assert_eq!(found.len(), 40);
    let mut lines: Vec<u32> = found.iter().map(|mutant| mutant.line).collect();
    lines.dedup();
    assert_eq!(lines.len(), 40, "{lines:?}");
    for mutant in &found {
        assert_ne!(
            tests(rust, &apply(&source, mutant)),
            Err(Unknown::Broken { line: mutant.line })
        );
    }
}
