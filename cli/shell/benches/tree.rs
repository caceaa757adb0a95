//! What a scan costs beside `git status`, both measured in turn on the same tree of 20,000 files.
//!
//! The machine's speed cancels out: only ratios mean something. `cargo bench -p shell --bench tree`; a
//! number as argument is the count of files.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its table and has nobody to report to"
)]

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shell::tree::{Options, Tree};

const ROUNDS: usize = 25;
const FILES_IN_A_DIRECTORY: usize = 20;

fn main() {
    let files = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(20_000);
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    make_repository(&work, files);
    // Git keeps files apart that are as new as its index; so that both sides start from settled stamps.
    while git(&work, &["status", "--porcelain"]).1 > 0 {}

    let mut cold = Vec::new();
    for _ in 0..3 {
        let mut tree = open(&work, home.path(), 2);
        cold.push(time(|| tree.scan().unwrap()));
    }
    let mut first = open(&work, home.path(), 2);
    let store = time(|| first.snapshot().unwrap());
    first.save_cache().unwrap();
    let mut reload = Vec::new();
    for _ in 0..3 {
        let state = home.path().join("state");
        let mut tree = None;
        reload.push(time(|| {
            let mut opened = Tree::open(&work, &state, Options::default()).unwrap();
            opened.scan().unwrap();
            tree = Some(opened);
        }));
    }

    let mut one = open(&work, home.path(), 1);
    let mut two = open(&work, home.path(), 2);
    one.scan().unwrap();
    two.scan().unwrap();
    two.snapshot().unwrap();
    let [
        mut plain,
        mut cached,
        mut scan_one,
        mut scan_two,
        mut snapshot,
        mut edit,
    ] = [(); 6].map(|()| Vec::new());
    let flip = work.join("d0/s0/file-0.txt");
    for round in 0..ROUNDS {
        let off = [
            "-c",
            "core.untrackedCache=false",
            "-c",
            "core.fsmonitor=false",
            "status",
            "--porcelain",
        ];
        plain.push(git(&work, &off).0);
        scan_two.push(time(|| two.scan().unwrap()));
        git(&work, &["update-index", "--untracked-cache"]);
        git(&work, &["status", "--porcelain"]);
        cached.push(git(&work, &["-c", "core.untrackedCache=true", "status", "--porcelain"]).0);
        git(&work, &["update-index", "--no-untracked-cache"]);
        scan_one.push(time(|| one.scan().unwrap()));
        snapshot.push(time(|| two.snapshot().unwrap()));
        std::fs::write(&flip, format!("edit {round}\n")).unwrap();
        edit.push(time(|| two.snapshot().unwrap()));
        git(&work, &["checkout", "-q", "--", "."]);
        two.snapshot().unwrap();
        one.scan().unwrap();
    }

    let floor = median(&plain);
    println!("{files} files, unchanged; medians of {ROUNDS} rounds, measured in turn");
    println!("{:<44} {:>9} {:>22}", "", "ms", "x git status");
    row("git status --porcelain", floor, floor);
    row("git status --porcelain, untracked cache", median(&cached), floor);
    row("scan, one thread", median(&scan_one), floor);
    row("scan, two threads", median(&scan_two), floor);
    row("snapshot of an unchanged tree", median(&snapshot), floor);
    row("snapshot after one edit (durable)", median(&edit), floor);
    row("first scan of a process, stat cache on disk", median(&reload), floor);
    row("first scan of all, hashing everything", median(&cold), floor);
    row("first snapshot, storing everything", store, floor);
}

fn row(what: &str, took: Duration, floor: Duration) {
    println!(
        "{what:<44} {:>9.2} {:>22.2}",
        took.as_secs_f64() * 1e3,
        took.as_secs_f64() / floor.as_secs_f64()
    );
}

fn open(work: &Path, home: &Path, threads: usize) -> Tree {
    let options = Options {
        threads,
        load_cache: false,
        ..Options::default()
    };
    Tree::open(work, &home.join("state"), options).unwrap()
}

fn make_repository(work: &Path, files: usize) {
    for n in 0..files {
        let group = n / FILES_IN_A_DIRECTORY;
        let dir = work.join(format!("d{}/s{}", group % 40, group / 40));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(
            dir.join(format!("file-{n}.txt")),
            format!("content of file {n}\n").repeat(20),
        )
        .unwrap();
    }
    std::fs::write(work.join(".gitignore"), "*.log\n*.tmp\n/build/\n.cache/\n!keep.log\n").unwrap();
    git(work, &["init", "-q", "-b", "main"]);
    git(work, &["add", "-A"]);
    git(work, &["commit", "-q", "-m", "all"]);
}

/// How long git took, and how many bytes it printed.
fn git(work: &Path, args: &[&str]) -> (Duration, usize) {
    let mut command = Command::new("git");
    command
        .args([
            "-c",
            "user.name=A User",
            "-c",
            "user.email=user@example.org",
            "-c",
            "gc.auto=0",
        ])
        .args(args);
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .current_dir(work);
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    let took = start.elapsed();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    (took, output.stdout.len())
}

fn time<T>(mut work: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
