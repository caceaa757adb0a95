//! What loopexec costs beside the bare loop it replaces: every figure is a ratio to a floor, measured in turn with
//! it in the same rounds, so that the machine's speed cancels out.
//!
//! `cargo bench -p loopexec --bench run`. `LOOPEXEC_BENCH_ITERATIONS` sets the length of a run (200), and
//! `LOOPEXEC_BENCH_EXE` names another binary to measure.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints its table and has nobody to report to"
)]

mod place;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use place::{Place, find, median, program};

const ROUNDS: usize = 5;
/// How many starts of a program that ends at once make one figure.
const STARTS: u32 = 20;
const BARE_LOOP: &str = "i=0; while [ $i -lt $1 ]; do sh -c true; sh -c false; i=$((i+1)); done";
const MEMORY: &str = "/dev/shm";

fn main() {
    let iterations = std::env::var("LOOPEXEC_BENCH_ITERATIONS").map_or(200, |text| text.parse().unwrap());
    assert!(iterations >= 20, "a tenth of the iterations must be more than one");
    let disk = std::env::temp_dir();
    let memory = Some(Path::new(MEMORY)).filter(|path| tempfile::tempdir_in(path).is_ok());

    println!("{iterations} iterations a run; medians of {ROUNDS} rounds, measured in turn with the floor");
    println!(
        "{:<44} {:>9} {:>9} {:>7} {:>8}",
        "", "measured", "floor", "ratio", "target"
    );
    status(memory.unwrap_or(&disk));
    match memory {
        Some(memory) => run("tmpfs", memory, iterations, 1.25),
        None => println!("{:<44} skipped: {MEMORY} cannot be written", "run on tmpfs"),
    }
    run("disk", &disk, iterations, 1.5);
    processor(memory.unwrap_or(&disk), iterations);
    files(&disk, iterations);
    syncs(&disk);
}

/// Asking for the state, where there is none and after a short run, against starting `true`.
fn status(below: &Path) {
    let (empty, used) = (Place::new(below), Place::new(below));
    used.iterate(5);
    let [mut floor, mut bare, mut full] = [(); 3].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        floor.push(mean(|| empty.command("true")));
        bare.push(mean(|| empty.loopexec(&["status"])));
        full.push(mean(|| used.loopexec(&["status"])));
    }
    row("status in an empty directory, ms", &bare, &floor, 2.0);
    row("status after a short run, ms", &full, &floor, 2.0);
    for (what, place) in [("in an empty directory", &empty), ("after a short run", &used)] {
        let peak = peak_before_output_kib(place.loopexec(&["status"]));
        println!("{:<44} {peak:>9}", format!("status {what}, peak KiB"));
    }
}

/// Whole runs against the bare loop, and the end of each run against its own beginning.
fn run(name: &str, below: &Path, iterations: usize, target: f64) {
    let [mut floor, mut whole, mut first, mut last] = [(); 4].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        let place = Place::new(below);
        floor.push(ms(wall(place.bare(iterations))) / iterations as f64);
        whole.push(ms(place.iterate(iterations)) / iterations as f64);
        let (early, late) = place.tenths();
        first.push(early);
        last.push(late);
    }
    row(&format!("run on {name}, ms an iteration"), &whole, &floor, target);
    row("  its last tenth against its first, ms", &last, &first, 1.10);
    let peak = peak_of_run_kib(Place::new(below).run(iterations));
    println!("{:<44} {peak:>9}", "  peak KiB of the governor");
}

/// Processor time of governor and supervisor: of everything that a run starts, less what the bare loop and all that it
/// starts need for the same commands.
fn processor(below: &Path, iterations: usize) {
    let what = "CPU beyond the commands, ms an iteration";
    if program("bash").is_none() {
        println!("{what:<44} skipped: no bash to count it");
        return;
    }
    let extra: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let place = Place::new(below);
            let bare = place.processor_ms(&place.bare(iterations));
            let whole = place.processor_ms(&place.run(iterations));
            (whole - bare) / iterations as f64
        })
        .collect();
    let verdict = if median(&extra) > 0.2 { "  above" } else { "" };
    println!(
        "{what:<44} {:>9.2} {:>9} {:>7} {:>8}{verdict}",
        median(&extra),
        "",
        "",
        "<= 0.20"
    );
}

/// What a run leaves behind, by its length. Segments of the journal stand apart: by design a long run has more of them.
fn files(below: &Path, iterations: usize) {
    let lengths = [iterations, iterations / 10];
    let [many, few] = lengths.map(|length| {
        let place = Place::new(below);
        place.iterate(length);
        let mut files = Vec::new();
        gather(place.root.path(), &mut files);
        let is_segment = |path: &&PathBuf| path.extension().is_some_and(|end| end == "seg" || end == "prep");
        let segments: Vec<u64> = files
            .iter()
            .filter(is_segment)
            .map(|path| path.metadata().unwrap().len())
            .collect();
        (files.len() - segments.len(), segments)
    });
    let verdict = if many.0 == few.0 { "" } else { "  above" };
    let what = format!("files after {} iterations and {}", lengths[0], lengths[1]);
    println!("{what:<44} {:>9} {:>9} {:>7} {:>8}{verdict}", many.0, few.0, "", "same");
    let [many, few] = [many, few].map(|(_, segments)| (segments.len(), segments.iter().sum::<u64>() >> 10));
    println!(
        "{:<44} {:>9} {:>9}",
        "  segments of the journal beside them", many.0, few.0
    );
    let each = |(count, kib): (usize, u64)| kib / count as u64;
    println!(
        "{:<44} {:>9} {:>9}",
        "  KiB of journal a segment",
        each(many),
        each(few)
    );
}

