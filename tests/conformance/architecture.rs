//! The rules of the house, read from its manifests and sources.
//!
//! ```text
//!   manifests ──> who may know whom          sources ──> what may be named where
//!   folders   ──> nothing is forgotten       pages   ──> what may stand in the repository at all
//! ```
//!
//! A list of exceptions may only shrink: an entry that is not needed any more fails as loudly as one that is missing.
//! What the compiler or clippy can hold (see the `clippy.toml` of each crate) is not repeated here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::house::{self, Source, mentions, name, read, root, sources};

/// What each crate is built from, exactly. The shell and the binary may take in more, but for [`WITHHELD`].
const BUILT_FROM: &[(&str, &[&str])] = &[
    ("engine", &["arbitrary?", "rkyv", "serde"]),
    (
        "journal",
        &[
            "blake3",
            "ed25519-dalek",
            "engine",
            "getrandom",
            "rkyv",
            "rustix",
            "serde",
            "serde_json",
        ],
    ),
    ("models", &["engine", "serde_json"]),
];

/// Crate, and dependencies of any kind that it must not have.
const WITHHELD: &[(&str, &[&str])] = &[
    ("engine", &["journal", "models", "shell", "loopexec"]),
    ("journal", &["models", "shell", "loopexec", "clap"]),
    ("models", &["journal", "shell", "loopexec"]),
    ("shell", &["models", "loopexec", "clap", "clap_complete", "quick-junit"]),
    ("fuzz", &["loopexec", "clap"]),
];

/// A name that code may use in few places.
struct Ban {
    /// The rule, as a sentence.
    rule: &'static str,
    names: &'static [&'static str],
    /// Beginnings of paths.
    within: &'static [&'static str],
    except: &'static [&'static str],
}

/// Rules for what is shipped.
const BANS: &[Ban] = &[
    Ban {
        rule: "the engine has no standard library",
        names: &["std::", "extern crate std"],
        within: &["engine/src/"],
        except: &[],
    },
    Ban {
        rule: "serialisation of the engine is derived in its events alone",
        names: &[
            "serde",
            "rkyv",
            "Serialize",
            "Deserialize",
            "Archive",
            "wire!",
            "label!",
        ],
        within: &["engine/src/"],
        except: &["engine/src/event/"],
    },
    Ban {
        rule: "projections and messages between processes are the only other things that are serialised",
        names: &["Serialize", "Deserialize", "Archive"],
        within: &["journal/src/", "models/src/", "cli/shell/src/"],
        except: &[
            "cli/shell/src/process/command.rs",
            "cli/shell/src/process/hex.rs",
            "cli/shell/src/process/leftovers.rs",
            "cli/shell/src/process/outcome.rs",
            "cli/shell/src/process/protocol.rs",
            "cli/shell/src/session/projection.rs",
            "cli/shell/src/world/context.rs",
            "cli/shell/src/world/ids.rs",
            "cli/shell/src/world/surface.rs",
            "journal/src/proof.rs",
            "journal/src/receipt.rs",
        ],
    },
    Ban {
        rule: "nothing that decides computes with floats",
        names: &["f32", "f64"],
        within: &["engine/src/", "models/src/"],
        except: &[],
    },
    Ban {
        rule: "processes are started by the process room, and git by its one runner",
        names: &["process::Command", "process::{Command", "Command::new"],
        within: &["journal/src/", "models/src/", "cli/shell/src/"],
        except: &["cli/shell/src/process/", "cli/shell/src/tree/git/run.rs"],
    },
    Ban {
        rule: "clocks are read by the clock room, for deadlines of processes, and for the cost of a walk or a check",
        names: &["Instant::now", "SystemTime::now", "clock_gettime"],
        within: &["journal/src/", "models/src/", "cli/"],
        except: &[
            "cli/shell/src/clock.rs",
            "cli/shell/src/process/children.rs",
            "cli/shell/src/process/leftovers.rs",
            "cli/shell/src/process/running.rs",
            "cli/shell/src/process/supervisor.rs",
            "cli/shell/src/process/survivors.rs",
            "cli/shell/src/tree/git/run.rs",
            "cli/shell/src/tree/stat.rs",
            "cli/shell/src/world/check.rs",
            "cli/shell/src/world/tree.rs",
        ],
    },
    Ban {
        rule: "only the binary prints",
        names: &["print!", "println!", "eprint!", "eprintln!"],
        within: &["engine/", "journal/src/", "models/src/", "cli/shell/src/", "fuzz/src/"],
        except: &[],
    },
    Ban {
        rule: "only the binary knows the command line",
        names: &["clap", "env::args", "env::args_os"],
        within: &["engine/", "journal/src/", "models/src/", "cli/shell/src/"],
        except: &[],
    },
    Ban {
        rule: "what can fail has a typed error, and what cannot is written so that it need not be claimed",
        names: &["panic!", "unreachable!", ".unwrap()", ".expect(", ".unwrap_err()"],
        within: &["engine/src/", "journal/src/", "cli/"],
        except: &[],
    },
    Ban {
        rule: "a thread waits for a fact, and sleeps only between two looks at one",
        names: &["thread::sleep"],
        within: &["engine/src/", "journal/src/", "models/src/", "cli/"],
        except: &[
            "cli/shell/src/lock.rs",
            "cli/shell/src/process/leftovers.rs",
            "cli/shell/src/process/lost.rs",
            "cli/shell/src/tree/git/run.rs",
            "journal/src/read.rs",
        ],
    },
    Ban {
        rule: "the two calls that need it are the only unsafe code",
        names: &["unsafe"],
        within: &[""],
        except: &["cli/shell/src/process/syscall.rs"],
    },
];

