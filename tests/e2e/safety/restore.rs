//! Back to the best: the exact tree, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::Project;

/// A check of two tests that reads what two files say, in TAP.
const CHECK: &str = "echo 1..2
[ \"$(cat a.txt)\" = right ] && echo 'ok 1 - a' || echo 'not ok 1 - a'
[ \"$(cat b.txt)\" = right ] && echo 'ok 2 - b' || echo 'not ok 2 - b'
[ \"$(cat a.txt)$(cat b.txt)\" = rightright ]";

/// `a` passes and `b` fails; the first turn does this, the second mends `b`.
fn after_a_rejected_turn(project: &Project, damage: &str) {
    project.script("check.sh", CHECK);
    let work = format!("case $LOOPEXEC_ITERATION in 1) {damage};; *) ls -A > $OUT/seen; echo right > b.txt;; esac");
    project.script("work.sh", &work);
    let args = [
        "run",
        "--check",
        "./check.sh",
        "--collector",
        "tap",
        "--exec",
        "./work.sh",
    ];
    let answer = project.loopexec(&args);
    assert_eq!(
        (answer.exit, &answer.json["iteration"]),
        (Some(10), &2.into()),
        "{answer:?}"
    );
    let rejected = project.events_named("candidate_rejected");
    assert_eq!(rejected.len(), 1, "{rejected:?}");
}

fn project() -> Project {
    let project = Project::git(&[
        ("a.txt", "right\n"),
        ("b.txt", "wrong\n"),
        ("src/tool.sh", "#!/bin/sh\n"),
        ("src/deep/one.txt", "1\n"),
        (".gitignore", "*.log\n"),
    ]);
    project.write("mine.txt", "untracked\n");
    project.write("debug.log", "ignored\n");
    project
}

fn mode(project: &Project, name: &str) -> u32 {
    fs::metadata(project.root.join(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn content_modes_deletions_and_untracked_files_come_back() {
    let project = project();
    fs::set_permissions(project.root.join("src/tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("deep/one.txt", project.root.join("src/link")).unwrap();
    after_a_rejected_turn(
        &project,
        "echo wrong > a.txt; chmod 644 src/tool.sh; rm -r src/deep src/link mine.txt; echo x > added.txt; \
         mkdir new; echo y > new/added.txt",
    );
    assert_eq!(project.read("a.txt"), "right\n");
    assert_eq!(mode(&project, "src/tool.sh"), 0o755);
    assert_eq!(project.read("src/deep/one.txt"), "1\n");
    assert_eq!(
        fs::read_link(project.root.join("src/link")).unwrap().to_str(),
        Some("deep/one.txt")
    );
    assert_eq!(project.read("mine.txt"), "untracked\n");
    assert!(!project.root.join("added.txt").exists() && !project.root.join("new").exists());
    assert!(
        !project.told("seen").contains("added"),
        "the next turn began on what was rejected"
    );
}

#[test]
fn ignored_files_are_left_as_they_are() {
    let project = project();
    after_a_rejected_turn(
        &project,
        "echo wrong > a.txt; echo more >> debug.log; echo new > other.log",
    );
    assert_eq!(project.read("debug.log"), "ignored\nmore\n");
    assert_eq!(project.read("other.log"), "new\n");
}

#[test]
fn a_link_put_in_place_of_a_directory_is_not_followed() {
    let project = project();
    fs::create_dir(project.outside.join("precious")).unwrap();
    fs::write(project.outside.join("precious/one.txt"), "not yours\n").unwrap();
    after_a_rejected_turn(
        &project,
        "echo wrong > a.txt; rm -r src/deep; ln -s $OUT/precious src/deep",
    );
    assert_eq!(
        fs::read_to_string(project.outside.join("precious/one.txt")).unwrap(),
        "not yours\n"
    );
    assert!(fs::symlink_metadata(project.root.join("src/deep")).unwrap().is_dir());
    assert_eq!(project.read("src/deep/one.txt"), "1\n");
}

#[test]
fn what_a_rejected_turn_wrote_can_still_be_had() {
    let project = project();
    after_a_rejected_turn(&project, "echo wrong > a.txt; echo 'a good idea' > idea.txt");
    assert!(!project.root.join("idea.txt").exists());
    let rejected = &project.events_named("candidate_rejected")[0];
    let kept = rejected["tree"].as_str().unwrap();
    let trees = project.root.join(".loopexec/trees").join(&kept[..2]).join(&kept[2..]);
    assert!(trees.exists(), "the rejected tree {kept} is not in the store");
}

#[test]
fn a_turn_that_stops_at_the_cap_keeps_its_files() {
    let project = project();
    project.script("check.sh", CHECK);
    let args = ["run", "--check", "./check.sh", "--collector", "tap", "--once"];
    let answer = project.loopexec(&[&args[..], &["--exec", "echo half > half.txt"]].concat());
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(project.read("half.txt"), "half\n");
    assert_eq!(project.read("mine.txt"), "untracked\n");
    let accepted = project.loopexec(&["ratchet"]).json["accepted"].clone();
    let last = accepted.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["iteration"], 1, "nothing refers to what was left: {accepted}");
}
