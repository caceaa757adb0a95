//! `doctor`: what would keep a run from starting, or from being believed (SPEC 2.5).

mod adequacy;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::cli::{Project, Said};

/// Examines with these flags, and makes sure that nothing was left and nothing touched.
#[track_caller]
fn doctor(project: &Project, flags: &[&str]) -> Said {
    let before = everything(project);
    let words = [&["doctor", "--json"], flags].concat();
    let said = project.run(&words);
    assert_eq!(everything(project), before, "something was touched or left");
    said
}

/// Path, mode, modification time and content of the project and of what lies beside it.
fn everything(project: &Project) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![project.path(), project.beside("home")];
    let beside = fs::read_dir(project.beside("")).unwrap().flatten();
    found.extend(beside.map(|entry| (entry.path(), (0, 0, Vec::new()))));
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mut content = Vec::new();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if metadata.is_file() {
            content = fs::read(&path).unwrap();
        }
        found.insert(path, (metadata.mode(), metadata.mtime_nsec(), content));
    }
    found
}

/// Findings of one concern: severity, subject, detail, remedy.
fn of(object: &Value, concern: &str) -> Vec<[String; 4]> {
    let findings = object["doctor"]["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .filter(|finding| finding["concern"] == concern)
        .map(|finding| ["severity", "subject", "detail", "remedy"].map(|name| text(&finding[name])))
        .collect()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_healthy_project_has_no_problem_and_nothing_is_changed() {
    let project = Project::counting();
    project.converged("one");
    let object = doctor(&project, &["--check", "sh check.sh", "--exec", "sh fix.sh"])
        .exits(0)
        .json();
    assert_eq!(
        (&object["status"], &object["doctor"]["problems"]),
        (&"ok".into(), &0.into())
    );
    assert_eq!(object["errors"], serde_json::json!([]));
    assert!(of(&object, "state")[0][2].contains("1 run, all ended"), "{object}");
    assert!(of(&object, "key")[0][2].starts_with("mode 600"), "{object}");
    let next = object["advice"]["next"].as_str().unwrap();
    assert_eq!(next, "loopexec run --dry-run --check 'sh check.sh' --exec 'sh fix.sh'");
}

#[test]
fn neither_the_check_nor_the_work_is_run() {
    let project = Project::new();
    let told = project.beside("home/told");
    let command = format!("touch {}", told.display());
    doctor(&project, &["--check", &command, "--exec", &command]).exits(0);
    assert!(!told.exists());
}

#[test]
fn a_check_that_hides_its_exit_status_is_inadequate() {
    let project = Project::new();
    project.file("Makefile", "test:\n\t-pytest -q\n");
    for check in [
        "sh verify | tail -5",
        "sh verify || true",
        "sh verify; true",
        "sh verify &",
        "make test",
    ] {
        let object = doctor(&project, &["--check", check]).exits(15).json();
        assert_eq!(object["halt_reason"], "check_inadequate", "{check}");
        assert_eq!(object["failure_cause"], "exit_masked", "{check}");
        let [severity, _, _, remedy] = &of(&object, "exit_status")[0];
        assert!(severity == "problem" && !remedy.is_empty(), "{check}");
        assert_eq!(object["advice"]["verdict"], "fix-check");
    }
    doctor(&project, &["--check", "sh verify | tail -5", "--pipefail"]).exits(0);
    doctor(&project, &["--check", "sh verify && true"]).exits(0);
}

/// Concern, cause, what spoils the project, flags, exit code.
type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&Project), &'a [&'a str], i32);