/// Names that no code has, tests included.
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// Folders whose files register in the list of their `mod.rs`: folder, item, and the files that are helpers instead.
const ROOMS: &[(&str, &str, &[&str])] = &[
    ("engine/src/guard", "GUARD", &["bench", "surface"]),
    ("engine/src/progress", "DETECTOR", &["trend"]),
    (
        "cli/shell/src/oracle/collect",
        "COLLECTOR",
        &[
            "detect",
            "error",
            "go_text",
            "injection",
            "libtest_binaries",
            "nextest_text",
            "node_spec",
            "pytest_record",
        ],
    ),
];

const LINES_MAX: usize = 600;

/// A file above this has more than one concern until shown otherwise.
const LINES_ROOMY: usize = 450;

/// Files that are longer, with the number of lines that they may not exceed.
const OVERGROWN: &[(&str, usize)] = &[
    ("cli/shell/tests/tree/restore.rs", 462),
    ("engine/src/state.rs", 600),
    ("journal/src/write.rs", 451),
];

/// Everything that lies at the top of the repository.
const TOP: &[&str] = &[
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
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
const TOP_OPTIONAL: &[&str] = &[".ci", ".github", "README.md"];

/// Sources that ship letters beyond ASCII on purpose: in what they read, or in what they show people.
const BEYOND_ASCII: &[&str] = &[
    // Marks and units in the output of test runners.
    "cli/shell/src/oracle/collect/nextest_text.rs",
    "cli/shell/src/oracle/collect/node_spec.rs",
    "cli/shell/src/oracle/normalise.rs",
    "cli/shell/src/oracle/normalise/scan.rs",
    // The dash that opens a signature of a note, and the sign of what was left out.
    "cli/shell/src/config/error.rs",
    "journal/src/checkpoint.rs",
    // Drawings.
    "cli/shell/src/process/capture.rs",
    "cli/shell/src/process/mod.rs",
    "cli/shell/src/process/running.rs",
    "cli/shell/src/tree/store.rs",
];

#[test]
fn each_crate_is_built_from_what_it_may_know() {
    let mut faults = Vec::new();
    let packages = house::packages();
    for package in &packages {
        let crate_name = package["name"].as_str().unwrap();
        let (mut built_from, mut all) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            all.insert(name);
            if dependency["kind"].is_null() {
                let mark = if dependency["optional"] == true { "?" } else { "" };
                built_from.insert(format!("{name}{mark}"));
            }
        }
        if let Some((_, allowed)) = BUILT_FROM.iter().find(|(name, _)| *name == crate_name) {
            let allowed: BTreeSet<_> = allowed.iter().map(|name| (*name).to_owned()).collect();
            let differing: Vec<_> = built_from.symmetric_difference(&allowed).collect();
            if !differing.is_empty() {
                faults.push(format!(
                    "{crate_name} is built from more or less than it may be: {differing:?}"
                ));
            }
        }
        let withheld = WITHHELD.iter().filter(|(name, _)| *name == crate_name);
        for name in withheld
            .flat_map(|(_, names)| *names)
            .filter(|name| all.contains(**name))
        {
            faults.push(format!("{crate_name} depends on {name}"));
        }
    }
    assert_eq!(packages.len(), 6, "a crate that no rule knows");
    assert_none(&faults);
}

