//! Which directories of the host a zone needs to see beside the system's, and what it must be told of them.
//!
//! ```text
//!   the directories of PATH, and of the programs that are named ──> those outside of system and tree ──┬─> bin alone
//!                                                                                                      └─> its prefix
//! ```
//!
//! A guess by convention, read-only, and never a place of credentials. What it misses is named with `--toolchain`.
//!
//! Two places are looked at closely. Where people keep projects, a `bin` with a `lib` beside it may be one of these, and
//! only what has the marks of an installation is one. And a link of the tree may be the work's: it chooses nothing, but
//! for the interpreter of an environment, which has these marks too.

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

impl Toolchain {
    /// Leaves out what is seen with something else that it lies in, over no link: each is a mount, and each costs its
    /// part of a start.
    pub(crate) fn keep_outermost(&mut self) {
        let is_as_it_is = |dir: &PathBuf| dir.canonicalize().is_ok_and(|real| real == *dir);
        let (plain, by_links): (BTreeSet<_>, _) = std::mem::take(&mut self.dirs).into_iter().partition(is_as_it_is);
        let is_seen_with = |dir: &&PathBuf| dir.ancestors().skip(1).any(|above| plain.contains(above));
        self.dirs = plain
            .iter()
            .filter(|dir| !is_seen_with(dir))
            .cloned()
            .chain(by_links)
            .collect();
    }
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
    let of_programs = search
        .programs
        .iter()
        .flat_map(|program| lain_in(program, search.workdir));
    for path in dirs.chain(of_programs) {
        if is_elsewhere(&path, search.workdir) {
            take(&mut found, &path, search);
        } else if let Some(base) = path.parent().and_then(base_of_environment)
            && path.starts_with(search.workdir)
            && is_elsewhere(&base, search.workdir)
            && base.parent().is_some_and(holds_python)
        {
            take(&mut found, &base, search);
        }
    }
    if let (Some(cargo), Some(rustup)) = (&search.cargo_home, &search.rustup_home) {
        rust(&mut found, cargo, rustup);
    }
    found
}

/// Where a program was installed; by itself, of what lies in a directory of other things it is seen alone. One that a link
/// leads to, as installers for one user make them, is looked for on both ends, and a package of node with those beside it.
/// One of the tree is in the tree, whatever it leads to.
fn lain_in(program: &Path, workdir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let place = |program: &Path| {
        let packages = program.ancestors().filter(|dir| dir.ends_with("node_modules")).last();
        let bin = program.parent().filter(|dir| dir.ends_with("bin"));
        packages.or(bin).unwrap_or(program).to_path_buf()
    };
    let real = program.canonicalize().ok().filter(|_| !program.starts_with(workdir));
    let real = real.map(|real| place(&real));
    [place(program)].into_iter().chain(real)
}

fn is_elsewhere(path: &Path, workdir: &Path) -> bool {
    let known = |known: &Path| path.starts_with(known);
    // A way that only leads into the tree shows the user's own and not its copy.
    let leads_in = || path.canonicalize().is_ok_and(|real| real.starts_with(workdir));
    path.is_absolute()
        && path.exists()
        && !known(workdir)
        && !SYSTEM.iter().any(|system| known(Path::new(system)))
        && !leads_in()
}

