//! Seeing the tree.

use std::os::unix::fs::{MetadataExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use shell::tree::{ChangeKind, Kind, Options, SkipReason, TreeError};

use crate::support::{Place, changes, git_in, odd, paths};

#[test]
fn a_scan_sees_what_git_would_add_and_nothing_it_ignores() {
    let place = Place::repository();
    place.write("noise.log", "x");
    place.write("build/out.o", "x");
    place.write("sub/.gitignore", "*\n!keep\n");
    place.write("sub/drop", "x");
    place.write("sub/keep", "x");
    place.write(".hidden", "x");
    place.write(".git/info/exclude", "excluded\n");
    place.write("excluded", "x");
    let mut tree = place.open();
    tree.scan().unwrap();
    let listed = place.git(&["ls-files", "-co", "--exclude-standard"]);
    let mut expected: Vec<_> = listed.lines().map(str::to_owned).collect();
    expected.sort();
    assert_eq!(paths(&tree), expected);
    assert_eq!(
        paths(&tree),
        [".gitignore", ".hidden", "kept.txt", "src/lib.rs", "sub/keep"]
    );
}

#[test]
fn every_kind_of_change_is_seen_and_an_unchanged_tree_keeps_its_id() {
    let place = Place::repository();
    place.write("gone", "x");
    let mut tree = place.open();
    let first = tree.scan().unwrap();
    assert!(first.changes.is_empty());
    assert_eq!(tree.scan().unwrap().id, first.id);
    place.write("new/file", [0u8, 159, 146, 150]);
    place.write("kept.txt", "other\n");
    place.set_mode("src/lib.rs", 0o755);
    place.remove("gone");
    let second = tree.scan().unwrap();
    let expected = [
        ("gone", ChangeKind::Removed),
        ("kept.txt", ChangeKind::Modified),
        ("new/file", ChangeKind::Added),
        ("src/lib.rs", ChangeKind::ModeChanged),
    ];
    assert_eq!(changes(&second), expected.map(|(p, k)| (p.to_owned(), k)));
    place.write("gone", "x");
    place.write("kept.txt", "kept\n");
    place.set_mode("src/lib.rs", 0o644);
    std::fs::remove_dir_all(place.at("new")).unwrap();
    assert_eq!(tree.scan().unwrap().id, first.id, "the same tree has the same id");
}

#[test]
fn a_tree_outside_any_repository_is_seen_too() {
    let place = Place::plain();
    place.write("a", "x");
    place.write("node_modules/m/index.js", "x");
    place.write("target/debug/out", "x");
    place.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    place.write("mine/target/not-a-cache", "x");
    let mut tree = place.open();
    let seen = tree.scan().unwrap();
    assert_eq!(paths(&tree), ["a", "mine/target/not-a-cache"]);
    let skipped: Vec<_> = seen.skipped.iter().map(|s| (s.path.as_slice(), s.why)).collect();
    assert_eq!(
        skipped,
        [
            (&b"node_modules"[..], SkipReason::CacheDirectory),
            (b"target", SkipReason::CacheDirectory)
        ]
    );
    assert!(tree.git_facts().is_err());
}

#[test]
fn the_list_of_cache_directories_is_the_callers() {
    let place = Place::plain();
    place.write("node_modules/m/index.js", "x");
    let mut tree = place.open_with(Options {
        cache_dirs: Vec::new(),
        ..Options::default()
    });
    tree.scan().unwrap();
    assert_eq!(paths(&tree), ["node_modules/m/index.js"]);
}

#[test]
fn names_with_newlines_spaces_and_bytes_that_are_not_text_are_seen() {
    let place = Place::repository();
    place.write("with space\nand line", "x");
    place.write(odd(b"latin-\xe9/\xff"), "x");
    place.write(odd(b"\xff.log"), "x");
    let mut tree = place.open();
    tree.scan().unwrap();
    let expected = [
        ".gitignore",
        "kept.txt",
        "latin-\\xe9/\\xff",
        "src/lib.rs",
        "with space\\x0aand line",
    ];
    assert_eq!(paths(&tree), expected);
}

#[test]
fn a_link_is_an_entry_and_is_not_followed() {
    let place = Place::repository();
    let outside = place.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "x").unwrap();
    place.link(&outside, "door");
    place.link("nowhere", "dangling");
    let mut tree = place.open();
    tree.scan().unwrap();
    let door = tree.current().entry(b"door").unwrap();
    assert_eq!((door.kind, door.mode), (Kind::Symlink, 0o777));
    assert_eq!(
        door.digest,
        *blake3::hash(outside.as_os_str().as_encoded_bytes()).as_bytes()
    );
    assert_eq!(
        paths(&tree),
        [".gitignore", "dangling", "door", "kept.txt", "src/lib.rs"]
    );
}