#[test]
fn every_crate_takes_the_lints_of_the_house() {
    let mut faults = Vec::new();
    for manifest in ["engine", "journal", "models", "cli", "cli/shell", "fuzz"] {
        let text = read(&root().join(manifest).join("Cargo.toml"));
        if !text.contains("\n[lints]\nworkspace = true\n") {
            faults.push(format!("{manifest}/Cargo.toml does not"));
        }
        let alien = text
            .lines()
            .filter(|line| line.contains("version =") || line.contains("path = \"../"));
        faults.extend(
            alien
                .filter(|line| !line.contains("path = \"../tests/main.rs\""))
                .map(|line| format!("{manifest}/Cargo.toml: `{line}` belongs into the workspace's table")),
        );
    }
    for (file, attribute) in [
        ("engine/src/lib.rs", "#![no_std]"),
        ("engine/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("journal/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("cli/shell/src/lib.rs", "#![deny(unsafe_code)]"),
        ("Cargo.toml", "unsafe_code = \"deny\""),
    ] {
        if !read(&root().join(file)).lines().any(|line| line == attribute) {
            faults.push(format!("{file} lacks {attribute}"));
        }
    }
    assert_none(&faults);
}

#[test]
fn names_are_used_where_the_house_allows_them() {
    let sources = sources();
    let mut faults = Vec::new();
    for ban in BANS {
        faults.extend(broken(ban, &sources));
    }
    assert_none(&faults);
}

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
    let forgotten: Vec<_> = forgotten
        .filter(|path| !built.contains_key(path) && !path.contains("/fixtures/"))
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
            Some(_) if lines <= LINES_ROOMY => faults.push(format!("{path} shrank to {lines} lines: take off its pin")),
            None if lines > LINES_ROOMY => faults.push(format!("{path} has {lines} lines, over {LINES_ROOMY}")),
            _ => {}
        }
    }
    faults.extend(
        OVERGROWN
            .iter()
            .filter(|(_, pin)| *pin > LINES_MAX)
            .map(|(path, _)| format!("{path}: pinned too high")),
    );
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
        .into_values()
        .filter(|source| !source.product_text().is_ascii())
        .map(|source| source.path)
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
        let told = places.iter().filter(|place| text.contains(place.as_str()));
        faults.extend(told.map(|place| format!("{} names {place}", name(&file))));
    }
    assert_none(&faults);
}

/// The places that break a rule, and the exceptions that nothing needs.
fn broken(ban: &Ban, sources: &BTreeMap<String, Source>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut needed = BTreeSet::new();
    for (path, source) in sources.iter().filter(|(path, _)| starts(path, ban.within).is_some()) {
        let product = source.product();
        let used: Vec<_> = ban.names.iter().filter(|name| mentions(&product, name)).collect();
        match starts(path, ban.except) {
            Some(exception) if !used.is_empty() => drop(needed.insert(exception)),
            None if !used.is_empty() => faults.push(format!("{}: {path} uses {used:?}", ban.rule)),
            _ => {}
        }
    }
    let spare = ban.except.iter().filter(|exception| !needed.contains(*exception));
    faults.extend(spare.map(|exception| format!("{}: {exception} needs no exception", ban.rule)));
    faults
}

fn starts(path: &str, beginnings: &[&'static str]) -> Option<&'static str> {
    beginnings.iter().copied().find(|beginning| path.starts_with(beginning))
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
