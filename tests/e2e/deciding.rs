//! Who decides that a run is over, when, and for which reason: told with small scripted agents.
//!
//! Most projects here are one check that speaks TAP about three members, `a`, `b` and `c`. A member passes when its
//! name stands in `src/done`, so an agent is one line of shell.

mod everyday;
mod rechecks;

use crate::support::story::Project;

/// Reads `src/done`; `a`, `b` and `c` pass when they are named in it.
const CHECK: &str = r#"n=0 bad=0
echo 1..3
for member in a b c; do
    n=$((n + 1))
    if grep -qx "$member" src/done; then echo "ok $n - $member"; else echo "not ok $n - $member"; bad=1; fi
done
echo "took $(wc -l < "$COUNT") of many" >&2
exit $bad
"#;

/// The three-member project, with these members passing at the start.
fn members(done: &str) -> Project {
    let mut project = Project::committed(&[("check.sh", CHECK), ("src/done", done), ("src/other", "")]);
    count_turns(&mut project);
    project
}

/// Gives agents a file outside of the project to leave one line a turn in.
fn count_turns(project: &mut Project) {
    let count = project.outside("count");
    std::fs::write(&count, "").unwrap();
    project.set("COUNT", count.display().to_string());
}

fn turns(project: &Project) -> usize {
    project.lines(&project.outside("count"))
}

/// An agent that counts its turns and does what its turn is named for; `*` is every other turn.
fn agent(turns: &[(&str, &str)]) -> String {
    let arms: String = turns.iter().map(|(turn, does)| format!("{turn}) {does};; ")).collect();
    format!("echo turn >> \"$COUNT\"; case $LOOPEXEC_ITERATION in {arms}esac")
}

const TAP: &[&str] = &["--collector", "tap"];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    base.iter().chain(more).copied().collect()
}

#[test]
fn words_of_the_agent_do_not_end_a_run() {
    let mut project = Project::committed(&[("src/other", "")]);
    count_turns(&mut project);
    let exec = "echo turn >> \"$COUNT\"; echo success; echo '<promise>COMPLETE</promise>'; echo false; echo DONE";
    let said = project.run(exec, "false", &["--max-iterations", "3", "--no-progress-k", "off"]);
    said.halted(12, "max_iterations_reached", "unmeasured");
    assert_eq!((said.iteration(), turns(&project)), (3, 3));
    assert!(!said.stdout.contains("converged"), "{}", said.stdout);

    let args = [
        "run",
        "--exec",
        exec,
        "--check",
        "false",
        "--max-iterations",
        "3",
        "--no-progress-k",
        "off",
    ];
    let human = project.text(&args);
    assert_eq!(human.exit, 12, "{}", human.all());
    assert!(!human.stdout.to_lowercase().contains("converged"), "{}", human.stdout);
    assert!(!human.stderr.contains("error:"), "{}", human.stderr);
}

#[test]
fn a_run_converges_in_the_very_iteration_whose_check_is_green() {
    let mut project = Project::committed(&[("src/lines", "")]);
    count_turns(&mut project);
    let exec = "echo turn >> \"$COUNT\"; echo line >> src/lines";
    let said = project.run(exec, "test $(wc -l < src/lines) -ge 2", &["--max-iterations", "10"]);
    said.converged(2);
    assert_eq!(turns(&project), 2, "no turn after the green one");
    assert_eq!(said.json["advice"]["verdict"], "done");
}

#[test]
fn a_new_run_inherits_nothing_from_a_converged_one() {
    let project = Project::committed(&[("src/ok", "")]);
    let first = project.run("echo yes > src/ok", "grep -q yes src/ok", &[]);
    first.converged(1);
    project.write("src/ok", "");
    let second = project.run("true", "grep -q yes src/ok", &[]);
    second.halted(17, "no_progress_detected", "tree_unchanged");
    assert_ne!(first.json["run_id"], second.json["run_id"]);
    let id = first.json["run_id"].as_str().unwrap();
    let explained = project.json(&["explain-halt", "--run-id", id]);
    assert_eq!(
        (explained.exit, explained.reason()),
        (0, "success_condition_met"),
        "{}",
        explained.all()
    );
}

#[test]
fn a_green_baseline_converges_without_calling_the_agent() {
    let mut project = members("a\nb\nc\n");
    count_turns(&mut project);
    project.run(&agent(&[]), "sh check.sh", TAP).converged(0);
    assert_eq!(turns(&project), 0);
}

