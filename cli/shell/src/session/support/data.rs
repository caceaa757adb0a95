//! Expected results that lie where no test does.

use std::collections::BTreeSet;

use super::{Found, Project, directory};

/// Directories that people keep expected results and prepared input of tests in.
const DIRECTORIES: &[&str] = &[
    "__fixtures__",
    "approved",
    "cassettes",
    "expected",
    "fixtures",
    "golden",
    "goldens",
    "snapshots",
    "test-data",
    "test_data",
    "testdata",
];

/// Such directories that a source of tests names and no source of the work does.
pub(super) fn find(project: &Project, found: &mut Found) {
    let kept: BTreeSet<&str> = project
        .files
        .iter()
        .filter_map(|path| outermost(directory(path)))
        .collect();
    let names = |dir: &str, tests: bool| {
        let name = dir.rsplit('/').next().unwrap_or(dir);
        let mut texts = project
            .texts
            .iter()
            .filter(|(path, _)| project.is_test(path) == tests && !path.starts_with(dir));
        texts.any(|(path, text)| is_source(path) && speaks_of(text, name))
    };
    for dir in kept.into_iter().filter(|dir| names(dir, true) && !names(dir, false)) {
        found.part_of_tests(&format!("{dir}/"));
    }
}

/// The part of a path up to the first directory of such a name.
fn outermost(dir: &str) -> Option<&str> {
    let mut end = 0;
    for part in dir.split('/') {
        end += part.len();
        if DIRECTORIES.contains(&part) {
            return Some(&dir[..end]);
        }
        end += 1;
    }
    None
}

fn is_source(path: &str) -> bool {
    !path.ends_with(".json") && !path.ends_with(".toml")
}

/// Whether a quoted path in a text has this part.
fn speaks_of(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        before.is_some_and(|c| "\"'`/".contains(c)) && behind.is_some_and(|c| "\"'`/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn results_that_only_tests_speak_of_belong_to_them() {
        let data = ("fixtures/max.json", "{}");
        let test = ("calc.test.js", "for (const row of require('./fixtures/max.json')) {}\n");
        assert_eq!(found(&[data, test]).0, ["/fixtures/"]);
        let go = ("calc_test.go", "os.ReadFile(filepath.Join(\"golden\", name))\n");
        assert_eq!(found(&[("golden/max.txt", ""), go]).0, ["/golden/"]);
        let work = ("src/load.js", "fs.readdirSync('fixtures')\n");
        assert_eq!(found(&[data, test, work]).0, [""; 0], "the work reads them too");
        assert_eq!(found(&[data]).0, [""; 0], "nobody reads them");
    }
}