#[test]
fn a_directory_swapped_for_a_link_is_seen_as_the_link() {
    let place = Place::repository();
    let easier = place.home.path().join("easier");
    std::fs::create_dir(&easier).unwrap();
    std::fs::write(easier.join("lib.rs"), "easy").unwrap();
    let mut tree = place.open();
    tree.scan().unwrap();
    std::fs::remove_dir_all(place.at("src")).unwrap();
    place.link(&easier, "src");
    let seen = tree.scan().unwrap();
    let expected = [
        ("src".to_owned(), ChangeKind::Added),
        ("src/lib.rs".to_owned(), ChangeKind::Removed),
    ];
    assert_eq!(changes(&seen), expected);
}

#[test]
fn fifos_and_sockets_are_counted_and_do_not_block() {
    let place = Place::repository();
    let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(place.at("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let mut tree = place.open();
    let seen = tree.scan().unwrap();
    assert_eq!((seen.specials, seen.files), (2, 3));
}

#[test]
fn an_edit_of_the_same_size_with_its_time_put_back_is_seen() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    for round in 0..20 {
        let file = place.at("kept.txt");
        let before = file.metadata().unwrap().modified().unwrap();
        place.write("kept.txt", format!("ke{round:02}\n"));
        let handle = std::fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(before).unwrap();
        drop(handle);
        let seen = tree.scan().unwrap();
        assert_eq!(
            changes(&seen),
            [("kept.txt".to_owned(), ChangeKind::Modified)],
            "round {round}"
        );
    }
}

#[test]
fn an_edit_in_the_same_clock_tick_as_the_scan_is_seen() {
    let place = Place::repository();
    let mut tree = place.open();
    // Edits as fast as they come share change times; each scan must see the latest.
    for round in 0..200 {
        place.write("kept.txt", format!("{round:04}\n"));
        tree.scan().unwrap();
        let seen = tree.current().entry(b"kept.txt").unwrap().digest;
        assert_eq!(seen, *blake3::hash(format!("{round:04}\n").as_bytes()).as_bytes());
    }
}

#[test]
fn a_file_added_in_the_same_clock_tick_as_the_scan_is_seen() {
    let place = Place::repository();
    let mut tree = place.open();
    for round in 0..200 {
        place.write(format!("src/{round}"), "x");
        let seen = tree.scan().unwrap();
        assert_eq!(seen.files, 4 + round);
    }
}

#[test]
fn the_cache_file_can_be_deleted_or_damaged() {
    let place = Place::repository();
    let mut tree = place.open();
    let id = tree.scan().unwrap().id;
    tree.save_cache().unwrap();
    let cache = place.state().join("stat-cache");
    assert_eq!(place.open().scan().unwrap().id, id);
    std::fs::write(&cache, "not a cache").unwrap();
    assert_eq!(place.open().scan().unwrap().id, id);
    std::fs::remove_file(&cache).unwrap();
    let mut again = place.open();
    assert_eq!(again.scan().unwrap().id, id);
    again.save_cache().unwrap();
    assert!(cache.exists());
}

#[test]
fn the_cache_does_not_hide_an_edit_made_between_two_processes() {
    let place = Place::repository();
    let mut tree = place.open();
    tree.scan().unwrap();
    tree.save_cache().unwrap();
    let before = place.at("kept.txt").metadata().unwrap().modified().unwrap();
    place.write("kept.txt", "KEPT\n");
    std::fs::File::options()
        .write(true)
        .open(place.at("kept.txt"))
        .unwrap()
        .set_modified(before)
        .unwrap();
    let mut next = place.open();
    next.scan().unwrap();
    assert_eq!(
        next.current().entry(b"kept.txt").unwrap().digest,
        *blake3::hash(b"KEPT\n").as_bytes()
    );
}

#[test]
fn an_unreadable_file_is_named_with_its_reason() {
    let place = Place::repository();
    place.write("locked/secret", "x");
    place.set_mode("locked", 0o000);
    let seen = place.open().scan();
    place.set_mode("locked", 0o755);
    if rustix_is_root() {
        assert!(seen.is_ok());
        return;
    }
    let error = seen.unwrap_err();
    assert_eq!(
        error,
        TreeError::Unreadable {
            path: b"locked".to_vec(),
            errno: 13
        }
    );
    assert!(error.to_string().contains("locked") && error.to_string().contains("ermission"));
}

fn rustix_is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_removed_workdir_is_told_apart_and_one_put_back_is_seen_again() {
    let place = Place::repository();
    let state = place.home.path().join("state");
    let mut tree = shell::tree::Tree::open(&place.work, &state, Options::default()).unwrap();
    let id = tree.snapshot().unwrap().id;
    let away = place.home.path().join("away");
    std::fs::rename(&place.work, &away).unwrap();
    let error = tree.scan().unwrap_err();
    assert!(matches!(error, TreeError::WorkdirRemoved { .. }), "{error}");
    std::fs::create_dir(&place.work).unwrap();
    assert_eq!(
        tree.scan().unwrap().files,
        0,
        "the new directory is looked at, not the old one"
    );
    std::fs::remove_dir(&place.work).unwrap();
    std::fs::rename(&away, &place.work).unwrap();
    assert_eq!(tree.scan().unwrap().id, id);
    std::fs::rename(&place.work, &away).unwrap();
    symlink(&away, &place.work).unwrap();
    let error = tree.restore(id).unwrap_err();
    assert!(
        matches!(error, TreeError::WorkdirUnusable { .. }),
        "a link in its place is not followed: {error}"
    );
}

/// Ends the writer when the test ends, however it ends.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_that_never_holds_still_is_reported() {
    // Reading it takes many turns of the scheduler, so that on the busiest machine the writer has some of them.
    const LENGTH: u64 = 64 << 20;
    let place = Place::repository();
    place.write("busy", "");
    let mut tree = place.open();
    let stop = AtomicBool::new(false);
    let (at_work, writer_at_work) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            let busy = std::fs::File::options().write(true).open(place.at("busy")).unwrap();
            for longer in (0..=1).cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                busy.set_len(LENGTH + longer).unwrap();
                let _ = at_work.send(());
            }
        });
        writer_at_work.recv().unwrap();
        drop(writer_at_work);
        let seen = (0..50)
            .map(|_| tree.scan().unwrap().unstable)
            .find(|unstable| !unstable.is_empty());
        assert_eq!(seen, Some(vec![b"busy".to_vec()]));
    });
}

