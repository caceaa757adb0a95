//! A check that writes into its own tree is repeated on the tree that it read, wherever that has to be.

use serde_json::Value;

use super::{TAP, with};
use crate::support::story::{Project, Said};

/// The checks that began, by purpose, each with whether it read a copy, and of which tree.
fn began(project: &Project, said: &Said, purpose: &str) -> Vec<Value> {
    let events = project.events(said).into_iter().map(|record| record["event"].clone());
    let own = events.filter(|event| event["event"] == "check_began" && event["purpose"] == purpose);
    own.map(|event| event["copy_of"].clone()).collect()
}

/// The tree of a walk for this purpose in the first iteration.
fn walked(project: &Project, said: &Said, purpose: &str) -> Value {
    let mut events = project.events(said).into_iter().map(|record| record["event"].clone());
    let own =
        |event: &Value| event["event"] == "tree_observed" && event["iteration"] == 1 && event["purpose"] == purpose;
    events.find(own).unwrap()["seen"]["tree"].clone()
}

#[test]
fn green_is_confirmed_on_the_tree_that_was_green_and_what_the_check_left_stays_where_it_is() {
    let mut project = Project::committed(&[("src/done", "")]);
    let seen = project.outside("seen");
    project.set("SEEN", seen.display().to_string());
    project.set("BIN", project.dir().join("bin").display().to_string());
    // It is red beside what it leaves itself.
    let check = "pwd >> \"$SEEN\"; echo \"$BIN\" >> \"$SEEN\"; test ! -e left; ok=$?; echo x > left; \
                 test $ok = 0 && grep -q yes src/done";
    let said = project.run("rm -f left; echo yes > src/done", check, &[]);
    said.converged(1);
    let green = walked(&project, &said, "after_exec");
    assert_ne!(
        green,
        walked(&project, &said, "after_check"),
        "the check changed the tree"
    );
    assert_eq!(began(&project, &said, "confirmation"), [green]);
    assert_eq!(
        project.read("left"),
        "x\n",
        "nothing of the user's was put back or away"
    );

    let seen = std::fs::read_to_string(seen).unwrap();
    let [.., copy, bin] = seen.lines().collect::<Vec<_>>()[..] else {
        panic!("{seen}");
    };
    assert!(!std::path::Path::new(copy).exists(), "{copy} was thrown away");
    assert_ne!(copy, project.dir().canonicalize().unwrap().display().to_string());
    assert_eq!(
        bin,
        format!("{copy}/bin"),
        "a path into the workdir leads into the copy"
    );
    assert_eq!(project.json(&["verify"]).exit, 0);
}

/// Every second run fails `a`, and only a counter in the tree, which each run moves on, says which one this is.
const COUNTING: &str = r#"n=$(cat src/count)
echo $n >> "$SEEN"
echo $((n + 1)) > src/count
echo 1..2
echo 'not ok 2 - b'
case $n in *[13579]) echo 'not ok 1 - a';; *) echo 'ok 1 - a';; esac
exit 1
"#;

fn counting() -> Project {
    let mut project = Project::committed(&[("check.sh", COUNTING), ("src/count", "0\n"), ("src/other", "")]);
    let seen = project.outside("seen").display().to_string();
    project.set("SEEN", seen);
    project
}

#[test]
fn a_regression_is_rechecked_with_the_counter_that_the_first_run_found() {
    let project = counting();
    let more = with(TAP, &["--max-iterations", "1"]);
    let said = project.run("echo more >> src/other", "sh check.sh", &more);
    said.halted(12, "max_iterations_reached", "stalled");
    assert_eq!(
        began(&project, &said, "recheck"),
        [walked(&project, &said, "after_exec")]
    );
    assert_eq!(std::fs::read_to_string(project.outside("seen")).unwrap(), "0\n1\n1\n");
}

#[test]
fn where_no_copy_can_be_made_nothing_is_believed_and_the_reason_is_told() {
    let mut project = counting();
    project.write("tmp/.keep", "");
    project.set("TMPDIR", project.dir().join("tmp").display().to_string());
    let said = project.run("echo more >> src/other", "sh check.sh", TAP);
    said.halted(40, "execution_failure", "check_start_failed");
    let why = said.why();
    assert!(
        why.contains("no fresh copy could be made of the tree that was checked first"),
        "{why}"
    );
}
