//! Output that floods, is no text, or holds what nobody may keep.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{executed, worked};
use crate::support::Project;

fn disk_usage_kib(path: &Path) -> u64 {
    let out = Command::new("du").arg("-sk").arg(path).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_hundred_megabytes_are_counted_and_digested_and_not_kept_in_the_journal() {
    let project = Project::new();
    let answer = worked(&project, "yes 0123456 | head -c 100000000", &[]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let stdout = &executed(&project)["stdout"];
    assert_eq!(stdout["bytes"], 100_000_000);
    let mut hasher = blake3::Hasher::new();
    let block = b"0123456\n".repeat(10_000);
    for _ in 0..1250 {
        hasher.update(&block);
    }
    assert_eq!(stdout["digest"], hasher.finalize().to_hex().as_str());
    assert_eq!(stdout["truncated"], true);
    let journal = disk_usage_kib(&project.run_dir().join("journal"));
    assert!(journal < 8 << 10, "the journal has {journal} KiB");
    let all = disk_usage_kib(&project.root.join(".loopexec"));
    assert!(all < 100_000, "{all} KiB were kept");
    project.verified();
}

#[test]
fn an_endless_printer_is_stopped_at_the_cap_which_is_named() {
    let project = Project::new();
    let capped = [
        "--output-cap",
        "1MiB",
        "--blob-max",
        "1MiB",
        "--on-exec-timeout",
        "halt",
    ];
    let answer = worked(&project, "yes", &capped);
    assert_eq!(
        (answer.exit, answer.text("failure_cause")),
        (Some(40), "output_cap_exceeded"),
        "{answer:?}"
    );
    let run = executed(&project);
    assert_eq!(run["stop"], "output_cap");
    assert!(run["stdout"]["bytes"].as_u64().unwrap() >= 1 << 20);
    let all = disk_usage_kib(&project.root.join(".loopexec"));
    assert!(all < 8 << 10, "{all} KiB were kept");
    project.verified();
}

#[test]
fn bytes_that_are_no_text_pass_through_every_view() {
    let project = Project::new();
    // More than is kept inline, so that head and tail are cut inside of characters.
    let work = "printf 'a\\377\\000b'; i=0; while [ $i -lt 4000 ]; do printf '😀😀😀😀😀😀😀😀😀😀'; i=$((i+1)); done";
    project.script(
        "check.sh",
        "printf '\\377\\000\\033[31m\\r\\n'; printf 'x%.0s' 1 2 3; exit 1",
    );
    project.script("work.sh", work);
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "./work.sh", "--once"]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    assert_eq!(executed(&project)["stdout"]["bytes"], 4 + 4000 * 40);
    project.verified();
    for command in ["status", "report", "explain-halt"] {
        assert_eq!(project.loopexec(&[command]).exit, Some(0), "{command}");
    }
    let context = fs::read(project.run_dir().join("context/feedback.txt")).unwrap();
    assert!(!context.contains(&0) && !context.contains(&0x1b), "{context:?}");
}

#[test]
fn a_folder_may_be_named_anything() {
    let project = Project::named("a \"strange\" näme's $HOME folder");
    project.script("check.sh", "test -e done.txt");
    project.script("work.sh", "cp \"$LOOPEXEC_CONTEXT\" done.txt");
    let answer = project.loopexec(&["run", "--check", "./check.sh", "--exec", "./work.sh"]);
    assert_eq!(
        (answer.exit, &answer.json["iteration"]),
        (Some(10), &1.into()),
        "{answer:?}"
    );
    assert!(project.read("done.txt").contains("check.sh"));
    assert!(Path::new(answer.text("receipt")).exists());
    assert_eq!(answer.stderr, "", "the one object is all that is said");
    project.verified();
}

#[test]
fn a_secret_is_nowhere_in_the_record_however_it_was_printed() {
    let secret = "tok-5f2a91c7d3e8";
    let project = Project::new().with_env("API_TOKEN", secret);
    let work = "echo \"whole $API_TOKEN\"
printf '%.5s' \"$API_TOKEN\"; sleep 0.2; printf '%s\\n' \"${API_TOKEN#?????}\"
echo \"err $API_TOKEN\" >&2
printf %s \"$API_TOKEN\" | base64
head -c 300000 /dev/zero | tr '\\0' x; echo \"late $API_TOKEN\"";
    project.script("check.sh", "echo \"the check says $API_TOKEN\"; exit 1");
    project.script("work.sh", work);
    let args = [
        "run",
        "--check",
        "./check.sh",
        "--exec",
        "./work.sh",
        "--once",
        "--secret",
        "API_TOKEN",
    ];
    let answer = project.loopexec(&args);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    for needle in [secret, "dG9rLTVmMmE5MWM3ZDNlO"] {
        assert_eq!(files_with(&project, needle), "", "{needle}");
    }
    let run = executed(&project);
    assert!(run["stdout"]["masked"].as_u64().unwrap() >= 4, "{run}");
    assert_eq!(run["stderr"]["masked"], 1);
    project.verified();
}

#[test]
fn a_collector_reads_what_was_printed_and_the_record_holds_none_of_its_secrets() {
    // The mask would take away a part of the word that says how a test ended, and one of two members.
    let secrets = ["ok 1 - login with ok", "pin-483920", "pin-555555"];
    let tap = "echo 1..3; echo \"$SECRET_0\"; echo \"not ok 2 - $SECRET_1\"; echo \"ok 3 - $SECRET_2\"";
    for (more, noise) in [
        ("", ""),
        (
            "more than is kept inline",
            "head -c 300000 /dev/zero | tr '\\0' '#'; echo; ",
        ),
    ] {
        let mut project = Project::new();
        for (number, secret) in secrets.iter().enumerate() {
            project = project.with_env(&format!("SECRET_{number}"), secret);
        }
        project.script("check.sh", &format!("{noise}{tap}; exit 1"));
        let args = [
            "run",
            "--check",
            "./check.sh",
            "--exec",
            "true",
            "--once",
            "--collector",
            "tap",
        ];
        let named = ["--secret", "SECRET_0", "--secret", "SECRET_1", "--secret", "SECRET_2"];
        let passed = ["SECRET_0", "SECRET_1", "SECRET_2"]
            .map(|name| ["--check-env", name])
            .concat();
        let answer = project.loopexec(&[&args[..], &named, &passed].concat());
        assert_eq!(answer.exit, Some(12), "{more} {answer:?}");
        let check = &project.events_named("check_ended")[0];
        let mut members: Vec<(&str, &str)> = check["measurement"]["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| (change["id"].as_str().unwrap(), change["status"].as_str().unwrap()))
            .collect();
        members.sort_unstable();
        assert_eq!(
            members,
            [("***", "failed"), ("***#2", "passed"), ("login with ok", "passed")],
            "{more} {check}"
        );
        for secret in secrets {
            assert_eq!(files_with(&project, secret), "", "{more} {secret}");
        }
        project.verified();
    }
}

#[test]
fn commands_over_the_artefact_read_what_was_printed() {
    let project = Project::new().with_env("PIN", "pin-483920");
    let args = [
        "run",
        "--check",
        "echo \"open $PIN\"; echo \"err $PIN\" >&2; exit 1",
        "--exec",
        "true",
        "--once",
    ];
    let reads =
        "test \"$(cat)\" = \"open $PIN\" && test \"$(cat $LOOPEXEC_CHECK_STDERR)\" = \"err $PIN\" && echo \"a-$PIN\"";
    let named = [
        "--secret",
        "PIN",
        "--check-env",
        "PIN",
        "--failures-cmd",
        reads,
        "--integrity-cmd",
        reads,
    ];
    let answer = project.loopexec(&[&args[..], &named].concat());
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let check = &project.events_named("check_ended")[0]["measurement"];
    assert_eq!(
        (&check["changes"][0]["id"], &check["integrity"]["added"][0]),
        (&"a-***".into(), &"a-***".into()),
        "{check}"
    );
    assert_eq!(files_with(&project, "pin-483920"), "");
}

/// Files of the state directory in which this stands.
fn files_with(project: &Project, needle: &str) -> String {
    let mut grep = Command::new("grep");
    let found = grep
        .args(["-rlaF", needle])
        .arg(project.root.join(".loopexec"))
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn file_names_that_are_no_text_are_recorded_and_come_through_every_view() {
    let project = Project::git(&[("a.txt", "a\n")]);
    let work = "touch -- \"$(printf 'bad\\377name')\" \"$(printf 'two\\nlines')\" ' lead' '-rf' '*' '\"quoted\"' 'ünï'; mkdir 'd d'; touch 'd d/x'";
    let answer = worked(&project, work, &[]);
    assert_eq!(answer.exit, Some(12), "{answer:?}");
    let seen = project.events_named("tree_observed");
    let after = seen.iter().find(|event| event["purpose"] == "after_exec").unwrap();
    assert_eq!(after["seen"]["changes_total"], 8, "{after}");
    for command in ["status", "report", "ratchet", "explain-halt"] {
        assert_eq!(project.loopexec(&[command]).exit, Some(0), "{command}");
    }
    let exported = project.loopexec(&["ratchet", "export", "--branch", "names"]);
    assert_eq!(exported.exit, Some(0), "{exported:?}");
    let listed = project.run_git(&["ls-tree", "-r", "--name-only", "names"]);
    assert!(
        listed.contains(r#""bad\377name""#) && listed.contains(r#""two\nlines""#),
        "{listed}"
    );
    project.verified();
}
