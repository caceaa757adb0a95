//! Where runs of a probe happen: apart from the user's tree, and gone afterwards however it ended.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{everything, of, probe, temporary};
use crate::support::Sleeper;
use crate::support::cli::{Live, Project, Said, wait_until};

#[test]
fn the_place_that_output_names_is_the_same_in_every_copy() {
    let project = Project::new();
    let object = probe(&project, "pwd; echo $HOME", &["--runs", "6"]).exits(0).json();
    assert_eq!(of(&object, "distinct_outputs"), 1);
}

#[test]
fn a_run_finds_the_tree_with_what_git_ignores_and_a_home_of_its_own() {
    let project = Project::new();
    project.file(".gitignore", "node_modules\n").file("original", "x");
    fs::create_dir_all(project.at("node_modules/dep")).unwrap();
    fs::write(project.at("node_modules/dep/run.sh"), "exit 0").unwrap();
    fs::set_permissions(project.at("node_modules/dep/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(project.at(".git")).unwrap();
    symlink(project.at("original"), project.at("link")).unwrap();
    // Through a link of the copy nothing reaches the original.
    let check = format!(
        "set -e; test -x node_modules/dep/run.sh; test ! -e .git; echo changed > link; test \"$PWD\" != {0}; test \"$HOME\" != {1}; test -d \"$HOME\"; test -d \"$TMPDIR\"; touch \"$TMPDIR/x\"; chmod 0 node_modules",
        project.path().display(),
        project.beside("home").display()
    );
    let object = probe(&project, &check, &["--runs", "3", "--side-effect-runs", "0"])
        .exits(0)
        .json();
    assert_eq!(of(&object, "passes"), 3, "{object}");
    let warning = object["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("absolute path"),
        "the check spoke of the workdir: {warning}"
    );
    assert_eq!(project.text("original"), "x");
}

#[test]
fn git_comes_along_when_it_is_asked_for() {
    let project = Project::new();
    fs::create_dir(project.at(".git")).unwrap();
    let object = probe(
        &project,
        "test -d .git",
        &["--runs", "1", "--side-effect-runs", "0", "--with-git"],
    );
    assert_eq!(of(&object.exits(0).json(), "verdict"), "green");
}

#[test]
fn a_check_that_removes_its_copy_comes_to_no_verdict_and_harms_nothing() {
    let project = Project::new();
    project.file("kept", "x");
    let object = probe(&project, "rm -rf \"$PWD\"; exec sleep 600", &["--runs", "2"])
        .exits(40)
        .json();
    assert_eq!(object["failure_cause"], "check_killed");
    assert!(
        object["errors"][0].as_str().unwrap().contains("removed the directory"),
        "{object}"
    );
}

#[test]
fn what_a_check_leaves_running_is_ended_and_said() {
    let project = Project::new();
    let sleeper = Sleeper::new();
    let check = format!("setsid {} > /dev/null 2>&1 & true", sleeper.command());
    let object = probe(&project, &check, &["--runs", "1", "--side-effect-runs", "0"])
        .exits(0)
        .json();
    assert!(
        object["warnings"][0].as_str().unwrap().contains("1 process running"),
        "{object}"
    );
    assert!(sleeper.alive().is_empty());
}

#[test]
fn a_place_for_copies_inside_of_the_workdir_is_refused() {
    let project = Project::new();
    fs::create_dir(project.at("tmp")).unwrap();
    let before = everything(&project.path());
    let mut command = project.command(&["probe-check", "--json", "--check", "true"]);
    let said = Said::of(&command.env("TMPDIR", project.at("tmp")).output().unwrap());
    assert!(said.exits(30).json()["errors"][0].as_str().unwrap().contains("TMPDIR"));
    assert_eq!(everything(&project.path()), before);
    // A variable that is empty names no place, and this one least of all.
    let mut command = project.command(&["probe-check", "--json", "--check", "true", "--runs", "1"]);
    Said::of(&command.env("TMPDIR", "").output().unwrap()).exits(0);
    assert_eq!(everything(&project.path()), before);
}

#[test]
fn an_interrupted_probe_leaves_no_process_and_no_copy() {
    let project = Project::new();
    let sleeper = Sleeper::new();
    let check = format!("exec {}", sleeper.command());
    let live = Live::start(project.command(&["probe-check", "--json", "--check", &check]));
    wait_until("the check is running", || sleeper.is_up());
    live.signal(rustix::process::Signal::INT);
    let object = live.end().exits(130).json();
    assert!(object["errors"][0].as_str().unwrap().contains("signal 2"), "{object}");
    assert!(sleeper.alive().is_empty());
    assert!(temporary(&project).is_empty());
}

#[test]
fn what_a_killed_probe_left_is_removed_by_the_next() {
    let project = Project::new();
    let sleeper = Sleeper::new();
    let check = format!("exec {}", sleeper.command());
    let live = Live::start(project.command(&["probe-check", "--json", "--check", &check]));
    wait_until("the check is running", || sleeper.is_up());
    live.signal(rustix::process::Signal::KILL);
    live.end();
    wait_until("the check is ended", || !sleeper.is_up());
    assert!(!temporary(&project).is_empty(), "nobody was there to remove it");
    probe(&project, "true", &["--runs", "1", "--side-effect-runs", "0"]).exits(0);
}
