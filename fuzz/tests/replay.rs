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

/// What the cases of a corpus reached.
fn labels(name: &str) -> BTreeSet<String> {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let cases = files("corpus", name).into_iter();
    cases.map(|file| target(&fs::read(file).unwrap())).collect()
}

#[test]
fn the_corpus_of_collect_is_measured_by_every_collector() {
    let labels = labels("collect");
    for collector in shell::oracle::collect::ALL {
        let measured = ["finished", "unfinished"].map(|how| format!("{}-{how}", collector.name));
        assert!(
            measured.iter().any(|label| labels.contains(label)),
            "{}: {labels:?}",
            collector.name
        );
    }
}

#[test]
fn the_other_corpora_reach_what_is_legal_and_what_is_not() {
    for (name, reached) in [
        (
            "config",
            &[
                "file",
                "refused",
                "refused-duration",
                "refused-money-size",
                "refused-size",
            ][..],
        ),
        ("bodies", &["nothing-intact", "nothing-fails", "run_opened-intact"]),
        (
            "chain",
            &[
                "whole",
                "prefix",
                "refused_Edited",
                "refused_Deleted",
                "refused_Reordered",
            ],
        ),
        (
            "coverage",
            &[
                "cobertura",
                "coverage.py",
                "go",
                "istanbul",
                "lcov",
                "llvm-cov",
                "refused",
            ],
        ),
        (
            "syntax",
            &[
                "go-demands",
                "java-demands",
                "javascript-demands",
                "python-demands",
                "python-opposed",
                "python-product",
                "rust-demands",
                "tsx-demands",
                "typescript-demands",
                "python-unknown",
            ],
        ),
        ("trace", &["inside", "outside", "inside-unread", "outside-unread"]),
        ("frame", &["events", "batch_of_events", "segment", "notes", "nothing"]),
        (
            "recover",
            &[
                "clean-intact",
                "torn-intact",
                "corrupt_BatchLost-BatchLost",
                "failed-failed",
            ],
        ),
    ] {
        let labels = labels(name);
        for label in reached {
            assert!(labels.contains(*label), "{name} does not reach {label}: {labels:?}");
        }
    }
}

#[test]
fn random_bytes_hold_too() {
    let mut dice = Dice::new(11);
    for (_, target) in TARGETS {
        for _ in 0..300 {
            target(&bytes(&mut dice));
        }
    }
}

/// Cases that were changed a little reach deeper than random bytes. `FUZZ_ROUNDS` asks for more of them.
#[test]
fn changed_cases_hold_too() {
    let rounds = std::env::var("FUZZ_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let mut dice = Dice::new(13);
    for (name, target) in TARGETS {
        let cases: Vec<Vec<u8>> = files("corpus", name)
            .into_iter()
            .map(|file| fs::read(file).unwrap())
            .collect();
        for case in &cases {
            for _ in 0..rounds {
                let other = &cases[dice.below(cases.len() as u64) as usize];
                let case = changed(case, other, &mut dice);
                let held = std::panic::catch_unwind(|| target(&case));
                assert!(held.is_ok(), "{name} does not hold for {case:?}");
            }
        }
    }
}

/// The case with up to three changes: a byte, a piece that is gone, or a piece of another case.
fn changed(case: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut case = case.to_vec();
    for _ in 0..1 + dice.below(3) {
        let mut piece = |length: usize| {
            let from = dice.below(length as u64 + 1) as usize;
            from..(from + dice.below(40) as usize).min(length)
        };
        let (own, foreign) = (piece(case.len()), piece(other.len()));
        match (dice.below(3), case.get_mut(own.start)) {
            (0, Some(byte)) => *byte ^= 1 << dice.below(8),
            (1, _) => drop(case.drain(own)),
            _ => drop(case.splice(own.start..own.start, other[foreign].iter().copied())),
        }
    }
    case
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
