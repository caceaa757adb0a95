//! Sources of Rust that are compiled for tests alone, and lie beside the work.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{Found, Project, directory, is_named_for_tests, joined, quoted};

/// Modules behind `#[cfg(test)]`, files that tests name by `#[path]`, and crates of the workspace that are there for tests.
pub(super) fn find(project: &Project, found: &mut Found) {
    for (path, text) in project.sources(&["rs"]) {
        for module in modules(text).filter(|module| module.for_tests || project.is_test(path) && module.path.is_some())
        {
            let places = module.places(path);
            for place in places.iter().filter(|place| project.has(place)) {
                found.part_of_tests(place);
                // Modules of that module.
                let stem = place.trim_end_matches(".rs").trim_end_matches("/mod");
                found.part_of_tests(&format!("{stem}/"));
            }
        }
    }
    for dir in crates_for_tests(project) {
        found.part_of_tests(&format!("{dir}/"));
    }
}

/// A module that another file holds.
struct Module<'a> {
    name: &'a str,
    path: Option<&'a str>,
    for_tests: bool,
}

impl Module<'_> {
    /// Where it may lie, as declared in `file`.
    fn places(&self, file: &str) -> Vec<String> {
        let dir = directory(file);
        if let Some(path) = self.path {
            return joined(dir, path).into_iter().collect();
        }
        let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".rs");
        let within = match name {
            "lib" | "main" | "mod" => dir.to_owned(),
            _ if dir.is_empty() => name.to_owned(),
            _ => format!("{dir}/{name}"),
        };
        let names = [format!("{}.rs", self.name), format!("{}/mod.rs", self.name)];
        names.iter().filter_map(|name| joined(&within, name)).collect()
    }
}

/// `mod name;` with the attributes in front of it.
fn modules(text: &str) -> impl Iterator<Item = Module<'_>> {
    let (mut for_tests, mut path) = (false, None);
    text.lines().filter_map(move |line| {
        let mut rest = line.trim();
        while let Some((attribute, behind)) = rest.strip_prefix("#[").and_then(|rest| rest.split_once(']')) {
            for_tests |= attribute.starts_with("cfg(test") || attribute.starts_with("cfg(all(test");
            if attribute.starts_with("path") {
                path = quoted(attribute).first().copied();
            }
            rest = behind.trim();
        }
        if rest.is_empty() || rest.starts_with("//") {
            return None;
        }
        let (tests, named) = (std::mem::take(&mut for_tests), path.take());
        let declared = rest.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let name = declared.strip_prefix("mod ")?.strip_suffix(';')?.trim();
        Some(Module {
            name,
            path: named,
            for_tests: tests,
        })
    })
}

/// Crates named as such that others depend on for their tests, and nobody for anything else.
fn crates_for_tests(project: &Project) -> Vec<String> {
    let mut only_for_tests: BTreeMap<String, bool> = BTreeMap::new();
    for (path, text) in project
        .sources(&["toml"])
        .filter(|(path, _)| path.ends_with("Cargo.toml"))
    {
        let Ok(manifest) = text.parse::<Table>() else { continue };
        for (section, for_tests) in [
            ("dependencies", false),
            ("build-dependencies", false),
            ("dev-dependencies", true),
        ] {
            for dir in paths(manifest.get(section)).filter_map(|dir| joined(directory(path), dir)) {
                *only_for_tests.entry(dir).or_insert(true) &= for_tests;
            }
        }
    }
    let named = only_for_tests
        .into_iter()
        .filter(|(dir, only)| *only && is_named_for_tests(dir));
    named.map(|(dir, _)| dir).collect()
}

fn paths(section: Option<&Value>) -> impl Iterator<Item = &str> {
    let entries = section.and_then(Value::as_table).into_iter().flatten();
    entries.filter_map(|(_, entry)| entry.get("path").and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn a_module_that_is_compiled_for_tests_alone_belongs_to_them() {
        let lib = "pub fn sum() {}\n\n#[cfg(test)]\nmod tests;\n#[cfg(test)] #[path = \"lib_check.rs\"]\nmod more;\nmod work;\n";
        let files = [
            ("src/lib.rs", lib),
            ("src/tests.rs", ""),
            ("src/lib_check.rs", ""),
            (
                "src/work.rs",
                "#[cfg(test)]\nmod inner;\n#[cfg(test)]\nfn one() {}\nmod plain;\n",
            ),
            ("src/work/inner.rs", ""),
            ("src/work/plain.rs", ""),
        ];
        let expected = [
            "/src/lib_check.rs",
            "/src/lib_check/",
            "/src/tests.rs",
            "/src/tests/",
            "/src/work/inner.rs",
            "/src/work/inner/",
        ];
        assert_eq!(found(&files).0, expected);
    }

    #[test]
    fn what_tests_name_by_its_path_belongs_to_them() {
        let test = "#[path = \"../support/mod.rs\"]\nmod support;\nuse calc::*;\n";
        let files = [("tests/api.rs", test), ("support/mod.rs", ""), ("src/lib.rs", "")];
        assert_eq!(found(&files).0, ["/support/", "/support/mod.rs"]);
    }

    #[test]
    fn a_crate_for_tests_belongs_to_them_and_one_that_is_tested_from_outside_does_not() {
        let root = "[dev-dependencies]\ntestkit = { path = \"testkit\" }\ncore = { path = \"core\" }\n";
        let files = [
            ("Cargo.toml", root),
            ("testkit/Cargo.toml", ""),
            ("core/Cargo.toml", ""),
        ];
        assert_eq!(found(&files).0, ["/testkit/"]);
        let used = "[dependencies]\ntestkit = { path = \"../testkit\" }\n";
        let files = [("Cargo.toml", root), ("app/Cargo.toml", used)];
        assert_eq!(found(&files).0, [""; 0]);
    }
}
