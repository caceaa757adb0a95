//! Attempts to keep an edit out of sight.

use shell::tree::ChangeKind;

use crate::support::{Place, changes, git_in, paths};

#[test]
fn edits_that_git_was_told_not_to_look_at_are_seen() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    place.git(&["update-index", "--skip-worktree", "kept.txt"]);
    place.git(&["update-index", "--assume-unchanged", "src/lib.rs"]);
    place.write("kept.txt", "cheat\n");
    place.write("src/lib.rs", "cheat\n");
    assert_eq!(place.git(&["status", "--porcelain"]), "", "git is blind to them");
    let seen = tree.scan().unwrap();
    let expected = ["kept.txt", "src/lib.rs"].map(|p| (p.to_owned(), ChangeKind::Modified));
    assert_eq!(changes(&seen), expected);
}

#[test]
fn a_file_that_was_seen_stays_seen_when_it_is_ignored_later() {
    let place = Place::repository();
    place.write("untracked-test.py", "assert True\n");
    let mut tree = place.open();
    tree.scan().unwrap();
    place.write(".gitignore", "*\n");
    place.write("untracked-test.py", "pass\n");
    place.write("src/lib.rs", "cheat\n");
    let seen = tree.scan().unwrap();
    let expected = [".gitignore", "src/lib.rs", "untracked-test.py"].map(|p| (p.to_owned(), ChangeKind::Modified));
    assert_eq!(changes(&seen), expected);
}

#[test]
fn a_line_added_to_the_exclude_file_hides_nothing() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    place.write(".git/info/exclude", "*\n");
    place.write("conftest.py", "cheat\n");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(
        changes(&tree.scan().unwrap()),
        [("conftest.py".to_owned(), ChangeKind::Added)]
    );
}

#[test]
fn a_repository_made_inside_the_tree_hides_nothing_in_a_known_directory() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    git_in(&place.at("src"), &["init", "-q"]);
    place.write("src/lib.rs", "cheat\n");
    place.write("src/new.rs", "cheat\n");
    let seen = tree.scan().unwrap();
    let expected = [
        ("src/lib.rs".to_owned(), ChangeKind::Modified),
        ("src/new.rs".to_owned(), ChangeKind::Added),
    ];
    assert_eq!(changes(&seen), expected);
    assert!(seen.skipped.is_empty());
}

#[test]
fn tracked_files_that_are_ignored_or_lie_in_a_cache_directory_are_seen() {
    let place = Place::repository();
    place.write("tracked.log", "x");
    place.write("build/tracked", "x");
    place.write("node_modules/patched/index.js", "x");
    place.git(&["add", "-f", "tracked.log", "build/tracked", "node_modules"]);
    place.git(&["commit", "-q", "-m", "ignored but tracked"]);
    place.write("untracked.log", "x");
    let mut tree = place.open();
    tree.scan().unwrap();
    let expected = [
        ".gitignore",
        "build/tracked",
        "kept.txt",
        "node_modules/patched/index.js",
        "src/lib.rs",
        "tracked.log",
    ];
    assert_eq!(paths(&tree), expected);
    place.write("build/tracked", "y");
    place.remove("tracked.log");
    let expected = [
        ("build/tracked".to_owned(), ChangeKind::Modified),
        ("tracked.log".to_owned(), ChangeKind::Removed),
    ];
    assert_eq!(changes(&tree.scan().unwrap()), expected);
}

#[test]
fn a_run_that_is_continued_still_sees_what_it_pinned() {
    let place = Place::repository();
    place.write("probe.py", "x");
    let start = place.open().snapshot().unwrap().id;
    place.write(".gitignore", "*.log\n/build/\n/.loopexec/\nprobe.py\n");
    let mut tree = place.open();
    tree.pin(start).unwrap();
    tree.scan().unwrap();
    assert!(tree.current().entry(b"probe.py").is_some());
}

#[test]
fn rules_changed_later_are_obeyed_for_new_files() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    place.write(".gitignore", "*.tmp\n/.loopexec/\n");
    place.write("a.tmp", "x");
    place.write("src/deep/b.tmp", "x");
    place.write("src/deep/c.log", "x");
    let seen = tree.scan().unwrap();
    let expected = [
        (".gitignore", ChangeKind::Modified),
        ("src/deep/c.log", ChangeKind::Added),
    ];
    assert_eq!(changes(&seen), expected.map(|(p, k)| (p.to_owned(), k)));
}
