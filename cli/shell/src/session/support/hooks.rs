//! Files that a runner's configuration names: they are loaded before the tests, or in their place.

use serde_json::Value;

use super::{Found, Project, directory, joined, quoted};

/// Options of a script behind which a file is loaded before the tests.
const OPTIONS: &[&str] = &[
    "--env",
    "--experimental-loader",
    "--globalSetup",
    "--import",
    "--loader",
    "--preload",
    "--require",
    "--setupFiles",
    "--test-reporter",
    "-r",
];
/// Of a configuration that also says how the work is built, only these speak of tests.
const KEYS: &[&str] = &[
    "environment",
    "globalSetup",
    "reporters",
    "resolver",
    "runner",
    "setupFiles",
    "snapshotEnvironment",
    "snapshotSerializers",
];
/// Endings of the files of a runner's own configuration.
const CONFIGURATIONS: &[&str] = &["cjs", "cts", "js", "json", "mjs", "mts", "ts"];

/// Hooks of package scripts, jest, mocha and vitest.
pub(super) fn find(project: &Project, found: &mut Found) {
    for (path, text) in project.sources(CONFIGURATIONS) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let named: Vec<String> = match name {
            "package.json" => manifest(text),
            _ if name.starts_with("jest.config.") || name.starts_with(".mocharc") => owned(quoted(text)),
            _ if ["vitest.config.", "vite.config.", "vitest.workspace."]
                .iter()
                .any(|start| name.starts_with(start)) =>
            {
                about_tests(text)
            }
            _ => continue,
        };
        for hook in named.iter().filter_map(|name| file(project, directory(path), name)) {
            found.decides(&hook);
        }
    }
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(ToOwned::to_owned).collect()
}

/// The file of the workdir that a name of a configuration in `dir` means.
fn file(project: &Project, dir: &str, name: &str) -> Option<String> {
    let path = joined(dir, name.trim_start_matches("<rootDir>/"))?;
    let with = ["", ".js", ".cjs", ".mjs", ".ts"].map(|ending| format!("{path}{ending}"));
    with.into_iter()
        .find(|path| project.has(path) && !path.ends_with("package.json"))
}

/// Hooks of the scripts, and whatever the sections of runners name.
fn manifest(text: &str) -> Vec<String> {
    let Ok(manifest) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for section in ["jest", "mocha", "ava", "tap"] {
        texts(&manifest[section], &mut names);
    }
    let scripts = manifest["scripts"].as_object().into_iter().flatten();
    for script in scripts.filter_map(|(_, script)| script.as_str()) {
        let words: Vec<&str> = script.split_whitespace().collect();
        let spaced = words
            .windows(2)
            .filter(|pair| OPTIONS.contains(&pair[0]))
            .map(|pair| pair[1]);
        let joined = words.iter().filter_map(|word| word.split_once('='));
        names.extend(
            spaced
                .chain(
                    joined
                        .filter(|(name, _)| OPTIONS.contains(name))
                        .map(|(_, value)| value),
                )
                .map(ToOwned::to_owned),
        );
    }
    names
}

fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        Value::Object(values) => values.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

/// Texts behind the keys that speak of tests, up to the end of their list or line.
fn about_tests(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for key in KEYS {
        for (at, _) in text.match_indices(key) {
            let behind = &text[at + key.len()..];
            let value = behind
                .trim_start_matches(['\'', '"', ' '])
                .strip_prefix(':')
                .unwrap_or_default();
            let end = if value.trim_start().starts_with('[') { ']' } else { '\n' };
            names.extend(owned(quoted(value.split(end).next().unwrap_or_default())));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;

    #[test]
    fn what_a_script_or_a_runner_loads_first_decides_over_the_tests() {
        let package = r#"{"main": "src/calc.js", "scripts": {"test": "node --require ./hooks.js --import=./more.mjs --test", "start": "node src/calc.js"},
            "jest": {"setupFilesAfterEnv": ["<rootDir>/src/setup.js"], "transform": {"\\.js$": "./build/transform"}, "roots": ["src"]}}"#;
        let files = [
            "hooks.js",
            "more.mjs",
            "src/setup.js",
            "build/transform.js",
            "src/calc.js",
        ]
        .map(|name| (name, ""));
        let project = [&[("package.json", package)], &files[..]].concat();
        assert_eq!(
            found(&project).1,
            ["/build/transform.js", "/hooks.js", "/more.mjs", "/src/setup.js"]
        );
    }

    #[test]
    fn of_a_configuration_that_also_builds_only_the_part_about_tests_counts() {
        let vite = "export default { build: { lib: { entry: 'src/main.ts' } },\n  test: {\n    setupFiles: [\n      './config/prepare.ts',\n    ],\n    environment: './config/env.ts',\n  } };\n";
        let files = ["config/prepare.ts", "config/env.ts", "src/main.ts"].map(|name| (name, ""));
        let project = [&[("vite.config.ts", vite)], &files[..]].concat();
        assert_eq!(found(&project).1, ["/config/env.ts", "/config/prepare.ts"]);
    }
}
