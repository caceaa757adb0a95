//! Places that hold credentials: no zone sees one, or what one lies in (SPEC 14.2.2).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

/// Below a home directory.
const PLACES: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/gh",
    ".config/gcloud",
    ".config/git",
    ".config/loopexec",
    ".local/share/keyrings",
    ".local/state/loopexec",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".docker",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gnupg",
    ".password-store",
    ".vault-token",
];

/// Of the machine.
const OF_THE_MACHINE: &[&str] = &["/run", "/var", "/sys", "/proc", "/dev", "/etc/shadow", "/etc/ssh"];

/// The place of credentials that `path` is, contains or lies in; `path` is absolute, without links in it.
pub(crate) fn met<'h>(path: &Path, homes: impl IntoIterator<Item = &'h Path>) -> Option<PathBuf> {
    let below = homes
        .into_iter()
        .flat_map(|home| PLACES.iter().map(move |place| home.join(place)));
    let mut places = below.chain(OF_THE_MACHINE.iter().map(PathBuf::from));
    places.find(|place| place.starts_with(path) || path.starts_with(place))
}

/// Those that are there, by path.
pub(crate) fn there<'h>(homes: impl IntoIterator<Item = &'h Path>) -> Vec<PathBuf> {
    let below = homes
        .into_iter()
        .flat_map(|home| PLACES.iter().map(move |place| home.join(place)));
    below.filter(|place| place.exists()).collect()
}

/// The homes whose credentials count: the one that the environment names, the one that the system's list of users names,
/// which a copy's private home does not hide, and that of the superuser.
pub(crate) fn homes(named: Option<&OsStr>) -> Vec<PathBuf> {
    let named = named.map(PathBuf::from).filter(|home| home.is_absolute());
    let listed = User::from_uid(Uid::effective()).ok().flatten().map(|user| user.dir);
    let of_root = PathBuf::from("/root");
    let mut homes: Vec<PathBuf> = named.into_iter().chain(listed).chain([of_root]).collect();
    // Accounts of services live in the root directory, or nowhere.
    homes.retain(|home| home.parent().is_some());
    let real: Vec<PathBuf> = homes.iter().filter_map(|home| home.canonicalize().ok()).collect();
    homes.extend(real);
    homes.sort();
    homes.dedup();
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_met(path: &str) -> bool {
        met(Path::new(path), [Path::new("/home/u")]).is_some()
    }

    #[test]
    fn what_is_or_contains_or_lies_in_a_place_of_credentials_is_met() {
        for path in [
            "/home/u/.ssh",
            "/home/u",
            "/home",
            "/",
            "/home/u/.aws/cli",
            "/home/u/.config",
            "/var/lib/x",
        ] {
            assert!(is_met(path), "{path}");
        }
        for path in [
            "/home/u/project",
            "/home/u/.cargo/bin",
            "/home/u/.rustup",
            "/opt/node",
            "/home/v",
        ] {
            assert!(!is_met(path), "{path}");
        }
    }
}
