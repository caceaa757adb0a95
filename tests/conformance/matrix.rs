//! The capability matrix (SPEC 17) claims nothing that the sources cannot show.
//!
//! ```text
//!   row called Shipped ──> tests that it names ──> functions under `#[test]` in that module, not ignored
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::house::{read, root, rust_files};

#[test]
fn the_matrix_claims_nothing_that_is_not_tested() {
    let faults = faults(&read(&root().join("SPEC.md")), &suites());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_claim_without_a_running_test_is_refused() {
    let suites = suites();
    let fault = |row: &str| faults(&format!("## 17 Matrix\n{row}\n"), &suites).concat();
    let this = "conformance::matrix::a_claim_without_a_running_test_is_refused";
    assert_eq!(fault(&format!("| a | Shipped | `{this}` |")), "");
    assert_eq!(
        fault("| a | Shipped | `engine: event::tests::one_value_has_one_encoding` |"),
        ""
    );
    assert_eq!(fault("| a | Planned | |"), "");
    assert!(fault("| a | Shipped | |").contains("names no test"));
    assert!(fault("| a | Shipped (core) | |").contains("is no status"));
    assert!(fault("| a | Shipped | `engine: event::tests::no_such_fact` |").contains("no test"));
    assert!(fault("| a | Shipped | `engine: event::halt::one_value_has_one_encoding` |").contains("no test"));
    assert!(fault("| a | Shipped | `nowhere: event::tests::one_value_has_one_encoding` |").contains("no test"));
    assert!(fault("").contains("no rows"));
}

#[test]
fn an_ignored_test_proves_nothing() {
    let source = "#[test]\n#[ignore]\nfn off() {}\n\n    #[test]\n    fn on(x: u8) {}\nfn helper() {}\n";
    assert_eq!(tests_in(source), BTreeSet::from(["on".to_owned()]));
}

/// One source file: its module path, the modules it opens, the tests in it that are run.
struct Room {
    path: String,
    source: String,
    tests: BTreeSet<String>,
}

/// The rooms of each crate by name; those of the end-to-end binary under the empty name.
fn suites() -> BTreeMap<&'static str, Vec<Room>> {
    let places = [
        ("", "tests"),
        ("engine", "engine/src"),
        ("journal", "journal/src"),
        ("journal", "journal/tests"),
        ("models", "models/src"),
        ("models", "models/tests"),
        ("threads", "models/threads/tests"),
        ("loopexec", "cli/src"),
        ("shell", "cli/shell/src"),
        ("shell", "cli/shell/tests"),
        ("syntax", "cli/syntax/src"),
        ("fuzz", "fuzz/src"),
        ("fuzz", "fuzz/tests"),
    ];
    let mut suites: BTreeMap<_, Vec<Room>> = BTreeMap::new();
    for (name, place) in places {
        suites.entry(name).or_default().extend(rooms(&root().join(place)));
    }
    suites
}

fn rooms(dir: &Path) -> Vec<Room> {
    let room = |file: &PathBuf| {
        let path = file.strip_prefix(dir).ok()?.with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy());
        let parts: Vec<_> = parts
            .filter(|part| !["mod", "lib", "main"].contains(&part.as_ref()))
            .collect();
        let source = read(file);
        Some(Room {
            path: parts.join("::"),
            tests: tests_in(&source),
            source,
        })
    };
    rust_files(dir).iter().filter_map(room).collect()
}

/// Functions under `#[test]` that are not ignored.
fn tests_in(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in source.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]");
        is_ignored |= line.starts_with("#[ignore");
        if let Some(rest) = line.strip_prefix("fn ") {
            if is_test && !is_ignored {
                found.extend(rest.split(['(', '<']).next().map(str::to_owned));
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    found
}

fn is_tested(cited: &str, suites: &BTreeMap<&'static str, Vec<Room>>) -> bool {
    let (suite, path) = cited.split_once(": ").unwrap_or(("", cited));
    let Some((modules, name)) = path.rsplit_once("::") else {
        return false;
    };
    suites
        .get(suite)
        .into_iter()
        .flatten()
        .filter(|room| room.tests.contains(name))
        .any(|room| {
            // What the file's own path leaves over must be modules that the file opens.
            let inner = if room.path.is_empty() {
                Some(modules)
            } else {
                modules.strip_prefix(&room.path)
            };
            let mut inner = inner
                .into_iter()
                .flat_map(|rest| rest.split("::"))
                .filter(|module| !module.is_empty());
            modules.starts_with(&room.path) && inner.all(|module| room.source.contains(&format!("mod {module} {{")))
        })
}

/// Every row of section 17 that says more than the sources can show.
fn faults(spec: &str, suites: &BTreeMap<&'static str, Vec<Room>>) -> Vec<String> {
    let matrix = spec.split_once("\n## 17 ").map_or(spec, |(_, matrix)| matrix);
    let mut faults = Vec::new();
    let mut rows = 0;
    let is_row =
        |line: &&str| line.starts_with("| ") && !line.starts_with("| capability") && !line.starts_with("| ---");
    for line in matrix.lines().filter(is_row) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [capability, status, tests] = cells[..] else {
            faults.push(format!("not three cells: {line}"));
            continue;
        };
        rows += 1;
        if !["Shipped", "In progress", "Planned"].contains(&status) {
            faults.push(format!("{capability}: `{status}` is no status"));
        }
        let named: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        if status == "Shipped" && named.is_empty() {
            faults.push(format!("{capability}: Shipped, and names no test"));
        }
        let missing = named.iter().filter(|test| !is_tested(test, suites));
        faults.extend(missing.map(|test| format!("{capability}: there is no test `{test}` that runs")));
    }
    if rows == 0 {
        faults.push("the matrix has no rows".into());
    }
    faults
}
