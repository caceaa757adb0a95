//! Putting trees back.

use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;

use shell::tree::{Options, Tree, TreeError, path_text};

use crate::support::{Place, everything, odd};

/// A tree with everything that is hard to put back.
pub(crate) fn rich() -> Place {
    let place = Place::repository();
    place.write("kept.txt", "the user's uncommitted edit\n");
    place.write("untracked.bin", (0..=255).cycle().take(70_000).collect::<Vec<u8>>());
    place.write("large.bin", vec![7u8; 3 << 20]);
    place.write("tool.sh", "#!/bin/sh\n");
    place.set_mode("tool.sh", 0o751);
    place.write("private", "x");
    place.set_mode("private", 0o600);
    place.write(odd(b"odd \xff\nname/\xe9"), "x");
    place.link("kept.txt", "link");
    place.link("/nowhere/at all", "dangling");
    place.write("noise.log", "ignored\n");
    place.write("build/out.o", "ignored\n");
    place
}

#[test]
fn the_exact_tree_comes_back_after_anything_was_done_to_it() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("kept.txt", "overwritten\n");
    place.remove("untracked.bin");
    place.remove("large.bin");
    place.set_mode("tool.sh", 0o644);
    place.set_mode("private", 0o4755);
    std::fs::remove_dir_all(place.at(odd(b"odd \xff\nname"))).unwrap();
    place.remove("link");
    place.write("link", "a file now\n");
    place.remove("dangling");
    std::fs::create_dir(place.at("dangling")).unwrap();
    place.write("dangling/inside", "x");
    std::fs::remove_dir_all(place.at("src")).unwrap();
    place.write("src", "a directory once\n");
    place.write("new/deep/file", "x");
    let spoiled = everything(&place.work);
    let done = tree.restore(target).unwrap();
    assert_eq!(everything(&place.work), before);
    assert_eq!(done.tree, target);
    assert!(!place.exists("new"), "directories left empty are gone");
    assert!(done.aside.is_empty() && done.kept.is_empty());
    assert!(done.written > 0 && done.removed > 0);
    // And what was overwritten can be had back in turn.
    tree.restore(done.saved).unwrap();
    assert_eq!(everything(&place.work), spoiled);
}

#[test]
fn restoring_what_is_already_there_touches_nothing() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let before = place.at("kept.txt").metadata().unwrap().ctime_nsec();
    let done = tree.restore(target).unwrap();
    assert_eq!((done.written, done.removed, done.saved), (0, 0, target));
    assert_eq!(place.at("kept.txt").metadata().unwrap().ctime_nsec(), before);
}

#[test]
fn a_hard_reset_and_clean_do_not_lose_the_users_uncommitted_work() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.git(&["reset", "-q", "--hard"]);
    place.git(&["clean", "-qfd"]);
    place.git(&["checkout", "-q", "-b", "elsewhere"]);
    assert_eq!(place.text("kept.txt"), "kept\n");
    tree.restore(target).unwrap();
    assert_eq!(everything(&place.work), before);
    assert_eq!(
        place.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/elsewhere",
        "HEAD is the user's"
    );
}

#[test]
fn index_head_stash_refs_and_ignored_files_are_not_touched() {
    let place = rich();
    place.git(&["stash", "-q"]);
    place.write("kept.txt", "staged\n");
    place.git(&["add", "kept.txt"]);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("kept.txt", "agent\n");
    place.write("noise.log", "ignored and changed\n");
    place.write("build/new.o", "ignored and new\n");
    let git_before = everything(&place.at(".git"));
    tree.restore(target).unwrap();
    assert_eq!(everything(&place.at(".git")), git_before);
    assert_eq!(place.text("kept.txt"), "staged\n");
    assert_eq!(place.text("noise.log"), "ignored and changed\n");
    assert_eq!(place.text("build/new.o"), "ignored and new\n");
}

