//! Dimensions whose tool is missing or misbehaves, and probes of them that end before their time.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;

use super::dimensions::{BESIDE, command, of, probe, states};
use crate::support::Sleeper;
use crate::support::cli::{Live, Project, Said, wait_until};
use crate::support::story::{available, python_with_pytest};

/// A directory of programs that is all the check finds, with a `faketime` of this text if any.
fn programs(project: &Project, faketime: &str) -> std::path::PathBuf {
    let programs = project.beside("outside");
    fs::create_dir(&programs).unwrap();
    for name in ["sh", "true", "date"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(name))
            .find(|path| path.is_file());
        symlink(found.unwrap(), programs.join(name)).unwrap();
    }
    if !faketime.is_empty() {
        executable(&programs.join("faketime"), faketime);
    }
    programs
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_has_no_tool_here_is_not_probed_and_that_is_said_everywhere() {
    let project = Project::new();
    let programs = programs(&project, "");
    let flags = ["--dimensions=clock,network,order,umask"];
    let mut probing = command(&project, "true", &flags);
    let said = Said::of(&probing.env("PATH", &programs).output().unwrap()).exits(0);
    let object = said.json();
    for (name, why) in [
        ("clock", "faketime is not installed"),
        ("network", "bwrap is not installed and unshare is not installed"),
        ("order", "no runner was recognised"),
    ] {
        let one = of(&object, name);
        assert_eq!(
            (&one["state"], &one["runs"]),
            (&"not_probed".into(), &0.into()),
            "{one}"
        );
        assert_eq!(one["exact_lower_ppm"], Value::Null);
        assert!(one["why"].as_str().unwrap().starts_with(why), "{one}");
        let warned = object["warnings"].as_array().unwrap();
        assert!(
            warned.iter().any(|text| text.as_str().unwrap().starts_with(name)),
            "{name}: {warned:?}"
        );
    }
    assert_eq!(states(&object)["umask"], "holds");
    assert_eq!(of(&object, "umask")["exact_lower_ppm"], 368_403);
    assert_eq!(object["probe"]["dimensions"]["joint_lower_ppm"], 368_403);

    let words = [
        "probe-check",
        "--check",
        "true",
        "--runs",
        "2",
        "--dimensions=clock,umask",
    ];
    let said = Said::of(&project.command(&words).env("PATH", &programs).output().unwrap()).exits(0);
    assert!(
        said.out
            .contains("\n  clock        not probed: faketime is not installed\n"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("\n  umask        holds: 3 of 3 agree; at least 36.8403 % of runs do"),
        "{}",
        said.out
    );
    assert!(
        said.out
            .contains("it holds under 1 dimension, and 1 more could not be probed"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("clock was not probed, which is no pass"),
        "{}",
        said.err
    );
}

#[test]
fn a_tool_that_breaks_the_check_by_itself_is_not_blamed_on_the_check() {
    let answers = "#!/bin/sh\n[ \"$3\" = date ] && echo 2038 && exit\n";
    for (rest, state, by) in [
        ("exit 3\n", "not_probed", Value::Null),
        (
            "export FAKED=\"$2\"; shift 2; exec \"$@\"\n",
            "broke",
            "400 days back".into(),
        ),
    ] {
        let project = Project::new();
        let programs = programs(&project, &format!("{answers}{rest}"));
        let mut probing = command(&project, "test \"$FAKED\" != -400d", &["--dimensions=clock"]);
        let said = Said::of(&probing.env("PATH", &programs).output().unwrap());
        let object = said.json();
        let clock = of(&object, "clock");
        assert_eq!((&clock["state"], &clock["by"]), (&state.into(), &by), "{clock}");
        assert_eq!(said.code, if state == "broke" { 14 } else { 0 });
    }
}

#[test]
fn plugins_and_paths_that_a_project_set_are_still_there_when_its_tests_are_shuffled() {
    let Some(python) = python_with_pytest() else { return };
    let project = Project::new();
    project.file(
        "theirs.py",
        "import pytest\n@pytest.fixture\ndef given():\n    return 1\n",
    );
    project.file(
        "test_it.py",
        "def test_a(given):\n    assert given\ndef test_b(given):\n    assert given\n",
    );
    let mut probing = command(
        &project,
        &format!("exec {python} -m pytest -q"),
        &["--dimensions=order,seed"],
    );
    probing.env("PYTEST_PLUGINS", "theirs").env("PYTHONPATH", "lib:.");
    let object = Said::of(&probing.output().unwrap()).exits(0).json();
    let fared = states(&object);
    assert_eq!(
        (fared["order"].as_str(), fared["seed"].as_str()),
        ("holds", "holds"),
        "{object}"
    );
    assert_eq!(
        of(&object, "order")["runs"],
        5,
        "backwards, and more shuffles than others have runs"
    );

    // Where the plugin cannot be found nothing was shuffled.
    let check = format!("PYTHONPATH=. PYTEST_PLUGINS= exec {python} -m pytest -q -p theirs");
    let object = probe(&project, &check, &["--dimensions=order"]).exits(0).json();
    assert_eq!(of(&object, "order")["state"], "not_probed", "{object}");
}

/// Stands for jest: it shuffles when it is told to, and one of its two tests needs the other before it.
const JEST: &str = "#!/usr/bin/env node
const fs = require('fs');
const given = process.argv.slice(2);
const value = (name) => (given.find((word) => word.startsWith(name + '=')) || '').split('=')[1];
const order = ['a', 'b'];
if (given.includes('--randomize') && value('--seed') === '2') order.reverse();
const right = order[0] === 'a';
const one = (title) => ({ ancestorTitles: [], title, fullName: title, failureMessages: [],
  status: title === 'b' && !right ? 'failed' : 'passed' });
const report = { success: right, numTotalTests: 2, numPassedTests: right ? 2 : 1, numFailedTests: right ? 0 : 1,
  testResults: [{ name: process.cwd() + '/it.test.js', status: right ? 'passed' : 'failed',
    message: '', assertionResults: order.map(one) }] };
if (value('--outputFile')) fs.writeFileSync(value('--outputFile'), JSON.stringify(report));
process.exit(right ? 0 : 1);
";

#[test]
fn a_runner_that_takes_no_order_from_its_environment_is_told_on_its_command_line() {
    if !available("node") {
        return;
    }
    let project = Project::new();
    fs::create_dir_all(project.at("node_modules/.bin")).unwrap();
    executable(&project.at("node_modules/.bin/jest"), JEST);
    let flags = ["--dimensions=order,seed"];
    let mut probing = command(&project, "exec ./node_modules/.bin/jest", &flags);
    let said = Said::of(&probing.env("NODE_OPTIONS", "--no-warnings").output().unwrap());
    let object = said.exits(14).json();
    let order = of(&object, "order");
    assert_eq!(
        (&order["state"], &order["by"]),
        (&"broke".into(), &"shuffled by seed 2".into()),
        "{object}"
    );
    assert_eq!(order["differing"]["total"], 1, "{order}");
    assert_eq!(states(&object)["seed"], "holds", "{object}");

    // Whoever names an order himself keeps it, and is not said to have been shuffled.
    let object = probe(&project, "exec ./node_modules/.bin/jest --seed=7", &flags[..1])
        .exits(0)
        .json();
    assert_eq!(of(&object, "order")["state"], "not_probed", "{object}");
}

#[test]
fn spinners_are_gone_however_the_probe_ends() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let project = Project::new();
        let sleeper = Sleeper::new();
        let check = format!("{BESIDE}if beside; then exec {}; fi", sleeper.command());
        let spinners = || {
            let known = |pid: &str| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                line.contains("loopexec-load") && line.contains(sleeper.command())
            };
            let pids = fs::read_dir("/proc").unwrap();
            pids.filter_map(|entry| entry.unwrap().file_name().into_string().ok())
                .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()) && known(pid))
                .count()
        };
        let live = Live::start(command(&project, &check, &["--dimensions=load"]));
        wait_until("the check runs under load", || sleeper.is_up());
        assert!(spinners() > 1, "a shell and what it started");
        live.signal(signal);
        live.end();
        wait_until("all of it is gone", || !sleeper.is_up() && spinners() == 0);
    }
}

#[test]
fn without_the_flag_nothing_is_varied_and_a_name_that_is_none_is_refused() {
    let project = Project::new();
    let object = probe(&project, "true", &[]).exits(0).json();
    assert_eq!(object["probe"]["dimensions"], Value::Null);
    for list in ["--dimensions=weather", "--dimensions=", "--dimensions=order,"] {
        let object = probe(&project, "true", &[list]).exits(2).json();
        assert!(object["errors"][0].as_str().unwrap().contains("timezone"), "{object}");
    }
}

#[test]
fn a_probe_that_runs_out_of_time_says_which_dimensions_it_did_not_come_to() {
    let project = Project::new();
    let check = format!("{BESIDE}if beside; then exec sleep 600; fi");
    let flags = ["--dimensions=home,load,path", "--timeout", "10s"];
    let object = probe(&project, &check, &flags).exits(18).json();
    assert_eq!(object["failure_cause"], "run_deadline");
    let fared = states(&object);
    assert_eq!(
        [&fared["load"], &fared["path"]],
        ["not_probed", "not_probed"],
        "{object}"
    );
    assert_eq!(object["probe"]["dimensions"]["together"]["state"], "not_probed");
}
