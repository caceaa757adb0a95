//! Commands that only read, on a file system that nobody can write to (SPEC 2.1.6).

use std::process::Command;

use crate::support::cli::{LOOPEXEC, Project, Said};

/// Ways to a private mount namespace: as root, and as a user who may have namespaces.
const NAMESPACES: &[&[&str]] = &[&["unshare", "-m"], &["unshare", "-r", "-m"]];

/// Makes its first argument read-only, proves it, and becomes the rest.
const SEALED: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" || exit 97
cd \"$1\" || exit 97
if touch probe 2> /dev/null; then exit 97; fi
shift
exec \"$@\"";

fn sealed(project: &Project, namespace: &[&str], words: &[&str]) -> Said {
    let mut command = Command::new(namespace[0]);
    command
        .args(&namespace[1..])
        .args(["sh", "-c", SEALED, "sh"])
        .arg(project.path());
    let clean = project.command(words);
    for (name, value) in clean.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    Said::of(&command.args(words).output().unwrap())
}

/// The first way that works here.
fn namespace(project: &Project) -> Option<&'static [&'static str]> {
    let works = |namespace: &&&[&str]| {
        let tried = Command::new(namespace[0]).args(&namespace[1..]).arg("true").output();
        tried.is_ok_and(|out| out.status.success()) && sealed(project, namespace, &["true"]).code == 0
    };
    let found = NAMESPACES.iter().find(works).copied();
    if found.is_none() {
        eprintln!("skipped: nothing can be mounted read-only here");
    }
    found
}

#[test]
fn reading_commands_work_on_a_read_only_file_system() {
    let project = Project::counting();
    project.converged("a");
    let capped = [
        "run",
        "--check",
        "false",
        "--exec",
        "true",
        "--max-iterations",
        "1",
        "--run-id",
        "b",
    ];
    project.run(&capped).exits(12);
    let Some(namespace) = namespace(&project) else { return };
    for line in [
        "status",
        "status a",
        "status --follow",
        "report a",
        "report b --format markdown",
        "verify a",
        "verify b",
        "explain-halt",
        "explain-halt a",
        "check",
        "ratchet a",
        "export a --format jsonl",
        "export a --format junit",
    ] {
        let words: Vec<&str> = [LOOPEXEC].into_iter().chain(line.split(' ')).collect();
        let said = sealed(&project, namespace, &words);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{line}: {said:?}");
        let json = sealed(&project, namespace, &[words.as_slice(), &["--json"]].concat()).json();
        assert_eq!(json["errors"], serde_json::json!([]), "{line}");
    }
    // What has to write says so in one sentence.
    let said = sealed(
        &project,
        namespace,
        &[LOOPEXEC, "resume", "b", "--max-iterations", "2", "--json"],
    );
    assert_eq!(said.code, 30, "{said:?}");
    assert!(
        said.json()["errors"][0].as_str().unwrap().contains("Read-only"),
        "{said:?}"
    );
}
