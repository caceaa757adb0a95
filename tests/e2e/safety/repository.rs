//! The repository around the loop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::worked;
use crate::support::Project;

fn bare_remote(project: &Project) {
    let remote = project.outside.join("remote.git");
    project.run_git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    project.run_git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    project.run_git(&["push", "-q", "origin", "main"]);
}

fn caught(work: &str, named: &str) {
    let project = Project::git(&[("a.txt", "a\n")]);
    bare_remote(&project);
    let answer = worked(&project, work);
    assert_eq!(
        (answer.exit, answer.text("halt_reason"), answer.text("failure_cause")),
        (Some(13), "blocked_path_modified", "refs_moved"),
        "{answer:?}"
    );
    let said = answer.json["advice"].to_string();
    assert!(said.contains(named), "{said}");
}

#[test]
fn a_push_is_found() {
    caught(
        "echo b > a.txt && git commit -qam b && git push -q origin main",
        "refs/remotes/origin/main",
    );
}

#[test]
fn a_switch_to_another_branch_is_found() {
    caught("git switch -qc other", "other");
}

#[test]
fn a_new_tag_is_found() {
    caught("git tag v1", "refs/tags/v1");
}

#[test]
fn a_hook_put_in_place_is_found() {
    caught("printf '#!/bin/sh\\n' > .git/hooks/pre-commit", "pre-commit");
}

#[test]
fn a_commit_on_the_current_branch_is_recorded_and_allowed() {
    let project = Project::git(&[("a.txt", "a\n")]);
    project.script("check.sh", "grep -q b a.txt");
    project.run_git(&["add", "-A"]);
    project.run_git(&["commit", "-qm", "check"]);
    let work = "echo b > a.txt && git commit -qam b";
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", work]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    let head = project.run_git(&["rev-parse", "HEAD"]);
    let accepted = project.loopexec(&["ratchet"]).json["accepted"].clone();
    assert_eq!(
        accepted.as_array().unwrap().last().unwrap()["commit"],
        head.as_str(),
        "{accepted}"
    );
}

#[test]
fn an_edit_that_the_agent_reset_away_can_be_had_back() {
    let project = Project::git(&[("mine.txt", "committed\n")]);
    project.write("mine.txt", "hours of my work\n");
    project.write("notes.txt", "untracked notes\n");
    let answer = worked(&project, "git reset -q --hard && rm notes.txt && echo x > new.txt");
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(project.read("mine.txt"), "committed\n");
    // The loss is in the record, by name.
    let seen = project.events_named("tree_observed");
    let lost = seen
        .iter()
        .map(|event| event["seen"]["changes"].to_string())
        .collect::<String>();
    assert!(lost.contains("mine.txt") && lost.contains("notes.txt"), "{lost}");

    let exported = project.loopexec(&["ratchet", "export", "--iteration", "0", "--branch", "rescue"]);
    assert_eq!(exported.exit, Some(0), "{exported:?}");
    assert_eq!(project.run_git(&["show", "rescue:mine.txt"]), "hours of my work");
    assert_eq!(project.run_git(&["show", "rescue:notes.txt"]), "untracked notes");
    // The patch from there to what was accepted, applied backwards, does it in place.
    let patch = project.outside.join("turn.patch");
    let exported = project.loopexec(&["ratchet", "export", "--patch", patch.to_str().unwrap()]);
    assert_eq!(exported.exit, Some(0), "{exported:?}");
    project.run_git(&["apply", "-R", patch.to_str().unwrap()]);
    assert_eq!(project.read("mine.txt"), "hours of my work\n");
    assert_eq!(project.read("notes.txt"), "untracked notes\n");
    assert!(!project.root.join("new.txt").exists());
    assert_eq!(project.run_git(&["branch", "--show-current"]), "main");
}

#[test]
fn a_hooks_variables_do_not_lead_to_another_repository() {
    let other = Project::git(&[("other.txt", "other\n")]);
    let state = |project: &Project| {
        let index = fs::read(project.root.join(".git/index")).unwrap();
        (
            project.run_git(&["for-each-ref"]),
            project.run_git(&["status", "--porcelain"]),
            index,
        )
    };
    let before = state(&other);
    let git_dir = other.root.join(".git");
    let project = Project::git(&[("a.txt", "a\n")])
        .with_env("GIT_DIR", git_dir.to_str().unwrap())
        .with_env("GIT_INDEX_FILE", git_dir.join("index").to_str().unwrap())
        .with_env("GIT_WORK_TREE", other.root.to_str().unwrap());
    let answer = worked(
        &project,
        "echo b > a.txt; git commit -qam mine; git rev-parse HEAD > $OUT/head",
    );
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(state(&other), before);
    let head = project.run_git(&["rev-parse", "HEAD"]);
    assert_eq!(project.told("head").trim(), head);
    let exported = project.loopexec(&["ratchet", "export", "--branch", "mended"]);
    assert_eq!(exported.exit, Some(0), "{exported:?}");
    assert_eq!(project.run_git(&["show", "mended:a.txt"]), "b");
    assert_eq!(state(&other), before, "the branch was made in the other repository");
}

