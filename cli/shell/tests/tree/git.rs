//! Facts about the repository, and running git safely.

use std::process::Command;

use shell::tree::{GitFacts, Options, Tree, TreeError, Unavailable};

use crate::support::{Place, git_in};

fn facts(place: &Place) -> GitFacts {
    place.open().git_facts().unwrap()
}

#[test]
fn references_are_what_git_says_loose_or_packed() {
    let place = Place::repository();
    let other = place.home.path().join("bare.git");
    place.git(&["init", "-q", "--bare", other.to_str().unwrap()]);
    place.git(&["remote", "add", "origin", other.to_str().unwrap()]);
    place.git(&["branch", "topic/one"]);
    place.git(&["tag", "-a", "v1", "-m", "annotated"]);
    place.git(&["pack-refs", "--all"]);
    place.write("kept.txt", "second\n");
    place.commit("second");
    place.write("kept.txt", "stashed\n");
    place.git(&["stash", "-q"]);
    place.git(&["push", "-q", "origin", "main"]);
    let seen = facts(&place);
    let listed = place.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let expected: Vec<_> = listed.lines().map(str::to_owned).collect();
    let refs: Vec<_> = seen.refs.iter().map(|(name, id)| format!("{name} {id}")).collect();
    assert_eq!(refs, expected);
    assert_eq!(seen.head, Some(place.git(&["rev-parse", "HEAD"])));
    assert_eq!(seen.branch.as_deref(), Some("refs/heads/main"));
    place.git(&["checkout", "-q", "--detach"]);
    let detached = facts(&place);
    assert_eq!((detached.head, detached.branch), (seen.head, None));
}

#[test]
fn a_repository_without_a_commit_has_a_branch_and_no_head() {
    let place = Place::plain();
    place.git(&["init", "-q", "-b", "main"]);
    let seen = facts(&place);
    assert_eq!((seen.head, seen.branch.as_deref()), (None, Some("refs/heads/main")));
}

#[test]
fn a_push_a_new_branch_and_a_moved_tag_show_on_the_next_reading() {
    let place = Place::repository();
    let bare = place.home.path().join("bare.git");
    place.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    place.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    place.git(&["tag", "v1"]);
    let mut tree = place.open();
    let before = tree.git_facts().unwrap();
    assert_eq!(tree.git_facts().unwrap(), before);
    place.git(&["push", "-q", "origin", "main"]);
    let pushed = tree.git_facts().unwrap();
    assert_eq!(pushed.refs.get("refs/remotes/origin/main"), before.head.as_ref());
    place.git(&["branch", "sneaky"]);
    place.write("kept.txt", "x");
    place.commit("second");
    place.git(&["tag", "-f", "v1"]);
    let after = tree.git_facts().unwrap();
    assert!(after.refs.contains_key("refs/heads/sneaky"));
    assert_ne!(after.refs["refs/tags/v1"], before.refs["refs/tags/v1"]);
    assert_ne!(after.head, before.head);
    assert_eq!(after.meta, before.meta, "commits and pushes change no setting");
}

#[test]
fn settings_hooks_and_alternates_are_fingerprinted() {
    let place = Place::repository();
    let mut tree = place.open();
    let mut last = tree.git_facts().unwrap().meta;
    assert!(!last.keys().any(|name| name.ends_with(".sample")));
    let hook = place.at(".git/hooks/post-commit");
    type Step<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let steps: Vec<Step<'_>> = vec![
        (
            "config",
            Box::new(|| drop(place.git(&["config", "core.fsmonitor", "evil"]))),
        ),
        (
            "hooks/post-commit",
            Box::new(|| place.write(".git/hooks/post-commit", "#!/bin/sh\n")),
        ),
        (
            "hooks/post-commit",
            Box::new(|| place.set_mode(".git/hooks/post-commit", 0o755)),
        ),
        ("hooks/post-commit", Box::new(|| std::fs::remove_file(&hook).unwrap())),
        (
            "hooks/post-commit",
            Box::new(|| place.link("../config", ".git/hooks/post-commit")),
        ),
        ("info/exclude", Box::new(|| place.write(".git/info/exclude", "*\n"))),
        (
            "info/attributes",
            Box::new(|| place.write(".git/info/attributes", "* filter=x\n")),
        ),
        (
            "objects/info/alternates",
            Box::new(|| place.write(".git/objects/info/alternates", "/tmp\n")),
        ),
        (
            "config.worktree",
            Box::new(|| place.write(".git/config.worktree", "[core]\n")),
        ),
    ];
    for (name, step) in steps {
        step();
        let now = tree.git_facts().unwrap().meta;
        assert_ne!(now.get(name), last.get(name), "{name}");
        last = now;
    }
}

