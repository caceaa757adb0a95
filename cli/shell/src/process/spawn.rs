//! Starting the main process of a command, and telling why it did not start.

use std::ffi::{CString, NulError, OsStr};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use rustix::fs::{MemfdFlags, Mode, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, chdir, umask};

use super::command::{CommandSpec, Input};
use super::environment::Environment;
use super::outcome::Outcome;
use super::pipes::Pipe;
use super::which::{path_of, which};

/// What is the same for every command.
pub(super) struct Spawner {
    environment: Environment,
    nothing: File,
    attributes: PosixSpawnAttr,
    standard: Standard,
}

impl Spawner {
    pub(super) fn new(environment: Environment) -> io::Result<Self> {
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
        )?;
        attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        Ok(Self {
            environment,
            nothing: File::open("/dev/null")?,
            attributes,
            standard: Standard::default(),
        })
    }

    /// Starts the command in a process group of its own, no signal ignored or blocked. This process goes to the
    /// working directory with it: it needs none of its own.
    pub(super) fn spawn(&mut self, spec: &CommandSpec, [stdout, stderr]: [&Pipe; 2]) -> Result<Pid, Outcome> {
        let program = spec.argv.first().ok_or(Outcome::NotFound)?;
        enter(&spec.cwd)?;
        let path = path_of(&spec.env).or(self.environment.path());
        // A file that is named is not looked at beforehand: when it does not start is early enough to ask why.
        let named = program.as_bytes().contains(&b'/');
        let file = if named {
            spec.cwd.join(program)
        } else {
            which(program, &spec.cwd, path)?
        };
        let zero = |error: NulError| explain(&error.into(), file.as_os_str());
        let words = spec.argv.iter().map(|word| CString::new(word.as_bytes()));
        let words = words.collect::<Result<Vec<CString>, _>>().map_err(zero)?;
        let environment = self.environment.with(&spec.env).map_err(zero)?;

        let input = input(&spec.input).map_err(|error| about("its input cannot be opened", &error))?;
        let stdin = input.as_ref().unwrap_or(&self.nothing);
        let own = spec.umask.map(|mask| umask(Mode::from_raw_mode(mask)));
        let sources = [stdin.as_fd(), stdout.write.as_fd(), stderr.write.as_fd()];
        let started = (self.standard.from(sources))
            .and_then(|actions| posix_spawn(file.as_path(), actions, &self.attributes, &words, &environment));
        if let Some(own) = own {
            umask(own);
        }
        match started {
            Ok(pid) => Pid::from_raw(pid.as_raw())
                .ok_or_else(|| failed("it has no process number".to_owned(), &Errno::SRCH.into())),
            Err(error) => {
                if named {
                    which(program, &spec.cwd, path)?;
                }
                Err(explain(&error.into(), file.as_os_str()))
            }
        }
    }
}

/// What becomes of descriptors 0 to 2.
///
/// It speaks of numbers, and the next pipes mostly have those of the last: each number that is put in costs two calls.
#[derive(Default)]
struct Standard {
    made: Option<([RawFd; 3], PosixSpawnFileActions)>,
}

impl Standard {
    fn from(&mut self, sources: [BorrowedFd<'_>; 3]) -> nix::Result<&PosixSpawnFileActions> {
        let numbers = sources.map(|source| source.as_raw_fd());
        let made = match self.made.take().filter(|(of, _)| *of == numbers) {
            Some(made) => made,
            None => (numbers, actions(numbers)?),
        };
        Ok(&self.made.insert(made).1)
    }
}

fn actions(sources: [RawFd; 3]) -> nix::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    for (number, source) in (0..).zip(sources) {
        actions.add_dup2(source, number)?;
    }
    Ok(actions)
}

/// The outcome when there is no pipe to be had.
pub(super) fn unconnected(error: &io::Error) -> Outcome {
    about("its output could not be connected", error)
}

fn enter(directory: &Path) -> Result<(), Outcome> {
    let shown = directory.display();
    chdir(directory).map_err(|error| match error {
        Errno::NOTDIR => failed(
            format!("the working directory {shown} is not a directory"),
            &error.into(),
        ),
        _ => about(
            &format!("the working directory {shown} cannot be entered"),
            &error.into(),
        ),
    })
}

/// `None` for no input at all.
fn input(input: &Input) -> io::Result<Option<File>> {
    match input {
        Input::Closed => Ok(None),
        Input::File(path) => File::open(path).map(Some),
        Input::Bytes(bytes) => {
            // A file in memory, not a pipe: there is no writer that could block against the command's output.
            let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
            file.write_all(bytes)?;
            file.rewind()?;
            Ok(Some(file))
        }
    }
}

fn explain(error: &io::Error, file: &OsStr) -> Outcome {
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

fn about(what: &str, error: &io::Error) -> Outcome {
    failed(format!("{what}: {error}"), error)
}

fn failed(message: String, error: &io::Error) -> Outcome {
    Outcome::StartFailed {
        errno: error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
        message,
    }
}
