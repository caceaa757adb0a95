//! `check` on the workspace around the record (SPEC 10.2.8): what it finds, how grave that is, and that it mends nothing.

use crate::support::story::{Project, Said};

/// Grade and subject of each finding, the subject from the workdir on.
fn findings(project: &Project, exit: i32) -> Vec<(String, String)> {
    let said: Said = project.json(&["check"]);
    assert_eq!(said.exit, exit, "{}", said.all());
    let dir = format!("{}/", project.dir().canonicalize().unwrap().display());
    let findings = said.json["findings"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().replace(&dir, "");
    findings
        .map(|finding| (text(&finding["grade"]), text(&finding["subject"])))
        .collect()
}

fn found(grade: &str, subject: &str) -> Vec<(String, String)> {
    vec![(grade.to_owned(), subject.to_owned())]
}

#[test]
fn a_record_that_git_tracks_or_would_take_in_is_found() {
    let project = Project::committed(&[("src/ok", "")]);
    assert_eq!(findings(&project, 0), []);
    project
        .run("echo yes > src/ok", "grep -q yes src/ok", &["--fast"])
        .converged(1);
    assert_eq!(findings(&project, 0), []);

    std::fs::remove_file(project.dir().join(".loopexec/.gitignore")).unwrap();
    assert_eq!(findings(&project, 0), found("warning", ".loopexec/.gitignore"));
    project.write(".loopexec/.gitignore", "*\n");

    assert!(project.git(&["add", "-f", ".loopexec/runs"]).status.success());
    assert_eq!(findings(&project, 20), found("broken", ".loopexec"));
    let said = project.json(&["check"]);
    assert_eq!((said.reason(), said.cause()), ("invariant_failed", "hygiene_failed"));
    let error = said.json["errors"][0].as_str().unwrap();
    assert!(error.contains("git rm -r --cached .loopexec"), "{error}");
    assert!(project.git(&["rm", "-rq", "--cached", ".loopexec"]).status.success());
    assert_eq!(findings(&project, 0), [], "what it says to do mends it");
}

#[test]
fn what_keeps_a_run_from_working_here_is_found_before_there_is_any_record() {
    let project = Project::committed(&[("src/ok", "")]);
    project.write("loopexec.toml", "[bounds]\nmax_iteration = 3\n");
    assert_eq!(findings(&project, 20), found("broken", "loopexec.toml"));
    std::fs::remove_file(project.dir().join("loopexec.toml")).unwrap();

    for name in ["MERGE_HEAD", "rebase-merge", "index.lock"] {
        let path = format!(".git/{name}");
        project.write(&path, "");
        assert_eq!(findings(&project, 0), found("warning", &path));
        std::fs::remove_file(project.dir().join(&path)).unwrap();
    }
    std::fs::remove_dir_all(project.dir().join(".git")).unwrap();
    project.write(".git", "gitdir");
    assert_eq!(findings(&project, 0).len(), 1, "a repository that leads nowhere");
    assert!(!project.dir().join(".loopexec").exists(), "it makes nothing");
}
