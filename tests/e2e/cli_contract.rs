//! What the command line promises to scripts: one object, stable exit codes, stable help.

use std::process::Stdio;

use serde_json::Value;

use crate::support::cli::{Project, golden};

/// Lines that end without a run, with the exit code of each.
const LINES: &[(&str, i32)] = &[
    ("", 0),
    ("--help", 0),
    ("-h", 0),
    ("help", 0),
    ("help run", 0),
    ("--version", 0),
    ("version", 0),
    ("run --help", 0),
    ("ratchet export --help", 0),
    ("completions bash", 0),
    ("completions tcsh", 2),
    ("nonsense", 2),
    ("verifi", 2),
    ("--nonsense", 2),
    ("run --chekc true", 2),
    ("run --check", 2),
    ("run --check true --timeout 5", 2),
    ("run --check true --timeout 5s --timeout 6s", 2),
    ("run --check true --once --resume", 2),
    ("run --check true --success-exit 7", 2),
    ("run --check true extra", 2),
    ("run", 30),
    ("run --check true --workdir /nowhere/at/all", 30),
    ("run --check true --run-id ../evil", 30),
    ("run --check true --max-iterations 0", 20),
    ("run --check true --budget-usd -1", 20),
    ("run --check true --budget-usd 1", 30),
    ("run --check true --collector nose", 2),
    ("run --check true --guard-off blocked_path", 2),
    ("run --check true --dry-run", 0),
    ("run --resume", 30),
    ("run --resume --check true", 2),
    ("step", 30),
    ("resume", 30),
    ("resume --check true", 2),
    ("resume --expect-head xyz", 2),
    ("status", 30),
    ("status --follow", 30),
    ("status --run-id ../evil", 30),
    ("report", 30),
    ("report --format pdf", 2),
    ("replay", 30),
    ("replay ../evil", 30),
    ("verify", 30),
    ("verify --prove 1", 2),
    ("verify --key /nowhere", 30),
    ("explain-halt", 30),
    ("explain-halt 17", 0),
    ("explain-halt 130", 0),
    ("explain-halt 0", 0),
    ("explain-halt 124", 2),
    ("explain-halt no_progress_detected", 0),
    ("explain-halt no_such_run", 30),
    ("probe-check", 30),
    ("probe-check --check true --runs 0", 2),
    ("probe-check --check true --max-flake-rate 1", 2),
    ("check", 0),
    ("ratchet", 30),
    ("ratchet export", 2),
    ("ratchet export --branch a --patch b", 2),
    ("ratchet restore", 30),
    ("ack", 2),
    ("ack --reviewer Ada", 30),
    ("export", 2),
    ("export --format jsonl", 30),
    ("demo --workdir /proc/nowhere", 30),
    ("init --workdir /nowhere/at/all", 30),
    ("init", 0),
];

#[test]
fn with_json_there_is_exactly_one_object_on_every_path_wherever_the_flag_stands() {
    let project = Project::new();
    for (line, code) in LINES {
        let words: Vec<&str> = line.split_whitespace().collect();
        let last = [words.as_slice(), &["--json"]].concat();
        let first = [&["--json"], words.as_slice()].concat();
        for words in [first, last] {
            let said = project.run(&words).exits(*code);
            let object = said.json();
            assert_eq!(said.err, "", "{words:?}");
            let failed = *code != 0;
            assert_eq!(object["status"] == "error", failed, "{words:?}: {object}");
            assert_eq!(
                object["errors"].as_array().unwrap().is_empty(),
                !failed,
                "{words:?}: {object}"
            );
        }
    }
}

#[test]
fn without_json_results_go_to_standard_output_and_mistakes_to_standard_error() {
    let project = Project::new();
    for (line, code) in LINES {
        let said = project.say(line).exits(*code);
        if *code == 0 {
            assert!(!said.out.is_empty() && said.err.is_empty(), "{line}: {said:?}");
        } else {
            assert!(
                said.out.is_empty() && said.err.starts_with("error: "),
                "{line}: {said:?}"
            );
        }
        assert!(
            !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'),
            "{line}: {said:?}"
        );
        assert!(
            !said.err.contains("panicked") && !said.err.contains("RUST_BACKTRACE"),
            "{line}: {said:?}"
        );
    }
}

#[test]
fn exit_codes_and_reasons_are_those_that_are_kept() {
    let project = Project::new();
    let mut table = String::new();
    for (line, _) in LINES {
        let words: Vec<&str> = line.split_whitespace().chain(["--json"]).collect();
        let said = project.run(&words);
        let object = said.json();
        let text = |name: &str| object[name].as_str().unwrap_or("-").to_owned();
        table.push_str(&format!(
            "{:3}  {:<22} {:<20} {:<24} loopexec {line}\n",
            said.code,
            text("schema"),
            text("halt_reason"),
            text("failure_cause")
        ));
    }
    golden("exits.txt", &table);
}

#[test]
fn the_help_of_every_command_is_what_is_kept() {
    let mut text = String::new();
    for (path, help) in cli::help_tree() {
        text.push_str(&format!("===== {path}\n"));
        for line in help.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    golden("help.txt", &text);
}

#[test]
fn a_mistyped_flag_is_never_ignored_and_its_neighbour_is_named() {
    let said = Project::new().say("run --integrity-cdm list --check true").exits(2);
    assert!(said.err.contains("--integrity-cmd"), "{said:?}");
    let said = Project::new().say("run --check true --guard-off blocked_path").exits(2);
    assert!(said.err.contains("blocked_paths"), "{said:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::new();
    let mut child = project
        .command(&["run", "--help"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let said = child.wait_with_output().unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    assert!(said.stderr.is_empty(), "{said:?}");
}

#[test]
fn the_dry_run_names_the_source_of_each_value_and_starts_nothing() {
    let project = Project::new();
    project.file(
        "loopexec.toml",
        "[loop]\ncheck = \"touch ran\"\n[bounds]\nmax_iterations = 4\n",
    );
    let output = project
        .command(&[
            "run",
            "--dry-run",
            "--json",
            "--no-progress-k",
            "5",
            "--",
            "touch",
            "ran",
        ])
        .env("LOOPEXEC_TIMEOUT", "2h")
        .output()
        .unwrap();
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["status"], "planned");
    let row = |key: &str| {
        let rows = object["contract"].as_array().unwrap();
        let row = rows.iter().find(|row| row["key"] == key).unwrap();
        (
            row["value"].as_str().unwrap().to_owned(),
            row["source"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(row("bounds.max_iterations"), ("4".into(), "loopexec.toml".into()));
    assert_eq!(row("bounds.timeout"), ("2h".into(), "LOOPEXEC_TIMEOUT".into()));
    assert_eq!(row("thresholds.no_progress_k"), ("5".into(), "--no-progress-k".into()));
    assert_eq!(row("loop.exec").1, "--");
    assert_eq!(row("guards.surface").1, "default");
    assert!(!project.at("ran").exists() && !project.at(".loopexec").exists());
}

#[test]
fn completions_know_every_command() {
    let said = Project::new().say("completions bash").exits(0);
    for row in cli::COMMANDS {
        assert!(said.out.contains(row.name), "{}", row.name);
    }
}

#[test]
fn init_leaves_what_is_there_as_it_is() {
    let project = Project::new();
    project.file("loopexec.toml", "# mine\n");
    let object = project.say("init --json").exits(0).json();
    assert_eq!(
        (&object["status"], &object["init"]["config_written"]),
        (&"initialized".into(), &false.into())
    );
    assert_eq!(project.text("loopexec.toml"), "# mine\n");
    project.say("init").exits(0);
}