#[test]
fn a_wide_and_deep_tree_has_one_id_with_any_number_of_threads() {
    let place = Place::plain();
    for n in 0..1500 {
        place.write(format!("wide/{n}"), n.to_string());
    }
    for n in 0..60 {
        place.write(format!("deep{}/file", "/d".repeat(n)), n.to_string());
    }
    let ids: Vec<_> = [1, 2, 4]
        .map(|threads| {
            let mut tree = place.open_with(Options {
                threads,
                ..Options::default()
            });
            let id = tree.scan().unwrap().id;
            assert_eq!(tree.scan().unwrap().id, id);
            place.write("wide/7", "changed");
            assert_eq!(tree.scan().unwrap().changes.len(), 1);
            place.write("wide/7", "7");
            assert_eq!(tree.scan().unwrap().id, id);
            id
        })
        .into();
    assert!(ids.iter().all(|id| *id == ids[0]));
}

#[test]
fn a_workdir_below_the_top_of_its_repository_obeys_the_rules_above_it() {
    let place = Place::repository();
    place.write("src/a.log", "x");
    place.write("src/build/kept", "anchored to the top, so not ignored here");
    let mut tree =
        shell::tree::Tree::open(&place.at("src"), &place.home.path().join("state"), Options::default()).unwrap();
    tree.scan().unwrap();
    assert_eq!(paths(&tree), ["build/kept", "lib.rs"]);
    assert_eq!(tree.repository().unwrap().prefix, b"src");
}

#[test]
fn a_linked_worktree_is_seen_like_any_other() {
    let place = Place::repository();
    let linked = place.home.path().join("linked");
    place.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "side"]);
    std::fs::write(linked.join("noise.log"), "x").unwrap();
    std::fs::write(linked.join("extra"), "x").unwrap();
    let mut tree = shell::tree::Tree::open(&linked, &place.home.path().join("state"), Options::default()).unwrap();
    tree.scan().unwrap();
    assert_eq!(paths(&tree), [".gitignore", "extra", "kept.txt", "src/lib.rs"]);
    let facts = tree.git_facts().unwrap();
    assert_eq!(facts.branch.as_deref(), Some("refs/heads/side"));
    assert_eq!(facts.head, Some(git_in(&linked, &["rev-parse", "HEAD"])));
}

#[test]
fn a_submodule_and_a_nested_repository_are_left_alone_and_named() {
    let place = Place::repository();
    let other = Place::repository();
    place.git(&[
        "submodule",
        "--quiet",
        "add",
        other.work.to_str().unwrap(),
        "vendor/sub",
    ]);
    git_in(&place.work, &["init", "-q", "nested"]);
    place.write("nested/file", "x");
    let mut tree = place.open();
    let seen = tree.scan().unwrap();
    assert_eq!(paths(&tree), [".gitignore", ".gitmodules", "kept.txt", "src/lib.rs"]);
    let skipped: Vec<_> = seen.skipped.iter().map(|s| s.path.as_slice()).collect();
    assert_eq!(skipped, [&b"nested"[..], b"vendor/sub"]);
    assert!(tree.git_facts().unwrap().meta.contains_key("modules/vendor/sub/config"));
}

#[test]
fn a_link_loop_ends() {
    let place = Place::plain();
    symlink(".", place.at("loop")).unwrap();
    let mut tree = place.open();
    assert_eq!(tree.scan().unwrap().files, 1);
}