#[test]
fn a_fast_series_of_reference_updates_is_never_read_stale() {
    let place = Place::repository();
    let mut tree = place.open();
    let ids = [place.git(&["rev-parse", "HEAD"]), "1".repeat(40)];
    for round in 0..100 {
        place.write(".git/refs/heads/side", format!("{}\n", ids[round % 2]));
        assert_eq!(tree.git_facts().unwrap().refs["refs/heads/side"], ids[round % 2]);
    }
}

#[test]
fn a_leftover_index_lock_is_reported_and_left() {
    let place = Place::repository();
    let mut tree = place.open();
    assert_eq!(tree.repository().unwrap().index_lock(), None);
    place.write(".git/index.lock", "");
    let lock = tree.repository().unwrap().index_lock();
    assert_eq!(lock, Some(place.at(".git/index.lock")));
    let id = tree.snapshot().unwrap().id;
    place.write("kept.txt", "x");
    tree.restore(id).unwrap();
    assert!(place.exists(".git/index.lock"));
    place.open();
    assert!(place.exists(".git/index.lock"));
}

#[test]
fn what_cannot_be_read_is_a_reason() {
    let place = Place::repository();
    let mut tree = place.open();
    place.write(".git/HEAD", "nonsense");
    assert!(matches!(tree.git_facts(), Err(Unavailable::Malformed { .. })));
    std::fs::create_dir(place.at(".git/reftable")).unwrap();
    assert!(matches!(tree.git_facts(), Err(Unavailable::Reftable { .. })));
}

#[test]
fn an_empty_git_directory_is_no_repository() {
    let place = Place::repository();
    std::fs::create_dir(place.at("src/.git")).unwrap();
    let found = shell::tree::Repository::find(&place.at("src")).unwrap();
    assert_eq!(found.top, place.work);
}

#[test]
fn nothing_that_the_repository_configures_is_executed() {
    let place = Place::repository();
    let trap = place.home.path().join("trap.sh");
    let mark = place.home.path().join("sprung");
    let script = format!("#!/bin/sh\ntouch '{}'\nexec cat\n", mark.display());
    std::fs::write(&trap, script).unwrap();
    std::fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let trap = trap.to_str().unwrap();
    let head = place.git(&["rev-parse", "HEAD"]);
    place.write(".gitattributes", "* filter=trap diff=trap\n");
    place.write(".git/info/attributes", "* filter=trap diff=trap\n");
    for key in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.trap.textconv",
        "diff.trap.command",
    ] {
        place.git(&["config", key, trap]);
    }
    for key in [
        "filter.trap.clean",
        "filter.trap.smudge",
        "gpg.program",
        "core.editor",
        "core.sshCommand",
    ] {
        place.git(&["config", key, trap]);
    }
    place.git(&["config", "commit.gpgSign", "true"]);
    for hook in [
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "post-checkout",
    ] {
        std::fs::copy(trap, place.at(format!(".git/hooks/{hook}"))).unwrap();
    }
    assert!(
        Command::new("git")
            .args(["status"])
            .current_dir(&place.work)
            .output()
            .is_ok()
    );
    assert!(mark.exists(), "the trap works on git itself");
    std::fs::remove_file(&mark).unwrap();
    let mut tree = place.open();
    let from = tree.snapshot().unwrap().id;
    place.write("kept.txt", "changed\n");
    let to = tree.snapshot().unwrap().id;
    tree.git_facts().unwrap();
    tree.export_patch(from, to).unwrap();
    crate::export::export(&tree, to, "out", Some(&head)).unwrap();
    tree.restore(from).unwrap();
    assert!(!mark.exists(), "something of the repository was executed");
}

