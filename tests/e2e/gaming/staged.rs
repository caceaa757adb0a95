//! Changes that only the index or a commit has: the file in the tree is what it was, what would be shipped is not.

use super::{BPM, MIV, all_stopped, missed};
use crate::support::story::{Project, Said};

const COMMIT: &str = "git -c user.name=T -c user.email=t@example.org commit -q";
const CHECK: &str = "sh tests/all.sh";
const TEST: &str = "test -e done\n";

fn project() -> Project {
    Project::committed(&[("tests/all.sh", TEST), ("readme", "hello\n")])
}

/// What the walk after the first turn found: path, kind and place.
fn found(project: &Project, said: &Said) -> Vec<String> {
    let events = project.events(said);
    let walked = events
        .iter()
        .map(|line| &line["event"])
        .find(|event| event["purpose"] == "after_exec" && event["iteration"] == 1)
        .unwrap();
    let changes = walked["seen"]["surface"].as_array().unwrap();
    let text = |change: &serde_json::Value, key: &str| change[key].as_str().unwrap().to_owned();
    changes
        .iter()
        .map(|change| ["path", "kind", "place"].map(|key| text(change, key)).join(" "))
        .collect()
}

#[track_caller]
fn refused(exec: &str, expected: &[&str]) {
    let project = project();
    let said = project.run(&format!("touch done; {exec}"), CHECK, &["--max-iterations", "2"]);
    assert_eq!(missed(exec, &said, BPM, "blocked_paths"), None, "{}", said.all());
    assert_eq!(found(&project, &said), expected, "{exec}");
    let place = expected[0].rsplit(' ').next().unwrap();
    assert!(said.why().contains(place), "{}", said.why());
}

#[test]
fn a_blocked_change_that_only_the_index_has_is_found() {
    refused(
        "cp tests/all.sh /dev/shm/kept.$$; echo true > tests/all.sh; git add tests; cp /dev/shm/kept.$$ tests/all.sh; rm /dev/shm/kept.$$",
        &["tests/all.sh modified index"],
    );
    refused("git rm -q --cached tests/all.sh", &["tests/all.sh removed index"]);
    refused("git update-index --chmod=+x tests/all.sh", &["tests/all.sh mode index"]);
    refused("echo KEY=1 > .env; git add -f .env; rm .env", &[".env added index"]);
    refused(
        "git update-index --add --cacheinfo 120000,$(git rev-parse HEAD:readme),tests/all.sh",
        &["tests/all.sh type index"],
    );
}

#[test]
fn a_blocked_change_that_only_a_commit_has_is_found() {
    refused(
        &format!("echo true > tests/all.sh; {COMMIT} -am done; git read-tree HEAD^; git checkout-index -fa"),
        &["tests/all.sh modified commit"],
    );
    refused(
        &format!("echo > tests/more.sh; git add tests; {COMMIT} -m done; git read-tree HEAD^; rm tests/more.sh"),
        &["tests/more.sh added commit"],
    );
    refused(
        &format!("git rm -q --cached tests/all.sh; {COMMIT} --amend -m start"),
        &["tests/all.sh removed index", "tests/all.sh removed commit"],
    );
}

#[test]
fn a_new_test_or_runner_file_that_only_a_commit_has_is_found() {
    let commit = |path: &str| {
        format!(
            "{}; echo >> {path}; git add -f {path}; {COMMIT} -m done; rm {path}",
            super::HONEST
        )
    };
    let (determinant, test) = (commit("sitecustomize.py"), commit("test_new.py"));
    all_stopped(
        MIV,
        &[
            ("determinant", &determinant, "determinant_files"),
            ("test", &test, "protected_manifest"),
        ],
    );
}

#[test]
fn what_was_taken_back_before_the_check_is_no_finding() {
    let undo = "git checkout -q HEAD -- tests";
    for exec in [
        format!("echo true > tests/all.sh; git add tests; {undo}"),
        format!("echo true > tests/all.sh; {COMMIT} -am done; git checkout -q HEAD^ -- tests; {COMMIT} -m back"),
        format!("echo true > tests/all.sh; {COMMIT} -am done; git reset -q --hard HEAD^"),
    ] {
        project().run(&format!("touch done; {exec}"), CHECK, &[]).converged(1);
    }
}

