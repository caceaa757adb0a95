//! Python environments inside the workdir: usually ignored, yet what lies in them starts with every test run.
//!
//! Walking such an environment for each look would cost more than the check. Python itself looks for start-up files
//! in one directory only, so that one is listed, the runner's own package beside it, and what tells the runner of plugins.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::foreign;
use crate::paths::STATE_DIR;
use crate::tree::Unmoved;

/// What a package offers to others, and the section of it in which pytest looks for plugins.
const ENTRY_POINTS: &str = "entry_points.txt";
const PLUGINS: &[u8] = b"[pytest11]";
const ENTRY_POINTS_BYTES: u64 = 1 << 16;

/// Directories of the workdir that could be environments, listed anew only when one came or went.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    names: Unmoved,
    dirs: Vec<PathBuf>,
}

impl Candidates {
    /// Paths, relative to the workdir, that can change how Python or pytest starts.
    pub(super) fn start_up_paths(&mut self, workdir: &Path) -> Vec<Vec<u8>> {
        if !self.names.since_last(workdir) {
            let listed = candidates(workdir);
            if listed.is_err() {
                self.names.forget();
            }
            self.dirs = listed.unwrap_or_default();
        }
        let environments = self.dirs.iter().filter(|dir| is_environment(dir));
        let mut found = Vec::new();
        for site in environments.flat_map(|dir| sites(dir)) {
            let named = below(&site).filter(|path| path.file_name().is_some_and(|name| starts(name.as_bytes())));
            for path in named.chain(plugins(&site)) {
                found.extend(
                    path.strip_prefix(workdir)
                        .map(|path| path.as_os_str().as_bytes().to_vec()),
                );
            }
        }
        found
    }
}

/// Environments in the workdir.
pub(super) fn inside(workdir: &Path) -> Vec<PathBuf> {
    let mut dirs = candidates(workdir).unwrap_or_default();
    dirs.retain(|dir| is_environment(dir));
    dirs
}

fn candidates(workdir: &Path) -> io::Result<Vec<PathBuf>> {
    // The kind comes with the listing: a file that cannot hold an environment costs nothing.
    let may_hold = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| !kind.is_file());
    let directories = fs::read_dir(workdir)?
        .flatten()
        .filter(|entry| may_hold(entry) && entry.file_name() != STATE_DIR);
    Ok(directories.map(|entry| entry.path()).collect())
}

fn is_environment(dir: &Path) -> bool {
    dir.join("pyvenv.cfg").is_file()
}

/// Files of an environment outside of the workdir that change how Python or pytest starts, those of pytest's own package
/// among them.
pub(super) fn start_up_files(environment: &Path) -> Vec<PathBuf> {
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| starts(name.as_bytes()));
    let found = sites(environment)
        .into_iter()
        .flat_map(|site| below(&site).filter(named).chain(plugins(&site)).collect::<Vec<_>>());
    let (packages, mut files): (Vec<PathBuf>, Vec<PathBuf>) = found.partition(|path| path.is_dir());
    for package in packages {
        let sources = below(&package).filter(|path| path.extension().is_some_and(|kind| kind == "py"));
        files.extend(sources);
    }
    files
}

/// Whether a file of that path starts with every program of its environment by merely being there.
pub(super) fn starts_with(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| starts(name) || name == ENTRY_POINTS.as_bytes())
}

/// Files by which an installed package has pytest load a plugin.
fn plugins(site: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let about = below(site).filter(|path| path.extension().is_some_and(|kind| kind == "dist-info"));
    let tells = |file: &PathBuf| {
        let start = foreign::read_start(file, ENTRY_POINTS_BYTES).unwrap_or_default();
        start.windows(PLUGINS.len()).any(|window| window == PLUGINS)
    };
    about.map(|dir| dir.join(ENTRY_POINTS)).filter(tells)
}

fn starts(name: &[u8]) -> bool {
    name.ends_with(b".pth")
        || matches!(
            name,
            b"sitecustomize.py" | b"usercustomize.py" | b"pytest.py" | b"_pytest"
        )
}

/// `lib/python3.x/site-packages` of an environment, and what some systems have in its place.
pub(super) fn sites(environment: &Path) -> Vec<PathBuf> {
    let versions = ["lib", "lib64"]
        .map(|name| environment.join(name))
        .into_iter()
        .filter(|lib| !lib.is_symlink());
    let of_python = |version: &PathBuf| {
        let name = version.file_name().unwrap_or_default().as_bytes();
        name.starts_with(b"python") || name.starts_with(b"pypy")
    };
    versions
        .flat_map(|lib| below(&lib).filter(of_python).collect::<Vec<_>>())
        .flat_map(|version| ["site-packages", "dist-packages"].map(|name| version.join(name)))
        .collect()
}

fn below(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_environment_starts_with_is_found_and_the_rest_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let site = dir.path().join(".venv/lib/python3.12/site-packages");
        fs::create_dir_all(site.join("_pytest")).unwrap();
        fs::create_dir_all(site.join("numpy")).unwrap();
        fs::write(dir.path().join(".venv/pyvenv.cfg"), "").unwrap();
        for name in ["a.pth", "sitecustomize.py", "six.py"] {
            fs::write(site.join(name), "").unwrap();
        }
        for (name, section) in [
            ("plug-1.dist-info", "pytest11"),
            ("tool-1.dist-info", "console_scripts"),
        ] {
            fs::create_dir(site.join(name)).unwrap();
            fs::write(
                site.join(name).join("entry_points.txt"),
                format!("[{section}]\na = a\n"),
            )
            .unwrap();
        }
        let mut found = Candidates::default().start_up_paths(dir.path());
        found.sort();
        let named: Vec<&str> = found.iter().map(|path| std::str::from_utf8(path).unwrap()).collect();
        let at = |name: &str| format!(".venv/lib/python3.12/site-packages/{name}");
        let plugin = at("plug-1.dist-info/entry_points.txt");
        assert_eq!(named, [at("_pytest"), at("a.pth"), plugin, at("sitecustomize.py")]);
    }

    #[test]
    fn a_directory_without_the_mark_of_an_environment_is_not_looked_into() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("x/lib/python3.12/site-packages")).unwrap();
        fs::write(dir.path().join("x/lib/python3.12/site-packages/a.pth"), "").unwrap();
        assert!(Candidates::default().start_up_paths(dir.path()).is_empty());
    }
}
