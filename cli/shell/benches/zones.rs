//! What a zone costs to start, and what its proxy passes: ratios against floors of the same run.
//!
//! ```text
//!   floor: bwrap with every namespace of its own starts `true`          zone: supervisor, launcher, bwrap, init, `true`
//!   floor: bytes over the loopback                                      proxy: the same bytes through a tunnel
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench prints, and stops where something fails"
)]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use engine::event::policy::{Command as Words, Policy};
use shell::hidden;
use shell::process::{CommandSpec, Input, Outcome, Supervisor, SupervisorOptions, wishes};
use shell::zone::proxy::{Proxy, SystemResolver};
use shell::zone::{self, Egress, Pair, ZonePlan};

/// A user that owns nothing.
const NOBODY: u32 = 64646;
const ROUNDS: usize = 40;
const BYTES: usize = 128 << 20;

fn main() -> ExitCode {
    if let Some(done) = hidden::dispatch(std::env::args_os().skip(1)) {
        return done;
    }
    starts();
    passes();
    ExitCode::SUCCESS
}

fn starts() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let exe = std::env::current_exe().unwrap();
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut policy = Policy::default();
    policy.oracle.check = Words::shell("true");
    policy.isolation.uid = Some(NOBODY);
    let pair = Pair {
        policy: &policy,
        workdir: &tree,
        env: &env,
        exe: &exe,
    };
    let Ok([_, mut plan]) = pair.plans() else {
        return println!("zones: not to be had here");
    };
    plan.work.source.clone_from(&tree);
    plan.argv = vec!["true".into()];
    let mut supervisor = Supervisor::start(&exe, SupervisorOptions { runtime_dir: None, env }).unwrap();
    let (mut floor, mut zone) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        plan.report = place.path().join(format!("{round}.json"));
        floor.push(bare(&plan.bwrap));
        zone.push(whole(&mut supervisor, &exe, &plan));
    }
    tell(
        "a zone that starts and ends",
        &mut zone,
        "bwrap --unshare-all true",
        &mut floor,
    );
}

/// Namespaces, a root, nothing else.
fn bare(bwrap: &Path) -> Duration {
    let (uid, words) = (
        NOBODY.to_string(),
        [
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "true",
        ],
    );
    let root = rustix::process::geteuid().is_root();
    let mut command = Command::new(if root { Path::new("setpriv") } else { bwrap });
    if root {
        command
            .args(["--reuid", &uid, "--regid", &uid, "--clear-groups"])
            .arg(bwrap);
    }
    let began = Instant::now();
    assert!(command.args(words).status().unwrap().success());
    began.elapsed()
}

fn whole(supervisor: &mut Supervisor, exe: &Path, plan: &ZonePlan) -> Duration {
    let spec = CommandSpec {
        argv: vec![exe.into(), zone::LAUNCH.into()],
        cwd: "/".into(),
        input: Input::Bytes(postcard::to_stdvec(plan).unwrap()),
        ..CommandSpec::default()
    };
    let began = Instant::now();
    let run = supervisor.run(&spec, &wishes().unwrap().1).unwrap();
    assert_eq!(run.outcome, Outcome::Exited(0), "{run:?}");
    began.elapsed()
}

fn passes() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = model.local_addr().unwrap();
    let egress = Egress {
        allow: vec![format!("local:127.0.0.1:{}", at.port())],
        connections_max: 1_000,
        concurrent_max: 8,
        bytes_max: u64::MAX,
        idle_ms: 60_000,
        total_ms: 600_000,
        gateway: None,
    };
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let entrance = door.local_addr().unwrap();
    let proxy = Proxy::serve(door, &egress, Box::new(SystemResolver)).unwrap();
    let (mut floor, mut tunnel) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        floor.push(through(&model, || TcpStream::connect(at).unwrap()));
        tunnel.push(through(&model, || {
            let mut client = TcpStream::connect(entrance).unwrap();
            write!(client, "CONNECT {at} HTTP/1.1\r\nhost: {at}\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                answer.push(byte[0]);
            }
            client
        }));
    }
    drop(proxy.finish());
    tell(
        "128 MiB through the proxy",
        &mut tunnel,
        "over the loopback",
        &mut floor,
    );
}

/// How long it takes until the far side has all bytes.
fn through(model: &TcpListener, connect: impl Fn() -> TcpStream) -> Duration {
    thread::scope(|scope| {
        let far = scope.spawn(|| {
            let (mut far, _) = model.accept().unwrap();
            std::io::copy(&mut far, &mut std::io::sink()).unwrap()
        });
        let mut near = connect();
        let chunk = vec![b'x'; 1 << 20];
        let began = Instant::now();
        for _ in 0..BYTES / chunk.len() {
            near.write_all(&chunk).unwrap();
        }
        drop(near);
        assert_eq!(far.join().unwrap(), BYTES as u64);
        began.elapsed()
    })
}

fn tell(what: &str, taken: &mut [Duration], against: &str, floor: &mut [Duration]) {
    let median = |times: &mut [Duration]| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (taken, floor) = (median(taken), median(floor));
    println!(
        "{what}: {taken:.1?}; {against}: {floor:.1?}; ratio {:.2}",
        taken.as_secs_f64() / floor.as_secs_f64()
    );
}
