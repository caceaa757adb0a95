//! Work that writes to the loop's own record.

use std::fs;

use super::worked;
use crate::support::cli::fifo;
use crate::support::{Answer, Project, Sleeper, wait_until};

/// The halt is about this file, and nothing turned green.
fn assert_caught(answer: &Answer, file: &str) {
    assert_eq!(
        (answer.exit, answer.text("halt_reason"), answer.text("failure_cause")),
        (Some(13), "blocked_path_modified", "state_interference"),
        "{answer:?}"
    );
    let said = answer.json["advice"].to_string();
    assert!(said.contains(file), "{said}");
}

#[test]
fn a_forged_event_in_the_journal_is_named_and_ends_the_run() {
    let project = Project::new();
    let forge = "printf PASSED | dd of=$(ls .loopexec/runs/*/journal/*.seg) bs=1 seek=4500 conv=notrunc";
    let answer = worked(&project, forge, &[]);
    assert_eq!(answer.exit, Some(13), "{answer:?}");
    let verdict = project.loopexec(&["verify"]);
    assert_eq!(
        (verdict.exit, verdict.text("halt_reason")),
        (Some(13), "objective_unverified")
    );
    let defect = &verdict.json["journal"]["defect"];
    assert_eq!(
        (&defect["segment"], &defect["seq"]),
        (&0.into(), &0.into()),
        "{verdict:?}"
    );
    assert_eq!(project.loopexec(&["resume"]).exit, Some(13));
}

#[test]
fn a_claim_of_success_in_the_receipt_decides_nothing_and_does_not_verify() {
    let project = Project::new();
    let claim = r#"echo '{"seq":99,"event":{"event":"halted","reason":"success_condition_met"}}'"#;
    let answer = worked(
        &project,
        &format!("{claim} >> $(ls .loopexec/runs/*/receipt.jsonl)"),
        &[],
    );
    assert_caught(&answer, "receipt.jsonl");
    // The writer goes on where it was, so the claim is not in what it leaves.
    project.verified();
    let receipt = project.run_dir().join("receipt.jsonl");
    let text = fs::read_to_string(&receipt).unwrap();
    assert!(!text.contains("success_condition_met"), "{text}");
    fs::write(&receipt, text.replace("blocked_path_modified", "success_condition_met")).unwrap();
    let verdict = project.loopexec(&["verify"]);
    assert_eq!(
        (verdict.exit, &verdict.json["journal"]["receipt"]),
        (Some(13), &"differs".into())
    );
}

#[test]
fn limits_raised_in_the_state_file_stay_what_they_were() {
    let project = Project::new();
    let raise = r#"sed -i 's/"max_iterations": 1/"max_iterations": 99/' $(ls .loopexec/runs/*/state.json)"#;
    let answer = worked(&project, raise, &[]);
    assert_caught(&answer, "state.json");
    let status = project.loopexec(&["status"]);
    assert_eq!(status.json["state"]["max_iterations"], 1);
    project.verified();
}

#[test]
fn a_removed_state_directory_is_named_and_the_record_survives() {
    let project = Project::new();
    let answer = worked(&project, "rm -rf .loopexec", &[]);
    assert_caught(&answer, ".loopexec/");
    assert_eq!(project.events_named("halted").len(), 1);
    project.verified();
}

#[test]
fn a_check_that_removes_or_edits_the_record_is_named_and_the_record_survives() {
    for (check, file) in [
        ("rm -rf .loopexec; exit 1", ".loopexec/"),
        ("rm -rf .loopexec/runs; exit 1", ".loopexec/runs/"),
        ("rm -rf .loopexec/runs/*/journal; exit 1", "/journal"),
        ("echo x >> $(ls .loopexec/runs/*/receipt.jsonl)", "receipt.jsonl"),
        ("rm .loopexec/LOCK; exit 1", "LOCK"),
    ] {
        let project = Project::new();
        let answer = project.loopexec(&["run", "--check", check, "--exec", "touch $OUT/worked"]);
        assert_caught(&answer, file);
        assert!(!project.outside.join("worked").exists(), "{check}");
        assert_eq!(project.events_named("halted").len(), 1);
        project.verified();
    }
}

