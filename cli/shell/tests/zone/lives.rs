//! How zones live and end: what is told of them, what they see, and that nothing of them stays.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use shell::process::{CaptureSpec, CommandRun, CommandSpec, Deadlines, Input, Outcome, StopCause, Supervisor};
use shell::process::{SupervisorOptions, Wishes};
use shell::zone::{Bind, Egress, Ended, LAUNCH, Network, Tier, Zone, ZonePlan, ZoneReport};

use super::support::{Room, Run, is_root, launcher, run, sleeper, sleepers};

fn ended(run: &Run) -> Ended {
    run.report.clone().unwrap().ended.unwrap_or_else(|| panic!("{run:#?}"))
}

/// Through a supervisor, as the governor does.
fn supervised(plan: &ZonePlan, deadlines: Deadlines, capture: CaptureSpec) -> CommandRun {
    let exe = std::env::current_exe().unwrap();
    let mut supervisor = Supervisor::start(&exe, SupervisorOptions::default()).unwrap();
    let spec = CommandSpec {
        argv: vec![exe.into(), LAUNCH.into()],
        cwd: "/".into(),
        input: Input::Bytes(postcard::to_stdvec(plan).unwrap()),
        capture,
        deadlines,
        label: "zone".to_owned(),
        ..CommandSpec::default()
    };
    supervisor.run(&spec, &Wishes::never()).unwrap()
}

fn within(timeout_ms: u64, grace_ms: u64) -> Deadlines {
    Deadlines {
        timeout_ms: Some(timeout_ms),
        grace_ms,
        ..Deadlines::default()
    }
}

fn text(run: &CommandRun) -> String {
    String::from_utf8_lossy(run.stdout.end()).into_owned()
}

pub(crate) fn the_launcher_ends_as_the_command_did() {
    let room = Room::new();
    let exited = room.sh(Zone::Exec, "echo out; echo err >&2; exit 7");
    assert_eq!((exited.status.code(), ended(&exited)), (Some(7), Ended::Exited(7)));
    assert_eq!((exited.stdout.as_str(), exited.stderr.as_str()), ("out\n", "err\n"));
    for (name, signal) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("PIPE", 13), ("USR1", 10)] {
        let killed = room.sh(Zone::Exec, &format!("kill -{name} $$"));
        assert_eq!(
            (killed.signal(), ended(&killed)),
            (Some(signal), Ended::Signaled(signal)),
            "{name}"
        );
    }
}

