//! What a compiler made, in a copy of a recorded tree.
//!
//! A tree that is laid out has no times of its own. A program that lay in it from an earlier build would look as new as
//! its sources, and be run in place of what they say now: so it is older there than anything it can have been made of.

use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::foreign;

/// How programs, objects, archives of objects and classes begin.
const COMPILED: &[&[u8]] = &[b"\x7fELF", b"!<arch>\n", b"\xca\xfe\xba\xbe"];
const COMPILED_BYTES: u64 = 8;
/// Endings of their names, when they have one.
const ENDINGS: &[&str] = &["a", "class", "exe", "lo", "o", "out", "so"];
/// The second day that archives can tell.
const OLD: Duration = Duration::from_secs(315_619_200);

pub(crate) fn is_compiled(file: &Path) -> bool {
    let first = foreign::read_start(file, COMPILED_BYTES).unwrap_or_default();
    COMPILED.iter().any(|magic| first.starts_with(magic))
}

/// Makes a file of a copy as old as that, if it is such a one.
pub(super) fn age(file: &Path) -> io::Result<()> {
    let ending = file.extension().map(|ending| ending.to_str().unwrap_or_default());
    if ending.is_some_and(|ending| !ENDINGS.contains(&ending)) || !is_compiled(file) {
        return Ok(());
    }
    let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + OLD);
    File::open(file)?.set_times(times)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_compiler_made_is_older_than_its_sources_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let is_old = |name: &str, content: &[u8]| {
            let file = dir.path().join(name);
            fs::write(&file, content).unwrap();
            age(&file).unwrap();
            fs::metadata(&file).unwrap().modified().unwrap() == SystemTime::UNIX_EPOCH + OLD
        };
        let elf = b"\x7fELF\x02\x01\x01";
        assert!(is_old("test_str", elf) && is_old("str.o", elf) && is_old("libs.a", b"!<arch>\n/"));
        assert!(!is_old("run", b"#!/bin/sh\n") && !is_old("sample.bin", elf) && !is_old("a.c", elf));
    }
}
