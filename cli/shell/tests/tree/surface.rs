//! Capturing files whatever git ignores.

use shell::tree::{Entry, TreeError, path_text};

use crate::support::Place;

fn names(found: &[Entry]) -> Vec<String> {
    found.iter().map(|e| path_text(&e.path)).collect()
}

fn ends_with_env(path: &[u8]) -> bool {
    path.ends_with(b".env")
}

#[test]
fn ignored_files_are_captured_changed_and_put_back() {
    let place = Place::repository();
    place.write(".gitignore", "*.log\n/build/\n/.loopexec/\n.env\nsecrets/\n");
    place.write(".env", "KEY=1\n");
    place.set_mode(".env", 0o600);
    place.write("app/.env", "KEY=2\n");
    place.write("secrets/deep/.env", "KEY=3\n");
    place.write("node_modules/m/.env", "KEY=4\n");
    let mut tree = place.open();
    let before = tree.scan().unwrap().id;
    let shallow = tree.capture_matching(&[], &ends_with_env).unwrap();
    assert_eq!(
        names(&shallow),
        [".env", "app/.env"],
        "no ignored directory is entered unasked"
    );
    let found = tree.capture_matching(&[b"secrets", b"absent"], &ends_with_env).unwrap();
    assert_eq!(names(&found), [".env", "app/.env", "secrets/deep/.env"]);
    place.write(".env", "KEY=stolen\n");
    place.set_mode(".env", 0o644);
    place.remove("secrets/deep/.env");
    place.write("planted.env", "x");
    let now = tree.capture_matching(&[b"secrets"], &ends_with_env).unwrap();
    assert_eq!(names(&now), [".env", "app/.env", "planted.env"]);
    assert_ne!(now[0], found[0]);
    let done = tree.restore_files(&found, &[b"planted.env".to_vec()]).unwrap();
    assert_eq!((place.text(".env"), place.mode(".env")), ("KEY=1\n".to_owned(), 0o600));
    assert_eq!(place.text("secrets/deep/.env"), "KEY=3\n");
    assert!(!place.exists("planted.env"));
    let saved = tree.manifest(done.saved).unwrap();
    let stolen = tree.content(&saved.entry(b".env").unwrap().digest).unwrap();
    assert_eq!(stolen, b"KEY=stolen\n", "what was overwritten is saved");
    assert_eq!(tree.capture_matching(&[b"secrets"], &ends_with_env).unwrap(), found);
    assert_eq!(tree.scan().unwrap().id, before);
}

#[test]
fn a_literal_path_inside_an_ignored_directory_is_reached() {
    let place = Place::repository();
    place.write("build/gen/one", "1");
    place.write("build/gen/two", "2");
    place.write("build/other", "3");
    place.link("/etc", "build/gen/away");
    let mut tree = place.open();
    let found = tree.capture_matching(&[b"build/gen"], &|_| true).unwrap();
    let ignored: Vec<_> = names(&found).into_iter().filter(|p| p.starts_with("build")).collect();
    assert_eq!(ignored, ["build/gen/away", "build/gen/one", "build/gen/two"]);
    let one = tree
        .capture_matching(&[b"build/other"], &|p| p.starts_with(b"build"))
        .unwrap();
    assert_eq!(names(&one), ["build/other"]);
}

#[test]
fn the_repository_and_the_state_directory_are_out_of_bounds() {
    let place = Place::repository();
    let mut tree = place.open();
    let found = tree.capture_matching(&[b".git", b".loopexec", b""], &|_| true).unwrap();
    assert!(
        names(&found)
            .iter()
            .all(|p| !p.starts_with(".git/") && !p.starts_with(".loopexec"))
    );
    let entry = found[0].clone();
    for path in [".git/config", "../x", ".loopexec/objects", "/etc/passwd"] {
        let bad = Entry {
            path: path.into(),
            ..entry.clone()
        };
        let error = tree.restore_files(&[bad], &[]).unwrap_err();
        assert_eq!(error, TreeError::OutOfBounds { path: path.into() });
        assert!(tree.restore_files(&[], &[path.into()]).is_err());
    }
}
