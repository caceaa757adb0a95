//! `probe-check`: how sure one may be of a check, shown by checks that are steady, flaky, or change what they measure.

mod dimensions;
mod places;
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::cli::{Project, Said};

/// Probes with this check, and makes sure that nothing was left and nothing touched.
#[track_caller]
fn probe(project: &Project, check: &str, flags: &[&str]) -> Said {
    let before = everything(&project.path());
    let words = [&["probe-check", "--json", "--check", check], flags].concat();
    let said = project.run(&words);
    assert_eq!(everything(&project.path()), before, "the user's tree was touched");
    let left = temporary(project);
    assert!(left.is_empty(), "something was left: {left:?}");
    said
}

/// Path, kind, mode, modification time and content of all that lies below.
fn everything(root: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mut content = Vec::new();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if metadata.is_file() {
            content = fs::read(&path).unwrap();
        }
        found.insert(
            path,
            (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content),
        );
    }
    found
}

/// What lies where temporary files go, but for the project, its home and what tests put beside it.
fn temporary(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.beside(""))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut left: Vec<_> = entries
        .filter(|path| !["work", "home", "outside"].iter().any(|known| path.ends_with(known)))
        .collect();
    left.sort();
    left
}

/// A check that is green and red in turn, by a counter that no copy holds.
fn alternating(project: &Project) -> String {
    let count = project.beside("outside");
    format!(
        "n=$(cat {0} 2>/dev/null || echo 0); echo $((n + 1)) > {0}; test $((n % 2)) -eq 0",
        count.display()
    )
}

fn of(object: &Value, name: &str) -> Value {
    object["probe"][name].clone()
}

#[test]
fn a_steady_check_is_certified_by_as_many_runs_as_the_rate_needs() {
    let project = Project::new();
    project.file("present", "x");
    let said = probe(
        &project,
        "test -e present",
        &["--max-flake-rate", "0.05", "--jobs", "0"],
    );
    let object = said.exits(0).json();
    assert_eq!(object["status"], "ok");
    assert_eq!((of(&object, "runs"), of(&object, "passes")), (59.into(), 59.into()));
    assert_eq!(
        (of(&object, "stable"), of(&object, "certified")),
        (true.into(), true.into())
    );
    assert_eq!(of(&object, "exact_lower_ppm"), 950_492);
    assert_eq!(of(&object, "known_reference_lower_ppm"), 950_492);
    assert_eq!(of(&object, "flake_upper_ppm"), 49_508);
    assert_eq!(of(&object, "wilson_lower_ppm"), 938_870);
    assert_eq!(of(&object, "wilson_z"), "1.959963984540054");
    assert_eq!(of(&object, "distinct_exit_codes"), serde_json::json!([0]));
    assert_eq!(object["probe"]["side_effects"]["shared"]["agreeing"], 3);
    assert_eq!(object["probe"]["side_effects"]["rerun"]["agreeing"], 3);
}

#[test]
fn a_check_that_is_always_red_is_as_steady() {
    let project = Project::new();
    let object = probe(&project, "exit 7", &["--runs", "6"]).exits(0).json();
    assert_eq!((of(&object, "verdict"), of(&object, "fails")), ("red".into(), 6.into()));
    assert_eq!(
        (of(&object, "certified"), of(&object, "flake_count")),
        (Value::Null, 0.into())
    );
    assert_eq!(
        of(&object, "exact_lower_ppm"),
        598_123,
        "the reference was not known beforehand"
    );
    assert_eq!(object["check_exit"], 7);
}

#[test]
fn a_target_that_so_few_runs_cannot_show_is_missed() {
    let project = Project::new();
    let said = probe(&project, "true", &["--runs", "5", "--max-flake-rate", "0.05"]).exits(14);
    let object = said.json();
    assert_eq!(object["halt_reason"], "check_not_deterministic");
    assert_eq!(object["failure_cause"], "bound_below_target");
    assert_eq!(
        (of(&object, "certified"), of(&object, "exact_lower_ppm")),
        (false.into(), Value::Null)
    );
    let next = object["advice"]["next"].as_str().unwrap();
    assert!(next.ends_with("--check true --max-flake-rate 0.05"), "{next}");
}

