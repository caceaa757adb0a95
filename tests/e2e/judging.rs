//! The contract's reviewer: it may object to a green turn, is told what was measured, and promotes nothing (SPEC 5.6.9).

use serde_json::Value;

use crate::support::story::{Project, Said};
use crate::support::zones::zones;

const CHECK: &str = "grep -q mended work.txt";
const EXEC: &str = "echo mended > work.txt";

fn project() -> Project {
    Project::committed(&[("work.txt", "broken\n"), ("notes.txt", "as it was\n")])
}

/// A run whose reviewer is this script.
fn judged(project: &Project, script: &str, more: &[&str]) -> Said {
    project.run(EXEC, CHECK, &[&["--judge", script], more].concat())
}

fn answer(verdict: &str) -> String {
    format!("cat > /dev/null; echo '{{\"verdict\": \"{verdict}\", \"rationale\": \"it says so\"}}'")
}

#[test]
fn a_veto_halts_a_green_turn_with_the_reviewers_words() {
    for (verdict, exit, reason) in [
        ("reject", 16, "reviewer_rejected"),
        ("hacking", 13, "reward_hacking_detected"),
    ] {
        let project = project();
        let said = judged(&project, &answer(verdict), &[]);
        said.halted(exit, reason, "judge");
        assert!(said.why().contains("it says so"), "{}", said.why());
        assert_eq!(project.json(&["verify"]).exit, 0);
    }
}

#[test]
fn a_pass_changes_nothing_and_a_red_check_is_shown_to_nobody() {
    let project = project();
    judged(&project, &answer("pass"), &[]).converged(1);
    let asked = project.outside("asked");
    let script = format!("touch '{}'; {}", asked.display(), answer("pass"));
    let red = Project::committed(&[("work.txt", "broken\n")]);
    let said = red.run(
        "date +%N > other.txt",
        CHECK,
        &["--judge", &script, "--max-iterations", "1"],
    );
    assert_ne!(said.reason(), "success_condition_met");
    assert!(!asked.exists(), "a red turn was shown to the reviewer");
}

#[test]
fn no_answer_in_form_leaves_the_verdict_unless_it_is_required() {
    let answers = [
        "echo fine",
        "exit 3",
        "echo '{\"verdict\": \"green\"}'",
        "echo '{\"verdict\": \"pass\"}'; exit 1",
        "kill -9 $$",
        "tail -f /dev/null",
    ];
    for script in answers {
        let limit = ["--judge-timeout", "1s"];
        let relaxed = project();
        let said = judged(&relaxed, script, &limit);
        said.converged(1);
        assert!(said.all().contains("not_applicable"), "{}", said.all());
        let strict = project();
        let said = judged(&strict, script, &[&limit[..], &["--judge-required"]].concat());
        said.halted(13, "objective_unverified", "guard_unavailable");
        assert!(said.why().contains("gave no answer"), "{script}: {}", said.why());
    }
}

#[test]
fn the_reviewer_is_told_what_was_measured_and_the_change_is_fenced() {
    let mut project = project();
    project.set("THE_KEY", "a-key-that-nobody-may-read");
    let kept = project.outside("question.json");
    let script = format!(
        "cat > '{}'; pwd > '{}'; touch left-behind; echo '{{\"verdict\": \"pass\"}}'",
        kept.display(),
        project.outside("place").display()
    );
    let exec = "echo mended > work.txt; echo a-key-that-nobody-may-read > notes.txt";
    let said = project.run(exec, CHECK, &["--judge", &script, "--secret", "THE_KEY"]);
    said.converged(1);
    let question: Value = serde_json::from_slice(&std::fs::read(&kept).unwrap()).unwrap();
    assert_eq!(question["schema"], "loopexec.judge/1");
    assert_eq!(question["result"]["exit"], 0);
    let guards = question["guards"].as_array().unwrap();
    assert!(
        guards
            .iter()
            .any(|said| said["guard"] == "t0_replay" && said["state"] == "active")
    );
    let (fence, diff) = (question["fence"].as_str().unwrap(), question["diff"].as_str().unwrap());
    assert_eq!(diff.matches(fence).count(), 2, "{diff}");
    assert!(diff.contains("-broken") && diff.contains("+mended"), "{diff}");
    assert!(!diff.contains("a-key-that-nobody-may-read"), "{diff}");
    let place = std::fs::read_to_string(project.outside("place")).unwrap();
    assert_ne!(std::path::Path::new(place.trim()), project.dir());
    assert!(!project.dir().join("left-behind").exists());
    assert!(!std::path::Path::new(place.trim()).exists(), "the copy is still there");
}

#[test]
fn a_veto_is_told_to_the_next_turn_where_violations_are_put_back() {
    let project = project();
    let script =
        "if grep -q honest work.txt; then echo '{\"verdict\":\"pass\"}'; else echo '{\"verdict\":\"reject\"}'; fi";
    let exec = "if [ $LOOPEXEC_ITERATION = 1 ]; then echo mended > work.txt; else echo mended honest > work.txt; fi";
    let said = project.run(exec, CHECK, &["--judge", script, "--on-violation", "restore:3"]);
    said.converged(2);
}

#[test]
fn a_reviewer_of_isolated_work_finds_none_of_its_files_where_it_stands() {
    let Some(zones) = zones() else { return };
    let project = project();
    let seen = project.outside("seen");
    let script = format!("ls -A > '{}'; {}", seen.display(), answer("pass"));
    judged(&project, &script, zones).converged(1);
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "");
}
