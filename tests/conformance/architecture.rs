//! The rules of the house, read from its manifests and sources.
//!
//! ```text
//!   manifests ──> who may know whom
//!   sources   ──> what may be named where
//! ```
//!
//! A list of exceptions may only shrink: an entry that is not needed any more fails as loudly as one that is missing.
//! What the compiler or clippy can hold (see the `clippy.toml` of each crate) is not repeated here.

use std::collections::{BTreeMap, BTreeSet};

use super::house::{self, Source, assert_none, mentions, read, root, sources};

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
    ("threads", &["loom"]),
    (
        "syntax",
        &[
            "blake3",
            "tree-sitter",
            "tree-sitter-go?",
            "tree-sitter-java?",
            "tree-sitter-javascript?",
            "tree-sitter-python?",
            "tree-sitter-rust?",
            "tree-sitter-typescript?",
        ],
    ),
];

/// Crate, and dependencies of any kind that it must not have. The tests of the models live simulated runs with the real
/// driver and the real journal; the models themselves are built from the engine alone.
const WITHHELD: &[(&str, &[&str])] = &[
    ("engine", &["journal", "models", "shell", "loopexec"]),
    ("journal", &["models", "shell", "loopexec", "clap"]),
    ("models", &["loopexec", "clap"]),
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
            "cli/shell/src/process/bytes.rs",
            "cli/shell/src/process/command.rs",
            "cli/shell/src/process/leftovers.rs",
            "cli/shell/src/process/outcome.rs",
            "cli/shell/src/process/protocol.rs",
            "cli/shell/src/session/projection.rs",
            "cli/shell/src/world/assertions.rs",
            "cli/shell/src/world/context.rs",
            "cli/shell/src/world/ids.rs",
            // Between launcher, init and command; and the word that the launcher leaves.
            "cli/shell/src/zone/control.rs",
            "cli/shell/src/zone/facts.rs",
            "cli/shell/src/zone/mounts.rs",
            "cli/shell/src/zone/plan.rs",
            "cli/shell/src/zone/report.rs",
            // Word of a key for whoever outlives the governor.
            "cli/shell/src/zone/credential/marker.rs",
            "cli/shell/src/world/listed.rs",
            "cli/shell/src/world/outputs.rs",
            "cli/shell/src/world/in_source.rs",
            "cli/shell/src/world/shared.rs",
            "cli/shell/src/world/surface.rs",
            "cli/shell/src/world/toolchain.rs",
            "cli/shell/src/world/vet/review.rs",
            "journal/src/extension.rs",
            "journal/src/proof.rs",
            "journal/src/receipt.rs",
        ],
    },
    Ban {
        rule: "the second opinion shares nothing with what it judges",
        names: &["engine", "journal::", "shell::", "crate::"],
        within: &["models/src/reference"],
        except: &[],
    },
    Ban {
        rule: "nothing that decides computes with floats",
        names: &["f32", "f64"],
        within: &["engine/src/", "models/src/"],
        except: &[],
    },
    Ban {
        rule: "processes are started by the process room, zones by their launcher, and git by its one runner",
        names: &["process::Command", "process::{Command", "Command::new"],
        within: &["journal/src/", "models/src/", "cli/shell/src/"],
        except: &[
            "cli/shell/src/process/",
            "cli/shell/src/tree/git/run.rs",
            // Its version is asked for; a governor is killed whose supervisor must not outlive it; it makes the zone; the
            // init becomes the command.
            "cli/shell/src/zone/backend.rs",
            "cli/shell/src/zone/fall.rs",
            "cli/shell/src/zone/started.rs",
            "cli/shell/src/zone/init.rs",
        ],
    },
    Ban {
        rule: "clocks are read by the clock room, and for deadlines and costs of what runs",
        names: &["Instant::now", "SystemTime::now", "clock_gettime"],
        within: &["journal/src/", "models/src/", "cli/"],
        except: &[
            "cli/shell/src/zone/outside.rs",
            "cli/shell/src/clock.rs",
            "cli/shell/src/process/children.rs",
            "cli/shell/src/process/leftovers.rs",
            "cli/shell/src/process/running.rs",
            "cli/shell/src/process/supervisor.rs",
            "cli/shell/src/process/survivors.rs",
            "cli/shell/src/process/wish.rs",
            "cli/shell/src/tree/git/run.rs",
            "cli/shell/src/tree/stat.rs",
            "cli/shell/src/world/check.rs",
            "cli/shell/src/world/tree.rs",
        ],
    },
    Ban {
        rule: "what is read from a source is a function of its bytes",
        names: &[
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "std::time",
            "std::thread",
        ],
        within: &["cli/syntax/src/"],
        except: &[],
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
            // Between two attempts to revoke a key, which only its provider could tell of.
            "cli/shell/src/zone/credential/mod.rs",
            "cli/src/command/status.rs",
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
    assert_eq!(packages.len(), 8, "a crate that no rule knows");
    assert_none(&faults);
}

#[test]
fn every_crate_takes_the_lints_of_the_house() {
    let mut faults = Vec::new();
    for manifest in [
        "engine",
        "journal",
        "models",
        "models/threads",
        "cli",
        "cli/shell",
        "cli/syntax",
        "fuzz",
    ] {
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
        ("cli/syntax/src/lib.rs", "#![forbid(unsafe_code)]"),
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
        faults.extend(broken(ban, sources));
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
