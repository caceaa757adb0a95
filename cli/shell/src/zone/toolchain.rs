//! Which directories of the host a zone needs to see beside the system's, and what it must be told of them.
//!
//! ```text
//!   the directories of PATH, and of the programs that are named ──> those outside of system and tree ──┬─> bin alone
//!                                                                                                      └─> its prefix
//! ```
//!
//! A guess by convention, read-only, and never a place of credentials. What it misses is named with `--toolchain`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::secret_places;
use crate::foreign;

/// What every zone sees anyway.
pub(crate) const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// More of a `pyvenv.cfg` is none.
const CFG_MAX_BYTES: u64 = 16 << 10;

/// What a zone needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// To be seen read-only, each where it is.
    pub(crate) dirs: BTreeSet<PathBuf>,
    /// Where tools find what they look for in a home that a zone does not have.
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// Where to look.
pub(crate) struct Search<'a> {
    pub(crate) path: Option<&'a OsStr>,
    /// Whose credentials and programs are the user's own.
    pub(crate) homes: &'a [PathBuf],
    pub(crate) cargo_home: Option<PathBuf>,
    pub(crate) rustup_home: Option<PathBuf>,
    /// The tree, which is seen as its copy.
    pub(crate) workdir: &'a Path,
    /// Programs that the commands start or name by an absolute path.
    pub(crate) programs: &'a [PathBuf],
}

/// Finds it.
pub(crate) fn find(search: &Search<'_>) -> Toolchain {
    let mut found = Toolchain::default();
    let dirs = search.path.into_iter().flat_map(std::env::split_paths);
    let of_programs = search.programs.iter().flat_map(|program| lain_in(program));
    for path in dirs.chain(of_programs) {
        if is_elsewhere(&path, search.workdir) {
            take(&mut found, &path, search.homes);
        }
    }
    if let (Some(cargo), Some(rustup)) = (&search.cargo_home, &search.rustup_home) {
        rust(&mut found, cargo, rustup);
    }
    found
}

/// Where a program was installed; by itself, of what lies in a directory of other things it is seen alone. One that a link
/// leads to, as installers for one user make them, is looked for on both ends, and a package of node with those beside it.
fn lain_in(program: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let place = |program: &Path| {
        let packages = program.ancestors().filter(|dir| dir.ends_with("node_modules")).last();
        let bin = program.parent().filter(|dir| dir.ends_with("bin"));
        packages.or(bin).unwrap_or(program).to_path_buf()
    };
    let real = program.canonicalize().ok().map(|real| place(&real));
    [place(program)].into_iter().chain(real)
}

fn is_elsewhere(path: &Path, workdir: &Path) -> bool {
    let known = |known: &Path| path.starts_with(known);
    path.is_absolute() && path.exists() && !known(workdir) && !SYSTEM.iter().any(|system| known(Path::new(system)))
}

fn take(found: &mut Toolchain, dir: &Path, homes: &[PathBuf]) {
    let harmless = |path: &Path| {
        let real = path.canonicalize();
        real.is_ok_and(|real| secret_places::met(&real, homes.iter().map(PathBuf::as_path)).is_none())
    };
    let whole = |prefix: &&Path| dir.ends_with("bin") && is_prefix(prefix, homes) || has_shims(dir, prefix);
    let prefix = dir.parent().filter(whole);
    match prefix.filter(|prefix| harmless(prefix)) {
        Some(prefix) => {
            found.dirs.insert(prefix.to_path_buf());
            if let Some(base) = base_of_environment(prefix).filter(|base| is_elsewhere(base, prefix)) {
                take(found, &base, homes);
            }
        }
        None if harmless(dir) => {
            found.dirs.insert(dir.to_path_buf());
        }
        None => {}
    }
}

/// Something was installed here as a whole: its programs need what lies beside them. A home is no such place, nor is
/// what a user keeps programs of all kinds in.
fn is_prefix(prefix: &Path, homes: &[PathBuf]) -> bool {
    let is_users = homes.iter().any(|home| prefix == home || prefix.parent() == Some(home));
    let holds = |name: &str| prefix.join(name).exists();
    holds("pyvenv.cfg")
        || (!is_users && prefix.parent().is_some() && (holds("lib") || holds("lib64") || holds("libexec")))
}

/// Programs that only look for the ones that are meant, among the versions that lie beside them (pyenv, rbenv, asdf).
fn has_shims(dir: &Path, prefix: &Path) -> bool {
    let holds = |name: &str| prefix.join(name).is_dir();
    dir.ends_with("shims") && ["versions", "libexec", "installs"].into_iter().any(holds)
}

/// Where the interpreter of a virtual environment of Python is.
fn base_of_environment(prefix: &Path) -> Option<PathBuf> {
    let text = foreign::read(&prefix.join("pyvenv.cfg"), CFG_MAX_BYTES).ok()?;
    let text = String::from_utf8(text).ok()?;
    let home = text
        .lines()
        .find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == "home"));
    home.map(|(_, value)| PathBuf::from(value.trim()))
}

