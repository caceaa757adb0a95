//! What lies where: rooms in their lists, sources in some crate, pages that tell of the project alone.
//!
//! A list of exceptions may only shrink: an entry that is not needed any more fails as loudly as one that is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::house::{self, assert_none, mentions, name, read, root, sources};

/// Names that no code has, tests included.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// Folders whose files register in the list of their `mod.rs`: folder, item, and the files that are helpers instead.
const ROOMS: &[(&str, &str, &[&str])] = &[
    ("engine/src/guard", "GUARD", &["bench", "surface", "tests"]),
    ("engine/src/progress", "DETECTOR", &["trend"]),
    ("cli/shell/src/probe/dimension", "DIMENSION", &["site"]),
    (
        "cli/shell/src/oracle/collect",
        "COLLECTOR",
        &[
            "bounds",
            "detect",
            "error",
            "go_text",
            "injection",
            "libtest_binaries",
            "nextest_text",
            "node_spec",
            "peel",
            "pytest_record",
            "recipes",
            "tests",
            "variables",
        ],
    ),
    (
        "cli/shell/src/oracle/coverage",
        "FORMAT",
        &["delta", "draft", "error", "names", "source", "tests", "v8"],
    ),
];

/// A file above this has more than one concern until shown otherwise.
const LINES_MAX: usize = 450;

/// Files that are longer, with the number of lines that they may not exceed.
const OVERGROWN: &[(&str, usize)] = &[];

/// Everything that lies at the top of the repository.
const TOP: &[&str] = &[
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SPEC.md",
    "cli",
    "clippy.toml",
    "deny.toml",
    "engine",
    "fuzz",
    "journal",
    "models",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tests",
];

/// What may lie there too.
const TOP_OPTIONAL: &[&str] = &[".github"];

/// Sources that ship letters beyond ASCII on purpose: in what they read, or in what they show people.
const BEYOND_ASCII: &[&str] = &[
    // Marks and units in the output of test runners.
    "cli/shell/src/oracle/collect/node_spec.rs",
    "cli/shell/src/oracle/normalise.rs",
    "cli/shell/src/oracle/normalise/scan.rs",
    // The dash that opens a signature of a note.
    "journal/src/checkpoint.rs",
    // The sign of what was left out.
    "cli/shell/src/config/error.rs",
    "cli/shell/src/tree/store.rs",
];

#[test]
fn nothing_is_left_unfinished() {
    let sources = sources();
    let found = sources.values().flat_map(|source| {
        let names = UNFINISHED.iter().filter(|name| mentions(&source.code, name));
        names.map(|name| format!("{} uses {name}", source.path))
    });
    assert_none(&found.collect::<Vec<_>>());
}

#[test]
fn a_room_registers_in_the_list_of_its_folder() {
    let sources = sources();
    let mut faults = Vec::new();
    for (folder, item, helpers) in ROOMS {
        let list = &sources[&format!("{folder}/mod.rs")].code;
        let mut seen = BTreeSet::new();
        for file in house::rust_files(&root().join(folder)) {
            let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
            let is_helper = helpers.contains(&stem.as_str());
            let is_listed = mentions(list, &format!("{stem}::{item}"));
            if stem != "mod" && is_helper == is_listed {
                faults.push(format!(
                    "{}: in the list {is_listed}, among helpers {is_helper}",
                    name(&file)
                ));
            }
            seen.insert(stem);
        }
        let gone = helpers.iter().filter(|helper| !seen.contains(**helper));
        faults.extend(gone.map(|helper| format!("{folder}/{helper}.rs is gone")));
    }
    assert_none(&faults);
}

#[test]
fn every_source_is_built_into_some_crate() {
    let built = sources();
    let forgotten = house::rust_files(&root()).into_iter().map(|file| name(&file));
    // The comparison with other stores is a workspace of its own, so that their crates are in no build of this one.
    let elsewhere = |path: &str| {
        path.contains("/fixtures/") || path.starts_with("tests/corpus/") || path.starts_with("journal/compare/")
    };
    let forgotten: Vec<_> = forgotten
        .filter(|path| !built.contains_key(path) && !elsewhere(path))
        .collect();
    assert!(forgotten.is_empty(), "no `mod` line leads to {forgotten:#?}");
    assert!(built.len() > 100, "the walk over `mod` lines lost its way");
}

#[test]
fn no_source_outgrows_its_room() {
    let pinned: BTreeMap<_, _> = OVERGROWN.iter().copied().collect();
    let mut faults = Vec::new();
    for (path, source) in sources() {
        let lines = source.text.lines().count();
        match pinned.get(path.as_str()) {
            Some(pin) if lines > *pin => faults.push(format!("{path} has {lines} lines and is pinned at {pin}")),
            Some(_) if lines <= LINES_MAX => faults.push(format!("{path} shrank to {lines} lines: take off its pin")),
            None if lines > LINES_MAX => faults.push(format!("{path} has {lines} lines, over {LINES_MAX}")),
            _ => {}
        }
    }
    assert_none(&faults);
}

#[test]
fn the_top_of_the_repository_holds_what_it_must_and_nothing_else() {
    let ignored = read(&root().join(".gitignore"));
    let ignored: BTreeSet<_> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let found = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<_> = found
        .filter(|name| name != ".git" && !ignored.contains(name.as_str()))
        .collect();
    let top: BTreeSet<_> = TOP.iter().map(|name| (*name).to_owned()).collect();
    let alien: Vec<_> = found
        .difference(&top)
        .filter(|name| !TOP_OPTIONAL.contains(&name.as_str()))
        .collect();
    let missing: Vec<_> = top.difference(&found).collect();
    assert!(
        alien.is_empty() && missing.is_empty(),
        "alien {alien:?}, missing {missing:?}"
    );
}

#[test]
fn letters_beyond_ascii_stand_where_they_are_meant() {
    let found: BTreeSet<_> = sources()
        .values()
        .filter(|source| source.product_text().chars().any(is_foreign))
        .map(|source| source.path.clone())
        .collect();
    let listed: BTreeSet<_> = BEYOND_ASCII.iter().map(|path| (*path).to_owned()).collect();
    let differing: Vec<_> = found.symmetric_difference(&listed).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn no_page_tells_of_a_developers_machine() {
    // In two halves, or this page would be the first to be found.
    let places = [("/wo", "rk/"), ("/ro", "ot/"), ("/tm", "p/wt")].map(|(head, tail)| format!("{head}{tail}"));
    let mut faults = Vec::new();
    for file in house::files(&root()) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let told = places.iter().filter(|place| stands_at_root(&text, place));
        faults.extend(told.map(|place| format!("{} names {place}", name(&file))));
    }
    assert_none(&faults);
}

/// Neither ASCII nor the lines, arrows and blocks that drawings are made of.
fn is_foreign(letter: char) -> bool {
    !letter.is_ascii() && !matches!(letter, '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{25ff}')
}

/// Whether the text names this absolute path, and not a relative one that ends like it.
fn stands_at_root(text: &str, place: &str) -> bool {
    let is_inside = |before: &str| before.ends_with(|c: char| c == '.' || c == '}' || c.is_alphanumeric());
    text.match_indices(place).any(|(at, _)| !is_inside(&text[..at]))
}
