//! A state directory that cannot be written to.
//!
//! Full and read-only file systems are made by mounting one, which needs root. Without it these tests say that they
//! were skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Project;

/// A small file system in memory, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    // A test that cannot run here says so on a line of its own.
    #[allow(clippy::print_stdout)]
    fn new(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let out = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .output();
        if out.is_ok_and(|out| out.status.success()) {
            return Some(Self(at.to_owned()));
        }
        println!("skipped: a file system cannot be mounted here (not root, or not allowed)");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_read_only_state_directory_is_named_at_once() {
    let project = Project::new();
    let Some(_mount) = Mount::new(&project.root.join(".loopexec"), "ro,mode=0700") else {
        return;
    };
    let args = ["run", "--check", "exit 1", "--exec", "touch $OUT/ran", "--once"];
    let answer = project.loopexec(&args);
    assert_eq!(answer.exit, Some(30), "{answer:?}");
    let errors = answer.errors();
    assert!(errors.contains(".loopexec") && errors.contains("ead-only"), "{errors}");
    assert!(!project.outside.join("ran").exists());
}

#[test]
fn a_disk_that_is_too_small_from_the_start_is_named() {
    let project = Project::new();
    let Some(_mount) = Mount::new(&project.root.join(".loopexec"), "size=128k,mode=0700") else {
        return;
    };
    let args = ["run", "--check", "exit 1", "--exec", "touch $OUT/ran", "--once"];
    let answer = project.loopexec(&args);
    assert!(matches!(answer.exit, Some(30 | 50)), "{answer:?}");
    let errors = answer.errors();
    assert!(
        errors.contains(".loopexec") && errors.contains("No space left"),
        "{errors}"
    );
    assert!(
        !project.outside.join("ran").exists(),
        "work was run that could not be recorded"
    );
}

#[test]
fn a_disk_that_fills_up_stops_the_run_and_what_was_recorded_verifies() {
    let project = Project::new();
    let Some(_mount) = Mount::new(&project.root.join(".loopexec"), "size=4m,mode=0700") else {
        return;
    };
    // Big unlike trees: the store needs more room than there is.
    project.script(
        "work.sh",
        "head -c 1500000 /dev/urandom > blob-$LOOPEXEC_ITERATION; echo $LOOPEXEC_ITERATION >> $OUT/turns",
    );
    let args = [
        "run",
        "--check",
        "exit 1",
        "--exec",
        "./work.sh",
        "--no-progress-k",
        "off",
    ];
    let answer = project.loopexec(&args);
    assert!(matches!(answer.exit, Some(30 | 40 | 50)), "{answer:?}");
    let said = format!("{} {}", answer.errors(), answer.json["advice"]);
    assert!(
        said.contains("disk or quota is full") && said.contains(".loopexec"),
        "{answer:?}"
    );
    assert!(project.told("turns").lines().count() < 8, "it went on without a record");
    project.verified();
}

#[test]
fn a_journal_that_runs_out_of_room_suspends_the_run_until_there_is_some() {
    let project = Project::new();
    let state = project.root.join(".loopexec");
    // Room for the first segments, and not for the one after them.
    let Some(_mount) = Mount::new(&state, "size=2600k,mode=0700") else {
        return;
    };
    let chatter = "head -c 30000 /dev/urandom | base64";
    let args = ["run", "--check", "exit 1", "--exec", chatter, "--max-iterations", "80"];
    let answer = project.loopexec(&[&args[..], &["--no-progress-k", "off", "--same-failure-r", "off"]].concat());
    assert_eq!(
        (answer.exit, answer.text("status")),
        (Some(30), "suspended"),
        "{answer:?}"
    );
    let said = answer.json["advice"].to_string();
    assert!(said.contains("No space left") && said.contains(".loopexec"), "{said}");
    project.verified();

    let mounted = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(&state)
        .status()
        .unwrap();
    assert!(mounted.success());
    let resumed = project.loopexec(&["resume"]);
    assert_eq!(
        (resumed.exit, resumed.text("run_id")),
        (Some(12), answer.text("run_id")),
        "{resumed:?}"
    );
    assert_eq!(resumed.json["iteration"], 80);
    assert_eq!(project.verified()["journal"]["receipt"], "matches");
}

#[test]
fn a_full_disk_during_the_work_loses_no_earlier_event() {
    let project = Project::new();
    let Some(_mount) = Mount::new(&project.root.join(".loopexec"), "size=8m,mode=0700") else {
        return;
    };
    let fill =
        "head -c 100000000 /dev/zero > .loopexec/fill; head -c 900000 /dev/urandom > new-$LOOPEXEC_ITERATION; true";
    project.script("work.sh", fill);
    let args = [
        "run",
        "--check",
        "exit 1",
        "--exec",
        "./work.sh",
        "--no-progress-k",
        "off",
    ];
    let answer = project.loopexec(&args);
    assert!(matches!(answer.exit, Some(13 | 30 | 40 | 50)), "{answer:?}");
    assert_ne!(answer.text("status"), "ok");
    std::fs::remove_file(project.root.join(".loopexec/fill")).unwrap();
    let verdict = project.verified();
    assert!(verdict["journal"]["events"].as_u64().unwrap() >= 10, "{verdict}");
}