#[test]
fn commands_over_the_artefact_are_watched_like_the_check() {
    let touch = "echo x >> $(ls .loopexec/runs/*/receipt.jsonl); echo a";
    for command in ["--failures-cmd", "--integrity-cmd"] {
        let project = Project::new();
        let answer = worked(&project, "true", &[command, touch]);
        assert_caught(&answer, "receipt.jsonl");
    }
}

#[test]
fn a_confirming_run_that_edits_the_record_converges_nothing() {
    let project = Project::new();
    // Red before the work, green after it, and meddling when it runs for the third time.
    project.script(
        "check.sh",
        "echo >> $OUT/runs; test $(wc -l < $OUT/runs) -lt 3 || rm .loopexec/LOCK; test -e made",
    );
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "touch made"]);
    assert_caught(&answer, "LOCK");
    assert_eq!(project.events_named("guards_judged").len(), 3);
    project.verified();
}

#[test]
fn a_record_that_was_put_back_lets_no_second_run_in() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    project.script("check.sh", "rm -rf .loopexec; exit 1");
    project.script("work.sh", &format!("touch $OUT/up; {}", sleeper.command()));
    let args = ["run", "--check", "./check.sh", "--exec", "./work.sh"];
    let running = project.start(&[&args[..], &["--guard-off", "state_interference"]].concat());
    project.wait_told("up");
    assert_refused(&project);
    running.signal(rustix::process::Signal::INT);
    let answer = running.end();
    assert_eq!(answer.exit, Some(130), "{answer:?}");
    assert!(
        answer.json["warnings"].to_string().contains("was removed"),
        "{answer:?}"
    );
    project.verified();
}

#[test]
fn a_lock_that_the_work_takes_away_still_turns_a_second_run_away() {
    for take_away in [
        "rm .loopexec/LOCK",
        "rm .loopexec/LOCK; : > .loopexec/LOCK",
        "cp .loopexec/LOCK l; mv l .loopexec/LOCK",
    ] {
        let project = Project::new();
        fifo(&project.outside.join("gate"));
        project.script("work.sh", &format!("{take_away}; touch $OUT/up; read go < $OUT/gate"));
        let running = project.start(&["run", "--check", "exit 1", "--exec", "./work.sh"]);
        project.wait_told("up");
        let refused = assert_refused(&project);
        let run_id = project.run_dir().file_name().unwrap().to_str().unwrap().to_owned();
        let usual = format!("run {run_id} (process {}) is at work in this workdir", running.pid());
        assert!(refused.errors().contains(&usual), "{refused:?}");
        fs::write(project.outside.join("gate"), "go\n").unwrap();
        assert_caught(&running.end(), "LOCK");
        project.verified();
    }
}

/// A second run of this workdir is turned away, and leaves nothing.
fn assert_refused(project: &Project) -> Answer {
    let runs = || fs::read_dir(project.root.join(".loopexec/runs")).unwrap().count();
    let before = runs();
    let second = project.loopexec(&["run", "--check", "true"]);
    assert_eq!(
        (second.exit, second.text("failure_cause"), runs()),
        (Some(30), "locked", before),
        "{second:?}"
    );
    second
}

#[test]
fn a_git_clean_of_everything_is_named_and_the_record_survives() {
    let project = Project::git(&[("kept.txt", "kept\n")]);
    let answer = worked(&project, "git clean -q -ffdx", &[]);
    assert_caught(&answer, ".loopexec/");
    assert_eq!(project.read("kept.txt"), "kept\n");
    project.verified();
}

