//! Stored trees as commits and patches.

use std::io::Write;
use std::process::{Command, Stdio};

use shell::tree::{Export, Options, Tree, TreeError, TreeId};

use crate::support::{Place, everything, git_in, odd};

pub(crate) fn export(tree: &Tree, id: TreeId, branch: &str, parent: Option<&str>) -> Result<String, TreeError> {
    let author = ("loopexec", "loopexec@localhost");
    tree.export_commit(&Export {
        tree: id,
        branch,
        message: "Result\n\nof a run",
        parent,
        author,
    })
}

#[test]
fn a_commit_holds_the_tree_and_touches_nothing_of_the_users() {
    let place = Place::repository();
    let head = place.git(&["rev-parse", "HEAD"]);
    place.write("kept.txt", "staged\n");
    place.git(&["add", "kept.txt"]);
    place.write("kept.txt", "edited\n");
    place.write("bin\n\u{e9}", [0u8, 1, 2]);
    place.write(odd(b"\xff"), "x");
    place.write("tool", "#!/bin/sh\n");
    place.set_mode("tool", 0o755);
    place.link("kept.txt", "link");
    place.remove("src/lib.rs");
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let (index, work) = (place.read(".git/index"), everything(&place.work));
    let commit = export(&tree, id, "loopexec/result", Some(&head)).unwrap();
    assert_eq!((place.read(".git/index"), everything(&place.work)), (index, work));
    assert_eq!(
        place.git(&["rev-parse", "HEAD", "loopexec/result", "loopexec/result^"]),
        format!("{head}\n{commit}\n{head}")
    );
    assert_eq!(
        place.git(&["log", "-1", "--format=%an %ae %B", &commit]),
        "loopexec loopexec@localhost Result\n\nof a run"
    );
    // Checked out elsewhere it is the tree, as far as git can hold one.
    let copy = place.home.path().join("copy");
    place.git(&["worktree", "add", "-q", "--detach", copy.to_str().unwrap(), &commit]);
    let expected: Vec<_> = everything(&place.work)
        .into_iter()
        .map(|(p, m, c)| (p, m & 0o100, c))
        .collect();
    let seen: Vec<_> = everything(&copy)
        .into_iter()
        .map(|(p, m, c)| (p, m & 0o100, c))
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn an_existing_branch_is_refused_and_left() {
    let place = Place::repository();
    let head = place.git(&["rev-parse", "HEAD"]);
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    assert_eq!(
        export(&tree, id, "main", Some(&head)),
        Err(TreeError::BranchExists { branch: "main".into() })
    );
    assert_eq!(place.git(&["rev-parse", "main"]), head);
    assert!(matches!(
        export(&tree, id, "bad..name", None),
        Err(TreeError::GitFailed { .. })
    ));
}

#[test]
fn a_first_commit_needs_no_parent() {
    let place = Place::plain();
    place.git(&["init", "-q", "-b", "main"]);
    place.write("a", "x");
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let commit = export(&tree, id, "out", None).unwrap();
    assert_eq!(place.git(&["ls-tree", "-r", "--name-only", &commit]), "a");
}

#[test]
fn submodules_and_files_outside_the_workdir_stay_in_the_commit() {
    let place = Place::repository();
    let other = Place::repository();
    place.git(&["submodule", "--quiet", "add", other.work.to_str().unwrap(), "src/sub"]);
    let head = place.commit("submodule");
    let state = place.home.path().join("state");
    let mut tree = Tree::open(&place.at("src"), &state, Options::default()).unwrap();
    place.write("src/lib.rs", "new\n");
    place.write("src/more.rs", "new\n");
    let id = tree.snapshot().unwrap().id;
    let commit = export(&tree, id, "out", Some(&head)).unwrap();
    let changed = place.git(&["diff-tree", "-r", "--no-commit-id", "--name-status", &commit]);
    assert_eq!(changed, "M\tsrc/lib.rs\nA\tsrc/more.rs");
}

#[test]
fn files_that_were_not_checked_out_stay_in_the_commit() {
    let place = Place::repository();
    place.write("other/far.txt", "far\n");
    let head = place.commit("more");
    place.git(&["sparse-checkout", "set", "src"]);
    assert!(!place.exists("other/far.txt"));
    let mut tree = place.open();
    place.write("src/lib.rs", "new\n");
    let id = tree.snapshot().unwrap().id;
    let commit = export(&tree, id, "out", Some(&head)).unwrap();
    let changed = place.git(&["diff-tree", "-r", "--no-commit-id", "--name-status", &commit]);
    assert_eq!(changed, "M\tsrc/lib.rs");
}

#[test]
fn a_commit_from_a_linked_worktree_lands_in_the_shared_repository() {
    let place = Place::repository();
    let linked = place.home.path().join("linked");
    place.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    std::fs::write(linked.join("extra"), "x").unwrap();
    let mut tree = Tree::open(&linked, &place.home.path().join("state"), Options::default()).unwrap();
    let id = tree.snapshot().unwrap().id;
    let head = git_in(&linked, &["rev-parse", "HEAD"]);
    let commit = export(&tree, id, "out", Some(&head)).unwrap();
    assert_eq!(place.git(&["rev-parse", "out"]), commit);
    assert_eq!(git_in(&linked, &["status", "--porcelain"]), "?? extra");
}

#[test]
fn outside_a_repository_there_is_nothing_to_export_to() {
    let place = Place::plain();
    place.write("a", "x");
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    assert!(matches!(export(&tree, id, "out", None), Err(TreeError::Git(_))));
}

#[test]
fn a_patch_turns_one_tree_into_the_other() {
    let place = Place::repository();
    place.write("gone", "x\n");
    place.write("binary", [0u8, 1, 2, 255]);
    place.link("kept.txt", "link");
    place.write("was-file", "x\n");
    let mut tree = place.open();
    let from = tree.snapshot().unwrap().id;
    let copy = place.home.path().join("copy");
    tree.materialise(from, &copy).unwrap();
    place.remove("gone");
    place.write("binary", [255u8, 0, 1, 2]);
    place.remove("link");
    place.link("src", "link");
    place.set_mode("kept.txt", 0o755);
    place.remove("was-file");
    place.write("was-file/inside", "x\n");
    place.write("with \"quotes\"\nand lines", "x\n");
    place.write(odd(b"\xff\xfe"), "x\n");
    let to = tree.snapshot().unwrap().id;
    let patch = tree.export_patch(from, to).unwrap();
    git_in(&copy, &["init", "-q"]);
    let mut apply = Command::new("git")
        .arg("apply")
        .current_dir(&copy)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    apply.stdin.take().unwrap().write_all(&patch).unwrap();
    assert!(apply.wait().unwrap().success());
    std::fs::remove_dir_all(copy.join(".git")).unwrap();
    let expected = place.home.path().join("expected");
    tree.materialise(to, &expected).unwrap();
    let seen: Vec<_> = everything(&copy)
        .into_iter()
        .map(|(p, m, c)| (p, m & 0o100, c))
        .collect();
    let wanted: Vec<_> = everything(&expected)
        .into_iter()
        .map(|(p, m, c)| (p, m & 0o100, c))
        .collect();
    assert_eq!(seen, wanted);
    assert_eq!(tree.export_patch(to, to).unwrap(), b"");
    assert_eq!(std::fs::read_dir(place.state().join("scratch")).unwrap().count(), 0);
}
