//! A system call of a run fails, or is the last thing that a process does: `strace` counts the calls of each thread
//! and puts the fault at the N-th.
//!
//! `LOOPEXEC_TEST_FAULTS` says how many of the places are tried; 0 are all of them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::Scene;

/// The calls that change something, and the one that opens it.
const CALLS: &str = "openat,mkdir,pwrite64,write,ftruncate,fdatasync,fsync,rename,renameat,renameat2,unlink,unlinkat";
const FAULTS: [&str; 3] = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];

/// Tried when nobody asks for more: one in each group, and a few further ones.
const USUAL: usize = 24;

#[derive(Clone, Debug)]
struct Place {
    call: String,
    fault: &'static str,
    when: usize,
}

impl Place {
    fn strace(&self, log: &str) -> Vec<String> {
        let Self { call, fault, when } = self;
        let inject = format!("--inject={call}:{fault}:when={when}");
        // Without a filter in the kernel: behind one, strace 6.1 sends no signal.
        let words = ["timeout", "-k", "5", "90", "strace", "-f", "-o", log];
        let chosen = ["-e".to_owned(), format!("trace={call}"), inject];
        words.map(str::to_owned).into_iter().chain(chosen).collect()
    }
}

fn can_trace() -> bool {
    let mut probe = Command::new("strace");
    probe.args(["-f", "--seccomp-bpf", "-o", "/dev/null", "true"]);
    probe.output().is_ok_and(|out| out.status.success())
}

/// How often a thread of an undisturbed run makes each call, at most.
fn counted(base: &std::path::Path) -> BTreeMap<String, usize> {
    let scene = Scene::new(&base.join("counted"));
    let log = base.join("counted.log");
    let trace = format!("trace={CALLS}");
    let strace = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        log.to_str().unwrap(),
        "-e",
        &trace,
    ];
    let heard = scene.faulty(&strace);
    assert_eq!(heard.exit, Some(10), "{heard:?}");
    assert!(heard.acked.len() > 20, "{heard:?}");
    let mut threads: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let Some((thread, call)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, _)) = call.trim_start().split_once('(') else {
            continue;
        };
        if CALLS.split(',').any(|known| known == name) {
            *threads.entry((name.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((name, _), count) in threads {
        let known = most.entry(name).or_default();
        *known = count.max(*known);
    }
    most
}

/// So many places, spread evenly over each call and fault; 0 are all.
fn places(most: &BTreeMap<String, usize>, wanted: usize) -> Vec<Place> {
    let groups = most.len() * FAULTS.len();
    let mut chosen = Vec::new();
    for (call, count) in most {
        for (nth, fault) in FAULTS.into_iter().enumerate() {
            let each = match wanted {
                0 => *count,
                _ => wanted.div_ceil(groups).min(*count),
            };
            // Each fault has its own places, so that few of them still see the beginning, the middle and the end.
            let shift = if each == *count { 0 } else { nth * count / FAULTS.len() };
            chosen.extend((0..each).map(|i| Place {
                call: call.clone(),
                fault,
                when: 1 + (i * count / each + shift) % count,
            }));
        }
    }
    chosen
}

#[test]
// What was tried is told, and so is that nothing could be.
#[allow(clippy::print_stdout)]
fn whatever_call_fails_or_ends_a_process_nothing_that_was_told_is_lost() {
    if !can_trace() {
        println!("skipped: strace cannot be started, or may not trace");
        return;
    }
    let asked = std::env::var("LOOPEXEC_TEST_FAULTS").ok();
    let wanted = asked.map_or(USUAL, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let places = places(&counted(&base), wanted);
    let (mut hit, mut killed, mut told) = (0, 0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (i, place) in places.iter().enumerate() {
        let scene = Scene::new(&base.join(i.to_string()));
        let log = base.join(format!("{i}.log"));
        let strace = place.strace(log.to_str().unwrap());
        let heard = scene.faulty(&strace.iter().map(String::as_str).collect::<Vec<_>>());
        assert_ne!(heard.exit, Some(124), "{place:?}: it never ends");
        let trace = fs::read_to_string(&log).unwrap();
        hit += usize::from(trace.contains("(INJECTED)") || trace.contains("killed by SIGKILL"));
        killed += usize::from(heard.killed());
        told += heard.acked.len();
        let reason = scene.settles(&heard, &format!("{place:?}"));
        *reasons.entry(reason).or_default() += 1;
        fs::remove_dir_all(&scene.base).unwrap();
    }
    println!(
        "figure: {} runs with a fault at a system call, {hit} met it, {killed} killed: 0 of {told} told events lost, then {reasons:?}",
        places.len()
    );
    assert!(
        hit * 10 >= places.len() * 8,
        "{hit} of {} faults were met",
        places.len()
    );
    assert!(
        killed > 0 && reasons.contains_key("success_condition_met"),
        "{reasons:?}"
    );
}