#[test]
fn a_deleted_ignore_file_does_not_make_ignored_files_fair_game() {
    let place = rich();
    place.write(".env", "SECRET=1\n");
    place.write(".gitignore", "*.log\n/build/\n/.loopexec/\n.env\n");
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.remove(".gitignore");
    place.write("added", "x");
    let done = tree.restore(target).unwrap();
    assert_eq!(done.tree, target);
    assert_eq!(place.text(".env"), "SECRET=1\n");
    assert_eq!(place.text("build/out.o"), "ignored\n");
    assert!(!place.exists("added"));
}

#[test]
fn ignored_files_survive_even_when_the_rule_that_hid_them_cannot_be_put_back() {
    let place = rich();
    place.write("private-dir/.gitignore", "*\n");
    place.write("private-dir/notes", "the user's\n");
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.remove("private-dir/.gitignore");
    let done = tree.restore(target).unwrap();
    assert_eq!(place.text("private-dir/notes"), "the user's\n");
    assert_eq!(done.kept, [b"private-dir/notes".to_vec()]);
}

#[test]
fn files_hidden_by_a_new_ignore_rule_are_saved_and_removed() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write(".gitignore", "*\n");
    place.write("smuggled", "agent's\n");
    let done = tree.restore(target).unwrap();
    assert!(!place.exists("smuggled"));
    let saved = tree.manifest(done.saved).unwrap();
    assert_eq!(
        tree.content(&saved.entry(b"smuggled").unwrap().digest).unwrap(),
        b"agent's\n"
    );
}

#[test]
fn a_directory_swapped_for_a_link_to_outside_leads_nothing_outside() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let outside = place.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("lib.rs"), "not yours\n").unwrap();
    std::fs::write(outside.join("other"), "not yours\n").unwrap();
    std::fs::remove_dir_all(place.at("src")).unwrap();
    place.link(&outside, "src");
    let before = everything(&outside);
    let done = tree.restore(target).unwrap();
    assert_eq!(everything(&outside), before);
    assert!(place.at("src").symlink_metadata().unwrap().is_dir());
    assert_eq!(place.text("src/lib.rs"), "fn main() {}\n");
    assert!(
        tree.manifest(done.saved).unwrap().entry(b"src").is_some(),
        "the link itself is saved"
    );
}

#[test]
fn an_ignored_link_in_place_of_a_directory_is_saved_and_replaced() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let outside = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(place.at("src")).unwrap();
    place.write(".gitignore", "*.log\n/build/\n/.loopexec/\nsrc\n");
    place.link(outside.path(), "src");
    let done = tree.restore(target).unwrap();
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(place.text("src/lib.rs"), "fn main() {}\n");
    assert!(tree.manifest(done.saved).unwrap().entry(b"src").is_some());
}

#[test]
fn a_hard_link_to_a_file_outside_is_not_written_through() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let outside = place.home.path().join("outside");
    std::fs::write(&outside, "not yours\n").unwrap();
    std::fs::set_permissions(&outside, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    for name in ["kept.txt", "private"] {
        place.remove(name);
        std::fs::hard_link(&outside, place.at(name)).unwrap();
    }
    tree.restore(target).unwrap();
    assert_eq!(std::fs::read(&outside).unwrap(), b"not yours\n");
    assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o640);
    assert_eq!(place.text("kept.txt"), "the user's uncommitted edit\n");
}

