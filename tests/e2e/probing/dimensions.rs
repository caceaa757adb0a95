//! Checks that mind exactly one thing of their surroundings, and what the probe says of each.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::support::cli::{Project, Said};
use crate::support::story::{available, python_with_pytest};

/// Probes in surroundings that are the same everywhere.
pub(super) fn command(project: &Project, check: &str, flags: &[&str]) -> Command {
    let few = [
        "probe-check",
        "--json",
        "--runs",
        "2",
        "--side-effect-runs",
        "0",
        "--check",
        check,
    ];
    let mut command = project.command(&[&few, flags].concat());
    command.env("TZ", "UTC").env("PYTHONHASHSEED", "0");
    command
}

pub(super) fn probe(project: &Project, check: &str, flags: &[&str]) -> Said {
    Said::of(&command(project, check, flags).output().unwrap())
}

/// How each dimension fared, by name.
pub(super) fn states(object: &Value) -> BTreeMap<String, String> {
    let each = object["probe"]["dimensions"]["each"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    each.iter()
        .map(|one| (text(&one["name"]), text(&one["state"])))
        .collect()
}

pub(super) fn of<'v>(object: &'v Value, name: &str) -> &'v Value {
    let each = object["probe"]["dimensions"]["each"].as_array().unwrap();
    each.iter().find(|one| one["name"] == name).unwrap()
}

/// Children of its own parent that run beside this shell: there are none but under load.
pub(super) const BESIDE: &str = "\
beside() {
  for file in /proc/[0-9]*/stat; do
    read -r pid name state parent rest < $file 2>/dev/null || continue
    [ \"$parent\" = \"$PPID\" ] && [ \"$pid\" != $$ ] && [ \"$state\" = R ] && return 0
  done
  return 1
}
";

/// A check that minds this dimension and no other: its files and its command. None where the machine cannot show it.
fn minding(dimension: &str, project: &Project, python: &str, host: &TcpListener) -> Option<String> {
    let script = |text: &str| {
        project.file("check.sh", text);
        Some("exec sh check.sh".to_owned())
    };
    let suite = |text: &str| {
        project.file("test_it.py", text);
        Some(format!("exec {python} -m pytest -q"))
    };
    match dimension {
        "order" => suite("seen = []\ndef test_a():\n    seen.append(1)\ndef test_b():\n    assert seen\n"),
        "seed" => suite(
            "import os, subprocess, sys\nLIST = 'print(list(set(map(str, range(50)))))'\ndef test_a():\n    env = dict(os.environ, PYTHONHASHSEED='0')\n    steady = subprocess.check_output([sys.executable, '-c', LIST], env=env, text=True)\n    assert str(list(set(map(str, range(50))))) == steady.strip()\n",
        ),
        "clock" if !available("faketime") => None,
        "clock" => script(&format!("test $(date +%s) -lt $(({} + 7200))\n", now())),
        "timezone" => script("test \"$(date +%z)\" = +0000\n"),
        "locale" => script("test \"$(printf '\\303\\244' | wc -m)\" -eq 1\n"),
        "concurrency" if thread::available_parallelism().unwrap().get() < 2 => {
            eprintln!("skipped: concurrency shows by a second processor, and there is none");
            None
        }
        "concurrency" => script("test \"$(nproc)\" -gt 1\n"),
        "load" => script(&format!("{BESIDE}if beside; then exit 1; fi\n")),
        "network" if !available("bwrap") => None,
        "network" => {
            let port = host.local_addr().unwrap().port();
            let text = format!("import socket\nsocket.create_connection(('127.0.0.1', {port}), 20).close()\n");
            project.file("check.py", &text);
            Some(format!("exec {python} check.py"))
        }
        "nothing" => suite(
            "import os, socket, tempfile\ndef test_a():\n    with socket.create_server(('127.0.0.1', 0)) as server:\n        socket.create_connection(server.getsockname()).close()\ndef test_b():\n    os.makedirs(os.path.expanduser('~/made'))\n    assert tempfile.mkdtemp()\n",
        ),
        "home" => script("test -d \"$HOME\"\n"),
        "tmp" => script("cd $TMPDIR\n"),
        "umask" => {
            let mode = fs::metadata(project.file("plain", "").at("plain"))
                .unwrap()
                .permissions()
                .mode();
            script(&format!(
                "touch made; test \"$(stat -c %a made)\" = {:o}\n",
                mode & 0o777
            ))
        }
        "path" => script("cd $PWD\n"),
        other => panic!("no check minds {other}"),
    }
}