#[test]
fn each_refusal_says_what_to_do() {
    let cases: [Case<'_>; 7] = [
        ("runner", "check_missing", &|_| {}, &[], 30),
        (
            "tools",
            "check_not_found",
            &|_| {},
            &["--check", "no-such-tool-here -q"],
            40,
        ),
        (
            "tools",
            "exec_not_found",
            &|_| {},
            &["--check", "true", "--exec", "./no-agent"],
            40,
        ),
        (
            "state",
            "state_directory_invalid",
            &|project| {
                project.say("init").exits(0);
                mode(&project.at(".loopexec"), 0o777);
            },
            &["--check", "true"],
            30,
        ),
        (
            "state",
            "journal_not_verified",
            &|project| {
                project.converged("one");
                let segment = fs::read_dir(project.journal("one")).unwrap().flatten();
                let segment = segment
                    .map(|entry| entry.path())
                    .find(|path| path.extension().is_some_and(|x| x == "seg"));
                let segment = segment.unwrap();
                let mut bytes = fs::read(&segment).unwrap();
                bytes[4096 + 200] ^= 1;
                fs::write(&segment, bytes).unwrap();
            },
            &["--check", "sh check.sh"],
            13,
        ),
        (
            "key",
            "key_unusable",
            &|project| {
                let dir = project.beside("home/.config/loopexec");
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join("key"), "x").unwrap();
                mode(&dir.join("key"), 0o644);
            },
            &["--check", "true"],
            30,
        ),
        (
            "repository",
            "guard_unavailable",
            &|project| {
                project.file(".git", "nonsense\n");
            },
            &["--check", "true"],
            13,
        ),
    ];
    for (concern, cause, spoil, flags, exit) in cases {
        let project = Project::counting();
        spoil(&project);
        let object = doctor(&project, flags).exits(exit).json();
        assert_eq!(object["failure_cause"], cause, "{object}");
        let problem = of(&object, concern).into_iter().find(|finding| finding[0] == "problem");
        let [_, subject, _, remedy] = problem.unwrap();
        assert!(!subject.is_empty() && !remedy.is_empty(), "{object}");
        let errors = object["errors"].as_array().unwrap();
        assert!(
            errors.iter().any(|error| error.as_str().unwrap().ends_with(&remedy)),
            "{object}"
        );
    }
}

#[test]
fn the_first_problem_of_the_table_gives_the_reason() {
    let project = Project::new();
    let flags = ["--check", "no-such-tool-here || true"];
    let object = doctor(&project, &flags).exits(15).json();
    assert_eq!(object["doctor"]["problems"], 2);
    assert_eq!(object["errors"].as_array().unwrap().len(), 2);
    assert_eq!(object["failure_cause"], "exit_masked");
}

#[test]
fn a_run_at_work_is_named_and_left_alone() {
    let project = Project::new();
    let gate = project.beside("home/gate");
    crate::support::cli::fifo(&gate);
    let exec = format!("cat {}", gate.display());
    let mut command = project.command(&["run", "--check", "test -e done", "--run-id", "busy", "--exec", &exec]);
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let journal = project.at(".loopexec/runs/busy/supervisor.json");
    crate::support::cli::wait_until("the run has its supervisor", || journal.exists());
    let object = project.run(&["doctor", "--json", "--check", "true"]).exits(0).json();
    let pid = child.id().to_string();
    assert!(
        of(&object, "state")[0][2].contains(&format!("run busy is at work (process {pid})")),
        "{object}"
    );
    assert_eq!(object["doctor"]["left_running"], serde_json::json!([]));
    assert!(child.try_wait().unwrap().is_none(), "to name it is not to end it");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_concerns_are_those_of_the_contract() {
    let spec = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../SPEC.md")).unwrap();
    let (_, table) = spec.split_once("| concern | problems | notes |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect();
    let project = Project::new();
    let object = doctor(&project, &["--check", "sh verify"]).exits(0).json();
    let mut seen: Vec<_> = object["doctor"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["concern"].as_str().unwrap().to_owned())
        .collect();
    seen.dedup();
    assert_eq!(seen, names);
}

#[test]
fn text_for_people_has_one_line_a_finding_and_what_to_do_below() {
    let project = Project::new();
    let said = project
        .run(&["doctor", "--check", "sh verify\u{1b}[2J || true"])
        .exits(15);
    assert!(!said.out.contains('\u{1b}'), "{said:?}");
    let lines: Vec<_> = said.out.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("problem  exit_status"))
        .unwrap();
    assert!(lines[at + 1].trim_start().starts_with("do: take it off"), "{said:?}");
    assert!(lines[lines.len() - 2].starts_with("1 problem, "), "{said:?}");
    assert!(
        lines[lines.len() - 1].starts_with("next: loopexec doctor --check"),
        "{said:?}"
    );
}

#[test]
fn two_tests_that_nobody_can_satisfy_are_named_with_both_places() {
    let project = Project::new();
    project.file(
        "test_a.py",
        "from calc import add\n\ndef test_a():\n    assert add(1, 1) == 3\n",
    );
    project.file(
        "test_b.py",
        "from calc import add\n\ndef test_b():\n    assert add(1, 1) == 2\n",
    );
    let object = doctor(&project, &["--check", "sh verify"]).exits(17).json();
    assert_eq!(object["halt_reason"], "unsatisfiable_constraints");
    assert_eq!(object["failure_cause"], "contradictory_assertions");
    let [_, subject, detail, _] = &of(&object, "assertions")[0];
    assert_eq!(subject, "test_a.py:4 and test_b.py:4");
    assert!(detail.contains("3 in one test and 2 in the other"), "{detail}");
}
