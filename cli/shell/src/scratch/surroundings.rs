//! The environment of a private home: what programs look for below HOME is there, or was told where it is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Directories of their user by variable, below the private home.
const BELOW_HOME: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// Where tools find installed toolchains and packages when nobody says so, below the user's home: a check that needs
/// them must find them from a private one too.
const TOOLS: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("NVM_DIR", ".nvm"),
    ("PYENV_ROOT", ".pyenv"),
    ("PYTHONUSERBASE", ".local"),
    ("RBENV_ROOT", ".rbenv"),
    ("VOLTA_HOME", ".volta"),
];

/// `env` with the home, the caches and the temporary directory of a scratch place.
pub(super) fn private(env: &[(OsString, OsString)], home: &Path, tmp: &Path) -> Vec<(OsString, OsString)> {
    let said = |name: &str| {
        env.iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    };
    let own: Vec<(&str, PathBuf)> = [
        ("HOME", home),
        ("TMPDIR", tmp),
        ("TMP", tmp),
        ("TEMP", tmp),
        ("XDG_RUNTIME_DIR", tmp),
    ]
    .into_iter()
    .map(|(name, path)| (name, path.to_path_buf()))
    .chain(BELOW_HOME.iter().map(|(name, below)| (*name, home.join(below))))
    .collect();
    let is_own = |name: &OsStr| own.iter().any(|(known, _)| name == *known);
    let mut whole: Vec<_> = env.iter().filter(|(name, _)| !is_own(name)).cloned().collect();
    let users = said("HOME").map(Path::new);
    for (name, below) in TOOLS {
        let installed = users.map(|users| users.join(below)).filter(|path| path.is_dir());
        if let (None, Some(path)) = (said(name), installed) {
            whole.push(((*name).into(), path.into()));
        }
    }
    whole.extend(own.into_iter().map(|(name, path)| (name.into(), path.into())));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_is_private_and_installed_tools_are_still_found() {
        let users = tempfile::tempdir().unwrap();
        std::fs::create_dir(users.path().join(".cargo")).unwrap();
        std::fs::create_dir(users.path().join(".rustup")).unwrap();
        let env = [
            ("PATH".into(), "/bin".into()),
            ("HOME".into(), users.path().into()),
            ("TMPDIR".into(), "/elsewhere".into()),
            ("XDG_CACHE_HOME".into(), "/cache".into()),
            ("RUSTUP_HOME".into(), "/opt/rustup".into()),
        ];
        let whole = private(&env, Path::new("/s/home"), Path::new("/s/tmp"));
        let of = |name: &str| -> Vec<_> {
            let found = whole.iter().filter(|(known, _)| known == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(of("PATH"), ["/bin"]);
        assert_eq!(of("HOME"), ["/s/home"]);
        assert_eq!(of("TMPDIR"), ["/s/tmp"]);
        assert_eq!(of("XDG_CACHE_HOME"), ["/s/home/.cache"]);
        assert_eq!(of("CARGO_HOME"), [users.path().join(".cargo").to_string_lossy()]);
        assert_eq!(of("RUSTUP_HOME"), ["/opt/rustup"]);
        assert!(of("GOPATH").is_empty(), "there is none");
    }
}