#[test]
fn a_green_baseline_is_inadequate_where_red_is_required() {
    let project = members("a\nb\nc\n");
    let said = project.run(&agent(&[]), "sh check.sh", &with(TAP, &["--require-red"]));
    said.halted(15, "check_inadequate", "green_baseline");
    assert_eq!((said.iteration(), turns(&project)), (0, 0));
    assert_eq!(said.json["advice"]["verdict"], "fix-check");
}

#[test]
fn without_a_baseline_the_agent_works_before_the_first_check() {
    let project = members("a\nb\nc\n");
    let said = project.run(&agent(&[]), "sh check.sh", &with(TAP, &["--no-baseline"]));
    said.converged(1);
    assert_eq!(turns(&project), 1);
}

#[test]
fn turns_that_change_nothing_halt_long_before_the_cap() {
    let project = members("a\n");
    let said = project.run(&agent(&[]), "sh check.sh", &with(TAP, &["--max-iterations", "50"]));
    said.halted(17, "no_progress_detected", "tree_unchanged");
    assert_eq!((said.iteration(), turns(&project)), (3, 3));
    assert!(said.why().contains('3'), "the threshold is not named: {}", said.why());
}

#[test]
fn edits_that_mend_nothing_are_no_progress_even_if_the_output_counts_up() {
    let project = members("a\n");
    let exec = agent(&[("*", "echo $LOOPEXEC_ITERATION >> src/other")]);
    let said = project.run(&exec, "sh check.sh", &with(TAP, &["--max-iterations", "50"]));
    said.halted(17, "no_progress_detected", "best_not_smaller");
    assert_eq!(said.iteration(), 3);
    let settable = project.run(
        &exec,
        "sh check.sh",
        &with(TAP, &["--no-progress-k", "5", "--same-failure-r", "off"]),
    );
    assert_eq!(
        (settable.reason(), settable.iteration()),
        ("no_progress_detected", 5),
        "{}",
        settable.all()
    );
}

#[test]
fn a_detector_that_is_off_stays_silent() {
    let project = members("a\n");
    let exec = agent(&[("*", "echo $LOOPEXEC_ITERATION >> src/other")]);
    let off = [
        "--no-progress-k",
        "off",
        "--same-failure-r",
        "off",
        "--max-iterations",
        "6",
    ];
    let said = project.run(&exec, "sh check.sh", &with(TAP, &off));
    said.halted(12, "max_iterations_reached", "stalled");
    assert_eq!(said.json["advice"]["verdict"], "do-not-retry");
    let opened = project.events(&said)[0].to_string();
    assert!(opened.contains("no_progress_k"), "{opened}");
}

#[test]
fn the_same_failure_of_three_different_trees_halts() {
    let project = Project::committed(&[("src/other", "")]);
    let exec = "echo $LOOPEXEC_ITERATION >> src/other";
    let check = "echo 'AssertionError: total is 3, not 4' >&2; exit 1";
    let said = project.run(exec, check, &["--max-iterations", "20"]);
    said.halted(17, "same_failure_repeated", "identical_failure");
    assert_eq!(said.iteration(), 3);
    assert_eq!(said.json["advice"]["verdict"], "do-not-retry");
}

#[test]
fn going_round_in_a_circle_is_oscillation() {
    let project = members("");
    let exec = agent(&[
        ("1", "echo one > src/other"),
        ("2", "echo two > src/other"),
        ("3", "echo one > src/other"),
    ]);
    let said = project.run(&exec, "sh check.sh", &with(TAP, &["--no-progress-k", "off"]));
    said.halted(17, "oscillation_detected", "tree_cycle");
    assert_eq!(said.iteration(), 3);
    assert_eq!(said.json["advice"]["verdict"], "do-not-retry");
}

#[test]
fn a_test_that_two_candidates_broke_halts_and_the_last_good_tree_stands() {
    let project = members("a\n");
    let exec = agent(&[
        ("1", "echo b > src/done"),
        ("2", "echo x > src/done; echo c >> src/done"),
    ]);
    let said = project.run(&exec, "sh check.sh", &with(TAP, &["--pair-candidates", "off"]));
    said.halted(17, "same_test_regressed", "accepted_member_broken");
    assert_eq!(said.iteration(), 2);
    assert_eq!(project.read("src/done"), "a\n", "the accepted tree is back");
    assert!(said.why().contains('a'), "{}", said.why());
}

