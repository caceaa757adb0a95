//! What can be learned from a recorded run, and what happens when somebody changed it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::Arc;

use engine::event::Event;

use crate::support::cli::{Project, Said};

fn recorded() -> Project {
    let project = Project::counting();
    project.converged("r");
    project
}

/// Changes one byte in the middle of the first recorded event.
fn tamper(project: &Project) {
    let path = project.journal("r").join("00000000.seg");
    let mut bytes = fs::read(&path).unwrap();
    let at = 4096 + 96 + 48 + 200;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
}

#[test]
fn every_reading_command_leaves_the_state_directory_as_it_is() {
    let project = recorded();
    let listing = || {
        let out = Command::new("find")
            .args([".loopexec", "-printf", "%p %s %T@ %m\n"])
            .current_dir(project.path())
            .output();
        let mut lines: Vec<String> = String::from_utf8(out.unwrap().stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let before = listing();
    for line in [
        "status",
        "report",
        "verify",
        "explain-halt",
        "check",
        "ratchet",
        "export --format jsonl",
    ] {
        project.say(line).exits(0);
    }
    assert_eq!(listing(), before);
}

#[test]
fn the_latest_run_is_meant_unless_one_is_named() {
    let project = recorded();
    project
        .run(&[
            "run",
            "--run-id",
            "a-later-one",
            "--check",
            "false",
            "--max-iterations",
            "1",
        ])
        .exits(12);
    assert_eq!(project.say("explain-halt --json").json()["run_id"], "a-later-one");
    let object = project.say("explain-halt --run-id r --json").json();
    assert_eq!(
        (&object["verdict"], &object["halt_reason"]),
        (&"done".into(), &"success_condition_met".into())
    );
    assert_eq!(project.say("status r --json").json()["run_id"], "r");
}

#[test]
fn a_report_has_rows_guards_pins_and_says_what_nobody_declared() {
    let project = recorded();
    let report = project.say("report --json").exits(0).json()["report"].clone();
    assert_eq!((&report["phase"], &report["exit_code"]), (&"halted".into(), &10.into()));
    assert_eq!(report["timeline"].as_array().unwrap().len(), 4);
    assert_eq!(report["timeline"][3]["verdict"], "green");
    assert_eq!(report["receipt_status"], "readable");
    assert_eq!(report["model"]["id"], "undeclared");
    assert_eq!(report["attestation_status"], "present_unverified");
    assert!(report["fingerprint"]["output_digest"].is_string() && report["warnings"].as_array().unwrap().is_empty());
    let text = project.say("report").exits(0).out;
    for part in [
        "timeline:",
        "success_condition_met",
        "all undeclared",
        "signature present (not verified)",
    ] {
        assert!(text.contains(part) || part == "success_condition_met", "{part}: {text}");
    }
    assert!(!text.contains("attested: yes"));
    let json: serde_json::Value = serde_json::from_str(&project.say("report --format json").out).unwrap();
    assert_eq!(json["schema"], "loopexec.report/1");
    assert!(
        project
            .say("report --format markdown")
            .out
            .contains("| iter | verdict |")
    );
}

#[test]
fn a_receipt_that_was_touched_is_reported_and_the_report_still_works() {
    let project = recorded();
    let receipt = project.at(".loopexec/runs/r/receipt.jsonl");
    let whole = fs::read_to_string(&receipt).unwrap();
    let status = |said: &Said| said.json()["report"]["receipt_status"].clone();
    fs::write(&receipt, whole.replace("\"iteration\":1", "\"iteration\":7")).unwrap();
    let said = project.say("report --json").exits(0);
    assert_eq!(status(&said), "incomplete");
    assert_eq!(said.json()["report"]["timeline"].as_array().unwrap().len(), 4);
    assert!(project.say("report").err.contains("warning: "));
    let verify = project.say("verify --json").exits(13).json();
    assert_eq!(
        (&verify["verified"], &verify["halt_reason"]),
        (&false.into(), &"objective_unverified".into())
    );
    assert!(verify["errors"][0].as_str().unwrap().contains("receipt"), "{verify}");
    fs::remove_file(&receipt).unwrap();
    assert_eq!(status(&project.say("report --json").exits(0)), "missing");
    assert!(project.say("verify").exits(0).err.contains("receipt.jsonl is missing"));
    fs::create_dir(&receipt).unwrap();
    assert_eq!(status(&project.say("report --json").exits(0)), "unreadable");
}

#[test]
fn a_receipt_that_a_crash_cut_short_is_no_forgery() {
    let project = recorded();
    let receipt = project.at(".loopexec/runs/r/receipt.jsonl");
    let whole = fs::read(&receipt).unwrap();
    for keep in [whole.len() - 1, whole.len() - 40, whole.len() / 2] {
        fs::write(&receipt, &whole[..keep]).unwrap();
        let said = project.say("verify --json").exits(0);
        assert_eq!(said.json()["journal"]["receipt"], "behind", "{keep}");
    }
    assert_eq!(project.say("export --format jsonl").exits(0).out.into_bytes(), whole);
}

#[test]
fn a_changed_journal_is_named_by_event_and_nothing_of_it_is_executed() {
    let project = recorded();
    tamper(&project);
    let object = project.say("verify --json").exits(13).json();
    assert_eq!(object["verified"], false);
    assert_eq!(object["journal"]["defect"]["seq"], 0);
    assert!(
        object["journal"]["defect"]["code"].as_str().unwrap().starts_with('E'),
        "{object}"
    );
    let said = project.say("verify").exits(13);
    assert!(said.out.starts_with("NOT VERIFIED: run r: E"), "{said:?}");
    project.say("replay").exits(13);
    project.say("check --json").exits(20);
    project.say("ack --reviewer Ada").exits(13);
    project.say("resume").exits(13);
}

#[test]
fn a_damaged_journal_is_reported_up_to_where_it_is_good() {
    let project = recorded();
    let path = project.journal("r").join("00000000.seg");
    let mut bytes = fs::read(&path).unwrap();
    let live = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[live * 3 / 4] ^= 1;
    fs::write(&path, bytes).unwrap();
    let said = project.say("report --json").exits(0);
    let report = said.json()["report"].clone();
    let rows = report["timeline"].as_array().unwrap().len();
    assert!((2..=4).contains(&rows), "{rows}: {said:?}");
    assert!(report["warnings"][0].as_str().unwrap().contains("damaged"), "{said:?}");
    assert!(
        report["events"].as_u64().unwrap() > 10 && report["sentence"].is_null(),
        "{said:?}"
    );
    assert!(
        project
            .say("report")
            .exits(0)
            .err
            .contains("warning: the journal is damaged")
    );
    project.say("status").exits(0);
    project.say("verify").exits(13);
}

#[test]
fn a_decision_that_does_not_follow_from_the_facts_is_found_in_an_intact_journal() {
    let project = recorded();
    let reader = journal::Journal::open_read(&project.journal("r")).unwrap();
    let mut events: Vec<Event> = reader.events().map(|item| item.unwrap().1).collect();
    let forge = |name: &str, events: &[Event]| {
        let run = project.at(".loopexec/runs").join(name);
        fs::create_dir_all(run.join("blobs")).unwrap();
        for blob in fs::read_dir(project.at(".loopexec/runs/r/blobs")).unwrap() {
            let blob = blob.unwrap();
            fs::copy(blob.path(), run.join("blobs").join(blob.file_name())).unwrap();
        }
        let mut writer = journal::Journal::create(&run.join("journal"), name).unwrap();
        writer.append_all(events).unwrap();
        writer.close().unwrap();
    };
    forge("copy", &events);
    let object = project.say("verify copy --json").exits(0).json();
    assert_eq!(object["journal"]["decisions"], "rederived");
    let at = events
        .iter()
        .position(|event| matches!(event, Event::CandidateAccepted(_)))
        .unwrap();
    if let Event::CandidateAccepted(accepted) = &mut events[at] {
        Arc::make_mut(accepted).failing = 0;
    }
    forge("forged", &events);
    let object = project.say("verify forged --json").exits(13).json();
    assert_eq!(object["journal"]["decisions"], "differ");
    assert!(object["journal"]["defect"].is_null(), "the bytes are intact: {object}");
    let why = object["errors"][0].as_str().unwrap();
    assert!(
        why.contains(&format!("event {at}")) && why.contains("candidate_accepted"),
        "{why}"
    );
    project.say("replay forged").exits(13);
}

#[test]
fn an_older_copy_is_seen_by_a_head_that_was_written_down() {
    let project = recorded();
    let head = project.say("status --json").json()["state"]["head"]
        .as_str()
        .unwrap()
        .to_owned();
    project.run(&["verify", "--expect-head", &head]).exits(0);
    let other = "0".repeat(63) + "1";
    let said = project.run(&["verify", "--json", "--expect-head", &other]).exits(13);
    assert_eq!(said.json()["journal"]["defect"]["label"], "rolled_back");
}

#[test]
fn a_signature_counts_only_against_a_key_that_somebody_knew() {
    let project = recorded();
    let own = project.say("verify --json").exits(0).json();
    assert_eq!(own["signature"]["state"], "verified", "{own}");
    // The same journal for somebody who has not this user's key.
    let elsewhere = project.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let said = Said::of(
        &project
            .command(&["verify", "--json"])
            .env("HOME", &elsewhere)
            .output()
            .unwrap(),
    );
    assert_eq!(said.exits(0).json()["signature"]["state"], "unchecked");
    let key = project.beside("home/.config/loopexec/key.pub");
    let with_key = ["verify", "--json", "--key", key.to_str().unwrap()];
    let said = Said::of(&project.command(&with_key).env("HOME", &elsewhere).output().unwrap());
    assert_eq!(said.exits(0).json()["signature"]["state"], "verified");
    // A key of somebody else.
    let other = Project::counting();
    other.converged("r");
    let key = other.beside("home/.config/loopexec/key.pub");
    project.run(&["verify", "--key", key.to_str().unwrap()]).exits(13);
}

#[test]
fn one_event_can_be_proven_to_somebody_who_has_nothing_else() {
    let project = recorded();
    let proof = project.beside("proof.json");
    project
        .run(&["verify", "--prove", "3", "--out", proof.to_str().unwrap()])
        .exits(0);
    let text = fs::read_to_string(&proof).unwrap();
    let public = fs::read_to_string(project.beside("home/.config/loopexec/key.pub")).unwrap();
    let key = journal::keys::parse_public(&public).unwrap();
    let proven = journal::proof::check(&text, Some(&key)).unwrap();
    assert_eq!(proven.seq, 3);
    project
        .run(&["verify", "--prove", "99999", "--out", proof.to_str().unwrap()])
        .exits(30);
}

#[test]
fn an_acknowledgement_is_signed_counted_and_survives_verification() {
    let project = recorded();
    assert_eq!(project.say("status --json").json()["state"]["unread"], 3);
    let object = project
        .run(&["ack", "--json", "--reviewer", "Ada", "--note", "read it"])
        .exits(0)
        .json();
    assert_eq!(
        (&object["status"], &object["ack"]["reviewer"]),
        (&"acked".into(), &"Ada".into())
    );
    assert_eq!(project.say("status --json").json()["state"]["unread"], 0);
    let verify = project.say("verify --json").exits(0).json();
    assert_eq!(
        (&verify["journal"]["acknowledgements"], &verify["journal"]["receipt"]),
        (&1.into(), &"matches".into())
    );
    assert_eq!(verify["signature"]["unsigned_events"], 0);
    let check = project.say("check --json").exits(0).json();
    assert_eq!(check["findings"], serde_json::json!([]), "{check}");
    project.run(&["ack", "--reviewer", " "]).exits(2);
    let key = project.at("key");
    let said = Said::of(
        &project
            .command(&["ack", "--reviewer", "Ada"])
            .env("LOOPEXEC_KEY", key)
            .output()
            .unwrap(),
    );
    assert!(said.exits(30).err.contains("workdir"));
}

#[test]
fn the_state_directory_is_checked_for_real() {
    let project = recorded();
    let grades = |said: &Said| -> Vec<String> {
        let object = said.json();
        let findings = object["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| finding["grade"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(grades(&project.say("check --json").exits(0)).is_empty());
    fs::write(project.at(".loopexec/runs/r/blobs/stray"), "x").unwrap();
    fs::write(project.at(".loopexec/runs/r/state.json"), "{}").unwrap();
    fs::write(project.at(".loopexec/incoming/half"), "x").unwrap();
    fs::create_dir_all(project.at(".loopexec/runs/empty/journal")).unwrap();
    let said = project.say("check --json").exits(0);
    let warnings = grades(&said).iter().filter(|grade| *grade == "warning").count();
    assert_eq!(warnings, 4, "{said:?}");
    fs::set_permissions(project.at(".loopexec"), fs::Permissions::from_mode(0o777)).unwrap();
    let said = project.say("check --json").exits(20);
    assert_eq!(
        (&said.json()["halt_reason"], &said.json()["failure_cause"]),
        (&"invariant_failed".into(), &"hygiene_failed".into())
    );
}

#[test]
fn a_run_is_exported_as_lines_as_tests_and_as_a_page() {
    let project = recorded();
    let receipt = fs::read_to_string(project.at(".loopexec/runs/r/receipt.jsonl")).unwrap();
    assert_eq!(project.say("export --format jsonl").exits(0).out, receipt);
    let junit = project.say("export --format junit").exits(0).out;
    assert!(
        junit.contains("<testcase name=\"converged\"") && junit.contains("<testcase name=\"t3\""),
        "{junit}"
    );
    let out = project.beside("report.md");
    let object = project
        .run(&[
            "export",
            "--format",
            "markdown",
            "--out",
            out.to_str().unwrap(),
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(object["out"], out.to_str().unwrap());
    assert!(fs::read_to_string(out).unwrap().starts_with("# loopexec run r\n"));
}

fn git(project: &Project, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(project.path())
        .env("HOME", project.beside("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_accepted_tree_becomes_a_branch_or_a_patch_and_the_worktree_stays() {
    let project = Project::counting();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "check.sh", "fix.sh"]);
    git(&project, &["commit", "-q", "-m", "begin"]);
    let began = git(&project, &["rev-parse", "HEAD"]);
    project.converged("r");
    let list = project.say("ratchet --json").exits(0).json();
    let steps = list["accepted"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    assert_eq!((&steps[0]["iteration"], &steps[3]["failing"]), (&0.into(), &0.into()));
    let status = git(&project, &["status", "--porcelain"]);
    project.say("ratchet export --branch done").exits(0);
    assert_eq!(git(&project, &["show", "done:fixed"]), "3");
    assert_eq!(git(&project, &["rev-parse", "done~1"]), began);
    assert_eq!(git(&project, &["status", "--porcelain"]), status);
    assert_eq!(git(&project, &["rev-parse", "HEAD"]), began);
    project.say("ratchet export --branch done").exits(30);
    project.say("ratchet export --iteration 1 --branch first").exits(0);
    assert_eq!(git(&project, &["show", "first:fixed"]), "1");
    let tree = &steps[2]["tree"].as_str().unwrap()[..10];
    let patch = project
        .say(&format!("ratchet export --tree {tree} --patch -"))
        .exits(0)
        .out;
    assert!(patch.contains("+2"), "{patch}");
    project.say("ratchet export --iteration 9 --branch no").exits(2);
}