#[test]
fn a_mode_is_put_back_without_touching_other_names_of_the_inode() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let outside = place.home.path().join("outside");
    std::fs::hard_link(place.at("tool.sh"), &outside).unwrap();
    place.set_mode("tool.sh", 0o600);
    tree.restore(target).unwrap();
    assert_eq!(place.mode("tool.sh"), 0o751);
    assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_restore_stopped_at_any_file_is_completed_by_the_next_one() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    let mut stops = 0;
    for stop_at in 0.. {
        place.write("kept.txt", "spoiled\n");
        place.write("new/a", "x");
        place.write("new/b", "x");
        std::fs::remove_dir_all(place.at("src")).unwrap();
        place.set_mode("tool.sh", 0o600);
        let mut count = 0;
        let stopped = tree.restore_while(target, &mut |_| {
            count += 1;
            if count > stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if stopped.is_ok() {
            break;
        }
        assert_eq!(stopped, Err(TreeError::Interrupted { target }));
        stops += 1;
        // Half of the time by a process that knows nothing of the first attempt.
        let mut next = if stop_at % 2 == 0 { place.open() } else { tree };
        next.restore(target).unwrap();
        assert_eq!(everything(&place.work), before, "stopped at {stop_at}");
        tree = next;
    }
    assert!(stops >= 5, "{stops}");
}

#[test]
fn a_file_written_while_it_is_about_to_be_overwritten_or_deleted_is_not_lost() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    for victim in ["kept.txt", "added"] {
        place.write(victim, "agent\n");
        let stopped = tree.restore_while(target, &mut |path| {
            if path == victim.as_bytes() {
                place.write(victim, "somebody else, just now\n");
            }
            ControlFlow::Continue(())
        });
        assert_eq!(
            stopped,
            Err(TreeError::Changing {
                paths: vec![victim.into()]
            })
        );
        assert_eq!(place.text(victim), "somebody else, just now\n");
        tree.restore(target).unwrap();
    }
}

#[test]
fn two_names_of_one_inode_are_both_put_back() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("kept.txt", "spoiled\n");
    place.remove("private");
    std::fs::hard_link(place.at("kept.txt"), place.at("private")).unwrap();
    std::fs::hard_link(place.at("kept.txt"), place.at("third")).unwrap();
    tree.restore(target).unwrap();
    assert_eq!(everything(&place.work), before);
}

#[test]
fn what_a_killed_restore_left_behind_is_cleared_by_the_next_one() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("src/.loopexec-1-0.tmp", "half a file");
    tree.restore(target).unwrap();
    assert_eq!(everything(&place.work), before);
}

#[test]
fn a_state_directory_elsewhere_and_a_tree_without_git_work_as_well() {
    let place = Place::plain();
    place.write("a/b", "x");
    place.write("c", "y");
    let before = everything(&place.work);
    let mut tree = Tree::open(&place.work, &place.home.path().join("state"), Options::default()).unwrap();
    let target = tree.snapshot().unwrap().id;
    std::fs::remove_dir_all(place.at("a")).unwrap();
    place.write("d/e", "z");
    tree.restore(target).unwrap();
    assert_eq!(everything(&place.work), before);
}

#[test]
fn a_tracked_file_that_is_ignored_comes_back() {
    let place = Place::repository();
    place.write("tracked.log", "x");
    place.git(&["add", "-f", "tracked.log"]);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.remove("tracked.log");
    tree.scan().unwrap();
    tree.restore(target).unwrap();
    assert_eq!(place.text("tracked.log"), "x");
}

#[test]
fn a_tree_that_was_never_stored_is_refused() {
    let place = Place::repository();
    let mut tree = place.open();
    let id = tree.scan().unwrap().id;
    let error = tree.restore(id).unwrap_err();
    assert_eq!(error, TreeError::TreeUnknown { id });
}

#[test]
fn a_copy_is_the_tree_and_shares_nothing_with_it() {
    let place = rich();
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    let copy = place.home.path().join("copy");
    tree.materialise(id, &copy).unwrap();
    let recorded: Vec<_> = tree.current().entries().iter().map(|e| path_text(&e.path)).collect();
    let mut copied: Vec<_> = everything(&copy);
    let original = everything(&place.work);
    assert!(copied.iter().all(|entry| original.contains(entry)));
    assert_eq!(copied.len(), recorded.len());
    copied.clear();
    std::fs::write(copy.join("large.bin"), "changed").unwrap();
    std::fs::write(copy.join("kept.txt"), "changed").unwrap();
    assert_eq!(place.text("kept.txt"), "the user's uncommitted edit\n");
    let again = place.home.path().join("again");
    tree.materialise(id, &again).unwrap();
    assert_eq!(
        std::fs::read(again.join("kept.txt")).unwrap(),
        b"the user's uncommitted edit\n"
    );
}
