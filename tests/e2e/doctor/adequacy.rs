//! Whether a check can turn red, shown by projects whose tests notice a change and by others (SPEC 6.6).

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{doctor, of};
use crate::support::cli::{Live, Project, Said, wait_until};
use crate::support::story::python_with_pytest;

const PRODUCT: &str = "def price(count):\n    if count > 10:\n        return count * 9\n    return count * 10\n";
const STRICT: &str = "from shop import price\n\ndef test_few():\n    assert price(2) == 20\n\ndef test_many():\n    assert price(11) == 99\n\ndef test_edge():\n    assert price(10) == 100\n";
const LOOSE: &str = "from shop import price\n\ndef test_few():\n    assert price(2)\n";

/// A project with this suite, and the check that runs it.
fn shop(suite: &str) -> Option<(Project, String)> {
    let python = python_with_pytest()?;
    let project = Project::new();
    project.file("shop.py", PRODUCT).file("test_shop.py", suite);
    Some((project, format!("{python} -m pytest -q -p no:cacheprovider")))
}

fn git(project: &Project, args: &[&str]) {
    let out = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(args)
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// A repository whose last commit lacks what `product` changed.
fn committed(project: &Project, product: &str) {
    git(project, &["init", "-q"]);
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", "start"]);
    project.file("shop.py", product);
}

fn problem(object: &Value) -> [String; 4] {
    let found = of(object, "adequacy")
        .into_iter()
        .find(|finding| finding[0] == "problem");
    found.unwrap_or_else(|| panic!("no problem in {object}"))
}

fn mutated(project: &Project, check: &str, mutate: &str) -> Said {
    doctor(project, &["--check", check, "--mutate-cmd", mutate])
}

#[test]
fn a_mutation_that_the_check_does_not_notice_is_inadequate() {
    let mutate = "sed -i 's/count . 9/count * 8/' shop.py";
    let Some((project, check)) = shop(STRICT) else { return };
    let object = mutated(&project, &check, mutate).exits(0).json();
    let adequacy = &object["doctor"]["adequacy"];
    assert_eq!((&adequacy["control"], &adequacy["tests"]), (&"green".into(), &3.into()));
    assert_eq!(adequacy["operator"], "killed");
    let Some((project, check)) = shop(LOOSE) else { return };
    let object = mutated(&project, &check, mutate).exits(15).json();
    assert_eq!(object["failure_cause"], "code_mutant_survived");
    assert_eq!(object["doctor"]["adequacy"]["operator"], "survived");
    assert_eq!(problem(&object)[1], mutate);
}

#[test]
fn a_red_control_is_untested_and_no_mutation_is_run() {
    let project = Project::new();
    let told = project.beside("home/told");
    let mutate = format!("touch {}", told.display());
    let object = mutated(&project, "exit 3", &mutate).exits(0).json();
    assert_eq!(object["doctor"]["adequacy"]["control"], "untested");
    assert_eq!(object["doctor"]["adequacy"]["operator"], Value::Null);
    assert!(of(&object, "adequacy")[0][2].contains("untested"), "{object}");
    assert!(!told.exists(), "what a red check says after a change says nothing");
}

#[test]
fn a_check_without_a_test_is_inadequate() {
    let Some((project, check)) = shop(STRICT) else { return };
    for check in [
        format!("{check} -k nothing"),
        format!("{check} -k nothing; test $? -eq 5"),
    ] {
        let object = doctor(&project, &["--run", "--check", &check]).exits(15).json();
        assert_eq!(object["failure_cause"], "artefact_consistency", "{object}");
        assert!(problem(&object)[2].contains("without running a test"), "{object}");
    }
}

#[test]
fn a_green_exit_that_its_tests_contradict_is_inadequate() {
    let Some((project, check)) = shop(&STRICT.replace("== 20", "== 21")) else {
        return;
    };
    let check = format!("{check}; test $? -eq 1");
    let object = doctor(&project, &["--run", "--check", &check]).exits(15).json();
    assert_eq!(object["failure_cause"], "artefact_consistency", "{object}");
    assert!(problem(&object)[2].contains("1 test failing"), "{object}");
}

#[test]
fn a_mutation_that_fails_or_changes_nothing_shows_nothing() {
    let project = Project::new();
    project.file("present", "x");
    for (mutate, why) in [
        ("exit 3", "it exited 3"),
        ("true", "changed nothing"),
        ("kill -9 $$", "of its own"),
    ] {
        let object = mutated(&project, "test -e present", mutate).exits(40).json();
        assert_eq!(object["failure_cause"], "mutation_failed", "{mutate}");
        assert!(problem(&object)[2].contains(why), "{object}");
        assert_eq!(object["doctor"]["adequacy"]["operator"], Value::Null);
    }
}

/// A project of which line 2 and line 3 were changed since the last commit, and a check that reports these counts of them.
fn reporting(second: u32, third: u32) -> (Project, String) {
    let project = Project::new();
    project.file("shop.py", PRODUCT).file("cov.info", "stale");
    committed(&project, &PRODUCT.replace("> 10", ">= 10").replace("* 9", "* 8"));
    let lines = format!("SF:shop.py\\nDA:1,1\\nDA:2,{second}\\nDA:3,{third}\\nDA:4,0\\nend_of_record\\n");
    (project, format!("printf '{lines}' > cov.info"))
}

#[test]
fn a_changed_line_that_the_check_does_not_run_is_inadequate() {
    let flags = ["--run", "--mutants-max", "0", "--coverage", "cov.info", "--check"];
    let (project, check) = reporting(1, 0);
    let object = doctor(&project, &[&flags[..], &[&check]].concat()).exits(15).json();
    assert_eq!(object["failure_cause"], "changed_lines_uncovered", "{object}");
    assert_eq!(problem(&object)[1], "shop.py:3", "{object}");
    let coverage = &object["doctor"]["adequacy"]["coverage"];
    assert_eq!(*coverage, json!({"format": "lcov", "changed": 2, "unrun": 1}));

    let (project, check) = reporting(1, 2);
    let object = doctor(&project, &[&flags[..], &[&check]].concat()).exits(0).json();
    assert!(
        of(&object, "adequacy")
            .iter()
            .any(|found| found[2] == "it runs 2 of 2 changed lines"),
        "{object}"
    );

    // What an earlier run left is no report of this one.
    let (project, _) = reporting(1, 2);
    let object = doctor(&project, &[&flags[..], &["true"]].concat()).exits(13).json();
    assert_eq!(object["failure_cause"], "guard_unavailable", "{object}");

    let (project, check) = reporting(1, 0);
    let object = doctor(&project, &["--run", "--mutants-max", "0", "--check", &check])
        .exits(0)
        .json();
    let told = of(&object, "adequacy");
    assert!(
        told.iter()
            .any(|found| found[0] == "note" && found[3].contains("--coverage")),
        "{object}"
    );
}

#[test]
fn a_changed_line_that_no_test_minds_is_named_with_the_change() {
    let changed = PRODUCT.replace("return count * 9", "return count * 8");
    let Some((project, check)) = shop(LOOSE) else { return };
    committed(&project, &changed);
    let object = doctor(&project, &["--run", "--check", &check]).exits(15).json();
    assert_eq!(object["failure_cause"], "code_mutant_survived");
    let mutants = object["doctor"]["adequacy"]["mutants"].as_array().unwrap();
    assert!(!mutants.is_empty(), "{object}");
    for mutant in mutants {
        let place = (
            &mutant["path"],
            &mutant["line"],
            &mutant["hunk_first"],
            &mutant["hunk_last"],
        );
        assert_eq!(
            place,
            (&"shop.py".into(), &3.into(), &3.into(), &3.into()),
            "only what was changed is mutated"
        );
        assert_eq!(mutant["fate"], "survived");
    }
    assert_eq!(problem(&object)[1], "shop.py:3");
}

#[test]
fn a_changed_line_that_a_test_minds_is_killed_and_nothing_is_wrong() {
    let changed = PRODUCT.replace("return count * 9", "return count * 8");
    let Some((project, check)) = shop(&STRICT.replace("== 99", "== 88")) else {
        return;
    };
    committed(&project, &changed);
    let flags = ["--run", "--mutants-max", "3", "--check", &check];
    let object = doctor(&project, &flags).exits(0).json();
    let mutants = object["doctor"]["adequacy"]["mutants"].as_array().unwrap();
    assert!(!mutants.is_empty() && mutants.len() <= 3, "{object}");
    assert!(mutants.iter().all(|mutant| mutant["fate"] == "killed"), "{object}");
}

#[test]
fn without_a_change_there_are_no_mutants_and_that_is_said() {
    let project = Project::new();
    let object = doctor(&project, &["--run", "--check", "true"]).exits(0).json();
    assert_eq!(object["doctor"]["adequacy"]["mutants"], json!([]));
    let notes = of(&object, "adequacy");
    assert!(
        notes
            .iter()
            .any(|note| note[0] == "note" && note[2].contains("no mutants")),
        "{object}"
    );
}

/// Fresh copies that lie where temporary files go.
fn copies(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.beside("")).unwrap().flatten();
    let copies = entries.map(|entry| entry.path());
    copies
        .filter(|path| path.to_string_lossy().contains("tmp-loopexec-"))
        .collect()
}

