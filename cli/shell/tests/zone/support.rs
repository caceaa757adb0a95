//! One zone for one script, and what it said.

use std::ffi::OsString;
use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use shell::zone::{HOME_AT, LAUNCH, Limits, Network, TMP_AT, Work, Zone, ZonePlan, ZoneReport};

/// Nothing here takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whom root drops to: no account of any machine.
pub(crate) const NOBODY: u32 = 64646;

/// Where zones see their work tree.
pub(crate) const WORK_AT: &str = "/project/tree";

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A private directory with a work tree in it, and a place for reports that no zone sees.
pub(crate) struct Room {
    directory: tempfile::TempDir,
}

/// What a zone did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) report: Option<ZoneReport>,
}

impl Room {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // As private as a home directory.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let room = Self { directory };
        for name in ["tree", "tree/tests", "tree/out"] {
            room.make_directory(name);
        }
        room.make_file("tree/tests/t", "base\n");
        room
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn make_directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        hand_over(&path);
        path
    }

    pub(crate) fn make_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        hand_over(&path);
        path
    }

    pub(crate) fn plan(&self, zone: Zone, argv: &[&str]) -> ZonePlan {
        let writable = zone == Zone::Agent;
        let outputs = if writable {
            vec![]
        } else {
            vec![Path::new(WORK_AT).join("out")]
        };
        let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        ZonePlan {
            zone,
            container: None,
            bwrap: std::env::var_os("LOOPEXEC_TEST_BWRAP")
                .unwrap_or("/usr/bin/bwrap".into())
                .into(),
            binds: Vec::new(),
            work: Work {
                source: self.path("tree"),
                at: WORK_AT.into(),
                writable,
                outputs,
            },
            network: Network::Nothing,
            limits: Limits {
                memory_bytes: 4 << 30,
                processes: 64,
                open_files: 256,
                file_bytes: 64 << 20,
                scratch_bytes: 16 << 20,
                volume_bytes: 1 << 30,
                processors: None,
            },
            require_cgroup: false,
            drop_to: is_root().then_some((NOBODY, NOBODY)),
            umask: 0o22,
            env: vec![
                set("PATH", "/usr/local/bin:/usr/bin:/bin"),
                set("HOME", HOME_AT),
                set("TMPDIR", TMP_AT),
                set("TZ", "UTC"),
                set("LC_ALL", "C.UTF-8"),
                set("PYTHONHASHSEED", "0"),
                set("W", WORK_AT),
            ],
            argv: argv.iter().map(OsString::from).collect(),
            cwd: WORK_AT.into(),
            input: Vec::new(),
            report: self.path("report.json"),
        }
    }

    pub(crate) fn sh(&self, zone: Zone, script: &str) -> Run {
        run(&self.plan(zone, &["sh", "-c", script]))
    }
}

/// To the user that the zone runs as.
fn hand_over(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// The launcher of a plan, as a supervisor starts it.
pub(crate) fn launcher(plan: &ZonePlan) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(LAUNCH).env("CANARY", "of-the-governor").stdin(input(plan));
    command
}

/// A plan as the launcher reads it.
pub(crate) fn input(plan: &ZonePlan) -> Stdio {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(&postcard::to_stdvec(plan).unwrap()).unwrap();
    input.rewind().unwrap();
    input.into()
}

pub(crate) fn run(plan: &ZonePlan) -> Run {
    let said = launcher(plan).output().unwrap();
    let report = fs::read(&plan.report).ok();
    let _next = fs::remove_file(&plan.report);
    Run {
        status: said.status,
        stdout: String::from_utf8_lossy(&said.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&said.stderr).into_owned(),
        report: report.map(|bytes| serde_json::from_slice(&bytes).unwrap()),
    }
}

impl Run {
    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// A command that sleeps for ten minutes and is unlike any other.
pub(crate) fn sleeper() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let serial = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("sleep 602.{}{serial:03}", std::process::id())
}

/// Processes of exactly this command.
pub(crate) fn sleepers(command: &str) -> Vec<u32> {
    let wanted = format!("{}\0", command.replace(' ', "\0"));
    let pids = fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes()))
        .collect()
}

/// The line of processes below one, each the first child of the one before; waits until it is that long.
pub(crate) fn below(process: u32, length: usize) -> Vec<u32> {
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "the zone never came to stand");
        let mut line = vec![process];
        while let Some(child) = line.last().and_then(|last| {
            let children = fs::read_to_string(format!("/proc/{last}/task/{last}/children")).unwrap_or_default();
            children.split_whitespace().next()?.parse().ok()
        }) {
            line.push(child);
        }
        if line.len() > length {
            return line.split_off(1);
        }
        std::thread::yield_now();
    }
}

/// Why no zone starts on this machine, whatever loopexec does.
pub(crate) fn unable() -> Option<String> {
    let mut bare = Command::new("/usr/bin/bwrap");
    bare.args([
        "--unshare-all",
        "--disable-userns",
        "--unshare-user",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "true",
    ]);
    if is_root() {
        bare.uid(NOBODY).gid(NOBODY);
    }
    match bare.current_dir("/").output() {
        Err(error) => Some(format!("bwrap cannot be started: {error}")),
        Ok(said) if !said.status.success() => Some(String::from_utf8_lossy(&said.stderr).into_owned()),
        Ok(_) => None,
    }
}
