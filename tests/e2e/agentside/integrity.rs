//! Identities that the operator's own command lists: whatever was accepted stays required.

use super::{members, run};

const LISTS: &[&str] = &["--integrity-cmd", "cat src/list"];

/// An agent that does one of these in each turn.
fn turns(first: &str, second: &str) -> String {
    format!("case $LOOPEXEC_ITERATION in 1) {first};; *) {second};; esac")
}

#[test]
fn an_identity_that_the_integrity_command_loses_is_a_violation() {
    let project = members("a\n");
    project.write("src/list", "t1\nt2\nt3\n");
    let said = run(&project, "echo b >> src/done; printf 't1\\nt3\\n' > src/list", LISTS);
    said.halted(13, "metric_integrity_violation", "integrity_members");
    assert!(said.why().contains("t2"), "{}", said.why());

    let project = members("a\n");
    project.write("src/list", "t1\n");
    run(&project, "echo b >> src/done; echo t2 >> src/list", LISTS).converged(1);

    let project = members("a\n");
    project.write("src/list", "t1\n");
    let said = run(&project, "echo b >> src/done; rm src/list", LISTS);
    assert_eq!(
        (said.exit, said.reason()),
        (13, "objective_unverified"),
        "{}",
        said.all()
    );
}

#[test]
fn an_identity_that_was_accepted_later_cannot_be_lost_either() {
    let project = members("");
    project.write("src/list", "t1\n");
    let exec = turns(
        "echo a >> src/done; echo t2 >> src/list",
        "echo b >> src/done; echo t1 > src/list",
    );
    let said = run(&project, &exec, LISTS);
    said.halted(13, "metric_integrity_violation", "integrity_members");
    assert_eq!(said.iteration(), 2);
    assert!(said.why().contains("t2"), "{}", said.why());
}

#[test]
fn an_identity_of_a_turn_that_was_put_back_is_not_required() {
    let project = members("");
    project.write("src/list", "t1\n");
    let exec = "case $LOOPEXEC_ITERATION in 1) echo a > src/done;; 2) echo b > src/done; echo t2 >> src/list;; \
                *) echo b >> src/done;; esac";
    run(&project, exec, LISTS).converged(3);
    assert_eq!(project.read("src/list"), "t1\n");
}

#[test]
fn an_identity_cannot_be_lost_between_two_lives() {
    let begun = || {
        let project = members("");
        project.write("src/list", "t1\n");
        let exec = turns("echo a >> src/done; echo t2 >> src/list", "echo b >> src/done");
        let capped = run(&project, &exec, &[LISTS, &["--max-iterations", "1"]].concat());
        capped.halted(12, "max_iterations_reached", "still_improving");
        project
    };
    begun().json(&["resume", "--max-iterations", "3"]).converged(2);
    for lost in ["t2\n", "t1\n"] {
        let project = begun();
        project.write("src/list", lost);
        let said = project.json(&["resume", "--max-iterations", "3"]);
        said.halted(13, "metric_integrity_violation", "integrity_members");
    }
}