pub(crate) fn a_command_that_is_not_there_is_told_apart_from_one_that_failed() {
    let room = Room::new();
    room.make_file("tree/plain", "no program");
    fs::set_permissions(
        room.make_file("tree/odd", "no program"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    for (word, code, number) in [
        ("absent", 127, libc::ENOENT),
        ("./plain", 126, libc::EACCES),
        ("./odd", 126, libc::ENOEXEC),
    ] {
        let run = run(&room.plan(Zone::Exec, &[word]));
        assert_eq!(run.status.code(), Some(code), "{run:#?}");
        let Ended::NotStarted { errno, message } = ended(&run) else {
            panic!("{run:#?}")
        };
        assert!(
            errno == number && message.contains(word.trim_start_matches("./")),
            "{errno} {message}"
        );
    }
    let mut elsewhere = room.plan(Zone::Exec, &["true"]);
    elsewhere.cwd = "/absent".into();
    assert!(matches!(ended(&run(&elsewhere)), Ended::NotStarted { message, .. } if message.contains("/absent")));
}

pub(crate) fn what_was_in_force_is_told() {
    let run = Room::new().sh(Zone::Agent, "sleep 600 & exit 0");
    let report = run.report.unwrap();
    assert_eq!(report.left_inside, 1);
    let facts = report.facts.unwrap();
    assert_eq!(facts.namespaces, ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"]);
    assert_eq!(facts.interfaces, ["lo"]);
    assert!(facts.seccomp && facts.no_new_privileges);
    assert_eq!(facts.uid, 1000);
}

pub(crate) fn a_zone_has_a_cgroup_where_one_is_to_be_had_and_is_refused_where_that_is_required_and_not() {
    let room = Room::new();
    // Who reads the pipe waits for somebody to open it.
    let go = room.path("tree/go");
    mknodat(CWD, &go, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    let wait = "setsid sleep 600 & echo up; read -r _ < $W/go; cat /proc/self/cgroup";
    let mut plan = room.plan(Zone::Exec, &["sh", "-c", wait]);
    let mut running = launcher(&plan).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap());
    let mut up = String::new();
    said.read_line(&mut up).unwrap();
    let bwrap = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.id())).unwrap();
    let of_bwrap = fs::read_to_string(format!("/proc/{}/cgroup", bwrap.trim())).unwrap();
    let own = of_bwrap
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or_default();
    fs::write(&go, "go\n").unwrap();
    let mut inside = String::new();
    said.read_to_string(&mut inside).unwrap();
    running.wait().unwrap();
    let report: ZoneReport = serde_json::from_slice(&fs::read(&plan.report).unwrap()).unwrap();
    fs::remove_file(&plan.report).unwrap();
    let tier = report.facts.unwrap().tier;
    match tier {
        Tier::Rlimit => eprintln!("skipped: no cgroup of version 2 may be made here"),
        Tier::Kill | Tier::Cgroup => {
            assert!(own.contains("loopexec-zone-"), "{of_bwrap}");
            // Of the cgroups outside nothing can be read, that of the zone among them.
            assert!(inside.lines().any(|line| line == "0::/"), "{inside}");
        }
    }
    for at in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        let left = Path::new(at).join(own);
        assert!(tier == Tier::Rlimit || !left.exists(), "{}", left.display());
    }
    plan.require_cgroup = true;
    let refused = run(&plan).report.unwrap().refused;
    match tier {
        Tier::Cgroup => assert_eq!(refused, None),
        Tier::Kill | Tier::Rlimit => assert!(refused.unwrap().message.contains("Delegate=yes")),
    }
}

pub(crate) fn binds_are_seen_as_planned() {
    let room = Room::new();
    room.make_directory("tools");
    room.make_file("tools/tool", "a tool\n");
    room.make_directory("exchange");
    let file = room.make_file("word", "a word\n");
    let mut plan = room.plan(
        Zone::Exec,
        &[
            "sh",
            "-c",
            "cat /opt/tools/tool /loopexec/word; echo x > /opt/tools/x; echo y > /loopexec/exchange/y",
        ],
    );
    for (source, at, writable) in [
        (room.path("tools"), "/opt/tools", false),
        (room.path("exchange"), "/loopexec/exchange", true),
        (file, "/loopexec/word", false),
    ] {
        plan.binds.push(Bind {
            source,
            at: at.into(),
            writable,
        });
    }
    let run = run(&plan);
    assert_eq!(run.stdout, "a tool\na word\n", "{run:#?}");
    assert!(run.stderr.contains("Read-only"), "{run:#?}");
    assert_eq!(fs::read_to_string(room.path("exchange/y")).unwrap(), "y\n");
    assert!(!room.path("tools/x").exists());
}

pub(crate) fn a_tree_below_scratch_cannot_be_moved_away() {
    let room = Room::new();
    let mut plan = room.plan(
        Zone::Exec,
        &[
            "sh",
            "-c",
            "mv /tmp/a /tmp/c; mv /tmp/a/b /tmp/a/c; cat tests/t; echo x > /tmp/x",
        ],
    );
    let at = Path::new("/tmp/a/b/tree");
    (plan.work.at, plan.cwd) = (at.into(), at.into());
    plan.work.outputs = vec![at.join("out")];
    let run = run(&plan);
    assert_eq!(
        (run.stdout.as_str(), run.status.code()),
        ("base\n", Some(0)),
        "{run:#?}"
    );
    assert!(
        run.stderr.contains("busy") && run.stderr.contains("Read-only"),
        "{run:#?}"
    );
}

