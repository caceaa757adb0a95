//! Who may start, who may go on, under which name and with which limits.

use std::fs;

use super::{Loop, PATIENT};
use crate::support::Project;

#[test]
fn a_second_run_is_refused_naming_the_first_which_is_unharmed() {
    let scene = Loop::new();
    let first = scene.started_up_to("work-2", &[]);
    let run_id = scene.run_id();
    for command in [&["run", "--check", "true"][..], &["resume"]] {
        let second = scene.project.loopexec(command);
        assert_eq!(
            (second.exit, second.text("failure_cause")),
            (Some(30), "locked"),
            "{second:?}"
        );
        let errors = second.errors();
        assert!(
            errors.contains(&run_id) && errors.contains(&first.pid().to_string()),
            "{errors}"
        );
    }
    first.signal(rustix::process::Signal::INT);
    assert_eq!(first.end().exit, Some(130));
    scene.release("work-2");
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
}

#[test]
fn status_answers_from_inside_of_the_work() {
    let project = Project::new();
    let binary = env!("CARGO_BIN_EXE_loopexec");
    project.script("work.sh", &format!("{binary} status --json > $OUT/status.json"));
    let answer = project.loopexec(&["run", "--check", "false", "--exec", "./work.sh", "--once"]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let status: serde_json::Value = serde_json::from_str(&project.told("status.json")).unwrap();
    assert_eq!(
        (&status["status"], &status["run_id"]),
        (&"alive".into(), &answer.json["run_id"])
    );
    assert_eq!(status["state"]["alive"], true);
}

#[test]
fn a_lock_file_that_names_a_living_stranger_is_no_obstacle() {
    let scene = Loop::new();
    scene.killed_at("work-1");
    let lock = scene.project.root.join(".loopexec/LOCK");
    let run_id = scene.run_id();
    let stranger = std::process::id();
    fs::write(&lock, format!("{run_id}\n{stranger}\n")).unwrap();
    let resumed = scene.resume(&[]);
    scene.assert_whole(&resumed, &run_id);
}

#[test]
fn a_raised_cap_is_recorded_and_the_numbering_goes_on() {
    let scene = Loop::new();
    let capped = scene.start(&["--max-iterations", "1"]).end();
    assert_eq!(
        (capped.exit, capped.text("halt_reason")),
        (Some(12), "max_iterations_reached")
    );
    let again = scene.resume(&[]);
    assert_eq!(again.exit, Some(12), "a reached cap halts again: {again:?}");
    assert_eq!(
        scene.project.read("log.txt"),
        "1\n",
        "it spent something on a cap that was reached"
    );

    let resumed = scene.resume(&["--max-iterations", "8"]);
    scene.assert_whole(&resumed, capped.text("run_id"));
    assert_eq!(scene.project.read("log.txt"), "1\n2\n3\n");
    let amended = scene.project.events_named("amended");
    assert_eq!(amended.len(), 1, "{amended:?}");
    let opened = &scene.project.events_named("run_opened")[0];
    assert_eq!(
        opened["policy"]["bounds"]["max_iterations"], 1,
        "the original stays visible"
    );
}

#[test]
fn a_converged_run_is_not_continued() {
    let scene = Loop::new();
    assert_eq!(scene.start(&[]).end().exit, Some(10));
    let events = scene.project.events().len();
    let refused = scene.resume(&["--max-iterations", "20"]);
    assert_eq!(
        (refused.exit, refused.text("failure_cause")),
        (Some(10), "not_resumable"),
        "{refused:?}"
    );
    assert_eq!(scene.project.events().len(), events);
}

#[test]
fn a_used_run_id_is_refused_and_its_record_untouched() {
    let scene = Loop::new();
    assert_eq!(scene.start(&["--run-id", "night-1"]).end().exit, Some(10));
    let before = fs::read(scene.project.segment()).unwrap();
    let again = scene.start(&["--run-id", "night-1"]).end();
    assert_eq!(
        (again.exit, again.text("failure_cause")),
        (Some(30), "run_id_used"),
        "{again:?}"
    );
    assert_eq!(fs::read(scene.project.segment()).unwrap(), before);
}

#[test]
fn a_run_id_leads_nowhere_else() {
    let scene = Loop::new();
    let long = "x".repeat(65);
    for id in ["..", ".", "../elsewhere", "a/b", "/tmp/x", "", "a b", "a\nb", &long] {
        for command in ["run", "resume", "status", "verify"] {
            let mut args = vec![command, "--run-id", id];
            if command == "run" {
                args.extend(["--check", "true"]);
            }
            let answer = scene.project.loopexec(&args);
            assert!(matches!(answer.exit, Some(2 | 30)), "{args:?} {answer:?}");
            assert_ne!(answer.text("status"), "ok", "{args:?} {answer:?}");
        }
    }
    assert!(!scene.project.root.join("elsewhere").exists());
}

#[test]
fn a_later_run_inherits_nothing_from_a_converged_one() {
    let scene = Loop::new();
    let first = scene.start(&[]).end();
    fs::write(scene.project.root.join("log.txt"), "").unwrap();
    let second = scene.start(&["--max-iterations", "1"]).end();
    assert_eq!(second.exit, Some(12), "{second:?}");
    assert_ne!(first.text("run_id"), second.text("run_id"));
    assert_eq!(second.json["iteration"], 1);
}

#[test]
fn words_after_the_options_are_run_as_they_are() {
    let scene = Loop::new();
    let args = ["run", "--check", "./check.sh"];
    let answer = scene.project.loopexec(&[&args, PATIENT, &["--", "./work.sh"]].concat());
    assert_eq!(answer.exit, Some(10), "{answer:?}");
}
