//! The places of a check on this machine: where its programs are installed, and what its environment names
//! (SPEC 6.7.3). Which of them it may reach, the engine says.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::event::candidate::Trace;
use engine::event::policy::Policy;
use engine::hermetic::reach::{Roots, TOOL_VARIABLES};

use super::toolchain::Toolchain;
use crate::oracle::trace;
use crate::scratch::Scratch;

/// Every place but those of a copy. `env` is what the user has.
pub(crate) fn roots(workdir: &Path, policy: &Policy, env: &[(OsString, OsString)]) -> Roots {
    let said = |name: &str| {
        env.iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_os_str())
    };
    let home = said("HOME").map(|home| real(Path::new(home)));
    let mut roots = Roots::new(bytes(workdir), home.as_deref().map(bytes));
    for dir in said("PATH").into_iter().flat_map(entries) {
        for dir in both(&dir) {
            roots.tool(bytes(&dir));
            roots.installed_with(bytes(&dir));
        }
    }
    // In a copy the tools below the user's home are named by variables that the user need not have set.
    let nowhere = Path::new("/");
    let copied = Scratch::environment(env, nowhere, nowhere);
    let named = |name: &&str| {
        copied
            .iter()
            .rev()
            .find(|(known, _)| known == *name)
            .map(|(_, value)| entries(value))
    };
    for place in TOOL_VARIABLES.iter().filter_map(named).flatten() {
        for place in both(&place) {
            roots.tool(bytes(&place));
        }
    }
    let programs = Toolchain::default().start(workdir, &policy.oracle.check, said("PATH"));
    for file in programs.paths() {
        for file in both(Path::new(OsStr::from_bytes(&file.0))) {
            roots.program(bytes(&file));
        }
    }
    for environment in environments(workdir) {
        roots.environment(bytes(&environment));
        // It may be a link to where several projects have theirs.
        let led = real(&environment);
        if is_environment(&led) {
            roots.tool(bytes(&led));
        }
    }
    roots.named(&policy.oracle.hermetic_allow);
    roots
}

/// What a traced run in `copy` touched; `own` are the places that were made for it.
///
/// # Errors
/// The trace cannot be read.
pub(crate) fn touched(
    file: &Path,
    copy: &Path,
    own: impl IntoIterator<Item = PathBuf>,
    mut roots: Roots,
) -> Result<Trace, String> {
    for path in own {
        roots.own(bytes(&path));
    }
    trace::read(file, &roots, bytes(copy)).map_err(|error| {
        let file = file.display();
        format!("what the check touched is not known: {file}: {error}")
    })
}

/// Directories of the workdir that hold tools: what was installed there says itself where it is, in a copy too.
fn environments(workdir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(workdir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| is_environment(path))
        .collect()
}

fn is_environment(path: &Path) -> bool {
    path.ends_with("node_modules") || path.join("pyvenv.cfg").is_file()
}

fn entries(list: &OsStr) -> Vec<PathBuf> {
    let parts = list.as_bytes().split(|byte| *byte == b':');
    let paths = parts.map(|part| PathBuf::from(OsStr::from_bytes(part)));
    paths.filter(|path| path.is_absolute()).collect()
}

/// As it is written, and where that leads: a trace shows the latter.
fn both(path: &Path) -> [PathBuf; 2] {
    [path.to_path_buf(), real(path)]
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_in_the_tree_is_in_reach_and_the_tree_itself_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let work = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(work.join(".venv/bin")).unwrap();
        fs::create_dir_all(work.join("node_modules/x")).unwrap();
        fs::write(work.join(".venv/pyvenv.cfg"), "").unwrap();
        let tools = tempfile::tempdir().unwrap();
        let tools = fs::canonicalize(tools.path()).unwrap();
        fs::create_dir_all(tools.join("real/bin")).unwrap();
        std::os::unix::fs::symlink(tools.join("real"), tools.join("link")).unwrap();
        let env = [
            (
                "PATH".into(),
                format!("{}:/usr/bin", tools.join("link/bin").display()).into(),
            ),
            ("CARGO_HOME".into(), tools.join("cargo").into()),
        ];
        let roots = roots(&work, &Policy::default(), &env);
        let allow = |path: PathBuf| roots.allow(bytes(&path));
        assert!(allow(work.join(".venv/bin/python")) && allow(work.join("node_modules/x/index.js")));
        assert!(!allow(work.join("src/lib.rs")));
        assert!(
            allow(tools.join("real/lib/module.py")),
            "it was installed with a program on the search path"
        );
        assert!(allow(tools.join("cargo/registry/x")) && !allow(tools.join("other")));
    }
}