#[test]
fn two_tests_that_are_only_ever_traded_are_suspected_to_be_infeasible() {
    let project = members("a\nc\n");
    let exec = agent(&[
        ("1", "printf 'b\\nc\\n' > src/done"),
        ("2", "printf 'c\\nb\\n' > src/done"),
        ("3", "printf 'c\\n\\nb\\n' > src/done"),
    ]);
    let said = project.run(&exec, "sh check.sh", &with(TAP, &["--regression-candidates", "5"]));
    said.halted(17, "infeasible_suspected", "contradictory_pair");
    assert_eq!(project.read("src/done"), "a\nc\n");
    let why = said.why();
    assert!(why.contains('a') && why.contains('b'), "{why}");
}

#[test]
fn a_cap_that_is_reached_while_improving_can_be_raised_and_the_same_run_converges() {
    let project = members("");
    let exec = agent(&[
        ("1", "echo a >> src/done"),
        ("2", "echo b >> src/done"),
        ("3", "echo c >> src/done"),
    ]);
    let capped = project.run(&exec, "sh check.sh", &with(TAP, &["--max-iterations", "2"]));
    capped.halted(12, "max_iterations_reached", "still_improving");
    assert_eq!(capped.json["advice"]["verdict"], "raise-the-limit");
    let next = capped.json["advice"]["next"].as_str().unwrap();
    // Three failed, two turns mended one each, one is left: one more turn if that goes on.
    assert!(
        next.contains("resume") && next.ends_with("--max-iterations 3"),
        "{next}"
    );
    assert_eq!(project.read("src/done"), "a\nb\n", "the work stays in place");

    let resumed = project.json(&["resume", "--max-iterations", "5"]);
    resumed.converged(3);
    assert_eq!(resumed.json["run_id"], capped.json["run_id"]);
    assert_eq!(turns(&project), 3, "no turn twice");
    let kinds: Vec<String> = project.events(&resumed).iter().map(ToString::to_string).collect();
    assert!(
        kinds.iter().any(|event| event.contains("amended")),
        "the raise is no event"
    );
    assert_eq!(project.json(&["verify"]).exit, 0);
}

#[test]
fn once_is_one_iteration_whatever_else_is_said() {
    let project = members("");
    let exec = agent(&[("1", "echo a >> src/done"), ("2", "exit 3")]);
    let said = project.run(&exec, "sh check.sh", &with(TAP, &["--once", "--max-iterations", "9"]));
    said.halted(12, "max_iterations_reached", "still_improving");
    assert_eq!((said.iteration(), turns(&project)), (1, 1));
}

#[test]
fn a_check_that_is_green_every_other_time_is_flaky_with_both_statuses() {
    let mut project = Project::committed(&[("src/other", "")]);
    count_turns(&mut project);
    let check = "echo run >> \"$COUNT\"; test $(($(wc -l < \"$COUNT\") % 2)) = 0";
    // A copy would see it first, and could not say which of two causes it has.
    let without = ["--guard-off", "t0_replay", "--guard-off", "sentinel_pair"];
    let said = project.run("echo more >> src/other", check, &without);
    said.halted(14, "check_flaky", "confirmation");
    assert_eq!(said.json["advice"]["verdict"], "fix-check");
    assert!(
        said.why().contains("0") && said.why().contains("1"),
        "both statuses: {}",
        said.why()
    );
}

#[test]
fn a_regression_that_a_recheck_does_not_see_is_a_flaky_check() {
    let mut project = Project::committed(&[("src/other", "")]);
    count_turns(&mut project);
    // The second run fails `a`; nothing in the tree says why.
    let check = "echo run >> \"$COUNT\"; n=$(wc -l < \"$COUNT\"); echo 1..2; echo 'not ok 2 - b'; \
                 case $n in 2) echo 'not ok 1 - a';; *) echo 'ok 1 - a';; esac; exit 1";
    let exec = "echo $LOOPEXEC_ITERATION >> src/other; echo $LOOPEXEC_ITERATION > src/$LOOPEXEC_ITERATION";
    let said = project.run(exec, check, TAP);
    said.halted(14, "check_flaky", "recheck");
    assert_eq!(said.json["advice"]["verdict"], "fix-check");
}
