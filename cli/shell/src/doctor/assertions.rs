//! Two tests that nobody can satisfy together (SPEC 4.3.10).
//!
//! Only tests of one directory are held against each other: in another one the same import may mean another module.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engine::doctor::CONTRADICTORY;
use ignore::WalkBuilder;
use syntax::{Contradiction, Language, SIZE_MAX_BYTES, contradictions};

use super::{Concern, Looked, Patient};

pub(super) static CONCERN: Concern = Concern {
    name: "assertions",
    doc: "no two tests demand different results of the same call",
    look,
};

/// More than this is not read.
const FILES_MAX: usize = 20_000;
const BYTES_MAX: usize = 64 << 20;

/// Sources of one directory in one language: path and text.
type Shelf = Vec<(String, Vec<u8>)>;

fn look(patient: &Patient, looked: &mut Looked) {
    let (shelves, is_whole) = shelves(&patient.workdir);
    let count: usize = shelves.values().map(Vec::len).sum();
    let mut is_sound = true;
    for ((_, name), shelf) in &shelves {
        let Some(language) = Language::all().find(|language| language.name == *name) else {
            continue;
        };
        let sources: Vec<(&str, &[u8])> = shelf
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_slice()))
            .collect();
        for Contradiction { call, first, second } in contradictions(language, &sources) {
            is_sound = false;
            looked.problem(
                &CONCERN,
                CONTRADICTORY,
                format!("{}:{} and {}:{}", first.path, first.line, second.path, second.line),
                format!(
                    "`{call}` is to be {} in one test and {} in the other",
                    first.value, second.value
                ),
                "decide which of the two is right and take the other off; no work can satisfy both",
            );
        }
    }
    let at = patient.workdir.display();
    if !is_whole {
        let detail = format!("more sources than are read: {count} were searched for contradictory tests");
        looked.note(&CONCERN, at, detail, "");
    } else if is_sound {
        let files = engine::words::counted(count as u64, "source");
        looked.ok(&CONCERN, at, format!("no two tests contradict each other, in {files}"));
    }
}

/// Sources by directory and language, and whether all of them.
fn shelves(workdir: &Path) -> (BTreeMap<(String, &'static str), Shelf>, bool) {
    let mut shelves: BTreeMap<_, Shelf> = BTreeMap::new();
    let (mut files, mut bytes) = (0, 0);
    let walk = WalkBuilder::new(workdir)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .parents(false)
        .sort_by_file_name(Ord::cmp)
        .build();
    for entry in walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
    {
        let Some(path) = entry.path().strip_prefix(workdir).ok().and_then(Path::to_str) else {
            continue;
        };
        let size = entry
            .metadata()
            .map_or(0, |seen| usize::try_from(seen.len()).unwrap_or(usize::MAX));
        let (Some(language), true) = (Language::of(path), size <= SIZE_MAX_BYTES) else {
            continue;
        };
        (files, bytes) = (files + 1, bytes + size);
        if files > FILES_MAX || bytes > BYTES_MAX {
            return (shelves, false);
        }
        let Ok(text) = fs::read(entry.path()) else { continue };
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned();
        shelves
            .entry((dir, language.name))
            .or_default()
            .push((path.to_owned(), text));
    }
    (shelves, true)
}

#[cfg(test)]
mod tests {
    use super::super::bench::{patient, said};
    use super::*;

    const THREE: &str = "from calc import add\n\ndef test_a():\n    assert add(1, 1) == 3\n";
    const TWO: &str = "from calc import add\n\ndef test_b():\n    assert add(1, 1) == 2\n";

    #[test]
    fn two_tests_that_contradict_each_other_are_both_named() {
        let (_dir, patient) = patient(&[("tests/test_a.py", THREE), ("tests/test_b.py", TWO)], "pytest");
        let mut looked = Looked::default();
        look(&patient, &mut looked);
        let [finding] = &looked.findings[..] else {
            panic!("{looked:?}")
        };
        assert_eq!(finding.severity.fault(), Some(CONTRADICTORY));
        assert_eq!(finding.subject, "tests/test_a.py:4 and tests/test_b.py:4");
        assert_eq!(finding.detail, "`add(1, 1)` is to be 3 in one test and 2 in the other");
    }

    #[test]
    fn in_another_directory_the_same_name_may_be_another_thing() {
        let (_dir, patient) = patient(&[("one/test_a.py", THREE), ("two/test_b.py", TWO)], "pytest");
        assert_eq!(said(&CONCERN, &patient)[0].0, "ok");
    }
}
