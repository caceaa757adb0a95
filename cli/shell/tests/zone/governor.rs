//! The stand-in governor, and its many deaths.
//!
//! The killer adopts every orphan below it, so that "nobody is left" is the kernel's word: there is no child to wait
//! for.

use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, wait};
use shell::zone::{FALL, Zone};

use super::support::{Room, launcher, sleeper};

/// The arguments that turn the binary into one of the two.
pub(crate) const STAND_IN: &str = "stand-in";
pub(crate) const KILLER: &str = "killer";

/// After this, whoever is still there is a survivor.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest that a governor lives.
const LIFE_MAX_US: u64 = 60_000;

/// Who is killed.
const VICTIMS: [&str; 2] = ["launcher", "governor"];

/// Starts the launcher with its own input, and waits.
pub(crate) fn stand_in() -> ExitCode {
    let own = std::env::current_exe().unwrap();
    let mut launcher = Command::new(own);
    launcher
        .arg(shell::zone::LAUNCH)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    launcher.spawn().unwrap().wait_with_output().unwrap();
    ExitCode::SUCCESS
}

/// Kills so many launchers and governors, each at a moment of its own; says how many processes stayed.
#[expect(clippy::zombie_processes, reason = "every child is waited for, whoever it is")]
pub(crate) fn killer(words: &[String]) -> ExitCode {
    let [times, seed] = [0, 1].map(|at| words[at].parse::<u64>().unwrap());
    set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let room = Room::new();
    let script = format!("{} & setsid {}", sleeper(), sleeper());
    let plan = room.plan(Zone::Agent, &["sh", "-c", &script]);
    let mut random = seed;
    let mut survivors = 0;
    for round in 0..times {
        let mut victim = launcher(&plan);
        if VICTIMS[(round % 2) as usize] == "governor" {
            let input = super::support::input(&plan);
            victim = Command::new(std::env::current_exe().unwrap());
            victim.arg(STAND_IN).stdin(input);
        }
        let victim = victim.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Not to wait for something: the moment is the attack.
        std::thread::sleep(Duration::from_micros((random >> 33) % LIFE_MAX_US));
        kill_process(Pid::from_child(&victim), Signal::KILL).unwrap();
        survivors += left();
    }
    println!("{survivors} survivors");
    ExitCode::SUCCESS
}

/// Waits until nobody is left; after a time counts, and ends, whoever is.
fn left() -> u32 {
    let (says, heard) = channel();
    std::thread::spawn(move || {
        // Until there is no child to wait for, whoever that was.
        while wait(WaitOptions::empty()).err() != Some(Errno::CHILD) {}
        says.send(()).unwrap();
    });
    if heard.recv_timeout(PATIENCE).is_ok() {
        return 0;
    }
    let own = std::process::id();
    let list = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap();
    let left: Vec<i32> = list.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    for pid in &left {
        eprintln!(
            "{pid}: {}",
            std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .unwrap_or_default()
                .replace('\0', " ")
        );
        kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL).unwrap();
    }
    u32::try_from(left.len()).unwrap()
}

/// Of so many killed governors nothing stays (A66).
pub(crate) fn nothing_outlives_a_killed_governor(seed: u64) {
    let said = Command::new(std::env::current_exe().unwrap())
        .args([KILLER, "150", &seed.to_string()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "0 survivors\n", "A66: {said:?}");
}

/// What the killer of a stand-in names, where the one that stands in is this script and the pipe its first word.
fn named(script: &str, patience_ms: &str) -> std::process::Output {
    let room = Room::new();
    let pipe = room.path("alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let stands_in = room.make_file("stand-in", &format!("#!/bin/sh\nexec 3>{}\n{script}\n", pipe.display()));
    std::fs::set_permissions(&stands_in, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut killer = Command::new(std::env::current_exe().unwrap());
    killer.arg(FALL).arg(stands_in).arg(pipe).arg(patience_ms);
    killer.stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn whoever_outlives_a_stand_in_governor_is_named_and_ended() {
    let said = named("sleep 600 & printf .; printf . >&3; wait", "300");
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.status.success() && text.lines().count() == 1 && text.contains("sleep 600"),
        "{said:?}"
    );
    let number = text.split([' ', ',']).nth(1).unwrap();
    let command = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&command).contains("sleep"), "{number} lives");
    assert_eq!(named("printf . >&3; exec sleep 600", "10000").stdout, b"");
    let unstarted = named("exit 3", "10000");
    assert!(
        !unstarted.status.success() && unstarted.stdout.is_empty(),
        "{unstarted:?}"
    );
}
