//! Where a signing key may live, and who may read it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use journal::keys::{parse_public, public_path};
use journal::{Error, Keys};

fn refusal(path: &Path, forbidden: &[&Path]) -> String {
    match Keys::load_or_create(path, forbidden) {
        Err(Error::Key { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_key_is_private_and_the_same_the_next_time() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("keys/run.key");
    let first = Keys::load_or_create(&path, &[]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(Keys::load_or_create(&path, &[]).unwrap().public(), first.public());
    let public = fs::read_to_string(public_path(&path)).unwrap();
    assert_eq!(parse_public(&public), Some(first.public()));
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file is left");
}

#[test]
fn many_at_once_agree_on_one_key() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("run.key");
    let keys: Vec<[u8; 32]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Keys::load_or_create(&path, &[]).unwrap().public()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("run.key");
    Keys::load_or_create(&path, &[]).unwrap();
    for mode in [0o640, 0o604, 0o620, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(refusal(&path, &[]).contains("others can read it"), "{mode:o}");
    }
}

#[test]
fn a_key_within_reach_of_the_agent_is_refused_however_it_is_spelled_and_nothing_is_made() {
    let scratch = tempfile::tempdir().unwrap();
    let work = scratch.path().join("work");
    fs::create_dir_all(work.join("sub")).unwrap();
    let outside = scratch.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&work, outside.join("link")).unwrap();
    symlink(work.join("sub/real.key"), outside.join("dangling.key")).unwrap();
    for path in [
        work.join("run.key"),
        work.join("new/folder/run.key"),
        work.join("sub/../run.key"),
        outside.join("../work/run.key"),
        outside.join("link/run.key"),
        outside.join("link/new/run.key"),
    ] {
        let why = refusal(&path, &[&work]);
        assert!(
            why.contains("where the agent can reach it") || why.contains("names no file"),
            "{}: {why}",
            path.display()
        );
    }
    refusal(&outside.join("dangling.key"), &[&work]);
    assert_eq!(fs::read_dir(&work).unwrap().count(), 1);
    assert!(Keys::load_or_create(&outside.join("run.key"), &[&work]).is_ok());
    symlink(outside.join("run.key"), work.join("alias.key")).unwrap();
    assert!(
        Keys::load_or_create(&work.join("alias.key"), &[&work]).is_ok(),
        "it leads outside"
    );
}

#[test]
fn what_is_not_a_key_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("run.key");
    fs::create_dir(&path).unwrap();
    assert!(refusal(&path, &[]).contains("not a plain file"));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "password").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refusal(&path, &[]).contains("does not hold a loopexec signing key"));
}