/// Barriers of one iteration: the difference of two runs, so that starting and halting do not count.
fn syncs(below: &Path) {
    let what = "fsync and fdatasync an iteration";
    let mut probe = Command::new("strace");
    probe.args(["-o", "/dev/null", "true"]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        println!("{what:<44} skipped: no strace, or none that may trace");
        return;
    }
    let [few, many] = [10, 30].map(|length| Place::new(below).syncs(length));
    let each = (many - few) as f64 / 20.0;
    let verdict = if each > 3.0 { "  above" } else { "" };
    println!("{what:<44} {each:>9.2} {:>9} {:>7} {:>8}{verdict}", "", "", "<= 3");
}

impl Place {
    /// The loop that a run replaces.
    fn bare(&self, iterations: usize) -> Command {
        let mut bare = self.command("sh");
        bare.args(["-c", BARE_LOOP, "sh", &iterations.to_string()]);
        bare
    }

    /// A run that nothing but the cap ends.
    fn run(&self, iterations: usize) -> Command {
        let mut command = self.loopexec(&["run", "--quiet", "--exec", "true", "--check", "false"]);
        command
            .args(["--no-progress-k", "off", "--same-failure-r", "off"])
            .args(["--max-iterations", &iterations.to_string()]);
        command
    }

    fn iterate(&self, iterations: usize) -> Duration {
        let start = Instant::now();
        let status = self.run(iterations).status().unwrap();
        let took = start.elapsed();
        assert_eq!(status.code(), Some(12), "the run did not end at its cap");
        took
    }

    /// Milliseconds of an iteration in the first and in the last tenth of the only run, by its own stamps.
    fn tenths(&self) -> (f64, f64) {
        let receipt = find(self.root.path(), "receipt.jsonl").unwrap();
        let stamps: Vec<f64> = fs::read_to_string(receipt)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| line["event"]["event"] == "checkpointed")
            .map(|line| line["event"]["at"]["mono_ms"].as_f64().unwrap())
            .collect();
        let (tenth, last) = (stamps.len() / 10, stamps.len() - 1);
        let each = |from: usize, to: usize| (stamps[to] - stamps[from]) / (to - from) as f64;
        (each(0, tenth), each(last - tenth, last))
    }

    /// User and system time of a command and of everything that was waited for below it.
    fn processor_ms(&self, command: &Command) -> f64 {
        let mut counted = self.command("bash");
        counted
            .args(["-c", r#""$@" > /dev/null; times"#, "bash"])
            .arg(command.get_program())
            .args(command.get_args())
            .stdout(Stdio::piped());
        let said = String::from_utf8(counted.output().unwrap().stdout).unwrap();
        // The second line is about the children: `0m0.123s 0m0.045s`.
        let [user, system]: [f64; 2] = [0, 1].map(|column| {
            let time = said.lines().nth(1).unwrap().split(' ').nth(column).unwrap();
            let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
            minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
        });
        (user + system) * 1e3
    }

    fn syncs(&self, iterations: usize) -> usize {
        let log = self.root.path().join("strace.log");
        let run = self.run(iterations);
        let mut traced = self.command("strace");
        traced
            .args(["-f", "-e", "trace=fsync,fdatasync,syncfs,sync", "-o"])
            .arg(&log)
            .arg(run.get_program())
            .args(run.get_args());
        wall(traced);
        let log = fs::read_to_string(log).unwrap();
        // The second half of a call that another thread's interrupted has no parenthesis behind its name.
        let is_call = |line: &&str| line.contains("sync(") || line.contains("syncfs(");
        log.lines().filter(is_call).count()
    }
}

/// The high-water mark of a program that is about to say what it found: it writes into a full pipe and waits there.
fn peak_before_output_kib(mut command: Command) -> u64 {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let size = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
    writer.write_all(&vec![0; size]).unwrap();
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let waits_in = format!("/proc/{}/wchan", child.id());
    let until = Instant::now() + Duration::from_secs(5);
    while !fs::read_to_string(&waits_in).is_ok_and(|call| call.contains("pipe_write")) && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
    let peak = high_water_kib(&child);
    drop(reader);
    child.wait().unwrap();
    peak
}

fn peak_of_run_kib(mut command: Command) -> u64 {
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(high_water_kib(&child));
        thread::sleep(Duration::from_millis(2));
    }
    peak
}

/// Zero for a process that is gone.
fn high_water_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Every file at or below a directory.
fn gather(below: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn wall(mut command: Command) -> Duration {
    let start = Instant::now();
    command.status().unwrap();
    start.elapsed()
}

/// Milliseconds of one start, over several.
fn mean(command: impl Fn() -> Command) -> f64 {
    let whole: Duration = (0..STARTS).map(|_| wall(command())).sum();
    ms(whole) / f64::from(STARTS)
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// One line: the medians of both, and the median of the ratios of each round.
fn row(what: &str, measured: &[f64], floor: &[f64], target: f64) {
    let ratios: Vec<f64> = measured.iter().zip(floor).map(|(one, base)| one / base).collect();
    let ratio = median(&ratios);
    let verdict = if ratio > target { "  above" } else { "" };
    println!(
        "{what:<44} {:>9.2} {:>9.2} {ratio:>7.2} {:>8}{verdict}",
        median(measured),
        median(floor),
        format!("<= {target:.2}")
    );
}
