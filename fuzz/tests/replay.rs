//! Every file of every corpus, and of every past crash, through its target.

// A corpus that cannot be read fails its test.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;
use models::sim::Dice;

fn files(folder: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target);
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_case_of_every_corpus_holds() {
    for (name, target) in TARGETS {
        let corpus = files("corpus", name);
        assert!(!corpus.is_empty(), "the corpus of {name} is empty");
        for file in corpus.into_iter().chain(files("regressions", name)) {
            let label = target(&fs::read(&file).unwrap());
            println!("{}: {label}", file.display());
        }
    }
}

/// A case is named after the ending it was found with; the engine may have learned to judge it otherwise.
#[test]
fn the_corpus_of_reduce_reaches_most_endings() {
    let reasons = files("corpus", "reduce").into_iter().map(|file| {
        let label = fuzz::reduce::reduce(&fs::read(&file).unwrap());
        label.split('-').next().unwrap().to_string()
    });
    let reasons: BTreeSet<String> = reasons.collect();
    assert!(reasons.len() >= 14, "{reasons:?}");
}

#[test]
fn random_bytes_hold_too() {
    let mut dice = Dice::new(11);
    for _ in 0..500 {
        fuzz::reduce::reduce(&bytes(&mut dice));
    }
}

fn bytes(dice: &mut Dice) -> Vec<u8> {
    let length = 8 + dice.below(400);
    (0..length).map(|_| u8::try_from(dice.below(256)).unwrap()).collect()
}

/// Writes one short case for every ending that random bytes reach. Run by hand after a change of the
/// target: `cargo test -p fuzz --test replay -- --ignored`.
#[test]
#[ignore = "writes the corpus"]
fn grow_the_corpus() {
    let mut dice = Dice::new(3);
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for _ in 0..40_000 {
        let case = bytes(&mut dice);
        let label = fuzz::reduce::reduce(&case);
        let better = found.get(&label).is_none_or(|known| known.len() > case.len());
        if better {
            found.insert(label, case);
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/reduce");
    for (label, case) in found {
        fs::write(folder.join(label), case).unwrap();
    }
}
