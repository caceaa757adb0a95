//! What of the machine whoever is isolated sees beside the system, by the contract: found, or declared.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use engine::event::policy::Policy;

use super::toolchain::{self, Search, Toolchain};
use super::{Refusal, RefusalCause, secret_places};
use crate::process::path_of;
use crate::world::resolve_programs;

/// How the tree is called in a refusal.
const TREE: &str = "the workdir";

/// A tree may well lie below `/var`: it is seen as a copy, and what lies beside it is not seen.
fn is_of_the_machine(tree: &Path) -> bool {
    tree.starts_with("/var") && tree != Path::new("/var")
}

/// Finds it, for the tree at `at`.
///
/// # Errors
/// A tree or a declared place that lies where credentials do, or is not there.
pub(super) fn shown(policy: &Policy, at: &Path, env: &[(OsString, OsString)]) -> Result<Toolchain, Refusal> {
    let said = |wanted: &str| {
        let found = env.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_os_str())
    };
    let homes = secret_places::homes(said("HOME"));
    let of_home = |name: &str, below: &str| {
        let named = said(name).map(PathBuf::from);
        named.or_else(|| said("HOME").map(|home| Path::new(home).join(below)))
    };
    let refused = |path: &Path, what: &str| {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let met = secret_places::met(&real, homes.iter().map(PathBuf::as_path));
        met.filter(|_| what != TREE || !is_of_the_machine(&real))
            .map(|place| Refusal {
                cause: RefusalCause::CredentialPathMounted,
                message: format!(
                    "{what} {} is, contains or lies in {}, where credentials are kept; no zone may see it",
                    path.display(),
                    place.display()
                ),
            })
    };
    if let Some(refusal) = refused(at, TREE) {
        return Err(refusal);
    }
    let mut toolchain = toolchain::find(&Search {
        path: path_of(env),
        homes: &homes,
        cargo_home: of_home("CARGO_HOME", ".cargo"),
        rustup_home: of_home("RUSTUP_HOME", ".rustup"),
        workdir: at,
        programs: &named(policy, at, env),
    });
    for declared in policy.isolation.toolchains.iter().map(PathBuf::from) {
        if let Some(refusal) = refused(&declared, "the toolchain") {
            return Err(refusal);
        }
        if !declared.exists() {
            return Err(Refusal {
                cause: RefusalCause::ProbeFailed,
                message: format!("the toolchain {} is not there", declared.display()),
            });
        }
        toolchain.dirs.insert(declared);
    }
    Ok(toolchain)
}

/// Programs that the commands surely start, and whatever else they name by an absolute path.
fn named(policy: &Policy, at: &Path, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let programs = resolve_programs(policy, at, env);
    let mut named: Vec<PathBuf> = programs
        .into_iter()
        .map(|program| PathBuf::from(OsStr::from_bytes(&program.path.0)))
        .collect();
    let oracle = &policy.oracle;
    let beside = oracle.failures_cmd.iter().chain(&oracle.integrity_cmd);
    for command in [&policy.exec, &oracle.check].into_iter().chain(beside) {
        for word in &command.words {
            let parts = word
                .0
                .split(|byte| byte.is_ascii_whitespace() || b"'\"=;|&()<>".contains(byte));
            let absolute = parts.filter(|part| part.starts_with(b"/"));
            named.extend(absolute.map(|part| PathBuf::from(OsStr::from_bytes(part))));
        }
    }
    named.retain(|path| path.is_absolute() && is_program(path));
    named
}

/// A file of data that a command names is the user's to show (`--toolchain`).
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|seen| seen.is_file() && seen.permissions().mode() & 0o111 != 0)
}
