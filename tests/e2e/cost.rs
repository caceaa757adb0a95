//! What a run costs must not depend on its length: files left behind, and barriers an iteration.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::cli::Project;

const RUN: [&str; 10] = [
    "run",
    "--quiet",
    "--exec",
    "true",
    "--check",
    "false",
    "--no-progress-k",
    "off",
    "--same-failure-r",
    "off",
];

/// The arguments of a run that nothing but its cap ends.
fn capped_at(iterations: &str) -> Vec<&str> {
    let mut words = RUN.to_vec();
    words.extend(["--max-iterations", iterations]);
    words
}

/// Segments of the journal aside: what happened has to be written somewhere, and they have a test of their own.
fn files_below(root: &Path) -> usize {
    let paths = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_none_or(|kind| kind != "seg"))
        .map(|path| if path.is_dir() { files_below(&path) } else { 1 })
        .sum()
}

#[test]
fn the_number_of_files_a_run_leaves_does_not_depend_on_its_length() {
    let [short, long] = ["5", "30"].map(|iterations| {
        let project = Project::new();
        project.run(&capped_at(iterations)).exits(12);
        files_below(&project.beside(""))
    });
    assert!(short > 0);
    assert_eq!(short, long, "files after 5 and after 30 iterations");
}

/// More than one commit of an idle iteration takes.
const COMMIT_BYTES: usize = 32 << 10;

#[test]
fn the_journal_begins_a_file_only_when_the_one_before_is_full() {
    let project = Project::new();
    let words = [&capped_at("90")[..], &["--run-id", "r"]].concat();
    project.run(&words).exits(12);
    let entries = fs::read_dir(project.journal("r")).unwrap();
    let mut segments: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|kind| kind == "seg"));
    segments.sort();
    let (_, full) = segments.split_last().unwrap();
    assert!(!full.is_empty(), "the run was too short to show it");
    for segment in full {
        let bytes = fs::read(segment).unwrap();
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        assert!(bytes.len() - written <= COMMIT_BYTES, "{} of {}", written, bytes.len());
    }
}

/// Synchronising calls of a whole run.
fn syncs(iterations: &str) -> usize {
    let project = Project::new();
    let log = project.beside("strace.log");
    let run = project.command(&capped_at(iterations));
    let status = Command::new("strace")
        .args(["-f", "-e", "trace=fsync,fdatasync,syncfs,sync", "-o"])
        .arg(&log)
        .arg(run.get_program())
        .args(run.get_args())
        .current_dir(project.path())
        .env("HOME", project.beside("home"))
        .env("XDG_CONFIG_HOME", project.beside("home/config"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(12));
    let log = fs::read_to_string(log).unwrap();
    // The second half of a call that another thread's interrupted has no parenthesis behind its name.
    let is_call = |line: &&str| line.contains("sync(") || line.contains("syncfs(");
    log.lines().filter(is_call).count()
}

#[test]
fn an_iteration_waits_for_the_disk_at_most_three_times() {
    let mut probe = Command::new("strace");
    probe.args(["-o", "/dev/null", "true"]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace cannot be started, or may not trace");
        return;
    }
    // Of the difference, neither the start nor the halt is a part.
    let (short, long) = (syncs("5"), syncs("30"));
    assert!(
        long > short,
        "a longer run has more to make durable: {short} and {long}"
    );
    assert!(long - short <= 3 * 25, "{} in 25 iterations", long - short);
}
