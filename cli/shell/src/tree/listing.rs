//! One directory as it was listed, and how a name in it is classified.
//!
//! A listing stays good while the directory's own signature is settled and unchanged, because every name
//! that comes, goes or is renamed moves the directory's change time. Then only its files are looked at.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::beneath::sig_at;
use super::manifest::{Digest, Kind};
use super::path::join;
use super::rules::Rules;
use super::stat::Sig;

/// A directory name that is never entered, because what lies in it is made by tools and made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDir {
    /// The name, in any directory.
    pub name: Vec<u8>,
    /// When not empty, one of these must lie in it.
    pub markers: Vec<Vec<u8>>,
}

impl CacheDir {
    /// The directories that are known to hold nothing but caches and installed packages.
    pub fn well_known() -> Vec<Self> {
        let always = [
            "__pycache__",
            ".pytest_cache",
            ".mypy_cache",
            ".ruff_cache",
            "node_modules",
        ];
        let marked: [(&str, &[&str]); 3] = [
            ("target", &["CACHEDIR.TAG", ".rustc_info.json"]),
            (".venv", &["pyvenv.cfg"]),
            ("venv", &["pyvenv.cfg"]),
        ];
        let always = always.iter().map(|name| (*name, &[][..]));
        let make = |(name, markers): (&str, &[&str])| Self {
            name: name.as_bytes().to_vec(),
            markers: markers.iter().map(|m| m.as_bytes().to_vec()).collect(),
        };
        always.chain(marked).map(make).collect()
    }
}

/// Why a directory was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It has a `.git` of its own: a nested repository or a submodule.
    NestedRepository,
    /// It holds a tool's cache ([`CacheDir`]).
    CacheDirectory,
}

/// A directory that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    pub path: Vec<u8>,
    pub why: SkipReason,
}

/// A file as it was last hashed.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) name: CString,
    pub(crate) kind: Kind,
    pub(crate) sig: Sig,
    pub(crate) digest: Digest,
    /// True when an equal signature proves equal content.
    pub(crate) settled: bool,
}

/// A directory as it was last listed.
#[derive(Debug)]
pub(crate) struct Dir {
    pub(crate) sig: Sig,
    pub(crate) settled: bool,
    pub(crate) parent_rules: Arc<Rules>,
    pub(crate) rules: Arc<Rules>,
    /// The signature of its `.gitignore`, and whether it was settled when it was read.
    pub(crate) ignore_file: Option<(Sig, bool)>,
    /// Sorted by name.
    pub(crate) files: Vec<Slot>,
    pub(crate) subdirs: Vec<CString>,
    /// Ignored names, and whether each is a directory.
    pub(crate) ignored: Vec<(CString, bool)>,
    /// Sockets, fifos, devices.
    pub(crate) specials: u64,
    /// Set when nothing in it is looked at.
    pub(crate) skip: Option<SkipReason>,
}

impl Dir {
    pub(crate) fn slot(&self, name: &CStr) -> Option<&Slot> {
        let at = self.files.binary_search_by(|s| s.name.as_c_str().cmp(name)).ok()?;
        self.files.get(at)
    }
}

/// A name in a directory.
pub(crate) struct Name {
    pub(crate) name: CString,
    pub(crate) file_type: FileType,
}

/// Lists a freshly opened directory, sorted by name.
pub(crate) fn list(dir: BorrowedFd<'_>, buffer: &mut [MaybeUninit<u8>]) -> Result<Vec<Name>, Errno> {
    let mut names = Vec::new();
    let mut entries = RawDir::new(dir, buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        };
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(Name {
                name: name.to_owned(),
                file_type: entry.file_type(),
            });
        }
    }
    for entry in names.iter_mut().filter(|n| n.file_type == FileType::Unknown) {
        // Some file systems do not say; a name that is gone by now stays unknown and is counted as special.
        if let Some(sig) = sig_at(dir, entry.name.as_c_str())? {
            entry.file_type = sig.file_type();
        }
    }
    names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// Names of one directory, sorted into what a walk does with them.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) files: Vec<(CString, Kind)>,
    pub(crate) subdirs: Vec<CString>,
    pub(crate) ignored: Vec<(CString, bool)>,
    pub(crate) specials: u64,
}

/// Sorts names under the rules in force. `rules_dir` is the directory relative to the top of the
/// repository; `hidden` is a name that is left out altogether (the state directory).
pub(crate) fn sort(names: Vec<Name>, rules: &Rules, rules_dir: &[u8], hidden: Option<&[u8]>) -> Sorted {
    let mut sorted = Sorted::default();
    let lenient = rules.are_empty();
    let mut path = join(rules_dir, b"x");
    path.pop();
    let dir_bytes = path.len();
    for Name { name, file_type } in names {
        let bytes = name.to_bytes();
        if bytes == b".git" || hidden == Some(bytes) {
            continue;
        }
        let is_dir = file_type == FileType::Directory;
        path.truncate(dir_bytes);
        path.extend_from_slice(bytes);
        if !lenient && rules.ignore(&path, is_dir) {
            sorted.ignored.push((name, is_dir));
            continue;
        }
        match file_type {
            FileType::Directory => sorted.subdirs.push(name),
            FileType::RegularFile => sorted.files.push((name, Kind::File)),
            FileType::Symlink => sorted.files.push((name, Kind::Symlink)),
            _ => sorted.specials += 1,
        }
    }
    sorted
}
