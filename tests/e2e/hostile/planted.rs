//! Fifos, links and second names where the governor reads and writes (SPEC 8.6.1). Whoever waited at one would wait for
//! ever: `timeout` makes that a failure.

use std::fs;

use crate::support::{Answer, Project};

const GUARD: [&str; 2] = ["timeout", "120"];

fn guarded(project: &Project, args: &[&str]) -> Answer {
    project.start_under(&GUARD, args).end()
}

/// Two iterations: the first plants, the second makes the check pass.
fn planted(project: &Project, plant: &str, check: &str, more: &[&str]) -> Answer {
    project.script(
        "work.sh",
        &format!("if [ $LOOPEXEC_ITERATION = 1 ]; then {plant}; else touch done.txt; fi"),
    );
    let run = ["run", "--check", check, "--exec", "./work.sh", "--max-iterations", "4"];
    guarded(project, &[&run, more].concat())
}

#[test]
fn a_fifo_in_place_of_the_question_or_the_context_stops_nobody() {
    let project = Project::new();
    let plant = r#"mkfifo "$LOOPEXEC_ASK"
        for file in "$LOOPEXEC_CONTEXT" "$LOOPEXEC_FEEDBACK" "$LOOPEXEC_REQUEST"; do rm "$file"; mkfifo "$file"; done"#;
    let answer = planted(&project, plant, "test -e done.txt", &[]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    project.verified();
}

#[test]
fn a_second_name_or_a_link_in_place_of_the_context_leads_to_nobodys_file() {
    let project = Project::new();
    let (name, link) = (project.outside.join("by-name"), project.outside.join("by-link"));
    for precious in [&name, &link] {
        fs::write(precious, "the user's own\n").unwrap();
    }
    let plant = r#"ln -f "$OUT/by-name" "$LOOPEXEC_FEEDBACK"; ln -sf "$OUT/by-link" "$LOOPEXEC_REQUEST""#;
    let answer = planted(&project, plant, "echo red; test -e done.txt", &[]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    for precious in [&name, &link] {
        assert_eq!(fs::read_to_string(precious).unwrap(), "the user's own\n");
    }
}

#[test]
fn a_fifo_or_an_endless_file_in_place_of_the_report_is_no_report() {
    for plant in ["mkfifo report.xml", "ln -s /dev/zero report.xml"] {
        let project = Project::new();
        project.write(".gitignore", "report.xml\n");
        let more = [
            "--collector",
            "junit",
            "--report",
            "report.xml",
            "--no-progress-k",
            "off",
        ];
        let answer = planted(&project, plant, "test -e done.txt", &more);
        assert_ne!(answer.exit, Some(124), "it waited at: {plant}");
        assert_ne!(answer.exit, Some(10), "green without a report: {plant}");
        assert!(!answer.text("halt_reason").is_empty(), "{answer:?}");
        project.verified();
    }
}

#[test]
fn a_fifo_in_place_of_a_file_that_git_reads_stops_nobody() {
    let project = Project::git(&[]);
    let plant = "rm .git/HEAD; mkfifo .git/HEAD; mkfifo .git/packed-refs; mkfifo .gitignore; mkfifo package.json";
    let answer = planted(&project, plant, "test -e done.txt", &[]);
    assert_ne!(answer.exit, Some(124), "{answer:?}");
    assert_ne!(answer.exit, Some(10), "{answer:?}");
    project.verified();
}

#[test]
fn a_fifo_in_the_record_is_named_by_every_command_that_reads_it() {
    let project = Project::new();
    let answer = planted(&project, "true", "test -e done.txt", &[]);
    assert_eq!(answer.exit, Some(10), "{answer:?}");
    let segment = project.segment();
    for file in [
        segment,
        project.run_dir().join("receipt.jsonl"),
        project.run_dir().join("state.json"),
    ] {
        let kept = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for command in ["status", "verify", "report", "check", "explain-halt", "export"] {
            let answer = guarded(&project, &[command]);
            assert_ne!(answer.exit, Some(124), "{command} waited at {}", file.display());
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, kept).unwrap();
    }
}
