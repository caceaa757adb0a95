//! Work that is held without a zone, where somebody asked for that by name (SPEC 14.1.5).
//!
//! ```text
//!   supervisor ── this binary: limits, Landlock, system calls; then it becomes the command
//! ```
//!
//! It works in the user's tree, sees the machine's processes and has the machine's network. What holds is what the kernel
//! binds a process with by itself; what does not is told wherever the run is told of. The check is not held at all, and is
//! no check in a zone.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engine::event::policy::{IsolationPolicy, Policy};
use engine::event::zone::ZoneSeen;
use nix::unistd::execve;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use super::account;
use super::enter::{heed_signals, strings};
use super::limits::lowered;
use super::pair::run_once;
use super::shown::shown;
use super::terms::{HARMLESS, OF_TOOLCHAINS, OPEN_FILES, Variables, last_of_each};
use super::toolchain::{SYSTEM, Toolchain};
use super::{Refusal, RefusalCause, Zone, landlock, seccomp};
use crate::process::{CommandSpec, Deadlines, Outcome, Wishes, path_of, which};
use crate::scratch::Scratch;

/// The hidden first argument that turns the binary into what holds the work, and then into the work.
pub const HOLD: &str = "__hold";

/// How it ends when it did not become the command.
const REFUSED: u8 = 125;

/// Of the system, beside the directories of programs.
const OF_THE_SYSTEM: &[&str] = &["/etc", "/opt", "/proc", "/dev", "/sys", "/nix/store"];

/// No name of a variable has one.
const BETWEEN_NAMES: &str = "=";

/// Nobody who only says what holds takes this long.
const SEE_LIMIT_MS: u64 = 20_000;

/// What no kernel holds without namespaces.
const MISSING: &str = "processes and sockets of the machine are seen, its network is open, the work is done in your tree, \
                       and the check is not isolated";

/// What holds the work of one run.
#[derive(Debug)]
pub(crate) struct Held {
    exe: PathBuf,
    place: Scratch,
    workdir: PathBuf,
    toolchain: Toolchain,
    isolation: IsolationPolicy,
}

impl Held {
    /// For the tree at `workdir`.
    ///
    /// # Errors
    /// What this machine or this contract does not allow.
    pub(crate) fn of(policy: &Policy, workdir: &Path, env: &Variables, exe: &Path) -> Result<Self, Refusal> {
        if geteuid().is_root() {
            return Err(Refusal {
                cause: RefusalCause::Privileged,
                message: "loopexec runs as root, and nothing holds root without a zone: run it as a user".to_owned(),
            });
        }
        Ok(Self {
            exe: exe.to_path_buf(),
            place: Scratch::beside(workdir, "held").map_err(|error| failed(error.to_string()))?,
            workdir: workdir.to_path_buf(),
            toolchain: shown(policy, workdir, env)?,
            isolation: policy.isolation.clone(),
        })
    }

    /// The words that start the command so; of its environment it keeps these variables and no other.
    pub(crate) fn words(&self, env: &Variables, command: Vec<OsString>) -> Result<Vec<OsString>, Refusal> {
        let name = |path: &&str| PathBuf::from(path);
        // Where a name is looked up is told by a file behind a link, in a directory that nobody is shown.
        let resolver = Path::new("/etc/resolv.conf").canonicalize().ok();
        let readable = SYSTEM.iter().chain(OF_THE_SYSTEM).map(name).chain(resolver);
        let readable = readable.chain(self.toolchain.dirs.iter().cloned());
        let writable = [self.workdir.clone(), self.place.home(), self.place.tmp()];
        let joined = |places: Vec<PathBuf>| {
            std::env::join_paths(places).map_err(|error| failed(format!("a place of it cannot be told: {error}")))
        };
        let memory = self.isolation.memory_max_bytes.to_string();
        let words = [self.exe.clone().into(), HOLD.into(), memory.into()];
        let places = [joined(readable.collect())?, joined(writable.to_vec())?];
        let names: Vec<&OsStr> = env.iter().map(|(name, _)| name.as_os_str()).collect();
        let names = names.join(OsStr::new(BETWEEN_NAMES));
        Ok(words.into_iter().chain(places).chain([names]).chain(command).collect())
    }

    /// What it finds in its environment: an allow list, and what it gets on top.
    pub(crate) fn environment(&self, inherited: &Variables, own: Variables) -> Variables {
        let named = &self.isolation.agent_env;
        let kept = |name: &OsString| {
            let known = ["PATH", "USER", "LOGNAME", "SHELL"];
            let mut all = HARMLESS.iter().chain(OF_TOOLCHAINS).chain(&known);
            all.any(|known| name == known) || named.iter().any(|known| name == known.as_str())
        };
        let mut env = self.toolchain.env.clone();
        env.extend(inherited.iter().filter(|(name, _)| kept(name)).cloned());
        env.extend(own);
        env.extend(
            [("HOME", self.place.home()), ("TMPDIR", self.place.tmp())].map(|(name, at)| (name.into(), at.into())),
        );
        last_of_each(env)
    }

