//! Runners of JavaScript and Go as they are installed: their tests are known by name, and their sentinels answer.

use crate::support::story::{Project, available};

/// The guards before green that only cost time here.
const OTHERS: [&str; 4] = ["order", "oracle_mutation", "code_mutation", "t0_replay"];

/// One bug, two tests: the work mends it, and the check names both.
fn mended(project: &Project, work: &str, (runner, check): (&str, &str), members: &[&str]) {
    let fast = OTHERS.map(|name| ["--guard-off", name]);
    let said = project.run(work, check, fast.as_flattened());
    said.converged(1);
    let ended = project.events(&said).into_iter().map(|record| record["event"].clone());
    let read: Vec<_> = ended
        .filter(|event| event["event"] == "check_ended")
        .map(|event| event["measurement"].clone())
        .collect();
    let first = read[0]["changes"].to_string();
    assert!(members.iter().all(|name| first.contains(name)), "by name: {first}");
    assert_eq!(first.matches("\"failed\"").count(), 1, "{first}");
    for reading in &read {
        let told = (&reading["collector"], &reading["members_total"], &reading["complete"]);
        assert_eq!(told, (&runner.into(), &members.len().into(), &true.into()), "{reading}");
    }
    let sentinels = project.vetted(&said, "sentinel_pair");
    assert_eq!(sentinels["state"], "active", "{sentinels}");
    assert_eq!(project.json(&["verify"]).exit, 0);
}

/// A project that has these packages; nothing where they are not installed.
fn with_packages(files: &[(&str, &str)]) -> Option<Project> {
    let Ok(packages) = std::env::var("LOOPEXEC_TEST_NODE_MODULES") else {
        eprintln!("skipped: LOOPEXEC_TEST_NODE_MODULES names no directory with jest and vitest");
        return None;
    };
    if !available("node") {
        return None;
    }
    let project = Project::committed(files);
    std::os::unix::fs::symlink(packages, project.dir().join("node_modules")).unwrap();
    Some(project)
}

const MONEY: &str = "\
exports.total = (prices) => prices.reduce((a, b) => a + b, 1);
exports.label = (cents) => (cents < 0 ? 'minus' : 'plus');
";
const MENDED: &str = "sed -i 's/, 1);/, 0);/' money.js";
const PACKAGE: (&str, &str) = ("package.json", "{ \"name\": \"money\", \"private\": true }\n");
const IGNORED: (&str, &str) = (".gitignore", "node_modules\n");
const TESTS: &str = "\
test('adds up', () => {
  expect(total([1, 2])).toBe(3);
});

test('names a debt', () => {
  expect(label(-1)).toBe('minus');
});
";

#[test]
fn a_jest_project_is_read_test_by_test_and_its_sentinels_answer() {
    let tests = format!("const {{ total, label }} = require('./money.js');\n{TESTS}");
    let files = [PACKAGE, IGNORED, ("money.js", MONEY), ("money.test.js", &tests)];
    let Some(project) = with_packages(&files) else { return };
    mended(
        &project,
        MENDED,
        ("jest", "node_modules/.bin/jest"),
        &["adds up", "names a debt"],
    );
}

#[test]
fn a_vitest_project_is_read_test_by_test_and_its_sentinels_answer() {
    let tests = format!(
        "import {{ test, expect }} from 'vitest';\nimport money from './money.js';\nconst {{ total, label }} = money;\n{TESTS}"
    );
    let files = [PACKAGE, IGNORED, ("money.js", MONEY), ("money.test.mjs", &tests)];
    let Some(project) = with_packages(&files) else { return };
    mended(
        &project,
        MENDED,
        ("vitest", "node_modules/.bin/vitest run"),
        &["adds up", "names a debt"],
    );
}

#[test]
fn a_go_module_is_read_test_by_test_and_its_sentinels_answer() {
    let go = std::process::Command::new("go").arg("version").output();
    if !go.is_ok_and(|said| said.status.success()) {
        eprintln!("skipped: go cannot be started");
        return;
    }
    let project = Project::committed(&[
        ("go.mod", "module money\n\ngo 1.18\n"),
        (
            "money.go",
            "package money\n\nfunc Total(prices []int) int {\n\tsum := 1\n\tfor _, price := range prices {\n\t\tsum += price\n\t}\n\treturn sum\n}\n\nfunc Label(cents int) string {\n\tif cents < 0 {\n\t\treturn \"minus\"\n\t}\n\treturn \"plus\"\n}\n",
        ),
        (
            "money_test.go",
            "package money\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif Total([]int{1, 2}) != 3 {\n\t\tt.Fatal(\"total\")\n\t}\n}\n\nfunc TestLabel(t *testing.T) {\n\tif Label(-1) != \"minus\" {\n\t\tt.Fatal(\"label\")\n\t}\n}\n",
        ),
    ]);
    mended(
        &project,
        "sed -i 's/sum := 1/sum := 0/' money.go",
        ("go", "go test ./..."),
        &["TestTotal", "TestLabel"],
    );
}

#[test]
fn a_script_with_its_own_tests_is_the_work_and_its_tests_are_not() {
    let source = "\
export const total = (prices) => prices.reduce((a, b) => a + b, 1);

if (import.meta.vitest) {
  const { it, expect } = import.meta.vitest;
  it('adds up', () => {
    expect(total([1, 2])).toBe(3);
  });
}
";
    let settings = "export default { test: { includeSource: ['*.mjs'], include: [] } };\n";
    let files = [IGNORED, PACKAGE, ("vitest.config.mjs", settings), ("money.mjs", source)];
    let fast = OTHERS.map(|name| ["--guard-off", name]);
    let run = |work: &str| {
        let project = with_packages(&files)?;
        let flags = [
            &["--surface", "extend", "--guard-off", "sentinel_pair"],
            fast[..3].as_flattened(),
        ]
        .concat();
        Some(project.run(work, "node_modules/.bin/vitest run", &flags))
    };
    let Some(said) = run("sed -i 's/, 1);/, 0);/' money.mjs") else {
        return;
    };
    said.converged(1);
    for work in [
        "sed -i 's/toBe(3)/toBe(4)/' money.mjs",
        "sed -i 's/= import.meta.vitest;/= lax;/' money.mjs",
    ] {
        let Some(said) = run(work) else { return };
        assert_eq!(
            (said.exit, said.cause()),
            (13, "protected_manifest"),
            "{work}: {}",
            said.why()
        );
    }
}
