//! What the benches of the binary share: a scratch project, programs by name, the middle of several figures.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A project and a home of its own.
pub(crate) struct Place {
    pub(crate) root: TempDir,
}

impl Place {
    pub(crate) fn new(below: &Path) -> Self {
        let root = tempfile::tempdir_in(below).unwrap();
        for name in ["work", "home"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    /// A program in the project, in the environment that both sides get: without what the build tool adds, where a
    /// search path for libraries makes every start slow, and without a search for the program.
    pub(crate) fn command(&self, named: impl Into<OsString>) -> Command {
        let named = named.into();
        let mut command = Command::new(program(&named).unwrap_or(named.into()));
        for (name, _) in std::env::vars_os() {
            let added = |start: &&str| name.as_encoded_bytes().starts_with(start.as_bytes());
            if ["LOOPEXEC_", "LD_", "CARGO", "RUST"].iter().any(added) {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.root.path().join("work"))
            .env("HOME", self.root.path().join("home"))
            .env("XDG_CONFIG_HOME", self.root.path().join("home/config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub(crate) fn loopexec(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(executable());
        command.args(arguments);
        command
    }
}

fn executable() -> PathBuf {
    std::env::var_os("LOOPEXEC_BENCH_EXE").map_or_else(|| env!("CARGO_BIN_EXE_loopexec").into(), PathBuf::from)
}

pub(crate) fn find(below: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(below).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return find(&path, name);
        }
        path.ends_with(name).then_some(path)
    })
}

/// Where the search path has a program.
pub(crate) fn program(name: impl AsRef<Path>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(&name));
    found.find(|path| path.is_file())
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