    /// What holds here, seen by starting it with nothing to do.
    pub(crate) fn see(&self, env: &Variables, wishes: &Wishes) -> Result<ZoneSeen, Refusal> {
        let spec = CommandSpec {
            argv: self.words(&Vec::new(), Vec::new())?,
            cwd: "/".into(),
            deadlines: Deadlines {
                timeout_ms: Some(SEE_LIMIT_MS),
                ..Deadlines::default()
            },
            label: "held".to_owned(),
            ..CommandSpec::default()
        };
        let run = run_once(&self.exe, env, &spec, wishes).map_err(failed)?;
        let text = |output: crate::process::Captured| {
            String::from_utf8_lossy(&output.inline.unwrap_or(output.head))
                .trim()
                .to_owned()
        };
        match run.outcome {
            Outcome::Exited(0) => Ok(ZoneSeen {
                facts: text(run.stdout),
                ..account::blank(Zone::Agent)
            }),
            outcome => Err(failed(format!(
                "nothing holds the work: {outcome}, {}",
                text(run.stderr)
            ))),
        }
    }
}

fn failed(message: String) -> Refusal {
    Refusal {
        cause: RefusalCause::ProbeFailed,
        message,
    }
}

/// What the binary does when it is to hold a command, which its words say how to. Without a command it says what holds.
#[must_use]
pub fn hold(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let held = bound(&mut words).and_then(|facts| {
        let names = words.next().ok_or_else(|| "its variables are not named".to_owned())?;
        match words.next() {
            Some(program) => Err(become_command(&program, words, &names)),
            None => writeln!(io::stdout(), "{facts}").map_err(|error| error.to_string()),
        }
    });
    let Err(why) = held else { return ExitCode::SUCCESS };
    let _unheard = writeln!(io::stderr(), "loopexec: the work was not started: {why}");
    ExitCode::from(REFUSED)
}

fn become_command(program: &OsStr, words: impl Iterator<Item = OsString>, names: &OsStr) -> String {
    let is_named = |name: &OsStr| {
        let mut names = names.as_bytes().split(|byte| BETWEEN_NAMES.as_bytes() == [*byte]);
        names.any(|known| known == name.as_bytes())
    };
    let env: Variables = std::env::vars_os().filter(|(name, _)| is_named(name)).collect();
    let words: Vec<OsString> = [program.to_owned()].into_iter().chain(words).collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    let file = match which(program, &cwd, path_of(&env)) {
        Ok(file) => file,
        Err(outcome) => return format!("{}: {outcome}", program.display()),
    };
    match strings(&file, &words, &env) {
        Err(error) => error.to_string(),
        Ok([file, words, env]) => {
            let Err(error) = heed_signals().and_then(|()| Ok(execve(&file[0], &words, &env)?));
            format!("{}: {error}", program.display())
        }
    }
}

/// Binds this process; what holds then, in words.
fn bound(words: &mut impl Iterator<Item = OsString>) -> Result<String, String> {
    let mut next = || words.next().ok_or_else(|| "a word is missing".to_owned());
    let memory = next()?
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or("its memory is no number")?;
    let [readable, writable] = [next()?, next()?].map(|places| std::env::split_paths(&places).collect::<Vec<_>>());
    limit(memory).map_err(|error| format!("its limits: {error}"))?;
    let landlock = landlock::bind_to(&readable, &writable).map_err(|error| format!("its files: {error}"))?;
    let seccomp = seccomp::bind();
    let mut missing = vec![MISSING.to_owned()];
    let filtered = match &seccomp {
        Ok(()) => "seccomp",
        Err(error) => {
            missing.push(format!("system calls are not filtered ({error})"));
            "no seccomp"
        }
    };
    if landlock == 0 {
        missing.push("files are not held, for the kernel has no Landlock".to_owned());
        if seccomp.is_err() {
            return Err("the kernel has neither Landlock nor filters of system calls".to_owned());
        }
    }
    Ok(format!(
        "degraded: Landlock {landlock}, {filtered}, limits of each process; missing: {}",
        missing.join("; ")
    ))
}

/// Of each process alone: how many there are is counted for the user, who has others.
fn limit(memory_bytes: u64) -> rustix::io::Result<()> {
    let wanted = [
        (Resource::Core, 0),
        (Resource::As, memory_bytes),
        (Resource::Fsize, memory_bytes),
        (Resource::Nofile, u64::from(OPEN_FILES)),
    ];
    let lower = |(resource, wanted): (Resource, u64)| -> rustix::io::Result<()> {
        let limit: Rlimit = lowered(getrlimit(resource), wanted);
        setrlimit(resource, limit)
    };
    wanted.into_iter().try_for_each(lower)
}
