//! What the check itself writes beside its tests (SPEC 5.3.6).
//!
//! ```text
//!   before the baseline's check --> marks of data beside tests --> those that it wrote are its outputs, settled at t0
//!   before a later check        --> marks of the outputs       --> those that it wrote again may be anything
//! ```
//!
//! A file that a test writes each time differs with the product, and nobody measures by it. One that is only written
//! where it is missing holds what a test expects: a check that passes without writing it is judged by what it reads.
//!
//! What a compiler made there since the run began is the check's to make again: no copy has it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use engine::event::id::Bytes;
use engine::event::policy::GuardPolicy;
use engine::guard::surface;
use serde::{Deserialize, Serialize};
use syntax::Language;

use super::vet::ignored::made_before;
use crate::tree::{Entry, Kind, is_compiled};

const EXECUTABLE: u32 = 0o111;

/// What changes whenever a file is written: inode, size, times.
type Mark = (u64, u64, i64, i64, i64, i64);

/// Files as they were before a check.
pub(super) type Marks = BTreeMap<Bytes, Mark>;

/// Paths that the check of t0 wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outputs {
    files: BTreeSet<Bytes>,
    /// Directories that hold nothing else: what is new in them is theirs too.
    dirs: BTreeSet<Bytes>,
}

impl Outputs {
    /// What of these watched files somebody wrote since the marks were taken, and nobody has put under control.
    pub(super) fn of(
        watched: &[Entry],
        policy: &GuardPolicy,
        (workdir, before): (&Path, &Marks),
        is_tracked: &dyn Fn(&Bytes) -> bool,
    ) -> Self {
        let own = |entry: &&Entry| {
            let path = Bytes(entry.path.clone());
            may_be_one(workdir, entry, policy) && is_fresh(workdir, &path, before) && !is_tracked(&path)
        };
        let files: BTreeSet<Bytes> = watched
            .iter()
            .filter(own)
            .map(|entry| Bytes(entry.path.clone()))
            .collect();
        let others = watched.iter().map(|entry| Bytes(entry.path.clone()));
        let others: BTreeSet<Bytes> = others
            .filter(|path| !files.contains(path))
            .filter_map(|path| dir(&path))
            .collect();
        let dirs = files
            .iter()
            .filter_map(dir)
            .filter(|dir| !others.contains(dir))
            .collect();
        Self { files, dirs }
    }

    pub(super) fn holds(&self, path: &Bytes) -> bool {
        self.files.contains(path) || dir(path).is_some_and(|dir| self.dirs.contains(&dir)) && is_data(path)
    }
}

/// Marks of the files that a check may write beside its tests; of all of them, or of the outputs of t0.
pub(super) fn marks(workdir: &Path, watched: &[Entry], policy: &GuardPolicy, of: Option<&Outputs>) -> Marks {
    let wanted = watched.iter().filter(|entry| match of {
        Some(outputs) => outputs.holds(&Bytes(entry.path.clone())),
        None => may_be_one(workdir, entry, policy),
    });
    let marked = wanted.filter_map(|entry| {
        let path = Bytes(entry.path.clone());
        mark(workdir, &path).map(|mark| (path, mark))
    });
    marked.collect()
}

/// Somebody wrote it since.
pub(super) fn is_fresh(workdir: &Path, path: &Bytes, before: &Marks) -> bool {
    let now = mark(workdir, path);
    now.is_some() && before.get(path) != now.as_ref()
}

fn may_be_one(workdir: &Path, entry: &Entry, policy: &GuardPolicy) -> bool {
    let path = Bytes(entry.path.clone());
    let is_file = entry.kind == Kind::File && is_data(&path) && surface::may_be_written(policy, &entry.path);
    is_file && (entry.mode & EXECUTABLE == 0 || is_compiled(&file_of(workdir, &path)))
}

