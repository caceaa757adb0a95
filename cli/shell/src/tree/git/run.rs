//! The one place where the git program is started.
//!
//! A repository can make git execute things (file system monitor, hooks, pager, filters, external
//! transports), and variables inherited from a hook can make it work on another repository. Here all of
//! that is switched off, the system's and the user's configuration are not read, nothing is asked of a
//! terminal, and the time is bounded.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::process::{Outcome, host_environment, host_program, path_of};
use crate::tree::error::{TreeError, errno_of};

const NEUTRAL: [&str; 13] = [
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "credential.helper=",
    "gc.auto=0",
    // The user's own list of trusted directories is not read, and nothing of the repository is executed.
    "safe.directory=*",
];

/// One git command to be.
pub(crate) struct Git<'a> {
    dir: &'a Path,
    git_dir: Option<&'a Path>,
    work_tree: Option<&'a Path>,
    index: Option<&'a Path>,
    author: Option<(&'a str, &'a str)>,
    limit_ms: u64,
}

impl<'a> Git<'a> {
    /// Git in this directory, for at most this long a command.
    pub(crate) fn new(dir: &'a Path, limit_ms: u64) -> Self {
        Self {
            dir,
            git_dir: None,
            work_tree: None,
            index: None,
            author: None,
            limit_ms,
        }
    }

    /// On this git directory, wherever it is run.
    pub(crate) fn on(mut self, git_dir: &'a Path) -> Self {
        self.git_dir = Some(git_dir);
        self
    }

    /// With this working tree, whatever the repository's configuration says.
    pub(crate) fn work_tree(mut self, top: &'a Path) -> Self {
        self.work_tree = Some(top);
        self
    }

    /// With this index instead of the repository's.
    pub(crate) fn index(mut self, index: &'a Path) -> Self {
        self.index = Some(index);
        self
    }

    /// With this name and address on commits.
    pub(crate) fn author(mut self, name: &'a str, address: &'a str) -> Self {
        self.author = Some((name, address));
        self
    }

    fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Command, TreeError> {
        // A git that the work left in the tree is not it, whoever has that on the search path.
        let env: Vec<_> = std::env::vars_os().collect();
        let program = host_program("git", path_of(&env)).map_err(|outcome| not_found(&outcome))?;
        let mut command = Command::new(program);
        for setting in NEUTRAL {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(self.dir);
        let own = host_environment(&env).into_iter();
        command
            .env_clear()
            .envs(own.filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"GIT_")));
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0");
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none");
        command
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("LC_ALL", "C")
            .env_remove("XDG_CONFIG_HOME");
        if let Some(git_dir) = self.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        if let Some(top) = self.work_tree {
            command.env("GIT_WORK_TREE", top);
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some((name, address)) = self.author {
            command.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", address);
            command
                .env("GIT_COMMITTER_NAME", name)
                .env("GIT_COMMITTER_EMAIL", address);
        }
        // A group of its own, so that a kill reaches whatever git may have started.
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok(command)
    }

    /// Runs a command with this input; its output when it succeeded.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<Vec<u8>, TreeError> {
        let name = args
            .first()
            .map(|a| a.as_ref().to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut child = self.command(args)?.spawn().map_err(|e| self.not_started(&e))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (status, out, err) = std::thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input)));
            let out = scope.spawn(move || drain(stdout));
            let err = scope.spawn(move || drain(stderr));
            let status = self.wait(&mut child);
            (status, out.join().unwrap_or_default(), err.join().unwrap_or_default())
        });
        match status {
            Some(status) if status.success() => Ok(out),
            Some(status) => Err(TreeError::GitFailed {
                command: name,
                status: describe(status),
                stderr: String::from_utf8_lossy(&err).into_owned(),
            }),
            None => Err(TreeError::GitTimeout {
                command: name,
                limit_ms: self.limit_ms,
            }),
        }
    }

    /// As [`Self::run`], for commands that answer with one line.
    pub(crate) fn line<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<String, TreeError> {
        Ok(String::from_utf8_lossy(&self.run(args, input)?).trim().to_owned())
    }

    fn not_started(&self, error: &std::io::Error) -> TreeError {
        if error.kind() == std::io::ErrorKind::NotFound && !self.dir.is_dir() {
            return TreeError::WorkdirRemoved {
                workdir: self.dir.to_path_buf(),
            };
        }
        TreeError::GitMissing {
            errno: errno_of(error).raw_os_error(),
        }
    }

    /// The exit status; `None` when the time was up and the child was killed.
    fn wait(&self, child: &mut Child) -> Option<ExitStatus> {
        let end = Instant::now() + Duration::from_millis(self.limit_ms);
        let mut pause = Duration::from_micros(200);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < end => {}
                _ => {
                    kill_group(child);
                    return None;
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }
}

fn not_found(outcome: &Outcome) -> TreeError {
    let errno = match outcome {
        Outcome::NotExecutable => Errno::ACCESS,
        _ => Errno::NOENT,
    };
    TreeError::GitMissing {
        errno: errno.raw_os_error(),
    }
}

fn kill_group(child: &mut Child) {
    // Not yet waited for, so the id is still the child's.
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A failing pipe means a dying child, and its status says so.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "no exit status".to_owned(),
    }
}
