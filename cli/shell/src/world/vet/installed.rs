//! Packages that are installed in the workdir, where no tree looks, and were edited there since the run began.
//!
//! ```text
//!   node_modules/NAME        package.json older than the run,  and a source newer than it   edited
//!   site-packages of a venv  no RECORD newer than the run      names a source newer than it  edited
//! ```
//!
//! Whoever installs a package, anew or again, writes what says that it is installed, too. What a tool keeps in places with
//! hidden names, and what Python compiles, is nobody's source.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::ignored::changed;
use crate::foreign;
use crate::world::venv;

/// What a program of these kinds of files is made of.
const SOURCES: &[&str] = &["cjs", "js", "json", "mjs", "node", "py", "so", "ts"];
/// Directories that are looked into for environments.
const DIRS_MAX: usize = 100_000;
const RECORD_BYTES: u64 = 1 << 24;

/// A source in an installed package that was changed since, relative to the workdir.
pub(super) fn edited(workdir: &Path, since: SystemTime) -> Option<PathBuf> {
    let (mut open, mut looked) = (vec![workdir.to_path_buf()], 0);
    while let Some(dir) = open.pop() {
        looked += 1;
        for entry in visible(&dir).filter(is_dir).filter(|_| looked < DIRS_MAX) {
            let path = entry.path();
            let found = match path.join("pyvenv.cfg").is_file() {
                true => venv::sites(&path).iter().find_map(|site| edited_in_site(site, since)),
                false if entry.file_name() == "node_modules" => edited_in_modules(&path, since),
                false => {
                    open.push(path);
                    None
                }
            };
            if let Some(found) = found {
                return Some(found.strip_prefix(workdir).unwrap_or(&found).to_path_buf());
            }
        }
    }
    None
}

/// Of packages that node finds here, those within packages too.
fn edited_in_modules(modules: &Path, since: SystemTime) -> Option<PathBuf> {
    let scoped = |entry: DirEntry| match entry.file_name().as_encoded_bytes().first() {
        Some(b'@') => visible(&entry.path()).filter(is_dir).collect(),
        _ => vec![entry],
    };
    let packages = visible(modules).filter(is_dir).flat_map(scoped);
    packages.map(|package| package.path()).find_map(|package| {
        let installed = is_newer(&package.join("package.json"), since);
        let nested = package.join("node_modules");
        let own = || newer_sources(&package, &nested, since).next();
        let own = if installed { None } else { own() };
        own.or_else(|| edited_in_modules(&nested, since))
    })
}

fn edited_in_site(site: &Path, since: SystemTime) -> Option<PathBuf> {
    let mut newer = newer_sources(site, Path::new(""), since).peekable();
    newer.peek()?;
    let records = visible(site).map(|entry| entry.path().join("RECORD"));
    let fresh = records.filter(|record| is_newer(record, since));
    let lines: HashSet<Vec<u8>> = fresh
        .flat_map(|record| {
            let text = foreign::read(&record, RECORD_BYTES).unwrap_or_default();
            let path = |line: &[u8]| line.split(|byte| *byte == b',').next().unwrap_or_default().to_vec();
            text.split(|byte| *byte == b'\n').map(path).collect::<Vec<_>>()
        })
        .collect();
    newer.find(|file| {
        let below = file
            .strip_prefix(site)
            .map(|below| below.as_os_str().as_encoded_bytes().to_vec());
        below.is_ok_and(|below| !lines.contains(&below))
    })
}

/// Sources below a directory, but not below `without`, that were changed since.
fn newer_sources<'a>(dir: &Path, without: &'a Path, since: SystemTime) -> impl Iterator<Item = PathBuf> + use<'a> {
    let mut open = vec![dir.to_path_buf()];
    let mut here: Vec<PathBuf> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            if let Some(found) = here.pop() {
                return Some(found);
            }
            for entry in visible(&open.pop()?) {
                let path = entry.path();
                if is_dir(&entry) {
                    open.extend((path != without).then_some(path));
                } else if is_source(&path) && is_newer(&path, since) {
                    here.push(path);
                }
            }
        }
    })
}

/// What a directory holds under names that are not hidden, and is no cache.
fn visible(dir: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| {
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".") && !entry.path().join("pyvenv.cfg").is_file();
        !hidden && name != "__pycache__"
    })
}

fn is_dir(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn is_source(path: &Path) -> bool {
    path.extension()
        .and_then(OsStr::to_str)
        .is_some_and(|kind| SOURCES.contains(&kind))
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && changed(&meta).is_some_and(|at| at >= since))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(top: &Path, path: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "acme/x.py,,\n").unwrap();
    }

    /// A source of what was written last that counts as edited; the file system says when that was.
    fn found(before: &[&str], since: &[&str]) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        before.iter().for_each(|path| write(dir.path(), path));
        let mark = dir.path().join(".mark");
        let time = || {
            fs::write(&mark, "").unwrap();
            changed(&fs::symlink_metadata(&mark).unwrap()).unwrap()
        };
        // Its clock has a grain: what comes next is to be later than what came before.
        let before = time();
        let mut began = before;
        while began == before {
            began = time();
        }
        since.iter().for_each(|path| write(dir.path(), path));
        edited(dir.path(), began).map(|path| path.display().to_string())
    }

    #[test]
    fn a_package_that_was_edited_where_it_lies_is_found_and_one_that_was_installed_is_not() {
        let same = ["app/node_modules/same/package.json", "app/node_modules/same/index.js"];
        let nested = "app/node_modules/same/node_modules/@a/b/index.js";
        assert_eq!(found(&same, &[same[1]]).as_deref(), Some(same[1]));
        assert_eq!(
            found(&same, &[nested]).as_deref(),
            Some(nested),
            "nobody says that it is installed"
        );
        assert_eq!(found(&same, &same), None);
        assert_eq!(
            found(
                &same,
                &[
                    "app/node_modules/.cache/x.js",
                    "app/node_modules/same/log.txt",
                    "app/x.js"
                ]
            ),
            None
        );

        let site = |path: &str| format!(".venv/lib/python3/site-packages/{path}");
        let (source, record) = (site("acme/x.py"), site("acme-1.dist-info/RECORD"));
        let before = [".venv/pyvenv.cfg", &source, &record];
        assert_eq!(found(&before, &[&source]).as_deref(), Some(source.as_str()));
        assert_eq!(found(&before, &[&source, &record]), None);
        assert_eq!(found(&before, &[&site("acme/__pycache__/x.py"), &site("zz.txt")]), None);
        let loose = site("zz.py");
        assert_eq!(found(&before, &[&loose, &record]).as_deref(), Some(loose.as_str()));
    }
}
