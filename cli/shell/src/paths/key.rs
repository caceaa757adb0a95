//! Where the signing key lies: never where the work can reach it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::PathError;

/// The path of the signing key: `$LOOPEXEC_KEY`, else `$XDG_CONFIG_HOME/loopexec/key`, else
/// `~/.config/loopexec/key`. The file need not exist. `workdir` is canonical.
///
/// # Errors
/// A place inside the workdir, a relative path, or no home at all.
pub fn signing_key(workdir: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, PathError> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = if let Some(path) = set("LOOPEXEC_KEY") {
        if path.is_relative() {
            return Err(PathError::NotAbsolute {
                variable: "LOOPEXEC_KEY",
                path,
            });
        }
        path
    } else {
        // A relative XDG_CONFIG_HOME is to be ignored, says its specification.
        let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let home = set("HOME").filter(|path| path.is_absolute());
        let config = config.or_else(|| home.map(|home| home.join(".config")));
        config.ok_or(PathError::NoHome)?.join("loopexec").join("key")
    };
    if real(&path).starts_with(workdir) {
        return Err(PathError::KeyInWorkdir { path });
    }
    Ok(path)
}

/// `path` with the links of the part that exists resolved, and the rest appended.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(resolved) = fs::canonicalize(at) {
            return missing.iter().rev().fold(resolved, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return path.to_owned();
        };
        missing.push(name);
        at = parent;
    }
}