pub(crate) fn a_program_with_roots_bit_gives_nothing_a18() {
    if !is_root() {
        eprintln!("skipped: only root can make a program of root");
        return;
    }
    let room = Room::new();
    let file = room.path("tree/tests/id");
    fs::copy("/usr/bin/id", &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    let run = room.sh(Zone::Exec, "tests/id -u; tests/id -ru");
    assert_eq!(run.stdout, "1000\n1000\n", "A18: {run:#?}");
}

pub(crate) fn a_descriptor_of_the_governor_does_not_reach_the_zone_a13() {
    let room = Room::new();
    let plan = room.plan(
        Zone::Exec,
        &["sh", "-c", "echo $(ls /proc/self/fd); ls /proc/self/fd/7/"],
    );
    let inner = launcher(&plan);
    let mut leaky = std::process::Command::new("sh");
    leaky
        .args(["-c", "exec 7< /; exec \"$0\" __zone"])
        .arg(inner.get_program())
        .stdin(super::support::input(&plan));
    let said = leaky.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "0 1 2 3\n", "A13: {said:?}");
}

pub(crate) fn what_one_zone_leaves_the_next_does_not_find_a85() {
    let room = Room::new();
    let leave = room.sh(Zone::Exec, "touch /tmp/x $HOME/x $W/out/x /dev/shm/x && echo left");
    assert_eq!(leave.stdout, "left\n", "A85: {leave:#?}");
    let look = room.sh(Zone::Exec, "ls -A /tmp $HOME $W/out /dev/shm | grep -cx x");
    assert_eq!(look.stdout, "0\n", "A85: {look:#?}");
    assert!(!room.path("tree/out/x").exists());
}

pub(crate) fn a_socket_of_one_zone_leads_the_next_nowhere_a54() {
    let room = Room::new();
    let script = "/loopexec/init attack listen-path $W/s > $W/said & until grep -q listening $W/said; do :; done";
    let agent = room.sh(Zone::Agent, script);
    assert_eq!(ended(&agent), Ended::Exited(0), "A54: {agent:#?}");
    let exec = room.sh(Zone::Exec, "test -S $W/s && /loopexec/init attack connect-path $W/s");
    assert_eq!(exec.stdout, "ECONNREFUSED\n", "A54: {exec:#?}");
}

pub(crate) fn the_agents_tree_is_not_the_checks_a10() {
    let room = Room::new();
    room.make_directory("snapshot");
    room.make_directory("snapshot/out");
    room.make_file("snapshot/t", "base\n");
    let agent = room.sh(Zone::Agent, "ln tests/t h && echo evil > h && cat tests/t");
    assert_eq!(agent.stdout, "evil\n", "A10: {agent:#?}");
    let mut plan = room.plan(Zone::Exec, &["cat", "t"]);
    plan.work.source = room.path("snapshot");
    assert_eq!(run(&plan).stdout, "base\n", "A10");
}

pub(crate) fn everybody_goes_with_the_command_a65() {
    let room = Room::new();
    let marks: Vec<String> = (0..3).map(|_| sleeper()).collect();
    let script = format!(
        "setsid -f {}; (nohup {} > /dev/null 2>&1 &); (setsid sh -c '{} & exit 0' &); \
         until test $(ls /proc | grep -c '^[0-9]') -ge 6; do :; done",
        marks[0], marks[1], marks[2]
    );
    let run = room.sh(Zone::Agent, &script);
    assert_eq!(run.status.code(), Some(0), "A65: {run:#?}");
    assert!(run.report.unwrap().left_inside >= 3, "A65");
    for mark in marks {
        assert_eq!(sleepers(&mark), Vec::<u32>::new(), "A65");
    }
}

pub(crate) fn a_command_that_will_not_end_is_ended_a68() {
    let room = Room::new();
    let plan = room.plan(Zone::Exec, &["sh", "-c", "trap '' TERM INT HUP; while :; do :; done"]);
    let run = supervised(&plan, within(500, 200), CaptureSpec::default());
    assert_eq!(run.stop, Some(StopCause::Deadline), "A68: {run:?}");
    assert!(run.survivors.iter().all(|survivor| survivor.ended), "A68: {run:?}");
}

