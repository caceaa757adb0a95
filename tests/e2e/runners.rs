//! Real test runners from red to green, and checks that cannot be believed or cannot run.

use crate::support::story::{Project, Said, available, python_with_pytest};

/// The members that were failing after the baseline and after each iteration.
fn trend(project: &Project) -> Vec<u64> {
    let report = project.json(&["report"]);
    let rows = report.json["report"]["timeline"]
        .as_array()
        .unwrap_or_else(|| panic!("{}", report.all()))
        .clone();
    assert!(
        rows.iter().all(|row| row["members"].as_u64() > Some(0)),
        "tests by name: {}",
        report.all()
    );
    rows.iter().filter_map(|row| row["failing"].as_u64()).collect()
}

/// A project whose scripted agent mends one of three bugs a turn.
pub(super) fn mended_in_three_turns(project: &Project, check: &[&str], more: &[&str]) -> Said {
    let text = project.read("loopexec.toml");
    let words: Vec<String> = check.iter().map(|word| format!("{word:?}")).collect();
    let line = format!("check = [{}]", words.join(", "));
    let lines: Vec<&str> = text
        .lines()
        .map(|old| if old.starts_with("check =") { line.as_str() } else { old })
        .collect();
    project.write("loopexec.toml", &(lines.join("\n") + "\n"));
    let said = project.json(&[&["run"], more].concat());
    said.converged(3);
    let failing = trend(project);
    assert_eq!(failing.last(), Some(&0), "{failing:?}");
    assert!(
        failing.windows(2).all(|two| two[0] > two[1]),
        "one less each turn: {failing:?}"
    );
    assert_eq!(failing[0], 3, "the baseline: {failing:?}");
    let verified = project.json(&["verify"]);
    assert_eq!(
        (verified.exit, &verified.json["verified"]),
        (0, &true.into()),
        "{}",
        verified.all()
    );
    let replayed = project.json(&["replay"]);
    assert_eq!(
        (replayed.exit, &replayed.json["verified"]),
        (0, &true.into()),
        "{}",
        replayed.all()
    );
    let why = project.json(&["explain-halt"]);
    assert_eq!(
        (why.exit, &why.json["advice"]["verdict"]),
        (0, &"done".into()),
        "{}",
        why.all()
    );
    said
}

#[test]
fn a_pytest_project_goes_from_red_to_green_test_by_test() {
    let Some(python) = python_with_pytest() else { return };
    let project = Project::fixture("pytest-project");
    mended_in_three_turns(&project, &[&python, "-m", "pytest", "-q"], &[]);
}

#[test]
fn a_cargo_workspace_goes_from_red_to_green_test_by_test() {
    if !available("cargo") {
        return;
    }
    let project = Project::fixture("cargo-project");
    mended_in_three_turns(
        &project,
        &["cargo", "test", "--workspace", "--offline", "--no-fail-fast"],
        &[],
    );
}

#[test]
fn a_node_project_goes_from_red_to_green_test_by_test() {
    if !available("node") {
        return;
    }
    let project = Project::fixture("node-project");
    mended_in_three_turns(&project, &["node", "--test"], &[]);
}

/// A project whose one test fails until `product.py` says so.
fn pytest_project(python: &str) -> (Project, String) {
    let project = Project::committed(&[
        (
            "product.py",
            "def answer():\n    return 41\n\ndef name():\n    return 'x'\n",
        ),
        (
            "test_product.py",
            "from product import answer, name\n\ndef test_answer():\n    assert answer() == 42\n\ndef test_name():\n    assert name() == 'x'\n",
        ),
        (".gitignore", "__pycache__/\n.pytest_cache/\n"),
    ]);
    (project, format!("{python} -m pytest -q"))
}

