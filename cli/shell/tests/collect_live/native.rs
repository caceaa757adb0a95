//! cargo, nextest and node.

use std::fs;
use std::process::Command;

use shell::oracle::Status;

use crate::harness::{Project, answers, status};

fn crate_project(recipe: &str) -> Project {
    Project::new(recipe)
        .with("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n")
        .with("src/lib.rs", "/// ```\n/// assert!(true);\n/// ```\npub fn f() {}\n#[test] fn good() {}\n#[test] #[ignore] fn later() {}\n#[test] fn bad() { assert_eq!(1, 2, \"one is not two\"); }\n")
        .with("tests/it.rs", "#[test] fn outer() {}\n#[test] fn leaves() { std::process::exit(0) }\n")
}

#[test]
fn cargo_test_behind_make_is_keyed_by_binary_and_notices_an_early_exit() {
    if !answers("cargo", &["--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no cargo or no make");
        return;
    }
    let project = crate_project("cargo test --offline --no-fail-fast --target-dir target");
    let seen = project.run("libtest").measured();
    assert_eq!(status(&seen, "demo src/lib.rs good"), Status::Passed);
    assert_eq!(status(&seen, "demo src/lib.rs later"), Status::Ignored);
    let bad = seen.member("demo src/lib.rs bad").unwrap();
    assert!(bad.status == Status::Failed && bad.message.contains("one is not two"));
    assert_eq!(status(&seen, "doc-tests demo src/lib.rs - f"), Status::Passed);
    assert!(!seen.finished && seen.announced > seen.concluded);
    assert!(
        seen.contradictions
            .iter()
            .any(|sentence| sentence.contains("it tests/it.rs")),
        "{:?}",
        seen.contradictions
    );
}

#[test]
fn nextest_behind_make_is_read_from_its_injected_json() {
    if !answers("cargo", &["nextest", "--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no cargo-nextest or no make");
        return;
    }
    let project = crate_project("cargo nextest run --offline --no-fail-fast --target-dir target");
    let seen = project.run("nextest").measured();
    assert_eq!(status(&seen, "demo::demo good"), Status::Passed);
    assert_eq!(
        status(&seen, "demo::demo later"),
        Status::Ignored,
        "only the injected JSON names ignored tests"
    );
    assert_eq!(status(&seen, "demo::demo bad"), Status::Failed);
    assert_eq!(
        status(&seen, "demo::it leaves"),
        Status::Passed,
        "a process of its own may end itself unseen"
    );
    assert_eq!(
        (seen.announced, seen.concluded, seen.finished),
        (Some(5), Some(5), true)
    );
    assert_eq!(seen.contradictions, Vec::<String>::new());
}

#[test]
fn node_behind_make_is_read_from_tap_or_from_the_reporter_it_asked_for() {
    if !answers("node", &["--test-reporter=tap", "--version"]) || !answers("make", &["--version"]) {
        eprintln!("skipped: there is no node with a test runner or no make");
        return;
    }
    let text = "const { test, describe } = require('node:test');\ntest('good', () => {});\ndescribe('group', () => { test('bad # 1', () => { throw new Error('no'); }); });\ntest('later', { skip: true }, () => {});\n";
    for recipe in ["node --test .", "node --test --test-reporter=spec ."] {
        let seen = Project::new(recipe)
            .with("a.test.js", text)
            .with("b.test.js", "process.exit(0)")
            .run("node")
            .measured();
        assert_eq!(status(&seen, "good"), Status::Passed);
        assert_eq!(status(&seen, "group > bad # 1"), Status::Failed);
        assert_eq!(status(&seen, "later"), Status::Skipped);
        assert!(
            seen.member("b.test.js").unwrap().container,
            "a file that exits early is no test"
        );
        assert!(
            seen.finished && seen.contradictions.is_empty(),
            "{recipe}: {:?}",
            seen.contradictions
        );
        assert_eq!(seen.announced, seen.concluded, "{recipe}");
    }
}

#[test]
fn the_node_preload_changes_jest_and_vitest_alone() {
    if !answers("node", &["--version"]) {
        eprintln!("skipped: there is no node");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let shim = write("shim dir/shim.cjs", shell::oracle::collect::NODE_SHIM);
    let echo = "console.log(JSON.stringify(process.argv.slice(2)));";
    let arguments = |script: &str, given: &[&str]| {
        let path = write(script, echo);
        let output = Command::new("node")
            .arg(path)
            .args(given)
            .env("NODE_OPTIONS", format!("--require \"{}\"", shim.display()))
            .env("LOOPEXEC_NODE_REPORT", "/r/report.json")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    assert_eq!(
        arguments("bin/jest.js", &["--ci"]),
        r#"["--ci","--json","--outputFile=/r/report.json"]"#
    );
    assert_eq!(arguments("bin/jest.js", &["--json"]), r#"["--json"]"#);
    assert_eq!(
        arguments("bin/jest.js", &["--reporters=dots"]),
        r#"["--reporters=dots","--json","--outputFile=/r/report.json"]"#
    );
    for (given, added) in [
        (
            "run",
            r#""--reporter=default","--reporter=json","--outputFile.json=/r/report.json""#,
        ),
        (
            "--reporter=verbose",
            r#""--reporter=json","--outputFile.json=/r/report.json""#,
        ),
    ] {
        let expected = format!("[\"{given}\",{added}]");
        assert_eq!(arguments("bin/vitest.mjs", &[given]), expected);
    }
    assert_eq!(
        arguments("bin/vitest.mjs", &["--reporter=json"]),
        r#"["--reporter=json"]"#
    );
    assert_eq!(
        arguments("bin/vitest.mjs.js", &["run"]),
        r#"["run"]"#,
        "only the runner's own entry point is meant"
    );
    assert_eq!(arguments("bin/other.js", &["a"]), r#"["a"]"#);
}
