//! What is true of every setting, and of the layers together.

mod files;
mod layers;
mod round_trip;

use std::ffi::OsString;
use std::fs;

use tempfile::TempDir;

use super::*;

/// A workdir with this `loopexec.toml`; no file for an empty text.
pub(super) fn workdir(toml: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    if !toml.is_empty() {
        fs::write(dir.path().join(FILE_NAME), toml).unwrap();
    }
    dir
}

pub(super) fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = variables.iter().map(|(name, value)| (name.into(), value.into()));
    std::iter::once(("PATH".into(), path)).chain(own).collect()
}

/// Resolves without asking for a check.
pub(super) fn resolved(toml: &str, variables: &[(&str, &str)], flags: &Flags) -> Result<Resolved, ConfigError> {
    let dir = workdir(toml);
    resolve_without_check(&Inputs {
        workdir: dir.path(),
        flags,
        env: &environment(variables),
        known: Known {
            guards: &["blocked_paths", "collected_set"],
            collectors: &["pytest", "libtest"],
        },
    })
}

pub(super) fn from_toml(toml: &str) -> Result<Resolved, ConfigError> {
    resolved(toml, &[], &Flags::default())
}

pub(super) fn from_env(name: &str, value: &str) -> Result<Resolved, ConfigError> {
    resolved("", &[(name, value)], &Flags::default())
}

pub(super) fn from_flag(name: &str, value: &str) -> Result<Resolved, ConfigError> {
    resolved("", &[], &Flags::default().with(name, value))
}
