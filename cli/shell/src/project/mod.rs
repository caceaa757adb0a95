//! A project as it is found: which test runner it uses, and a first `loopexec.toml` for it.
//!
//! Detection reads a few small files and runs nothing. Every proposal says why it was made; the first
//! is the one that `init` writes, the others stay comments beside it.

mod go;
mod init;
mod node;
mod python;
mod recipes;
mod rust;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::paths::open_regular;

pub use init::{InitError, Initialised, init, init_file};

/// A test runner that the project seems to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// Name of the runner, as collectors call it where there is one.
    pub runner: &'static str,
    /// The check, as words.
    pub check: Vec<String>,
    /// What it was concluded from, for people.
    pub why: String,
}

impl Detected {
    fn new(runner: &'static str, check: &[&str], why: impl Into<String>) -> Self {
        Self {
            runner,
            check: check.iter().map(|word| (*word).to_owned()).collect(),
            why: why.into(),
        }
    }
}

type Detector = fn(&Project<'_>) -> Option<Detected>;

/// Most specific first: a recipe named `test` usually calls one of the runners above it, and hides
/// from the collectors what it calls.
const DETECTORS: &[Detector] = &[
    rust::detect,
    go::detect,
    python::pytest,
    python::unittest,
    node::detect,
    recipes::just,
    recipes::make,
];

/// What the project in `workdir` seems to be tested with, best proposal first.
pub fn detect(workdir: &Path) -> Vec<Detected> {
    let project = Project { workdir };
    DETECTORS.iter().filter_map(|detector| detector(&project)).collect()
}

/// A workdir, asked for small files only.
struct Project<'a> {
    workdir: &'a Path,
}

/// Larger files are not the hand-written ones that are looked for.
const READ_MAX_BYTES: u64 = 1 << 20;
/// So many entries of a directory are looked at.
const LIST_MAX: usize = 1_000;

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.workdir.join(name).is_file()
    }

    /// The first of `names` that is a file.
    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// The text of a small regular file; nothing else can be read, and a pipe is not waited for.
    fn text(&self, name: &str) -> Option<String> {
        let file = open_regular(&self.workdir.join(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(READ_MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A TOML file, parsed.
    fn toml(&self, name: &str) -> Option<toml::Table> {
        self.text(name)?.parse().ok()
    }

    /// Names of the files in a directory of the workdir (`.` for itself), sorted.
    fn files_in(&self, dir: &str) -> Vec<String> {
        let Ok(listing) = fs::read_dir(self.workdir.join(dir)) else {
            return Vec::new();
        };
        let entries = listing.take(LIST_MAX).filter_map(Result::ok);
        let files = entries.filter(|entry| entry.path().is_file());
        let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}
