//! A later life runs the check once more at the accepted tree before it works.

use std::fs;

use serde_json::{Value, json};

use super::{Loop, PATIENT};
use crate::support::{Project, wait_until};

/// A loop that came to its cap of one iteration: the accepted tree is in place.
fn capped() -> Loop {
    let scene = Loop::new();
    let capped = scene.start(&["--max-iterations", "1"]).end();
    assert_eq!(capped.exit, Some(12), "{capped:?}");
    scene
}

/// Iteration, attempt and exit status of every such check.
fn resume_checks(scene: &Loop) -> Vec<(u64, u64, i64)> {
    let ended = scene.project.events_named("check_ended");
    let resume = ended.iter().filter(|event| event["purpose"] == "resume");
    resume
        .map(|event| {
            let number = |name: &str| event[name].as_u64().unwrap();
            (
                number("iteration"),
                number("attempt"),
                event["run"]["code"].as_i64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_check_that_says_the_same_in_a_later_life_lets_the_run_go_on() {
    let scene = capped();
    let run_id = scene.run_id();
    let resumed = scene.resume(&["--max-iterations", "8"]);
    scene.assert_whole(&resumed, &run_id);
    assert_eq!(resume_checks(&scene), [(1, 1, 1)]);
}

#[test]
fn a_check_that_something_outside_the_tree_changed_halts_before_the_work() {
    let scene = Loop::new();
    let verdict = "[ ! -e $OUT/moved ] || exit 3; test $(wc -l < log.txt) -ge 3";
    scene.project.script("check.sh", verdict);
    let args = [
        "run",
        "--check",
        "./check.sh",
        "--exec",
        "./work.sh",
        "--max-iterations",
        "1",
    ];
    let capped = scene.project.loopexec(&[&args, PATIENT].concat());
    assert_eq!(capped.exit, Some(12), "{capped:?}");

    scene.hold("moved");
    let halted = scene.resume(&["--max-iterations", "8"]);
    assert_eq!(
        (halted.exit, halted.text("halt_reason"), halted.text("failure_cause")),
        (Some(14), "check_flaky", "resume"),
        "{halted:?}"
    );
    let sentence = scene.project.events_named("halted").last().unwrap()["sentence"].to_string();
    assert!(
        sentence.contains("status 1 first and status 3 in this life on the same tree"),
        "{sentence}"
    );
    assert_eq!(
        scene.project.read("log.txt"),
        "1\n",
        "it worked on a check that had moved"
    );

    scene.release("moved");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, capped.text("run_id"));
    assert_eq!(resume_checks(&scene), [(1, 1, 3), (1, 2, 1)]);
}

#[test]
fn a_run_killed_in_that_check_runs_it_again() {
    let scene = capped();
    let run_id = scene.run_id();
    {
        let _alone = crate::e2e::process::alone();
        // The baseline and the turn ran the first two.
        scene.hold("check-3");
        let running = scene.project.start(&["resume", "--max-iterations", "8"]);
        wait_until("the check of the second life runs", || scene.sleeper.is_up());
        running.kill();
        wait_until("nothing of it is left", || !scene.sleeper.is_up());
        scene.release("check-3");
    }
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
    assert_eq!(resume_checks(&scene), [(1, 2, 1)]);
    let interrupted = scene.project.events_named("interrupted");
    assert_eq!(
        (&interrupted[0]["phase"], &interrupted[0]["attempt"]),
        (&"build_context".into(), &1.into())
    );
}

#[test]
fn a_restore_that_failed_is_finished_by_the_next_life_before_it_works() {
    let project = Project::new();
    project.write("a.txt", "right\n");
    project.write("b.txt", "wrong\n");
    // The third run is the recheck of the turn that broke `a`: what a restore reads is gone behind it.
    project.script(
        "check.sh",
        "n=$(($(cat $OUT/checks 2>/dev/null) + 1)); echo $n > $OUT/checks
echo 1..2
for t in 1:a 2:b; do [ \"$(cat ${t#*:}.txt)\" = right ] && echo \"ok ${t%:*} - ${t#*:}\" || echo \"not ok ${t%:*} - ${t#*:}\"; done
[ $n != 3 ] || mv .loopexec/objects $OUT/objects
[ \"$(cat a.txt b.txt | tr -d '\\n')\" = rightright ]",
    );
    project.script(
        "work.sh",
        "case $LOOPEXEC_ITERATION in
1) echo bad > a.txt; echo right > b.txt; echo x > added.txt;;
*) cat a.txt > $OUT/found; echo right > b.txt;;
esac",
    );
    let args = [
        "run",
        "--check",
        "./check.sh",
        "--collector",
        "tap",
        "--exec",
        "./work.sh",
        // It would see what the check takes away.
        "--guard-off",
        "state_interference",
    ];
    let halted = project.loopexec(&args);
    assert_eq!(
        (halted.exit, halted.text("failure_cause")),
        (Some(40), "restoration_failed"),
        "{halted:?}"
    );
    assert_eq!(project.read("a.txt"), "bad\n", "there is nothing left to finish");

    let objects = project.root.join(".loopexec/objects");
    let _ = fs::remove_dir_all(&objects);
    fs::rename(project.outside.join("objects"), &objects).unwrap();
    let resumed = project.loopexec(&["resume"]);
    assert_eq!(
        (resumed.exit, resumed.text("run_id")),
        (Some(10), halted.text("run_id")),
        "{resumed:?}"
    );
    assert_eq!(project.told("found"), "right\n", "a turn began on a half-restored tree");
    assert!(!project.root.join("added.txt").exists());
    assert_eq!(project.closed_iterations(), [0, 1, 2]);
    project.verified();
}

#[test]
fn a_projection_that_was_removed_or_forged_is_derived_again() {
    let scene = capped();
    let file = scene.project.run_dir().join("state.json");
    let read = || -> Value { serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap() };
    let told = read();
    fs::remove_file(&file).unwrap();
    // The cap is still reached: nothing is run.
    assert_eq!(scene.resume(&[]).exit, Some(12));
    let rebuilt = read();
    for member in ["determinism", "integrity", "accepted_tree", "baseline", "iteration"] {
        assert_eq!(rebuilt[member], told[member], "{member}");
    }
    let mut forged = told.clone();
    forged["determinism"] = json!({"samples": 999, "disagreements": 0});
    forged["integrity"] = json!({"surface": null, "violations": 7, "members": 0});
    fs::write(&file, forged.to_string()).unwrap();

    let run_id = scene.run_id();
    let resumed = scene.resume(&["--max-iterations", "8"]);
    scene.assert_whole(&resumed, &run_id);
    let after = read();
    // The check of the resume, the unchanged copy before green and the confirmation.
    assert_eq!(
        after["determinism"],
        json!({"samples": 3, "disagreements": 0, "probe_runs": 0, "probe_agreeing": 0})
    );
    assert_eq!(after["integrity"], told["integrity"]);
}