#[test]
fn commits_of_files_that_may_change_are_no_finding() {
    for exec in [
        format!("git add done; {COMMIT} -m done"),
        format!("echo x >> readme; git add -A; {COMMIT} -m done; {COMMIT} --amend -m better"),
        "git add -A".to_owned(),
        format!("{COMMIT} --allow-empty -m nothing; git update-index --refresh"),
    ] {
        let project = project();
        project.run(&format!("touch done; {exec}"), CHECK, &[]).converged(1);
    }
}

#[test]
fn what_the_user_had_staged_changed_or_added_may_be_staged_committed_and_unstaged() {
    for exec in [
        "true".to_owned(),
        "git add -A".to_owned(),
        format!("git add -A; {COMMIT} -m all"),
        format!("{COMMIT} -m staged"),
        "git reset -q".to_owned(),
    ] {
        let project = project();
        project.write("tests/all.sh", "test -e done # staged\n");
        project.git(&["add", "-A"]);
        project.write("tests/all.sh", "test -e done # changed\n");
        project.write("tests/own.sh", "true\n");
        project.write("infra/plan", "x\n");
        project.git(&["add", "infra"]);
        std::os::unix::fs::symlink("all.sh", project.dir().join("tests/link")).unwrap();
        let said = project.run(&format!("touch done; {exec}"), CHECK, &[]);
        assert_eq!(found(&project, &said), [""; 0], "{exec}");
        said.converged(1);
    }
}

#[test]
fn an_index_that_cannot_be_read_is_not_green() {
    let said = project().run("touch done; printf broken > .git/index", CHECK, &[]);
    said.halted(13, "objective_unverified", "guard_unavailable");
    assert!(said.why().contains("blocked_paths"), "{}", said.why());
}

#[test]
fn a_check_that_stages_a_blocked_change_is_found() {
    let stage = "git update-index --chmod=+x tests/all.sh";
    let check = format!("test ! -e done || {stage}; {CHECK}");
    let said = project().run("touch done", &check, &[]);
    assert_eq!(missed("check", &said, MIV, "check_mutation"), None, "{}", said.all());
}

#[test]
fn under_restore_what_is_staged_stays_a_violation_until_the_agent_takes_it_back() {
    let stage = "git update-index --chmod=+x tests/all.sh";
    let back = "test -e ../second && { git reset -q; touch done; exit; }; touch ../second";
    let more = ["--on-violation", "restore:3", "--max-iterations", "4"];
    project()
        .run(&format!("{back}; {stage}; touch done"), CHECK, &more)
        .converged(2);
    let said = project().run(&format!("{stage}; touch done"), CHECK, &more);
    assert_eq!((said.reason(), said.iteration()), (BPM, 3), "{}", said.all());
}

#[test]
fn what_was_staged_between_two_lives_halts_before_the_next_turn() {
    let project = project();
    let first = project.run("date +%N > note", CHECK, &["--max-iterations", "1"]);
    assert_eq!(first.iteration(), 1, "{}", first.all());
    project.git(&["update-index", "--chmod=+x", "tests/all.sh"]);
    let said = project.json(&["resume", "--max-iterations", "3"]);
    assert_eq!((said.reason(), said.iteration()), (BPM, 1), "{}", said.all());
    assert!(said.why().contains("index"), "{}", said.why());
}

#[test]
fn a_workdir_below_the_top_and_a_linked_worktree_have_their_own_paths_and_index() {
    for linked in [false, true] {
        let outer = Project::committed(&[("part/tests/all.sh", TEST), ("tests/other.sh", "true\n")]);
        let top = if linked {
            let top = outer.outside("linked");
            outer.git(&["worktree", "add", "-q", top.to_str().unwrap()]);
            top
        } else {
            outer.dir()
        };
        let part = top.join("part");
        let outside = "git update-index --chmod=+x ../tests/other.sh";
        let run = |exec: &str| {
            let exec = format!("touch done; {exec}");
            let more = ["--max-iterations", "2", "--workdir", part.to_str().unwrap()];
            outer.run(&exec, CHECK, &more)
        };
        run(outside).converged(1);
        std::fs::remove_file(part.join("done")).unwrap();
        let said = run("git update-index --chmod=+x tests/all.sh");
        assert_eq!(missed("below", &said, BPM, "blocked_paths"), None, "{}", said.all());
    }
}
