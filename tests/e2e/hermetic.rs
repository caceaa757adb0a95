//! What surrounds a check: the same for everybody, and nobody's keys.

use std::collections::BTreeMap;

use crate::support::Project;

fn environment(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The binary, started under a mask that a check does not have by itself.
const MASKED: &[&str] = &["/bin/sh", "-c", "umask 077; exec \"$@\"", "sh"];

fn project() -> Project {
    Project::git(&[("README", "x\n")])
        .with_env("TZ", "America/New_York")
        .with_env("HTTP_PROXY", "http://proxy.example")
        .with_env("GITHUB_TOKEN", "a-token-of-mine")
        .with_env("DATABASE_URL", "db://here")
}

const RUN: &[&str] = &[
    "run",
    "--exec",
    "env > $OUT/work; umask > $OUT/work-mask",
    "--check",
    "env > $OUT/check; umask > $OUT/mask; ls $TMPDIR | wc -l > $OUT/files; echo x > $TMPDIR/left; exit 1",
    "--max-iterations",
    "1",
];

#[test]
fn a_check_finds_its_surroundings_fixed_and_nobodys_credentials() {
    let project = project();
    project.start_under(MASKED, RUN).end();
    let (work, check) = (environment(&project.told("work")), environment(&project.told("check")));
    for (name, value) in [
        ("TZ", "UTC"),
        ("LC_ALL", "C.UTF-8"),
        ("PYTHONHASHSEED", "0"),
        ("CI", "true"),
    ] {
        assert_eq!(check.get(name).map(String::as_str), Some(value), "{name}");
    }
    for name in ["GITHUB_TOKEN", "HTTP_PROXY"] {
        assert!(!check.contains_key(name), "{name}");
        assert!(work.contains_key(name), "{name}");
    }
    assert_eq!(check["DATABASE_URL"], "db://here");
    assert_eq!(project.told("mask").trim(), "0022");
    assert_eq!(work["TZ"], "America/New_York");
    assert!(!work.contains_key("PYTHONHASHSEED"));
    assert_eq!(project.told("work-mask").trim(), "0077");
    let t0 = project.events_named("run_opened")[0]["at"]["wall_ms"].as_u64().unwrap() / 1000;
    assert_eq!(check["SOURCE_DATE_EPOCH"], t0.to_string());
    assert_eq!(check["GIT_COMMITTER_DATE"], format!("@{t0} +0000"));
}

#[test]
fn what_a_check_leaves_in_its_temporary_directory_is_not_there_for_the_next_and_gone_with_the_run() {
    let project = project();
    project.start_under(MASKED, RUN).end();
    assert_eq!(project.told("files").trim(), "0", "the baseline's file was still there");
    let (work, check) = (environment(&project.told("work")), environment(&project.told("check")));
    assert_ne!(check.get("TMPDIR"), work.get("TMPDIR"));
    assert!(!std::path::Path::new(&check["TMPDIR"]).exists());
}

#[test]
fn what_the_contract_passes_on_is_as_the_user_has_it() {
    let project = project();
    let more = [
        "--check-env",
        "TZ",
        "--check-env",
        "GITHUB_TOKEN",
        "--check-env",
        "TMPDIR",
        "--check-env",
        "UMASK",
    ];
    project.start_under(MASKED, &[RUN, &more].concat()).end();
    let (work, check) = (environment(&project.told("work")), environment(&project.told("check")));
    assert_eq!(check["TZ"], "America/New_York");
    assert_eq!(check["GITHUB_TOKEN"], "a-token-of-mine");
    assert_eq!(check.get("TMPDIR"), work.get("TMPDIR"));
    assert_eq!(check["LC_ALL"], "C.UTF-8");
    assert_eq!(project.told("mask").trim(), "0077");
    let policy = &project.events_named("run_opened")[0]["policy"]["oracle"];
    assert_eq!(
        policy["pass_env"],
        serde_json::json!(["TZ", "GITHUB_TOKEN", "TMPDIR", "UMASK"])
    );
}
