//! Starting the main process of a command, and telling why it did not start.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::Pid;

use super::NONCE_VARIABLE;
use super::command::{CommandSpec, Input};
use super::outcome::Outcome;
use super::which::{path_of, which};

/// A command that runs. Dropping it neither ends nor waits for anything.
pub(super) struct Spawned {
    pub(super) pid: Pid,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Starts the command in a process group of its own.
pub(super) fn spawn(spec: &CommandSpec, nonce: &str) -> Result<Spawned, Outcome> {
    let about = |what: &str, error: &io::Error| failed(format!("{what}: {error}"), error);
    let program = spec.argv.first().ok_or(Outcome::NotFound)?;
    let cwd = spec.cwd.display();
    match fs::metadata(&spec.cwd) {
        Ok(directory) if directory.is_dir() => {}
        Ok(_) => {
            return Err(failed(
                format!("the working directory {cwd} is not a directory"),
                &Errno::NOTDIR.into(),
            ));
        }
        Err(error) => return Err(about(&format!("the working directory {cwd} cannot be entered"), &error)),
    }
    let inherited = env::var_os("PATH");
    let path = path_of(&spec.env).or(inherited.as_deref());
    let file = which(program, &spec.cwd, path)?;
    let stdin = input(&spec.input).map_err(|error| about("its input cannot be opened", &error))?;

    // A resolved file, a group and a directory, and no hook between fork and exec: std starts this with posix_spawn.
    let mut command = Command::new(&file);
    command
        .arg0(program)
        .args(&spec.argv[1..])
        .current_dir(&spec.cwd)
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(NONCE_VARIABLE, nonce)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| explain(&error, &file.into_os_string()))?;
    let pid = Pid::from_child(&child);
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok(Spawned { pid, stdout, stderr }),
        _ => Err(failed(
            "its output could not be connected".to_owned(),
            &Errno::PIPE.into(),
        )),
    }
}

fn input(input: &Input) -> io::Result<Stdio> {
    match input {
        Input::Closed => Ok(Stdio::null()),
        Input::File(path) => Ok(File::open(path)?.into()),
        Input::Bytes(bytes) => {
            // A file in memory, not a pipe: there is no writer that could block against the command's output.
            let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
            file.write_all(bytes)?;
            file.rewind()?;
            Ok(file.into())
        }
    }
}

fn explain(error: &io::Error, file: &OsString) -> Outcome {
    let file = file.display();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ACCESS) => Outcome::NotExecutable,
        Some(Errno::NOENT) => failed(
            format!("{file} is there, but the interpreter its first line names is not"),
            error,
        ),
        Some(Errno::NOEXEC) => failed(
            format!("{file} is no program: give it a first line such as #!/bin/sh"),
            error,
        ),
        Some(Errno::TOOBIG) => failed(format!("the arguments and environment of {file} are too large"), error),
        _ => failed(format!("{file}: {error}"), error),
    }
}

fn failed(message: String, error: &io::Error) -> Outcome {
    Outcome::StartFailed {
        errno: error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
        message,
    }
}
