//! What lies where a tree is put back: directories, repositories, files that are too large to keep.

use shell::tree::{Options, TreeError};

use crate::restore::rich;
use crate::support::{Place, everything, git_in};

#[test]
fn a_directory_with_ignored_files_in_the_place_of_a_file_is_moved_aside_not_deleted() {
    let place = rich();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.remove("kept.txt");
    place.write("kept.txt/seen", "x");
    place.write("kept.txt/notes.log", "ignored\n");
    let done = tree.restore(target).unwrap();
    assert_eq!(place.text("kept.txt"), "the user's uncommitted edit\n");
    assert_eq!(std::fs::read(done.aside[0].join("notes.log")).unwrap(), b"ignored\n");
}

#[test]
fn empty_directories_that_were_there_stay() {
    let place = rich();
    std::fs::create_dir(place.at("empty")).unwrap();
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("empty/file", "x");
    place.write("fresh/file", "x");
    tree.restore(target).unwrap();
    assert!(place.at("empty").is_dir() && !place.exists("fresh"));
}

#[test]
fn a_nested_repository_is_left_alone() {
    let place = rich();
    git_in(&place.work, &["init", "-q", "nested"]);
    place.write("nested/file", "x");
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    place.write("nested/file", "changed");
    git_in(&place.work, &["init", "-q", "later"]);
    place.write("later/file", "x");
    place.write("kept.txt", "x");
    tree.restore(target).unwrap();
    assert_eq!(place.text("nested/file"), "changed");
    assert_eq!(place.text("later/file"), "x");
}

#[test]
fn files_come_back_into_a_directory_that_was_made_a_repository() {
    let place = rich();
    let before = everything(&place.work);
    let mut tree = place.open();
    let target = tree.snapshot().unwrap().id;
    git_in(&place.at("src"), &["init", "-q"]);
    place.write("src/lib.rs", "cheat\n");
    let mut next = place.open();
    next.restore(target).unwrap();
    let after: Vec<_> = everything(&place.work)
        .into_iter()
        .filter(|(p, ..)| !p.starts_with("src/.git"))
        .collect();
    assert_eq!(after, before);
}

#[test]
fn a_file_over_the_cap_is_named_when_it_is_needed_and_kept_when_it_is_in_the_way() {
    let place = Place::repository();
    place.write("huge", vec![1u8; 5000]);
    let mut tree = place.open_with(Options {
        blob_cap_bytes: 4096,
        ..Options::default()
    });
    let seen = tree.snapshot().unwrap();
    assert_eq!(seen.unstored, [b"huge".to_vec()]);
    place.write("kept.txt", vec![2u8; 6000]);
    let done = tree.restore(seen.id).unwrap();
    assert_eq!(place.text("kept.txt"), "kept\n");
    assert_eq!(
        std::fs::read(&done.aside[0]).unwrap(),
        vec![2u8; 6000],
        "not storable, so moved"
    );
    place.write("added", vec![3u8; 7000]);
    let done = tree.restore(seen.id).unwrap();
    assert!(!place.exists("added"));
    assert_eq!(
        std::fs::read(&done.aside[0]).unwrap(),
        vec![3u8; 7000],
        "moved, not deleted"
    );
    place.remove("huge");
    place.write("src/lib.rs", "agent\n");
    let error = tree.restore(seen.id).unwrap_err();
    assert_eq!(
        error,
        TreeError::NotStored {
            paths: vec![b"huge".to_vec()]
        }
    );
    assert_eq!(place.text("src/lib.rs"), "agent\n", "nothing was touched");
    assert!(error.to_string().contains("huge"));
}