/// A program or an object that a compiler made beside tests since the run began.
pub(super) fn is_built(workdir: &Path, path: &Bytes, policy: &GuardPolicy, opened_ms: u64) -> bool {
    let opened = SystemTime::UNIX_EPOCH + Duration::from_millis(opened_ms);
    let seen = || fs::symlink_metadata(file_of(workdir, path));
    let is_new = || seen().is_ok_and(|seen| seen.is_file() && !made_before(&seen, opened));
    surface::may_be_written(policy, &path.0) && is_new() && is_compiled(&file_of(workdir, path))
}

/// No source of anything that is run.
fn is_data(path: &Bytes) -> bool {
    std::str::from_utf8(&path.0).is_ok_and(|path| Language::of(path).is_none())
}

fn dir(path: &Bytes) -> Option<Bytes> {
    let at = path.0.iter().rposition(|byte| *byte == b'/')?;
    path.0.get(..at).map(|dir| Bytes(dir.to_vec()))
}

fn file_of(workdir: &Path, path: &Bytes) -> PathBuf {
    workdir.join(OsStr::from_bytes(&path.0))
}

fn mark(workdir: &Path, path: &Bytes) -> Option<Mark> {
    let seen = fs::symlink_metadata(file_of(workdir, path)).ok()?;
    let times = (seen.mtime(), seen.mtime_nsec(), seen.ctime(), seen.ctime_nsec());
    Some((seen.ino(), seen.size(), times.0, times.1, times.2, times.3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            path: path.into(),
            kind: Kind::File,
            mode: 0o644,
            size: 1,
            digest: [0; 32],
        }
    }

    /// Outputs of a check that writes these files, where those were there before.
    fn outputs(before: &[&str], written: &[&str], tracked: &str) -> Outputs {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path();
        let write = |names: &[&str], text: &str| {
            for name in names {
                fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
                fs::write(work.join(name), text).unwrap();
            }
        };
        let policy = GuardPolicy::default();
        let entries = |names: &[&str]| names.iter().map(|name| entry(name)).collect::<Vec<_>>();
        write(before, "a");
        let marks = marks(work, &entries(before), &policy, None);
        write(written, "ab");
        let all: BTreeSet<&str> = before.iter().chain(written).copied().collect();
        let all = entries(&all.into_iter().collect::<Vec<_>>());
        Outputs::of(&all, &policy, (work, &marks), &|path| path.text() == tracked)
    }

    #[test]
    fn what_a_compiler_made_beside_tests_since_the_run_began_is_built_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let policy = GuardPolicy::default();
        let built = |path: &str, text: &[u8], opened_ms: u64| {
            let file = dir.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
            is_built(dir.path(), &path.into(), &policy, opened_ms)
        };
        let elf = b"\x7fELF\x02\x01\x01";
        assert!(built("tests/test_str", elf, 0) && built("tests/libs.a", b"!<arch>\n/", 0));
        assert!(!built("tests/run", b"#!/bin/sh\nexit 0\n", 0));
        assert!(!built("tests/test_a.py", elf, 0) && !built("bin/tool", elf, 0));
        assert!(
            !built("tests/old", elf, u64::from(u32::MAX) * 1000),
            "it was there before"
        );
    }

    fn names(outputs: &Outputs) -> Vec<String> {
        outputs.files.iter().map(Bytes::text).collect()
    }

    #[test]
    fn data_that_the_check_writes_beside_its_tests_is_its_output_and_nothing_else_is() {
        let before = ["tests/in.json", "tests/old.txt", "tests/kept.txt", "tests/test_a.py"];
        let written = [
            "tests/old.txt",
            "tests/out/a.txt",
            "tests/kept.txt",
            "tests/gen.py",
            "pytest.ini",
            "tests/a.snap",
        ];
        let found = outputs(&before, &written, "tests/kept.txt");
        assert_eq!(names(&found), ["tests/old.txt", "tests/out/a.txt"]);
        let holds = |path: &str| found.holds(&Bytes::from(path));
        assert!(
            holds("tests/out/b.txt") && !holds("tests/out/b.py"),
            "what is new among outputs is one"
        );
        assert!(!holds("tests/in.json") && !holds("tests/new.json"));
    }
}