#[test]
fn a_replaced_journal_directory_is_named() {
    let project = Project::new();
    let swap = "cd .loopexec/runs/* && mv journal elsewhere && cp -r elsewhere journal && rm -rf elsewhere";
    let answer = worked(&project, swap, &[]);
    assert_eq!(answer.exit, Some(13), "{answer:?}");
}

#[test]
fn work_that_removes_its_own_workdir_ends_the_run() {
    let project = Project::new();
    let answer = worked(&project, "rm -rf \"$PWD\"", &["--max-iterations", "5"]);
    assert_eq!(answer.exit, Some(30), "{answer:?}");
    assert!(answer.errors().contains("was removed"), "{answer:?}");
    assert!(!project.root.exists(), "it was made anew");
}

#[test]
fn a_workdir_that_is_removed_from_outside_ends_the_work_that_is_under_way() {
    let (project, sleeper) = (Project::new(), Sleeper::new());
    let args = ["run", "--check", "exit 1", "--exec", sleeper.command()];
    let running = project.start(&args);
    wait_until("the work is up", || sleeper.is_up());
    fs::remove_dir_all(&project.root).unwrap();
    let answer = running.end();
    assert_eq!(answer.exit, Some(30), "{answer:?}");
    let errors = answer.errors();
    assert!(
        errors.contains("was removed") && errors.contains(project.root.to_str().unwrap()),
        "{errors}"
    );
    assert!(!sleeper.is_up());
    assert!(!project.root.exists(), "it was made anew");
}

#[test]
fn a_signing_key_inside_of_the_workdir_is_refused_before_anything_runs() {
    let project = Project::new();
    let key = project.root.join("key");
    let project = project.with_env("LOOPEXEC_KEY", key.to_str().unwrap());
    let answer = worked(&project, "touch $OUT/ran", &[]);
    assert_eq!(answer.exit, Some(30), "{answer:?}");
    assert!(answer.errors().contains("key"), "{answer:?}");
    assert!(!key.exists() && !project.outside.join("ran").exists());
}

#[test]
fn a_home_inside_of_the_workdir_leaves_the_receipt_unsigned_and_says_so() {
    let project = Project::new();
    let home = project.root.join("home");
    let project = project.with_env("HOME", home.to_str().unwrap());
    let project = project.with_env("XDG_CONFIG_HOME", "");
    let answer = worked(&project, "true", &[]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert!(answer.json["warnings"].to_string().contains("not signed"), "{answer:?}");
    assert!(!home.exists());
    assert_eq!(project.verified()["signature"]["state"], "unsigned");
}

#[test]
fn the_key_is_never_in_the_environment_of_a_command() {
    let project = Project::new();
    let key = project.home.join("signing");
    let project = project.with_env("LOOPEXEC_KEY", key.to_str().unwrap());
    let answer = worked(&project, "env > $OUT/env", &[]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert!(fs::metadata(&key).is_ok());
    assert!(!project.told("env").contains("signing"), "{}", project.told("env"));
    assert_eq!(project.verified()["signature"]["state"], "verified");
}

#[test]
fn a_touched_journal_halts_although_the_contract_puts_violations_back() {
    for forge in [
        "printf PASSED | dd of=$(ls .loopexec/runs/*/journal/*.seg) bs=1 seek=4500 conv=notrunc",
        "rm -rf .loopexec",
    ] {
        let project = Project::new();
        let answer = worked(&project, forge, &["--on-violation", "restore:3"]);
        assert_caught(&answer, ".loopexec");
        assert_eq!(answer.json["iteration"], 1, "{forge}: {answer:?}");
    }
    // What can be written anew from the journal is told and left at that.
    let project = Project::new();
    let answer = worked(
        &project,
        "echo >> $(ls .loopexec/runs/*/receipt.jsonl)",
        &["--on-violation", "restore:3"],
    );
    assert_eq!(answer.text("halt_reason"), "max_iterations_reached", "{answer:?}");
}