/// rustup and cargo look into a home that the zone does not have.
fn rust(found: &mut Toolchain, cargo: &Path, rustup: &Path) {
    if !found.dirs.contains(&cargo.join("bin")) && !found.dirs.remove(cargo) {
        return;
    }
    let parts = ["bin", "registry", "git"].map(|part| cargo.join(part));
    let parts = parts.into_iter().chain([rustup.to_path_buf()]);
    found.dirs.extend(parts.filter(|part| part.is_dir()));
    let told = [
        ("RUSTUP_HOME", rustup.into()),
        ("CARGO_HOME", cargo.into()),
        ("CARGO_NET_OFFLINE", OsString::from("true")),
    ];
    found.env.extend(told.map(|(name, value)| (name.into(), value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Host {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    fn host(dirs: &[&str]) -> Host {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for dir in dirs {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        Host { _dir: dir, root }
    }

    impl Host {
        fn find(&self, path: &[&str], programs: &[&str]) -> Toolchain {
            let path = std::env::join_paths(path.iter().map(|dir| self.root.join(dir))).unwrap();
            let programs: Vec<PathBuf> = programs.iter().map(|program| self.root.join(program)).collect();
            find(&Search {
                path: Some(&path),
                homes: &[self.root.join("home")],
                cargo_home: Some(self.root.join("home/.cargo")),
                rustup_home: Some(self.root.join("home/.rustup")),
                workdir: &self.root.join("home/project"),
                programs: &programs,
            })
        }

        fn below(&self, found: &Toolchain) -> Vec<String> {
            let below = |dir: &PathBuf| dir.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
            found.dirs.iter().map(below).collect()
        }
    }

    #[test]
    fn what_was_installed_as_a_whole_is_seen_as_a_whole_and_a_users_bin_alone() {
        let host = host(&[
            "opt/node/bin",
            "opt/node/lib",
            "home/.local/bin",
            "home/.local/lib",
            "home/project/bin",
        ]);
        let found = host.find(&["opt/node/bin", "home/.local/bin", "home/project/bin", "missing"], &[]);
        assert_eq!(host.below(&found), ["home/.local/bin", "opt/node"]);
        assert!(found.env.is_empty());
    }

    #[test]
    fn a_program_that_a_link_leads_to_brings_what_it_lies_in() {
        let host = host(&[
            "home/.npm/bin",
            "home/.npm/lib/node_modules/agent",
            "home/.local/bin",
            "home/.local/share/a/1",
        ]);
        for (program, link) in [
            ("home/.npm/lib/node_modules/agent/cli.js", "home/.npm/bin/agent"),
            ("home/.local/share/a/1/a", "home/.local/bin/a"),
        ] {
            fs::write(host.root.join(program), "").unwrap();
            std::os::unix::fs::symlink(host.root.join(program), host.root.join(link)).unwrap();
        }
        let found = host.find(&[], &["home/.npm/bin/agent", "home/.local/bin/a"]);
        let all = [
            "home/.local/bin",
            "home/.local/share/a/1/a",
            "home/.npm/bin",
            "home/.npm/lib/node_modules",
        ];
        assert_eq!(host.below(&found), all);
    }

    #[test]
    fn a_program_among_other_things_is_seen_without_them() {
        let host = host(&["srv/things"]);
        fs::write(host.root.join("srv/things/agent.sh"), "").unwrap();
        fs::write(host.root.join("srv/things/notes"), "private").unwrap();
        assert_eq!(
            host.below(&host.find(&[], &["srv/things/agent.sh"])),
            ["srv/things/agent.sh"]
        );
    }

    #[test]
    fn a_shim_brings_the_versions_that_it_chooses_from() {
        let host = host(&["home/.pyenv/shims", "home/.pyenv/versions", "home/.other/shims"]);
        let found = host.find(&["home/.pyenv/shims", "home/.other/shims"], &[]);
        assert_eq!(host.below(&found), ["home/.other/shims", "home/.pyenv"]);
    }

    #[test]
    fn an_environment_of_python_brings_the_interpreter_that_it_was_made_of() {
        let host = host(&["venv/bin", "python/bin", "python/lib"]);
        let cfg = format!("home = {}\nversion = 3\n", host.root.join("python/bin").display());
        fs::write(host.root.join("venv/pyvenv.cfg"), cfg).unwrap();
        let found = host.find(&[], &["venv/bin/python"]);
        assert_eq!(host.below(&found), ["python", "venv"]);
    }

    #[test]
    fn cargo_is_seen_without_its_credentials_and_told_where_its_homes_are() {
        let host = host(&[
            "home/.cargo/bin",
            "home/.cargo/registry",
            "home/.rustup",
            "home/.cargo/lib",
        ]);
        fs::write(host.root.join("home/.cargo/credentials.toml"), "token").unwrap();
        let found = host.find(&["home/.cargo/bin"], &[]);
        assert_eq!(
            host.below(&found),
            ["home/.cargo/bin", "home/.cargo/registry", "home/.rustup"]
        );
        assert!(found.env.iter().any(|(name, _)| name == "RUSTUP_HOME"));
    }

    #[test]
    fn a_directory_of_the_path_that_holds_credentials_is_not_seen() {
        let host = host(&["home/bin", "home/.ssh"]);
        assert_eq!(
            host.below(&host.find(&["home/.ssh", "home"], &[])),
            Vec::<String>::new()
        );
        assert_eq!(host.below(&host.find(&["home/bin"], &[])), ["home/bin"]);
    }
}
