//! The tables of `SPEC.md` about halts, as tests read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Causes of each reason (SPEC 4.2.1), those that a guard gives by its name included.
pub(crate) fn causes() -> &'static BTreeMap<String, BTreeSet<String>> {
    static CAUSES: OnceLock<BTreeMap<String, BTreeSet<String>>> = OnceLock::new();
    CAUSES.get_or_init(|| {
        let rows = rows("**4.2.1**", "**4.2.2**");
        let causes = rows.into_iter().map(|[reason, causes]| {
            let mut named: BTreeSet<_> = quoted(&causes).map(str::to_owned).collect();
            if causes.starts_with("a guard") {
                named.extend(engine::guard::ALL.iter().map(|guard| guard.name.to_owned()));
                named.extend(engine::vet::ALL.iter().map(|vet| vet.name.to_owned()));
            }
            (reason.trim_matches('`').to_owned(), named)
        });
        causes.collect()
    })
}

/// Every cause that the table spells.
pub(crate) fn all_causes() -> BTreeSet<String> {
    let rows = rows("**4.2.1**", "**4.2.2**");
    rows.iter()
        .flat_map(|[_, causes]| quoted(causes))
        .map(str::to_owned)
        .collect()
}

/// Rows of two cells between two clauses of the contract; the heads are left out.
pub(crate) fn rows(from: &str, to: &str) -> Vec<[String; 2]> {
    let spec = spec();
    let (_, after) = spec.split_once(from).unwrap();
    let (between, _) = after.split_once(to).unwrap();
    let rows = between.lines().filter_map(|line| {
        let (first, second) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once(" | ")?;
        Some([format!("`{first}"), second.to_owned()])
    });
    rows.collect()
}

/// The words of one clause.
pub(crate) fn clause(id: &str) -> String {
    let spec = spec();
    let (_, after) = spec.split_once(&format!("**{id}**")).unwrap();
    after.split("\n\n").next().unwrap().to_owned()
}

fn spec() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../SPEC.md")).unwrap()
}

/// What stands between backticks.
pub(crate) fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
