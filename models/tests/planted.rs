//! The planted bugs (SPEC 16.6.5) are fit to be planted: `tests/seeded` builds the product once for each of them, and
//! takes too long for every change.
//!
//! ```text
//!   models/mutants/*.patch ──> a sentence, layers that tests/seeded knows, sources that are still as it expects
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BUGS_MIN: usize = 30;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The patches by name.
fn patches() -> BTreeMap<String, String> {
    let folder = fs::read_dir(root().join("models/mutants")).expect("the folder of planted bugs");
    let names = folder.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"));
    let named = names.map(|name| {
        let text = read(&format!("models/mutants/{name}"));
        (name.strip_suffix(".patch").expect("a patch").to_owned(), text)
    });
    named.collect()
}

/// What a line of the preamble says.
fn said<'a>(text: &'a str, key: &str) -> &'a str {
    let mut lines = text.lines().take_while(|line| !line.starts_with("--- "));
    lines.find_map(|line| line.strip_prefix(key)).unwrap_or_default()
}

#[test]
fn every_planted_bug_is_a_sentence_of_its_own() {
    let patches = patches();
    assert!(patches.len() >= BUGS_MIN, "{} bugs", patches.len());
    let mut sentences = BTreeSet::new();
    for (name, text) in &patches {
        let sentence = said(text, "Bug: ");
        assert!(sentence.ends_with('.'), "{name}: {sentence:?}");
        assert!(sentences.insert(sentence), "{name}: two bugs are {sentence:?}");
    }
}

/// Two independent layers, or SPEC names the bug and says why one is enough.
#[test]
fn every_planted_bug_is_noticed_by_two_layers_or_the_spec_says_why_not() {
    let script = read("tests/seeded");
    let known: BTreeSet<&str> = script
        .lines()
        .filter_map(|line| {
            line.trim()
                .split_once(") ")
                .filter(|(_, runs)| runs.contains("tests -p "))
        })
        .map(|(layer, _)| layer)
        .collect();
    assert!(known.contains("stories"), "{known:?}");
    let spec = read("SPEC.md");
    let clause = spec
        .split("**16.6.5**")
        .nth(1)
        .and_then(|rest| rest.split("**16.6.6**").next());
    let clause = clause.expect("clause 16.6.5");
    for (name, text) in &patches() {
        let layers: BTreeSet<&str> = said(text, "Killers: ").split_whitespace().collect();
        assert!(!layers.is_empty() && layers.is_subset(&known), "{name}: {layers:?}");
        let excused = clause.contains(&format!("`{name}`"));
        assert_eq!(
            layers.len() == 1,
            excused,
            "{name}: {layers:?}, and the spec excuses it: {excused}"
        );
    }
}

#[test]
fn every_planted_bug_fits_the_sources_of_today() {
    for name in patches().keys() {
        let path = format!("models/mutants/{name}.patch");
        let checked = Command::new("git")
            .args(["apply", "--check", &path])
            .current_dir(root())
            .output();
        let Ok(checked) = checked else {
            println!("skipped: there is no git; whether the planted bugs still apply is not checked");
            return;
        };
        assert!(
            checked.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&checked.stderr)
        );
    }
}
