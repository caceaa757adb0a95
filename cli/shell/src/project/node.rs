//! The test script of a `package.json`, by the package manager that the project uses.

use serde_json::Value;

use super::{Detected, Project};

pub(super) fn detect(project: &Project<'_>) -> Option<Detected> {
    let text = project.text("package.json")?;
    let package: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let script = package.pointer("/scripts/test").and_then(Value::as_str);
    match script.filter(|script| !is_placeholder(script)) {
        Some(script) => {
            let manager = manager(project, &package);
            let runner = runner_of(script).or_else(|| installed(&package)).unwrap_or("script");
            let why = format!("package.json has a test script ({runner})");
            Some(Detected::new(runner, &[manager, "test"], why))
        }
        None => without_script(&package),
    }
}

fn without_script(package: &Value) -> Option<Detected> {
    let runner = installed(package)?;
    let why = format!("package.json depends on {runner} and has no test script");
    // Never fetched on the way: a check must not depend on the network.
    let words: &[&str] = match runner {
        "vitest" => &["npx", "--no-install", "vitest", "run"],
        _ => &["npx", "--no-install", "jest"],
    };
    Some(Detected::new(runner, words, why))
}

/// What `npm init` writes stands for no script at all.
fn is_placeholder(script: &str) -> bool {
    script.trim().is_empty() || script.contains("no test specified")
}

fn runner_of(script: &str) -> Option<&'static str> {
    let words: Vec<&str> = script.split_whitespace().collect();
    let has = |name: &str| words.iter().any(|word| word.rsplit('/').next() == Some(name));
    if has("vitest") {
        Some("vitest")
    } else if has("jest") {
        Some("jest")
    } else if has("node") && words.contains(&"--test") {
        Some("node")
    } else {
        None
    }
}

fn installed(package: &Value) -> Option<&'static str> {
    let depends = |name: &str| {
        ["devDependencies", "dependencies"]
            .iter()
            .any(|list| package.get(list).and_then(|list| list.get(name)).is_some())
    };
    ["vitest", "jest"].into_iter().find(|name| depends(name))
}

fn manager(project: &Project<'_>, package: &Value) -> &'static str {
    const MANAGERS: &[(&str, &str)] = &[
        ("pnpm", "pnpm-lock.yaml"),
        ("yarn", "yarn.lock"),
        ("npm", "package-lock.json"),
    ];
    let declared = package.get("packageManager").and_then(Value::as_str);
    let declared = declared.and_then(|text| text.split('@').next());
    let by_name = MANAGERS.iter().find(|(name, _)| declared == Some(*name));
    let by_lock = || MANAGERS.iter().find(|(_, lock)| project.has(lock));
    by_name.or_else(by_lock).map_or("npm", |(name, _)| name)
}
