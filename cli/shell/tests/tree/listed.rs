//! What index and commit hold, against what git itself says.

use std::collections::BTreeSet;

use shell::tree::{Listed, Tree};

use crate::support::{Place, git_in};

fn listed(tree: &mut Tree) -> Listed {
    let head = tree.git_facts().unwrap().head;
    tree.git_listed(head.as_deref(), &|path| !path.ends_with(b".md"))
        .unwrap()
}

fn paths(listing: &shell::tree::Listing) -> Vec<String> {
    listing
        .keys()
        .map(|path| String::from_utf8(path.clone()).unwrap())
        .collect()
}

fn commit(place: &Place, args: &[&str]) {
    place.git(&[&["commit", "-q", "--allow-empty", "-m", "more"], args].concat());
}

#[test]
fn index_and_commit_are_told_apart_and_only_what_is_wanted_is_listed() {
    let place = Place::repository();
    place.write("tests/ä\n.py", "x");
    place.write("read.md", "x");
    place.git(&["add", "-A"]);
    let mut tree = place.open();
    let seen = listed(&mut tree);
    let committed = [".gitignore", "kept.txt", "src/lib.rs"];
    assert_eq!(paths(&seen.commit), committed);
    assert_eq!(paths(&seen.index), [&committed[..], &["tests/ä\n.py"]].concat());
    place.git(&["update-index", "--skip-worktree", "kept.txt"]);
    commit(&place, &[]);
    let after = listed(&mut tree);
    assert_eq!(after.commit, after.index);
    assert_eq!(
        (seen.sparse, after.sparse),
        (BTreeSet::new(), BTreeSet::from([b"kept.txt".to_vec()]))
    );
}

#[test]
fn a_repository_without_commit_and_index_holds_nothing() {
    let place = Place::plain();
    place.git(&["init", "-q", "-b", "main"]);
    assert_eq!(listed(&mut place.open()), Listed::default());
}

#[test]
fn paths_are_those_of_the_workdir_and_submodules_are_left_out() {
    let place = Place::repository();
    let id = place.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{id},src/sub");
    place.git(&["update-index", "--add", "--cacheinfo", &link]);
    commit(&place, &[]);
    let state = place.state();
    let mut tree = Tree::open(&place.at("src"), &state, Default::default()).unwrap();
    let seen = listed(&mut tree);
    assert_eq!(
        (paths(&seen.index), paths(&seen.commit)),
        (vec!["lib.rs".into()], vec!["lib.rs".into()])
    );
}

#[test]
fn stored_content_has_the_name_that_git_gives_it_in_either_format_and_nothing_is_written() {
    for format in ["sha1", "sha256"] {
        let place = Place::plain();
        place.git(&["init", "-q", "-b", "main", "--object-format", format]);
        place.write(".gitattributes", "* text eol=crlf\n");
        place.write("a.txt", "one\r\n");
        let mut tree = place.open();
        tree.snapshot().unwrap();
        let digest = tree.current().entry(b"a.txt").unwrap().digest;
        let names = tree.git_names(&BTreeSet::from([digest])).unwrap();
        let expected = place.git(&["hash-object", "--no-filters", "a.txt"]);
        assert_eq!(names[&digest], expected, "{format}");
        let objects = git_in(&place.work, &["count-objects"]);
        assert!(objects.starts_with("0 objects"), "{objects}");
    }
}

#[test]
fn a_commit_that_did_not_move_is_not_listed_again() {
    let place = Place::repository();
    let mut tree = place.open();
    let before = listed(&mut tree);
    let kept = place.at(".git/kept");
    std::fs::rename(place.at(".git/objects"), &kept).unwrap();
    std::fs::create_dir(place.at(".git/objects")).unwrap();
    assert_eq!(listed(&mut tree), before);
}

#[test]
fn a_damaged_index_and_a_lost_commit_are_errors() {
    let place = Place::repository();
    let mut tree = place.open();
    let lost = "1".repeat(40);
    assert!(tree.git_listed(Some(&lost), &|_| true).is_err());
    place.write(".git/index", "broken");
    assert!(tree.git_listed(None, &|_| true).is_err());
}