#[test]
fn variables_inherited_from_a_hook_lead_nowhere_else() {
    let name = "git::variables_inherited_from_a_hook_lead_nowhere_else";
    if std::env::var_os("TREE_TEST_INNER").is_none() {
        let other = Place::repository();
        let before = crate::support::everything(&other.at(".git"));
        let index = other.at(".git/index");
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env("TREE_TEST_INNER", "1")
            .env("GIT_DIR", other.at(".git"))
            .env("GIT_WORK_TREE", &other.work)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_OBJECT_DIRECTORY", other.at(".git/objects"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        assert_eq!(
            crate::support::everything(&other.at(".git")),
            before,
            "the other repository is untouched"
        );
        return;
    }
    let place = Place::repository();
    place.write("tracked.log", "x");
    place.git(&["add", "-f", "tracked.log"]);
    let mut tree = place.open();
    let id = tree.snapshot().unwrap().id;
    assert!(
        tree.current().entry(b"tracked.log").is_some(),
        "the right index was asked"
    );
    assert_eq!(tree.repository().unwrap().git_dir, place.at(".git"));
    let head = place.git(&["rev-parse", "HEAD"]);
    let commit = crate::export::export(&tree, id, "out", Some(&head)).unwrap();
    assert_eq!(git_in(&place.work, &["rev-parse", "out"]), commit);
}

/// Runs one test of this binary by itself, with this search path.
fn alone(name: &str, search_path: &std::path::Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("TREE_TEST_INNER", "1")
        .env("PATH", search_path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_missing_git_is_named_and_only_missed_where_there_is_a_repository() {
    if std::env::var_os("TREE_TEST_INNER").is_none() {
        let empty = tempfile::tempdir().unwrap();
        return alone(
            "git::a_missing_git_is_named_and_only_missed_where_there_is_a_repository",
            empty.path(),
        );
    }
    let place = Place::plain();
    place.write("a", "x");
    place.open().snapshot().unwrap();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir(place.at(".git/objects")).unwrap();
    let error = Tree::open(&place.work, &place.state(), Options::default()).unwrap_err();
    assert!(matches!(error, TreeError::GitMissing { .. }), "{error}");
    assert!(error.to_string().contains("install git"));
}

#[test]
fn a_git_that_does_not_end_is_killed_with_what_it_started() {
    if std::env::var_os("TREE_TEST_INNER").is_none() {
        let fake = tempfile::tempdir().unwrap();
        let git = fake.path().join("git");
        std::fs::write(&git, "#!/bin/sh\n/bin/sleep 1000 & /bin/sleep 1000\n").unwrap();
        std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        return alone(
            "git::a_git_that_does_not_end_is_killed_with_what_it_started",
            fake.path(),
        );
    }
    let place = Place::plain();
    place.write(".git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir(place.at(".git/objects")).unwrap();
    let options = Options {
        git_limit_ms: 300,
        ..Options::default()
    };
    // The pipes of git are held by its child too: this returns only when both are gone.
    let error = Tree::open(&place.work, &place.state(), options).unwrap_err();
    assert_eq!(
        error,
        TreeError::GitTimeout {
            command: "ls-files".into(),
            limit_ms: 300
        }
    );
}

#[test]
fn a_repository_that_belongs_to_somebody_else_is_seen_all_the_same() {
    let place = Place::repository();
    for path in [".", ".git", ".git/config"] {
        if std::os::unix::fs::chown(place.at(path), Some(54_321), None).is_err() {
            // Only a privileged user can set this up.
            return;
        }
    }
    let mut tree = place.open();
    assert_eq!(tree.scan().unwrap().files, 3);
}