pub(crate) fn a_command_that_is_asked_to_end_has_its_last_word() {
    let room = Room::new();
    let script = "trap 'echo last; exit 5' TERM; echo first; while :; do sleep 0.01; done";
    let run = supervised(
        &room.plan(Zone::Agent, &["sh", "-c", script]),
        within(700, 20_000),
        CaptureSpec::default(),
    );
    assert_eq!(text(&run), "first\nlast\n", "{run:?}");
    assert_eq!((run.stop, run.outcome), (Some(StopCause::Deadline), Outcome::Exited(5)));
    assert_eq!(run.survivors, []);
    let report = fs::read(room.path("report.json")).unwrap();
    assert!(String::from_utf8_lossy(&report).contains("\"exited\":5"));
}

pub(crate) fn output_is_capped_a69() {
    let room = Room::new();
    let capture = CaptureSpec {
        stop_after_bytes: Some(1 << 20),
        ..CaptureSpec::default()
    };
    let run = supervised(&room.plan(Zone::Exec, &["yes"]), within(60_000, 2_000), capture);
    assert_eq!(run.stop, Some(StopCause::OutputCap), "A69: {run:?}");
}

pub(crate) fn a_flood_of_processes_stays_inside_a63() {
    let room = Room::new();
    let limited = |script: &str| {
        let mut plan = room.plan(Zone::Agent, &["sh", "-c", script]);
        plan.limits.processes = 40;
        plan
    };
    // A count first: without the limit the flood below would be one of the machine.
    let run = run(&limited("i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done"));
    let held = run.stderr.contains("Cannot fork") && run.report.is_some_and(|report| report.left_inside < 40);
    assert!(held, "A63: {}", run.stderr);
    let begun = Instant::now();
    let plan = limited("bomb() { bomb | bomb & }; bomb; sleep 600");
    let run = supervised(&plan, within(1_000, 100), CaptureSpec::default());
    assert!(begun.elapsed() < Duration::from_secs(30), "A63");
    assert!(run.survivors.iter().all(|survivor| survivor.ended), "A63: {run:?}");
}

pub(crate) fn many_together_hold_no_more_than_the_zone_a64() {
    let room = Room::new();
    let script = "for i in 1 2 3 4; do /loopexec/init attack hold 300000000 & done; wait";
    let mut plan = room.plan(Zone::Agent, &["sh", "-c", script]);
    plan.limits.memory_bytes = 600_000_000;
    let run = supervised(&plan, within(30_000, 100), CaptureSpec::default());
    assert_eq!((run.stop, run.outcome), (None, Outcome::Signaled(9)), "A64");
    let report = fs::read_to_string(&plan.report).unwrap();
    assert!(report.contains("\"cap\":\"memory\""), "A64: {report}");
}

pub(crate) fn memory_that_no_process_maps_is_counted_too() {
    let room = Room::new();
    for how in ["file", "segment"] {
        let script = format!("for i in 1 2; do /loopexec/init attack keep-unmapped {how} 62914560 & done; wait");
        let mut plan = room.plan(Zone::Agent, &["sh", "-c", &script]);
        plan.limits.memory_bytes = 100_000_000;
        let run = supervised(&plan, within(30_000, 100), CaptureSpec::default());
        let report = fs::read_to_string(&plan.report).unwrap();
        assert_eq!((run.stop, run.outcome), (None, Outcome::Signaled(9)), "{how}: {report}");
        assert!(report.contains("\"cap\":\"memory\""), "{how}: {report}");
        fs::remove_file(&plan.report).unwrap();
    }
}

