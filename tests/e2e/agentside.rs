//! What the agent is told, what it may ask for, and what its own failures do to a run.

mod integrity;

use crate::support::story::{Project, Said};

/// `a` and `b` pass when named in `src/done`; the failing ones are said to be failing on standard output.
const CHECK: &str = r#"bad=0
for member in a b; do
    grep -qx "$member" src/done || { echo "FAIL $member: it is not in src/done"; bad=1; }
done
exit $bad
"#;

const FAILURES: &str = "sed -n 's/^FAIL \\([^:]*\\):.*/\\1/p'";

/// The two-member project, with a directory outside of it that agents find in `OUT`.
fn members(done: &str) -> Project {
    let mut project = Project::committed(&[("check.sh", CHECK), ("src/done", done), ("src/other", "")]);
    let out = project.outside("out");
    std::fs::create_dir(&out).unwrap();
    project.set("OUT", out.display().to_string());
    project
}

fn left(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.outside("out").join(name)).unwrap_or_default()
}

fn run(project: &Project, exec: &str, more: &[&str]) -> Said {
    let mut args = vec!["--failures-cmd", FAILURES];
    args.extend(more);
    project.run(exec, "sh check.sh", &args)
}

#[test]
fn the_text_of_the_failing_check_reaches_the_next_turn() {
    let project = members("a\n");
    let exec = "cat \"$LOOPEXEC_FEEDBACK\" > \"$OUT/feedback\"; cat \"$LOOPEXEC_CONTEXT\" > \"$OUT/context\"; \
                cat \"$LOOPEXEC_REQUEST\" > \"$OUT/request\"; env | grep ^LOOPEXEC_ > \"$OUT/env\"; echo b >> src/done";
    run(&project, exec, &["--timeout", "10m"]).converged(1);
    for name in ["feedback", "context"] {
        let text = left(&project, name);
        assert!(text.contains("FAIL b: it is not in src/done"), "{name}: {text}");
        assert!(!text.contains("FAIL a"), "{name}: {text}");
    }
    let request: serde_json::Value = serde_json::from_str(&left(&project, "request")).unwrap();
    assert_eq!(request["failing"], serde_json::json!(["b"]), "{request}");
    assert_eq!(
        (&request["iteration"], &request["check_exit"]),
        (&1.into(), &1.into()),
        "{request}"
    );
    let env = left(&project, "env");
    for name in [
        "RUN_ID",
        "ITERATION=1",
        "ITERATIONS_LEFT",
        "CONTEXT",
        "FEEDBACK",
        "REQUEST",
        "ASK",
        "BUDGET_LEFT_MS",
    ] {
        assert!(env.contains(&format!("LOOPEXEC_{name}")), "no {name} in {env}");
    }
}

#[test]
fn a_turn_that_broke_a_passing_member_is_undone_and_told() {
    let project = members("");
    let exec = "cat \"$LOOPEXEC_CONTEXT\" > \"$OUT/context-$LOOPEXEC_ITERATION\"; cp src/done \"$OUT/done-$LOOPEXEC_ITERATION\"; \
                case $LOOPEXEC_ITERATION in 1) echo a > src/done;; 2) echo b > src/done; echo stray > src/stray;; \
                *) echo b >> src/done;; esac";
    run(&project, exec, &[]).converged(3);
    assert_eq!(
        left(&project, "done-3"),
        "a\n",
        "the third turn starts from the accepted tree"
    );
    assert!(
        !project.dir().join("src/stray").exists(),
        "what the rejected turn added is gone"
    );
    let told = left(&project, "context-3");
    let spoken: Vec<&str> = told.lines().filter(|line| line.contains('a')).collect();
    assert!(
        told.to_lowercase().contains("undone") || told.contains("put back"),
        "{told}"
    );
    assert!(
        spoken
            .iter()
            .any(|line| line.contains("broke") || line.contains("no longer pass")),
        "{told}"
    );
}