#[test]
fn a_check_that_flips_by_something_outside_is_flaky() {
    let project = Project::new();
    let check = alternating(&project);
    let object = probe(&project, &check, &["--runs", "4"]).exits(14).json();
    assert_eq!(
        (&object["halt_reason"], &object["failure_cause"]),
        (&"check_flaky".into(), &"probe".into())
    );
    assert_eq!(
        (of(&object, "passes"), of(&object, "flake_count")),
        (2.into(), 2.into())
    );
    assert_eq!(of(&object, "distinct_exit_codes"), serde_json::json!([0, 1]));
    assert_eq!(
        (of(&object, "stable"), of(&object, "exact_lower_ppm")),
        (false.into(), Value::Null)
    );
    assert_eq!(
        object["probe"]["side_effects"]["shared"]["runs"], 0,
        "there is nothing to tell apart any more"
    );
}

#[test]
fn the_first_disagreement_ends_a_probe_that_wanted_a_certificate() {
    let project = Project::new();
    let check = alternating(&project);
    let object = probe(&project, &check, &["--max-flake-rate", "0.01"]).exits(14).json();
    assert_eq!((of(&object, "planned"), of(&object, "runs")), (299.into(), 2.into()));
    assert_eq!(
        (of(&object, "certified"), &object["failure_cause"]),
        (false.into(), &"probe".into())
    );
}

#[test]
fn other_tests_with_the_same_exit_status_are_a_disagreement_and_are_named() {
    let project = Project::new();
    let count = project.beside("outside");
    project.file(
        "check.sh",
        &format!(
            "n=$(cat {0} 2>/dev/null || echo 0); echo $((n + 1)) > {0}\necho 1..2\nif [ $((n % 2)) -eq 0 ]; then echo 'not ok 1 - a'; echo 'ok 2 - b'; else echo 'ok 1 - a'; echo 'not ok 2 - b'; fi\nexit 1\n",
            count.display()
        ),
    );
    let object = probe(&project, "sh check.sh", &["--runs", "4", "--collector", "tap"])
        .exits(14)
        .json();
    assert_eq!(of(&object, "distinct_exit_codes"), serde_json::json!([1]));
    assert_eq!(object["probe"]["unsteady"]["total"], 2, "{object}");
}

#[test]
fn other_output_is_counted_and_touches_no_verdict() {
    let project = Project::new();
    let words = project.beside("outside");
    let check = format!("echo word >> {0}; cat {0}", words.display());
    let object = probe(&project, &check, &["--runs", "3"]).exits(0).json();
    assert_eq!(
        (of(&object, "distinct_outputs"), of(&object, "stable")),
        (3.into(), true.into())
    );
}

#[test]
fn state_that_is_left_in_the_workdir_is_told_from_state_in_a_shared_home() {
    let leaving = |place: &str| format!("test ! -e {place}; was=$?; touch {place}; exit $was");
    for (place, cause, block, other, list) in [
        ("left", "rerun_disagreed", "rerun", "shared", "written_in_tree"),
        (
            "$HOME/left",
            "shared_state_disagreed",
            "shared",
            "rerun",
            "written_in_home",
        ),
        (
            "$TMPDIR/left",
            "shared_state_disagreed",
            "shared",
            "rerun",
            "written_in_tmp",
        ),
        (
            "$XDG_CACHE_HOME",
            "shared_state_disagreed",
            "shared",
            "rerun",
            "written_in_home",
        ),
    ] {
        let project = Project::new();
        let object = probe(&project, &leaving(place), &["--runs", "6"]).exits(14).json();
        assert_eq!(object["halt_reason"], "check_has_side_effects", "{place}");
        assert_eq!(object["failure_cause"], cause, "{place}");
        let effects = &object["probe"]["side_effects"];
        assert!(
            effects[block]["agreeing"].as_u64() < effects[block]["runs"].as_u64(),
            "{place}: {effects}"
        );
        assert_eq!(effects[other]["agreeing"], 3, "{place}: {effects}");
        assert_eq!(effects[list]["total"], 1, "{place}: {effects}");
        assert_eq!(of(&object, "stable"), true, "{place}: the runs in fresh copies agree");
    }
}

