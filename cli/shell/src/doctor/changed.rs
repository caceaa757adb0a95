//! Which lines of product code differ from the last commit, and the mutants of those lines.

use std::fs;
use std::ops::RangeInclusive;
use std::rc::Rc;

use syntax::{Language, Mutant, What};

use super::Patient;
use super::repository::{self, ANSWER_LIMIT_MS};
use crate::tree::git::run::Git;
use crate::tree::{Repository, path_text};

/// Lines of both versions, multiplied: beyond it the whole difference is one part.
const COMPARED_MAX: usize = 4_000_000;
/// Directories whose files are tests and no product.
const TESTS: &[&str] = &["test", "tests", "spec", "__tests__"];

/// A changed part of one file.
#[derive(Clone, Debug)]
pub(super) struct Hunk {
    /// Relative to the workdir.
    pub path: String,
    pub language: Language,
    /// The whole file, as it is.
    pub source: Rc<Vec<u8>>,
    /// Counted from 1.
    pub lines: RangeInclusive<u32>,
}

/// The changed parts of product files, in the order of their paths; why there are none to be had.
pub(super) fn hunks(patient: &Patient) -> Result<Vec<Hunk>, String> {
    let repository = Repository::find(&patient.workdir).map_err(|error| error.to_string())?;
    let git = Git::new(&patient.workdir, ANSWER_LIMIT_MS)
        .on(&repository.git_dir)
        .work_tree(&repository.top);
    let changed = repository::changed(patient, &git).map_err(|error| error.to_string())?;
    let mut hunks = Vec::new();
    for (path, id) in changed {
        let name = path_text(&path);
        let file = patient.workdir.join(&*name);
        let (Some(language), false) = (Language::of(&name), is_test(&name)) else {
            continue;
        };
        let is_file = fs::symlink_metadata(&file).is_ok_and(|seen| seen.is_file());
        let Some(source) = is_file.then(|| fs::read(&file).ok()).flatten() else {
            continue;
        };
        let before = match id {
            Some(id) => git
                .run(&["cat-file", "blob", &String::from_utf8_lossy(&id)], b"")
                .map_err(|error| error.to_string())?,
            None => Vec::new(),
        };
        let source = Rc::new(source);
        hunks.extend(parts(&before, &source).into_iter().map(|lines| Hunk {
            path: name.to_string(),
            language,
            source: Rc::clone(&source),
            lines,
        }));
    }
    Ok(hunks)
}

/// At most `max` mutants, in turn from each part.
pub(super) fn mutants(hunks: &[Hunk], max: usize) -> Vec<(&Hunk, Mutant)> {
    let mut each: Vec<_> = hunks
        .iter()
        .map(|hunk| {
            let what = [hunk.lines.clone()];
            let found = syntax::mutants(hunk.language, &hunk.source, &What::Code(&what), max);
            (hunk, found.unwrap_or_default().into_iter())
        })
        .collect();
    let mut taken = Vec::new();
    while taken.len() < max {
        let before = taken.len();
        for (hunk, left) in &mut each {
            taken.extend(left.next().filter(|_| taken.len() < max).map(|mutant| (*hunk, mutant)));
        }
        if taken.len() == before {
            break;
        }
    }
    taken
}

/// By its name.
fn is_test(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let named = stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest";
    named || name.contains(".test.") || name.contains(".spec.") || parts.any(|dir| TESTS.contains(&dir))
}

/// Runs of lines of `after` that are not lines of `before` in the same order.
fn parts(before: &[u8], after: &[u8]) -> Vec<RangeInclusive<u32>> {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
            .collect()
    };
    let (old, new) = (lines(before), lines(after));
    let head = old.iter().zip(&new).take_while(|(one, two)| one == two).count();
    let most = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(|(one, two)| one == two)
        .count();
    let old = old.get(head..old.len() - tail).unwrap_or_default();
    let new = new.get(head..new.len() - tail).unwrap_or_default();
    let kept = kept(old, new);
    let mut parts: Vec<RangeInclusive<u32>> = Vec::new();
    for (at, _) in new
        .iter()
        .enumerate()
        .filter(|(at, _)| !kept.get(*at).copied().unwrap_or(false))
    {
        let line = u32::try_from(head + at + 1).unwrap_or(u32::MAX);
        match parts.last_mut() {
            Some(last) if last.end() + 1 == line => *last = *last.start()..=line,
            _ => parts.push(line..=line),
        }
    }
    parts
}

/// Which lines of `new` belong to a longest common subsequence.
fn kept(old: &[Vec<u8>], new: &[Vec<u8>]) -> Vec<bool> {
    let mut kept = vec![false; new.len()];
    if old.len().saturating_mul(new.len()) > COMPARED_MAX {
        return kept;
    }
    let width = new.len() + 1;
    let mut table = vec![0_u32; (old.len() + 1) * width];
    let of = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let best = if old.get(i) == new.get(j) {
                of(&table, i + 1, j + 1) + 1
            } else {
                of(&table, i + 1, j).max(of(&table, i, j + 1))
            };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old.get(i) == new.get(j) {
            if let Some(mark) = kept.get_mut(j) {
                *mark = true;
            }
            (i, j) = (i + 1, j + 1);
        } else if of(&table, i + 1, j) >= of(&table, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_come_in_parts_and_unchanged_ones_in_none() {
        let told = |before: &str, after: &str| parts(before.as_bytes(), after.as_bytes());
        assert!(told("a\nb\n", "a\nb\n").is_empty());
        assert!(told("a\r\nb\r\n", "a\nb\n").is_empty(), "line ends are no change");
        assert_eq!(told("a\nb\nc\nd\n", "a\nB\nc\nD\n"), [2..=2, 4..=4]);
        assert_eq!(told("a\nd\n", "a\nb\nc\nd\n"), [2..=3]);
        assert_eq!(told("", "a\nb\n"), [1..=2]);
        assert!(told("a\nb\nc\n", "a\nc\n").is_empty(), "what is gone has no line");
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "tests/a.py",
            "a/test_b.py",
            "b_test.go",
            "x.test.ts",
            "x.spec.js",
            "conftest.py",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/a.py", "contest.py", "src/latest.ts"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
