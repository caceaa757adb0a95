//! What a zone is held to beside memory and processes, and what is done when it cannot be ended.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use shell::zone::{Bind, Fixture, Limits, Zone, ZonePlan, ZoneReport};

use super::refusals::pretended;
use super::support::{Room, below, input, is_root, launcher, run, sleeper, sleepers};

pub(crate) fn what_is_kept_on_disk_has_a_limit() {
    let room = Room::new();
    room.make_directory("reports");
    let bind = Bind {
        source: room.path("reports"),
        at: "/loopexec/reports".into(),
        writable: true,
    };
    let capped = |zone: Zone, script: &str| {
        let mut plan = room.plan(zone, &["sh", "-c", script]);
        plan.binds.push(bind.clone());
        plan.limits.volume_bytes = 4 << 20;
        let run = run(&plan);
        (run.status.code(), run.signal(), run.report.unwrap().cap)
    };
    let volume = Some("volume".to_owned());
    let much = "head -c 8M /dev/zero";
    let tree = format!("{much} > $W/much; sleep 60");
    assert_eq!(capped(Zone::Agent, &tree), (None, Some(9), volume.clone()));
    // The volume holds it still, and a command that ends by itself is no exception.
    assert_eq!(capped(Zone::Agent, "true"), (Some(0), None, volume.clone()));
    fs::remove_file(room.path("tree/much")).unwrap();
    let many = format!("for i in 1 2 3; do {much} | head -c 2M > /loopexec/reports/$i; done; sleep 60");
    assert_eq!(capped(Zone::Exec, &many), (None, Some(9), volume));
    // What is gone with the zone is not on disk.
    fs::remove_dir_all(room.path("reports")).unwrap();
    room.make_directory("reports");
    assert_eq!(
        capped(Zone::Exec, &format!("{much} > /tmp/much")),
        (Some(0), None, None)
    );
}

/// Holds the zone's process 1, and leaves its bwrap to nobody.
const STUCK: &str = r#"
list=$(tr '\0' '\n' < /dev/fd/$2 | grep -vx -e --die-with-parent)
printf '%s\n' "$list" | tr '\n' '\0' > /dev/fd/$2
exec 4<&0
setsid /usr/bin/bwrap "$@" 0<&4 4<&- &
bwrap=$!
first() { cat /proc/$1/task/$1/children 2>&- | cut -d' ' -f1; }
init=
while [ -z "$init" ]; do init=$(first $bwrap); done
while [ -z "$(first $init)" ]; do :; done
kill -STOP $init
exec sleep 600
"#;

pub(crate) fn what_cannot_be_ended_is_said_to_be_there() {
    let room = Room::new();
    let sleep = sleeper();
    let stuck = pretended(&room, STUCK, 0o755);
    let plan = ZonePlan {
        bwrap: stuck.bwrap.clone(),
        limits: Limits {
            volume_bytes: 1 << 20,
            ..stuck.limits
        },
        ..room.plan(
            Zone::Agent,
            &["sh", "-c", &format!("head -c 2M /dev/zero > $W/much; {sleep}")],
        )
    };
    // What is left holds the outputs of its command, so nobody waits for their end.
    let mut running = without_cgroups(&plan)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    running.wait().unwrap();
    let left = sleepers(&sleep);
    for pid in &left {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let parents = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let shell: u32 = parents.unwrap().trim().parse().unwrap();
        kill_above(shell);
    }
    let report: ZoneReport = serde_json::from_slice(&fs::read(&plan.report).unwrap()).unwrap();
    assert!(report.outlived && report.cap.as_deref() == Some("volume"), "{report:?}");
    assert_eq!(left.len(), 1, "nothing was left, so nothing was said of it");
    fs::remove_dir_all(plan.bwrap.parent().unwrap()).unwrap();
}

/// In a cgroup, everybody can be ended.
fn without_cgroups(plan: &ZonePlan) -> Command {
    let launcher = launcher(plan);
    if !is_root() {
        return launcher;
    }
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", "umount -a -l -t cgroup2; exec \"$@\"", "sh"])
        .arg(launcher.get_program())
        .args(launcher.get_args())
        .stdin(input(plan));
    command
}

/// Ends the parent of this process, which is process 1 of its zone.
fn kill_above(process: u32) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap()
        .trim();
    let killed = Command::new("kill").args(["-9", parent]).status().unwrap();
    assert!(killed.success());
}

pub(crate) fn a_zone_goes_with_its_launcher_though_somebody_holds_its_line() {
    let room = Room::new();
    let sleep = sleeper();
    let mut running = launcher(&room.plan(Zone::Agent, &["sh", "-c", &sleep]))
        .spawn()
        .unwrap();
    below(running.id(), 4);
    // A copy of every socket of the launcher: its end does not close the line, so that bwrap alone is left to see it.
    let pid = Pid::from_child(&running);
    let process = pidfd_open(pid, PidfdFlags::empty()).unwrap();
    let numbers = fs::read_dir(format!("/proc/{}/fd", running.id())).unwrap();
    let numbers = numbers.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let held: Vec<_> = numbers
        .filter(|number: &i32| *number > 2)
        .filter_map(|number| {
            let flags = PidfdGetfdFlags::empty();
            pidfd_getfd(&process, number, flags).ok()
        })
        .collect();
    assert!(!held.is_empty(), "the line is held by nobody");
    running.kill().unwrap();
    running.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !sleepers(&sleep).is_empty() {
        assert!(Instant::now() < until, "the zone outlives its launcher");
        std::thread::yield_now();
    }
    drop(held);
}

pub(crate) fn a_command_has_the_processors_and_the_input_that_were_planned() {
    let room = Room::new();
    let word = room.make_file("word", "a word\n");
    let mut plan = room.plan(Zone::Exec, &["sh", "-c", "cat; nproc"]);
    plan.binds.push(Bind {
        source: word,
        at: "/loopexec/word".into(),
        writable: false,
    });
    plan.limits.processors = Some(1);
    assert_eq!(run(&plan).stdout, "1\n", "without an input there is none");
    plan.input = vec!["/loopexec/word".into()];
    let both = run(&plan);
    assert_eq!(both.stdout, "a word\n1\n");
    let fixed = both.report.unwrap().facts.unwrap().fixed;
    assert_eq!(fixed, Fixture::ALL, "and each is told to be fixed");
    plan.limits.processors = None;
    let fixed = run(&plan).report.unwrap().facts.unwrap().fixed;
    assert!(!fixed.contains(&Fixture::Processors), "{fixed:?}");
}