#[test]
fn an_interrupted_examination_leaves_nothing() {
    let project = Project::new();
    project.file("present", "x");
    let (ready, pid) = (project.beside("home/ready"), project.beside("home/pid"));
    let sleeping = format!("echo $$ > {}; touch {}; sleep 600", pid.display(), ready.display());
    let mutate = ["--check", "test -e present", "--mutate-cmd", &sleeping];
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let live = Live::start(project.command(&[&["doctor", "--json"], &mutate[..]].concat()));
        wait_until("the mutation runs", || ready.exists());
        live.signal(signal);
        let said = live.end().exits(exit);
        assert_eq!(said.json()["status"], "error");
        assert!(copies(&project).is_empty());
        let process = fs::read_to_string(&pid).unwrap();
        wait_until("the mutation is gone", || {
            !PathBuf::from(format!("/proc/{}", process.trim())).exists()
        });
        fs::remove_file(&ready).unwrap();
    }
    let live = Live::start(project.command(&[&["doctor", "--json"], &mutate[..]].concat()));
    wait_until("the mutation runs", || ready.exists());
    live.signal(Signal::KILL);
    live.end();
    let process = fs::read_to_string(&pid).unwrap();
    wait_until("the mutation is gone", || {
        !PathBuf::from(format!("/proc/{}", process.trim())).exists()
    });
    wait_until("the next examination removes the copies", || {
        project.run(&["doctor", "--run", "--json", "--check", "true"]).exits(0);
        copies(&project).is_empty()
    });
}