pub(crate) fn no_secret_is_in_any_process_table_and_nobody_is_root_a73() {
    let room = Room::new();
    let mut plan = room.plan(Zone::Agent, &["sh", "-c", "sleep 600", "CANARY-ARGUMENT"]);
    plan.env.push(("MODEL_KEY".into(), "CANARY-SECRET".into()));
    let mut running = launcher(&plan).stdout(Stdio::null()).spawn().unwrap();
    let below = super::support::below(running.id(), 4);
    for pid in &[&[running.id()], &below[..below.len() - 2]].concat() {
        for file in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let shown = String::from_utf8_lossy(&bytes);
            assert!(!shown.contains("CANARY-"), "A73: {pid} {file}: {shown}");
            let leaked = *pid != running.id() && shown.contains("of-the-governor");
            assert!(!leaked, "A14: {pid} {file}: {shown}");
        }
    }
    for pid in &below {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_root = status
            .lines()
            .any(|line| line.starts_with("Uid:") && line.split('\t').any(|id| id == "0"));
        assert!(!is_root, "A16: {pid} is root on the machine: {status}");
    }
    running.kill().unwrap();
    running.wait().unwrap();
}

pub(crate) fn hashes_are_the_same_twice_a82() {
    if !Path::new("/usr/bin/python3").exists() {
        eprintln!("skipped: no /usr/bin/python3");
        return;
    }
    let room = Room::new();
    let hash = || room.sh(Zone::Exec, "/usr/bin/python3 -c 'print(hash(\"a\"))'").stdout;
    let first = hash();
    assert!(!first.is_empty() && first == hash(), "A82: {first}");
}

fn allowed(entry: &str) -> Network {
    Network::Proxy(Egress {
        allow: vec![entry.to_owned()],
        connections_max: 10,
        concurrent_max: 10,
        bytes_max: 1 << 20,
        idle_ms: 60_000,
        total_ms: 60_000,
        gateway: None,
    })
}

pub(crate) fn a_zone_with_a_proxy_has_its_listener_and_nothing_else() {
    let room = Room::new();
    let script = "env | grep -ci proxy; /loopexec/init attack connect ${HTTPS_PROXY#http://}; \
         /loopexec/init attack connect 1.1.1.1:443; echo $no_proxy";
    let mut plan = room.plan(Zone::Agent, &["sh", "-c", script]);
    plan.network = allowed("model.test:443");
    let run = run(&plan);
    assert_eq!(
        run.stdout, "9\ndone\nENETUNREACH\nlocalhost,127.0.0.1,::1\n",
        "{run:#?}"
    );
}

pub(crate) fn a_plain_request_leaves_the_zone_for_the_place_that_is_listed_for_it() {
    let room = Room::new();
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = far.local_addr().unwrap().to_string();
    let ask = format!("/loopexec/init attack ask ${{http_proxy#http://}} 'GET http://{place}/a HTTP/1.1'");
    let script = format!("{ask} 'Host: {place}'; {ask} 'Host: evil.test'; {ask} 'Host: {place}' 'A: b' ' folded'");
    let mut plan = room.plan(Zone::Agent, &["sh", "-c", &script]);
    plan.network = allowed(&format!("local:http://{place}"));
    let server = thread::spawn(move || {
        let (far, _) = far.accept().unwrap();
        let mut lines = BufReader::new(&far).lines().map_while(Result::ok);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        (&far).write_all(b"HTTP/1.1 204 Here\r\n\r\n").unwrap();
        head
    });
    let run = run(&plan);
    assert_eq!(
        run.stdout, "HTTP/1.1 204 Here\nHTTP/1.1 400 Bad Request\nHTTP/1.1 400 Bad Request\n",
        "{run:#?}"
    );
    let head = server.join().unwrap();
    assert_eq!(
        head,
        ["GET /a HTTP/1.1", &format!("host: {place}"), "connection: close"]
    );
    let told = run.report.clone().unwrap().egress;
    let told: Vec<_> = told
        .iter()
        .map(|row| (row.allowed, &*row.reason, row.connections))
        .collect();
    assert_eq!(told, [(true, "", 1), (false, "malformed", 2)], "{run:#?}");
}