#[test]
fn a_turn_that_breaks_a_pytest_test_is_undone_and_the_next_one_reads_which() {
    let Some(python) = python_with_pytest() else { return };
    let (mut project, check) = pytest_project(&python);
    let out = project.outside("context");
    project.set("OUT", out.display().to_string());
    let exec = "cp \"$LOOPEXEC_CONTEXT\" \"$OUT-$LOOPEXEC_ITERATION\"; sleep 1; case $LOOPEXEC_ITERATION in \
                1) sed -i \"s/41/42/; s/'x'/'y'/\" product.py;; *) sed -i s/41/42/ product.py;; esac";
    project.run(exec, &check, &[]).converged(2);
    let told = std::fs::read_to_string(project.outside("context-2")).unwrap();
    assert!(told.contains("test_product.py::test_name"), "{told}");
    assert!(told.contains("assert name() == 'x'"), "the failing text: {told}");
}

#[test]
fn a_pytest_check_without_a_test_is_inadequate() {
    let Some(python) = python_with_pytest() else { return };
    let project = Project::committed(&[("product.py", ""), (".gitignore", "__pycache__/\n.pytest_cache/\n")]);
    let check = format!("{python} -m pytest -q; test $? = 5");
    let said = project.run("true", &check, &[]);
    assert_eq!((said.exit, said.reason()), (15, "check_inadequate"), "{}", said.all());
}

#[test]
fn a_failing_suite_behind_or_true_is_never_green() {
    let Some(python) = python_with_pytest() else { return };
    for mask in ["|| true", "; true", "| cat", "; echo all tests passed"] {
        let (project, check) = pytest_project(&python);
        let said = project.run("echo >> notes", &format!("{check} {mask}"), &[]);
        said.halted(15, "check_inadequate", "artefact_consistency");
        assert_eq!(said.iteration(), 0, "before any work: {}", said.all());
        assert!(said.why().contains("--pipefail"), "{}", said.all());
    }
}

#[test]
fn a_product_file_that_the_check_names_is_protected_and_the_halt_says_how_to_exempt_it() {
    let files = [("out", "a\n"), ("expected", "b\n")];
    let project = Project::committed(&files);
    let said = project.run("echo b > out", "diff out expected", &[]);
    said.halted(13, "metric_integrity_violation", "protected_manifest");
    assert!(said.why().contains("out: modified"), "{}", said.all());
    assert!(said.why().contains("--allow PATH"), "{}", said.all());
    let exempted = Project::committed(&files);
    exempted
        .run("echo b > out", "diff out expected", &["--allow", "out"])
        .converged(1);
}

#[test]
fn a_failing_command_in_a_pipe_is_red_under_pipefail() {
    let project = Project::committed(&[("src/other", "")]);
    let said = project.run("true", "false | cat", &["--pipefail"]);
    said.halted(17, "no_progress_detected", "tree_unchanged");
}

#[test]
fn a_check_that_cannot_run_halts_at_once_with_its_cause() {
    let long = ["--check-timeout", "500ms"];
    let cases: &[(&str, &str, &[&str])] = &[
        ("exit 127", "check_not_found", &[]),
        ("exit 126", "check_not_executable", &[]),
        ("kill -9 $$", "check_killed", &[]),
        ("kill -TERM $$", "check_killed", &[]),
        ("exec sleep 600", "check_deadline_exceeded", &long),
        (
            "exec sleep 600",
            "check_first_output_exceeded",
            &["--first-output-timeout", "500ms"],
        ),
        ("yes", "check_output_cap_exceeded", &["--output-cap", "64KiB"]),
    ];
    for (check, cause, more) in cases {
        let project = Project::committed(&[("src/other", "")]);
        let said = project.run("echo turn >> src/other", check, more);
        said.halted(40, "execution_failure", cause);
        assert_eq!(said.iteration(), 0, "{check}: {}", said.all());
        assert_eq!(said.json["advice"]["verdict"], "fix-check", "{check}");
        assert_eq!(project.read("src/other"), "", "no turn was burned for {check}");
    }
}

#[test]
fn a_check_that_runs_out_of_time_is_red_where_that_was_chosen() {
    let project = Project::committed(&[("src/slow", "600")]);
    let more = ["--check-timeout", "1s", "--on-check-timeout", "red"];
    project
        .run("echo 0 > src/slow", "exec sleep $(cat src/slow)", &more)
        .converged(1);
}

#[test]
fn a_check_that_breaks_in_a_later_iteration_is_an_execution_failure_too() {
    let project = Project::committed(&[("src/other", "1")]);
    let said = project.run("echo 127 > src/other", "exit $(cat src/other)", &[]);
    said.halted(40, "execution_failure", "check_not_found");
    assert_eq!(said.iteration(), 1);
}

