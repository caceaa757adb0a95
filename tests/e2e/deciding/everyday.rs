//! The first things that anybody tries, and what a run looks like to a program.

use crate::support::schema;
use crate::support::story::Project;

#[test]
fn explain_halt_tells_the_same_as_the_run_for_every_end() {
    let ends: &[(&str, &str, &[&str])] = &[
        ("echo yes > src/ok", "grep -q yes src/ok", &[]),
        ("true", "false", &["--max-iterations", "2", "--no-progress-k", "off"]),
        ("true", "false", &[]),
        ("exit 3", "false", &[]),
        ("true", "exit 127", &[]),
        ("echo x > .git/config", "false", &[]),
        ("true", "true", &["--require-red"]),
    ];
    for (exec, check, more) in ends {
        let project = Project::committed(&[("src/ok", "")]);
        let ran = project.run(exec, check, more);
        let told = project.json(&["explain-halt"]);
        assert_eq!(told.exit, 0, "{}", told.all());
        for member in ["run_id", "halt_reason", "failure_cause", "iteration", "advice"] {
            assert_eq!(
                told.json[member],
                ran.json[member],
                "{member} of {exec}: {}\n{}",
                told.all(),
                ran.all()
            );
        }
        for command in ["status", "report"] {
            let said = project.json(&[command]);
            assert_eq!(
                (said.exit, said.reason()),
                (0, ran.reason()),
                "{command}: {}",
                said.all()
            );
        }
    }
}

#[test]
fn everyday_one_line_checks_converge() {
    let cases: &[(&str, &str)] = &[
        ("touch done.txt", "test -f done.txt"),
        ("echo ok > status.txt", "grep -q ok status.txt"),
        ("echo ok > status.txt", "test \"$(cat status.txt)\" = ok"),
        (
            "echo ok > status.txt",
            "[ \"$(cat < status.txt)\" = ok ] && test -s status.txt",
        ),
        ("rm status.txt", "! test -e status.txt"),
        ("mkdir out && echo 1 > out/a", "ls out | wc -l | grep -qx 1"),
        ("sed -i s/TODO/DONE/ status.txt", "! grep -rq TODO status.txt"),
        ("echo 'def f(): return 1' > app.py", "python3 -m py_compile app.py"),
    ];
    for (exec, check) in cases {
        let project = Project::committed(&[("status.txt", "TODO\n"), ("app.py", "def f(:\n")]);
        let said = project.run(exec, check, &[]);
        assert_eq!((said.exit, said.iteration()), (10, 1), "{check}: {}", said.all());
    }
}

#[test]
fn a_project_without_a_repository_converges_too() {
    let project = Project::new();
    project.write("status.txt", "");
    project
        .run("echo ok > status.txt", "grep -q ok status.txt", &[])
        .converged(1);
}

#[test]
fn a_directory_with_an_odd_name_is_a_project_like_any_other() {
    let project = Project::new();
    let odd = "it's a \"größe\" $HOME;";
    project.write(&format!("{odd}/status.txt"), "");
    let said = project.json(&[
        "run",
        "--workdir",
        odd,
        "--exec",
        "echo ok > status.txt",
        "--check",
        "grep -q ok status.txt",
    ]);
    said.converged(1);
    let next = said.json["advice"]["next"].as_str().unwrap();
    let words = std::process::Command::new("sh")
        .args(["-c", &format!("set -- {next}; echo \"$5\"")])
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&words.stdout).contains("größe"),
        "not one word for a shell: {next}"
    );
    assert_eq!(project.json(&["verify", "--workdir", odd]).exit, 0);
}

#[test]
fn a_stream_of_events_begins_with_its_schema_and_ends_with_the_result() {
    let project = Project::committed(&[("status.txt", "")]);
    let args = [
        "run",
        "--events",
        "--exec",
        "echo ok > status.txt",
        "--check",
        "grep -q ok status.txt",
    ];
    let said = project.text(&args);
    assert_eq!(said.exit, 10, "{}", said.all());
    let lines = schema::stream(&said.stdout);
    assert!(
        lines[0]["schema"].is_string() && lines[0]["version"].is_string(),
        "{}",
        lines[0]
    );
    assert_eq!(lines.last().unwrap()["halt_reason"], "success_condition_met");
    assert!(lines.len() > 10);
}

#[test]
fn a_run_id_that_leaves_its_directory_is_refused_everywhere() {
    let project = Project::committed(&[("status.txt", "")]);
    for command in ["run", "replay", "report", "verify", "status", "explain-halt"] {
        let mut args = vec![command, "--run-id", "../evil"];
        if command == "run" {
            args.extend(["--check", "true"]);
        }
        let said = project.json(&args);
        assert!(said.exit == 30 || said.exit == 2, "{command}: {}", said.all());
        assert!(
            said.stdout.contains("run-id") || said.stdout.contains("run id"),
            "{command}: {}",
            said.all()
        );
    }
    let fresh = project.json(&["replay"]);
    assert_eq!(fresh.exit, 30, "{}", fresh.all());
    assert!(
        fresh.stdout.contains("no recorded run state") || fresh.stdout.contains("no run"),
        "{}",
        fresh.all()
    );
    assert!(!project.outside("work/evil").exists() && !project.dir().join(".loopexec/evil").exists());
}

#[test]
fn a_used_run_id_is_refused_and_its_record_stays() {
    let project = Project::committed(&[("status.txt", "")]);
    project.run("true", "true", &["--run-id", "mine"]).converged(0);
    let before = project.read(".loopexec/runs/mine/receipt.jsonl");
    let again = project.run("true", "true", &["--run-id", "mine"]);
    assert_eq!(
        (again.exit, again.reason(), again.cause()),
        (30, "workspace_invalid", "run_id_used"),
        "{}",
        again.all()
    );
    assert_eq!(project.read(".loopexec/runs/mine/receipt.jsonl"), before);
}
