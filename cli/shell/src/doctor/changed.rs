//! Which lines of product code differ from the last commit, and the mutants of those lines.

use std::fs;
use std::ops::RangeInclusive;
use std::rc::Rc;

use syntax::{Language, Mutant, What};

use super::Patient;
use super::repository::{self, ANSWER_LIMIT_MS};
use crate::hunks::between;
use crate::tree::git::run::Git;
use crate::tree::{Repository, path_text};

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
        hunks.extend(between(&before, &source).hunks.into_iter().map(|lines| Hunk {
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

#[cfg(test)]
mod tests {
    use super::*;

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