fn now() -> u64 {
    let output = Command::new("date").arg("+%s").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

const NAMES: [&str; 12] = [
    "order",
    "seed",
    "clock",
    "timezone",
    "locale",
    "concurrency",
    "load",
    "network",
    "home",
    "tmp",
    "umask",
    "path",
];

/// One row of the matrix: how every dimension fared with a check that minds this one.
fn row(minded: &str, python: &str, host: &TcpListener) -> Option<(i32, Value)> {
    let project = Project::new();
    let check = minding(minded, &project, python, host)?;
    let said = probe(&project, &check, &["--dimensions"]);
    let object = said.json();
    assert!(!object["probe"]["dimensions"].is_null(), "{minded}: {said:?}");
    Some((said.code, object))
}

#[test]
fn of_checks_that_mind_one_thing_each_that_one_is_named_and_no_other() {
    let Some(python) = python_with_pytest() else { return };
    let host = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let wanted: Vec<&str> = ["nothing"].into_iter().chain(NAMES).collect();
    let rows: Vec<Option<(i32, Value)>> = thread::scope(|scope| {
        // A few at a time: a machine that is busy with all of them would tell nothing of load.
        let mut rows = Vec::new();
        for few in wanted.chunks(4) {
            let begun: Vec<_> = few
                .iter()
                .map(|minded| scope.spawn(|| row(minded, &python, &host)))
                .collect();
            rows.extend(begun.into_iter().map(|row| row.join().unwrap()));
        }
        rows
    });
    let clean = states(&rows[0].as_ref().unwrap().1);
    println!("{:<12} {}", "minds", NAMES.map(|name| format!("{name:<11}")).join(" "));
    for (minded, row) in wanted.iter().zip(&rows) {
        let Some((_, object)) = row else {
            println!("{minded:<12} skipped");
            continue;
        };
        let fared = states(object);
        let cells = NAMES.map(|name| format!("{:<11}", fared[name].replace("holds", ".")));
        println!("{minded:<12} {}", cells.join(" "));
    }
    for (minded, row) in wanted.iter().zip(&rows) {
        let Some((code, object)) = row else { continue };
        let fared = states(object);
        for name in NAMES {
            let without_runner = name == "order" && !["nothing", "order", "seed"].contains(minded);
            let expected = match name {
                _ if name == *minded && clean[name] == "holds" => "broke",
                _ if without_runner => "not_probed",
                _ => clean[name].as_str(),
            };
            assert_eq!(fared[name], expected, "{name} of a check that minds {minded}: {object}");
        }
        let together = &object["probe"]["dimensions"]["together"];
        assert_eq!(together["state"], "holds", "{minded}: {together}");
        let (reason, cause) = match *minded {
            name if name == "nothing" || clean[name] != "holds" => (Value::Null, Value::Null),
            "network" => ("check_not_hermetic".into(), "dimension_broke".into()),
            _ => ("check_flaky".into(), "dimension_disagreed".into()),
        };
        assert_eq!(
            (&object["halt_reason"], &object["failure_cause"]),
            (&reason, &cause),
            "{minded}"
        );
        assert_eq!(*code, if reason.is_null() { 0 } else { 14 }, "{minded}");
    }
    // What this machine can certainly do was done.
    for name in [
        "order",
        "seed",
        "timezone",
        "locale",
        "concurrency",
        "load",
        "home",
        "tmp",
        "umask",
        "path",
    ] {
        assert_eq!(clean[name], "holds", "{name} was not probed");
    }
    let broken = of(&rows[1].as_ref().unwrap().1, "order").clone();
    assert_eq!(broken["by"], "backwards");
    assert_eq!(broken["differing"]["first"], serde_json::json!(["test_it.py::test_b"]));
    assert_eq!((&broken["runs"], &broken["verdict"]), (&1.into(), &"red".into()));
}

#[test]
fn what_only_breaks_under_two_together_is_reduced_to_the_two() {
    let project = Project::new();
    let flags = ["--dimensions=path,umask,home,timezone,locale"];
    // Whatever the umask of the tests is.
    let mode = fs::metadata(project.file("plain", "").at("plain"))
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    let check = format!("touch made; test \"$TZ\" = UTC || test \"$(stat -c %a made)\" = {mode:o}");
    let object = probe(&project, &check, &flags).exits(14).json();
    assert_eq!(object["failure_cause"], "dimension_disagreed");
    assert!(states(&object).values().all(|state| state == "holds"), "{object}");
    let together = &object["probe"]["dimensions"]["together"];
    assert_eq!(together["state"], "broke");
    assert_eq!(
        together["broke"],
        serde_json::json!(["timezone", "umask"]),
        "{together}"
    );
    assert_eq!(together["by"], "TZ=Pacific/Kiritimati and umask 077");
    let next = object["advice"]["next"].as_str().unwrap();
    assert!(next.ends_with("--dimensions=timezone,umask"), "{next}");
}

#[test]
fn a_break_that_does_not_show_again_is_called_nondeterministic() {
    let project = Project::new();
    let count = project.beside("outside");
    let check = format!(
        "test \"$TZ\" = UTC && exit 0; n=$(cat {0} 2>/dev/null || echo 1); echo $((n + 1)) > {0}; test $((n % 2)) -eq 0",
        count.display()
    );
    let object = probe(&project, &check, &["--dimensions=timezone,home"])
        .exits(14)
        .json();
    assert_eq!(
        (&object["halt_reason"], &object["failure_cause"]),
        (&"check_flaky".into(), &"dimension_nondeterministic".into())
    );
    assert_eq!(states(&object)["timezone"], "nondeterministic");
    assert_eq!(states(&object)["home"], "holds");
}

#[test]
fn two_copies_at_once_that_are_in_each_others_way_are_told() {
    if !available("flock") {
        return;
    }
    let project = Project::new();
    // What it holds, it holds for as long as its work takes.
    let check = format!("exec 9> {}; flock -n 9 && sleep 1", project.beside("outside").display());
    let object = probe(&project, &check, &["--dimensions=concurrency"]).exits(14).json();
    let broken = of(&object, "concurrency");
    assert_eq!(
        (&broken["state"], &broken["by"]),
        (&"broke".into(), &"the check twice at once".into())
    );
}