fn take(found: &mut Toolchain, dir: &Path, search: &Search<'_>) {
    let homes = search.homes;
    let harmless = |path: &Path| {
        let real = path.canonicalize();
        real.is_ok_and(|real| secret_places::met(&real, homes.iter().map(PathBuf::as_path)).is_none())
    };
    let is_whole = |prefix: &Path| match is_among_projects(prefix, search) {
        true => is_installation(prefix),
        false => is_prefix(prefix, homes),
    };
    let whole = |prefix: &&Path| dir.ends_with("bin") && is_whole(prefix) || has_shims(dir, prefix);
    let prefix = dir.parent().filter(whole);
    match prefix.filter(|prefix| harmless(prefix)) {
        Some(prefix) => {
            found.dirs.insert(prefix.to_path_buf());
            if let Some(base) = base_of_environment(prefix).filter(|base| is_elsewhere(base, prefix)) {
                take(found, &base, search);
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

/// Below a home of anybody, or beside the tree: where projects are.
fn is_among_projects(prefix: &Path, search: &Search<'_>) -> bool {
    let beside = search.workdir.parent().filter(|dir| dir.parent().is_some());
    let homes = search.homes.iter().map(PathBuf::as_path);
    let mut places = homes.chain([Path::new("/home")]).chain(beside);
    let is_below = |path: &Path| places.any(|place| path.starts_with(place));
    // By either name, it is the same place.
    let real = prefix.canonicalize().unwrap_or_else(|_| prefix.to_path_buf());
    [prefix, &real].into_iter().any(is_below)
}

/// What an installation of a language has in it, and no project: Erlang, Go, a JDK, node, Perl, Ruby, Rust.
const MARKS: &[&str] = &[
    "lib/erlang",
    "pkg/tool",
    "lib/modules",
    "jre/lib",
    "lib/node_modules/npm",
    "include/node",
    "lib/perl5",
    "lib/ruby/gems",
    "lib/rustlib",
    "pyvenv.cfg",
];

/// Whether these marks say so. What is kept by git is somebody's work.
fn is_installation(prefix: &Path) -> bool {
    let is_marked = MARKS.iter().any(|mark| prefix.join(mark).exists()) || holds_python(prefix);
    is_marked && !prefix.join(".git").exists()
}

/// The library of an interpreter, which no environment of its own has.
fn holds_python(prefix: &Path) -> bool {
    let versions = std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let mut versions = versions.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python"));
    versions.any(|version| version.path().join("os.py").is_file())
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
    fn a_project_with_a_bin_and_a_lib_is_not_seen_for_being_on_the_path_and_an_installation_is() {
        let host = host(&[
            "home/work/other/bin",
            "home/work/other/lib",
            "home/.nvm/v20/bin",
            "home/.nvm/v20/lib/node_modules/npm",
        ]);
        let found = host.find(&["home/work/other/bin", "home/.nvm/v20/bin"], &[]);
        assert_eq!(host.below(&found), ["home/.nvm/v20", "home/work/other/bin"]);
    }

    #[test]
    fn a_link_of_the_tree_chooses_nothing_but_the_interpreter_of_an_environment() {
        let host = host(&[
            "home/other/bin",
            "home/other/lib",
            "home/project/.venv/bin",
            "home/uv/python/bin",
            "home/uv/python/lib/python3.12",
        ]);
        fs::write(host.root.join("home/other/bin/tool"), "").unwrap();
        fs::write(host.root.join("home/uv/python/lib/python3.12/os.py"), "").unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(host.root.join(to), host.root.join(at)).unwrap();
        link("home/other/bin/tool", "home/project/agent.sh");
        link("home/other/bin/tool", "home/project/.venv/bin/tool");
        let programs = ["home/project/agent.sh", "home/project/.venv/bin/tool"];
        let base = |dir: &str| {
            let cfg = format!("home = {}\n", host.root.join(dir).display());
            fs::write(host.root.join("home/project/.venv/pyvenv.cfg"), cfg).unwrap();
            host.below(&host.find(&[], &programs))
        };
        assert_eq!(base("home/other/bin"), Vec::<String>::new());
        assert_eq!(base("home/uv/python/bin"), ["home/uv/python"]);
    }

    #[test]
    fn what_lies_in_something_that_is_seen_is_no_mount_of_its_own_unless_a_link_leads_there() {
        let host = host(&["tools/shims", "tools/versions/1/bin", "other"]);
        std::os::unix::fs::symlink(host.root.join("other"), host.root.join("tools/link")).unwrap();
        let dirs = ["tools", "tools/versions/1/bin", "tools/link", "other", "tools-2"];
        let mut found = Toolchain {
            dirs: dirs.iter().map(|dir| host.root.join(dir)).collect(),
            ..Toolchain::default()
        };
        found.keep_outermost();
        assert_eq!(host.below(&found), ["other", "tools", "tools/link", "tools-2"]);
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