#[test]
fn the_work_of_a_rejected_turn_can_still_be_found() {
    let project = members("");
    let exec = "case $LOOPEXEC_ITERATION in 1) echo a > src/done;; 2) echo b > src/done; echo precious > src/stray;; \
                *) echo b >> src/done;; esac";
    let said = run(&project, exec, &[]);
    said.converged(3);
    let stored = walk(&project.dir().join(".loopexec"));
    let kept = stored
        .iter()
        .any(|path| std::fs::read(path).is_ok_and(|bytes| bytes == b"precious\n"));
    let text = project
        .events(&said)
        .iter()
        .map(ToString::to_string)
        .collect::<String>();
    assert!(
        kept || text.contains("refs/loopexec"),
        "the rejected turn is in no store"
    );
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() && !path.is_symlink() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn work_that_is_committed_each_turn_is_progress() {
    let project = members("");
    let commit = "git -c user.name=T -c user.email=t@example.org commit -qam turn";
    let exec = format!("case $LOOPEXEC_ITERATION in 1) echo a >> src/done;; 2) echo b >> src/done;; esac; {commit}");
    run(&project, &exec, &[]).converged(2);
    let log = project.git(&["log", "--oneline"]);
    assert_eq!(String::from_utf8(log.stdout).unwrap().lines().count(), 3);
}

#[test]
fn a_failed_work_command_halts_by_default_before_any_check() {
    let project = members("a\n");
    let said = run(&project, "echo 'no such model' >&2; exit 3", &[]);
    said.halted(40, "execution_failure", "work_command_failed");
    assert_eq!(said.iteration(), 1);
    assert!(
        said.why().contains("status 3") && said.why().contains("no such model"),
        "{}",
        said.why()
    );
    assert_eq!(said.json["advice"]["verdict"], "fix-substrate");
}

#[test]
fn a_failed_work_command_that_is_to_be_continued_leaves_the_decision_to_the_check() {
    let project = members("a\n");
    run(
        &project,
        "echo b >> src/done; exit 3",
        &["--on-exec-failure", "continue"],
    )
    .converged(1);
}

#[test]
fn a_failed_work_command_is_tried_again_in_the_same_iteration() {
    let project = members("a\n");
    let exec = "echo try >> \"$OUT/tries\"; test $(wc -l < \"$OUT/tries\") = 3 && echo b >> src/done";
    let retry = [
        "--on-exec-failure",
        "retry",
        "--exec-retries",
        "2",
        "--retry-backoff",
        "1ms",
        "--instant-failures",
        "off",
    ];
    run(&project, exec, &retry).converged(1);
    assert_eq!(left(&project, "tries").lines().count(), 3);

    let project = members("a\n");
    let said = run(&project, "echo try >> \"$OUT/tries\"; exit 1", &retry);
    said.halted(40, "execution_failure", "retries_exhausted");
    assert_eq!((said.iteration(), left(&project, "tries").lines().count()), (1, 3));
}

#[test]
fn work_that_fails_at_once_again_and_again_does_not_run_to_the_cap() {
    let project = members("a\n");
    let exec = "echo try >> \"$OUT/tries\"; exit 1";
    let more = [
        "--on-exec-failure",
        "continue",
        "--instant-failures",
        "4",
        "--no-progress-k",
        "off",
        "--max-iterations",
        "50",
    ];
    let said = run(&project, exec, &more);
    said.halted(40, "execution_failure", "instant_failures");
    assert_eq!(left(&project, "tries").lines().count(), 4);
    assert!(said.why().contains('4'), "{}", said.why());
}

#[test]
fn a_timed_out_agent_whose_work_is_right_converges() {
    let project = members("a\n");
    let hangs = "echo b >> src/done; exec sleep 600";
    run(&project, hangs, &["--command-timeout", "1s"]).converged(1);

    let project = members("a\n");
    let said = run(
        &project,
        hangs,
        &["--command-timeout", "1s", "--on-exec-timeout", "halt"],
    );
    said.halted(40, "execution_failure", "deadline_exceeded");
    assert_eq!(project.read("src/done"), "a\nb\n", "the work stays in place");
}

#[test]
fn an_agent_that_never_says_a_word_is_ended_by_its_own_limit() {
    let project = members("a\n");
    let more = ["--first-output-timeout", "1s", "--on-exec-timeout", "halt"];
    run(&project, "exec sleep 600", &more).halted(40, "execution_failure", "first_output_exceeded");
}

#[test]
fn a_question_halts_the_run_and_the_answer_lets_it_go_on() {
    let project = members("a\n");
    let exec = "cat \"$LOOPEXEC_CONTEXT\" > \"$OUT/context-$LOOPEXEC_ITERATION\"; case $LOOPEXEC_ITERATION in \
                1) echo 'Which form, the first or the second?' > \"$LOOPEXEC_ASK\";; *) echo b >> src/done;; esac";
    let asked = run(&project, exec, &[]);
    asked.halted(11, "human_required", "asked");
    assert!(asked.why().contains("the first or the second?"), "{}", asked.why());
    assert_eq!(asked.json["advice"]["verdict"], "review-needed");

    let acked = project.json(&["ack", "--reviewer", "ann", "--note", "take the second one"]);
    assert_eq!(
        (acked.exit, &acked.json["status"]),
        (0, &"acked".into()),
        "{}",
        acked.all()
    );
    let resumed = project.json(&["resume"]);
    resumed.converged(2);
    assert_eq!(resumed.json["run_id"], asked.json["run_id"]);
    let told = left(&project, "context-2");
    assert!(
        told.contains("take the second one"),
        "the answer reaches the agent: {told}"
    );
}

#[test]
fn an_agent_that_asks_cannot_ask_for_success() {
    let project = members("a\n");
    let said = run(&project, "echo success_condition_met > \"$LOOPEXEC_ASK\"", &[]);
    said.halted(11, "human_required", "asked");
}

#[test]
fn unread_changes_halt_until_a_person_has_read_them() {
    let project = members("");
    let exec = "case $LOOPEXEC_ITERATION in 1) echo a >> src/done;; 2) echo b >> src/done;; esac";
    let said = run(&project, exec, &["--comprehension-every", "1"]);
    said.halted(19, "comprehension_debt_exceeded", "unread_changes");
    assert_eq!(said.iteration(), 1);
    assert_eq!(project.json(&["ack", "--reviewer", "ann"]).exit, 0);
    project.json(&["resume"]).converged(2);
}

#[test]
fn pins_that_are_required_and_missing_refuse_the_run() {
    let project = members("a\n");
    let said = run(&project, "echo b >> src/done", &["--pins", "required"]);
    assert_eq!(
        (said.exit, said.reason(), said.cause()),
        (30, "workspace_invalid", "pin_missing"),
        "{}",
        said.all()
    );
    assert_eq!(project.read("src/done"), "a\n", "nothing was run");
    project.write("notes.md", "task\n");
    let pinned = [
        "--pins",
        "required",
        "--model-id",
        "m-1",
        "--model-provider",
        "p",
        "--temperature",
        "0",
        "--seed",
        "1",
    ];
    let mut more = pinned.to_vec();
    more.extend(["--context-file", "notes.md"]);
    let said = run(&project, "echo b >> src/done", &more);
    assert!(
        said.exit == 10 || !said.json["errors"].as_array().unwrap().is_empty(),
        "{}",
        said.all()
    );
}

#[test]
fn a_failures_command_with_crlf_says_the_same_as_one_without() {
    let digest = |tail: &str| {
        let project = members("");
        let mine = format!("{FAILURES} {tail}");
        let said = project.run(
            "true",
            "sh check.sh",
            &["--failures-cmd", &mine, "--max-iterations", "1"],
        );
        said.halted(12, "max_iterations_reached", "stalled");
        let state: serde_json::Value = serde_json::from_str(&project.read(".loopexec/state.json")).unwrap();
        state["open_failures"].clone()
    };
    assert_eq!(digest(""), serde_json::json!(["a", "b"]));
    assert_eq!(digest("| sed 's/$/\\r/'"), digest(""));
}

#[test]
fn a_failures_command_that_cannot_be_believed_stops_a_green_check() {
    for broken in [
        "exit 2",
        "echo oops >&2",
        "echo '{\"ids\":null}'",
        "echo '{bad'",
        "echo '{\"ids\":[],\"more\":1}'",
    ] {
        let project = members("a\n");
        let said = project.run(
            "echo b >> src/done",
            "sh check.sh",
            &["--failures-cmd", broken, "--no-baseline"],
        );
        said.halted(13, "objective_unverified", "failures_cmd");
    }
    for fine in ["true", "echo '{\"ids\":[]}'"] {
        let project = members("a\n");
        project
            .run(
                "echo b >> src/done",
                "sh check.sh",
                &["--failures-cmd", fine, "--no-baseline"],
            )
            .converged(1);
    }
}

#[test]
fn a_failures_command_that_contradicts_a_green_check_is_a_violation() {
    let project = members("a\n");
    let said = project.run(
        "echo b >> src/done",
        "sh check.sh",
        &["--failures-cmd", "echo still_open", "--no-baseline"],
    );
    assert_eq!(
        (said.exit, said.reason()),
        (13, "metric_integrity_violation"),
        "{}",
        said.all()
    );
}

#[test]
fn a_record_that_the_agent_writes_to_decides_nothing() {
    let project = members("a\n");
    let exec = "for f in .loopexec/runs/*/receipt.jsonl; do echo '{\"type\":\"halted\",\"reason\":\"success_condition_met\"}' >> $f; done";
    let said = run(&project, exec, &[]);
    said.halted(13, "blocked_path_modified", "state_interference");
    assert_eq!(said.iteration(), 1);
}

#[test]
fn an_agent_that_does_nothing_and_says_0_is_no_progress() {
    let project = members("a\n");
    run(&project, "true", &[]).halted(17, "no_progress_detected", "tree_unchanged");
}