#[test]
fn a_lock_on_the_index_is_left_alone_and_in_nobodys_way() {
    let project = Project::git(&[("a.txt", "a\n")]);
    project.script("check.sh", "grep -q b a.txt");
    let lock = project.root.join(".git/index.lock");
    fs::write(&lock, "somebody's").unwrap();
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "echo b > a.txt"]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    assert_eq!(fs::read_to_string(lock).unwrap(), "somebody's");
}

#[test]
fn index_stash_and_branches_are_as_they_were() {
    let project = Project::git(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.write("a.txt", "stashed\n");
    project.run_git(&["stash", "-q"]);
    project.write("b.txt", "staged\n");
    project.run_git(&["add", "b.txt"]);
    project.write("b.txt", "staged, then edited\n");
    let facts = || {
        [
            "ls-files -s",
            "for-each-ref",
            "stash list",
            "reflog",
            "config --list --local",
        ]
        .map(|line| project.run_git(&line.split(' ').collect::<Vec<_>>()))
    };
    let before = facts();
    let answer = worked(&project, "echo agent > a.txt");
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(facts(), before);
    assert_eq!(project.read("b.txt"), "staged, then edited\n");
}

#[test]
fn nothing_that_the_repository_configures_is_run() {
    let project = Project::git(&[("a.txt", "a\n"), (".gitattributes", "* filter=spy diff=spy\n")]);
    let spy = project.outside.join("spy");
    fs::write(&spy, format!("#!/bin/sh\ntouch {}\ncat\n", marker(&project).display())).unwrap();
    fs::set_permissions(&spy, fs::Permissions::from_mode(0o755)).unwrap();
    let spy = spy.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "filter.spy.clean",
        "filter.spy.smudge",
        "diff.spy.command",
        "core.pager",
    ] {
        project.run_git(&["config", key, spy]);
    }
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "pre-commit",
    ] {
        fs::create_dir_all(project.root.join(".git/hooks")).unwrap();
        fs::copy(spy, project.root.join(".git/hooks").join(hook)).unwrap();
    }
    let _ = fs::remove_file(marker(&project));
    let answer = worked(&project, "echo b > a.txt");
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    for way in [["--branch", "mended"], ["--patch", "/dev/null"]] {
        let exported = project.loopexec(&[&["ratchet", "export"][..], &way].concat());
        assert_eq!(exported.exit, Some(0), "{exported:?}");
    }
    assert!(!marker(&project).exists(), "a program of the repository was run");
}

fn marker(project: &Project) -> std::path::PathBuf {
    Path::new(&project.outside).join("spied")
}

#[test]
fn the_report_names_the_commit_that_head_was_at_when_each_check_ran() {
    let project = Project::git(&[("a.txt", "0\n")]);
    // The second turn commits nothing: its check judges a tree that no commit has.
    let work = "echo $LOOPEXEC_ITERATION > a.txt; test $LOOPEXEC_ITERATION = 2 || git commit -qam turn";
    let check = "git rev-parse HEAD >> \"$OUT/heads\"; false";
    let bounds = [
        "--max-iterations",
        "3",
        "--no-progress-k",
        "off",
        "--same-failure-r",
        "off",
    ];
    let run = ["run", "--exec", work, "--check", check];
    let answer = project.loopexec(&[&run[..], &bounds].concat());
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let heads: Vec<String> = project.told("heads").lines().map(str::to_owned).collect();
    let report = project.loopexec(&["report"]);
    let rows = report.json["report"]["timeline"].as_array().unwrap();
    let named: Vec<&str> = rows.iter().map(|row| row["commit"].as_str().unwrap()).collect();
    assert_eq!(named, heads, "one row a check, the baseline first");
    assert_eq!(named[1], named[2]);
    assert!(named[0] != named[1] && named[2] != named[3], "{named:?}");
    let trees: Vec<_> = rows.iter().map(|row| &row["tree"]).collect();
    assert_ne!(trees[1], trees[2], "the tree that was judged is told beside the commit");
}
