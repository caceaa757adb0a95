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
        let found = Command::new("grep")
            .args(["-rla", needle])
            .arg(project.root.join(".loopexec"))
            .output()
            .unwrap();
        assert!(
            found.stdout.is_empty(),
            "{needle} is in {}",
            String::from_utf8_lossy(&found.stdout)
        );
    }
    let run = executed(&project);
    assert!(run["stdout"]["masked"].as_u64().unwrap() >= 4, "{run}");
    assert_eq!(run["stderr"]["masked"], 1);
    project.verified();
}