#[test]
fn a_missing_program_is_named_before_the_first_iteration() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "--exec", "no-such-agent --go", "--check", "false"],
            "exec_not_found",
        ),
        (
            &["run", "--exec", "true", "--check", "no-such-check -q"],
            "check_not_found",
        ),
        (&["run", "--check", "false", "--", "no-such-agent"], "exec_not_found"),
    ];
    for (args, cause) in cases {
        let project = Project::committed(&[("src/other", "")]);
        let said = project.json(args);
        said.halted(40, "execution_failure", cause);
        assert_eq!(said.iteration(), 0, "{args:?}: {}", said.all());
        assert!(said.all().contains("no-such-"), "{args:?}: {}", said.all());
    }
}

#[test]
fn an_option_or_a_key_that_is_not_known_starts_nothing() {
    let project = Project::committed(&[("src/other", "")]);
    let said = project.json(&["run", "--check", "true", "--integrty-cmd", "true"]);
    assert_eq!(said.exit, 2, "{}", said.all());
    assert!(
        said.stdout.contains("--integrity-cmd"),
        "the nearest one is named: {}",
        said.stdout
    );

    let mut project = Project::committed(&[("loopexec.toml", "[loop]\ncheck = \"true\"\n[gaurds]\nblocked = []\n")]);
    let said = project.json(&["run"]);
    assert!(said.exit == 2 || said.exit == 30, "{}", said.all());
    assert!(
        said.stdout.contains("gaurds") && said.stdout.contains("guards"),
        "{}",
        said.stdout
    );

    project.write(
        "loopexec.toml",
        "[loop]\r\ncheck = \"true\"\r\n[bounds]\r\nmax_iterations = 4\r\n",
    );
    project.json(&["run"]).converged(0);
    project.set("LOOPEXEC_MAX_ITERATION", "4");
    let said = project.json(&["run"]);
    assert!(said.exit == 2 || said.exit == 30, "{}", said.all());
    assert!(said.stdout.contains("LOOPEXEC_MAX_ITERATIONS"), "{}", said.stdout);
}

#[test]
fn a_run_without_a_check_is_refused() {
    let project = Project::committed(&[("src/other", "")]);
    let said = project.json(&["run", "--exec", "true"]);
    assert_eq!((said.exit, said.reason()), (30, "workspace_invalid"), "{}", said.all());
    assert!(!said.json["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_watched_check_sees_no_terminal_and_a_continuous_integration() {
    let project = Project::committed(&[("src/other", "")]);
    let check = "test ! -t 0 && test ! -t 1 && test -n \"$CI\" && test -z \"$(cat)\"";
    project.run("true", check, &["--check-timeout", "20s"]).converged(0);
}

#[test]
fn a_success_exit_of_0_changes_that_one_code_only() {
    let project = Project::committed(&[("src/other", "")]);
    assert_eq!(project.run("true", "true", &["--success-exit", "0"]).exit, 0);
    assert_eq!(
        project.run("true", "false", &["--success-exit", "0", "--once"]).exit,
        12
    );
}

#[test]
fn a_check_that_prints_quotes_and_bad_bytes_leaves_every_line_of_the_receipt_readable() {
    let project = Project::committed(&[("src/other", "")]);
    let check = "printf '\"\\\\\\n\\377\\000\\360\\237\\230\\200'; exit 1";
    let said = project.run("true", check, &["--max-iterations", "1"]);
    said.halted(12, "max_iterations_reached", "unmeasured");
    assert!(project.events(&said).len() >= 3);
    let state: serde_json::Value = serde_json::from_str(&project.read(".loopexec/state.json")).unwrap();
    assert_eq!(state["halt_reason"], "max_iterations_reached");
}

#[test]
fn a_check_that_speaks_success_through_another_code_is_understood() {
    let project = Project::committed(&[("src/code", "0")]);
    project
        .run(
            "echo 7 > src/code",
            "exit $(cat src/code)",
            &["--check-success-exit", "7"],
        )
        .converged(1);
}