#[test]
fn files_that_are_written_while_all_agree_are_a_note() {
    let project = Project::new();
    let object = probe(&project, "touch made", &["--runs", "6"]).exits(0).json();
    assert_eq!(
        object["probe"]["side_effects"]["written_in_tree"]["first"],
        serde_json::json!(["made"])
    );
}

#[test]
fn a_program_that_is_missing_is_found_out_by_one_run() {
    let project = Project::new();
    let object = probe(&project, "no-such-program-here", &["--max-flake-rate", "0.05"])
        .exits(40)
        .json();
    assert_eq!(object["halt_reason"], "execution_failure");
    assert_eq!(object["failure_cause"], "check_not_found");
    assert_eq!(of(&object, "runs"), 1);
}

#[test]
fn a_check_that_runs_out_of_time_is_ended_and_comes_to_no_verdict() {
    let project = Project::new();
    let object = probe(&project, "exec sleep 600", &["--check-timeout", "200ms", "--runs", "3"])
        .exits(40)
        .json();
    assert_eq!(object["failure_cause"], "check_deadline_exceeded");
}

#[test]
fn a_probe_that_runs_out_of_time_says_what_it_has() {
    let project = Project::new();
    let object = probe(&project, "exec sleep 600", &["--timeout", "300ms", "--runs", "3"])
        .exits(18)
        .json();
    assert_eq!(
        (&object["halt_reason"], &object["failure_cause"]),
        (&"budget_exceeded".into(), &"run_deadline".into())
    );
    assert_eq!(
        (of(&object, "runs"), of(&object, "out_of_time")),
        (0.into(), true.into())
    );
}

#[test]
fn what_is_not_there_or_cannot_be_read_is_refused_before_anything_runs() {
    let project = Project::new();
    project.file("file", "x");
    for (workdir, cause) in [("nowhere", "workdir_invalid"), ("file", "workdir_invalid")] {
        let object = probe(&project, "true", &["--workdir", workdir]).exits(30).json();
        assert_eq!(object["failure_cause"], cause);
    }
    let without = project.run(&["probe-check", "--json"]).exits(30).json();
    assert_eq!(without["failure_cause"], "check_missing");
    // Root reads everything.
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(project.at("file"), fs::Permissions::from_mode(0o000)).unwrap();
        let words = ["probe-check", "--json", "--check", "true"];
        let object = project.run(&words).exits(30).json();
        assert_eq!(object["failure_cause"], "workdir_invalid");
        assert!(object["errors"][0].as_str().unwrap().contains("file"), "{object}");
    }
}

#[test]
fn values_that_make_no_sense_are_usage_errors_in_one_object() {
    let project = Project::new();
    for flags in [
        "--runs 0",
        "--runs many",
        "--max-flake-rate 0",
        "--max-flake-rate 1",
        "--max-flake-rate 5%",
        "--max-flake-rate 0.000001",
        "--jobs -1",
        "--side-effect-runs x",
    ] {
        let words: Vec<&str> = flags.split(' ').collect();
        let object = probe(&project, "true", &words).exits(2).json();
        assert_eq!(object["schema"], "loopexec.probe-check/1", "{flags}");
    }
}

#[test]
fn people_get_one_sentence_the_figures_and_the_next_command() {
    let project = Project::new();
    let said = project
        .run(&["probe-check", "--check", "true", "--max-flake-rate", "0.4"])
        .exits(0);
    let mut lines = said.out.lines();
    assert_eq!(
        lines.next(),
        Some(
            "certified: 7 runs in fresh copies agreed (green); with 95 % confidence at most 34.9353 % of runs say otherwise"
        ),
    );
    assert!(said.out.contains("\n  agreement    7 of 7 (green)\n"), "{}", said.out);
    assert!(
        said.out.contains("(z 1.959963984540054; certifies nothing)"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("\n  target       at most 40 % may disagree: certified\n"),
        "{}",
        said.out
    );
    assert_eq!(lines.next_back(), Some("next: loopexec run --dry-run"));
    assert!(!said.out.contains("error"), "{}", said.out);
}
