//! The last step into a zone: binds itself, and becomes the command.
//!
//! A program of its own between init and command, because what binds has to be done by whoever is bound, and nothing
//! safe runs between a fork and an exec.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{chdir, setsid, umask};
use rustix::thread::{SecureComputingMode, no_new_privs, secure_computing_mode};

use super::control::{Line, Order, Parcel, Word};
use super::facts::Confined;
use super::report::Ended;
use super::{landlock, limits, seccomp};
use crate::process::{Outcome, close_on_exec_from, path_of, which};

/// Returns only when the command cannot be become; then it has said why.
pub(super) fn enter() -> ExitCode {
    let Ok(line) = Line::inherited() else {
        return ExitCode::FAILURE;
    };
    let Err(word) = become_command(&line);
    // When even this cannot be said, the closing socket says it.
    let _unheard = line.send(&word, &[]);
    ExitCode::FAILURE
}

fn become_command(line: &Line) -> Result<std::convert::Infallible, Word> {
    let parcel = open(line).map_err(|error| Word::failed("what to start cannot be read", &error))?;
    stand_alone().map_err(|error| Word::failed("the command cannot be set apart", &error))?;
    limits::hold(&parcel.limits).map_err(|error| Word::failed("its limits cannot be set", &error))?;
    umask(Mode::from_raw_mode(parcel.umask));
    chdir(&parcel.cwd).map_err(|error| {
        let at = parcel.cwd.display();
        not_started(
            &error.into(),
            format!("the working directory {at} cannot be entered: {error}"),
        )
    })?;
    let file = find(&parcel)?;
    let confined = confine(&parcel.writable)?;
    line.send(&Word::Confined(confined), &[])
        .map_err(|error| Word::failed("it cannot be told that the command is bound", &error))?;
    let mut command = Command::new(&file);
    command
        .env_clear()
        .envs(parcel.env.iter().map(|(name, value)| (name, value)));
    if let Some((name, rest)) = parcel.argv.split_first() {
        command.arg0(name).args(rest);
    }
    // What was sent to the zone while it was made was not meant for the command.
    if let Err(error) = SigSet::empty().thread_set_mask() {
        return Err(Word::failed("its signals cannot be unblocked", &error));
    }
    let error = command.exec();
    Err(not_started(
        &error,
        format!("{} cannot be executed: {error}", file.display()),
    ))
}

fn open(line: &Line) -> io::Result<Parcel> {
    let Some((Order::Go, mut with)) = line.receive()? else {
        return Err(io::Error::other("no order came"));
    };
    let parcel = with
        .pop()
        .ok_or_else(|| io::Error::other("the order came without it"))?;
    Parcel::unpack(parcel)
}

/// No terminal, no input, no descriptor but the outputs.
fn stand_alone() -> io::Result<()> {
    close_on_exec_from(3)?;
    setsid()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

/// The file that the program's name means in here.
fn find(parcel: &Parcel) -> Result<PathBuf, Word> {
    let name = parcel.argv.first().map_or(OsStr::new(""), |name| name.as_os_str());
    which(name, &parcel.cwd, path_of(&parcel.env)).map_err(|outcome| {
        let shown = name.display();
        match outcome {
            Outcome::NotExecutable => not_started(
                &Errno::ACCESS.into(),
                format!("{shown} may not be executed in the zone"),
            ),
            _ => not_started(&Errno::NOENT.into(), format!("{shown} is not there in the zone")),
        }
    })
}

fn confine(writable: &[PathBuf]) -> Result<Confined, Word> {
    let landlock_abi =
        landlock::bind(writable).map_err(|error| Word::failed("its files cannot be bound by Landlock", &error))?;
    seccomp::bind().map_err(|error| Word::failed("its system calls cannot be filtered", &error))?;
    // Asked of the kernel, not concluded.
    let filtered = secure_computing_mode().map_err(|error| Word::failed("it cannot be seen bound", &error))?;
    let seccomp = filtered == SecureComputingMode::Filter && no_new_privs().unwrap_or(false);
    if !seccomp {
        return Err(Word::Failed("its system calls are not filtered".to_owned()));
    }
    Ok(Confined { landlock_abi, seccomp })
}

fn not_started(error: &io::Error, message: String) -> Word {
    Word::Ended {
        ended: Ended::NotStarted {
            errno: error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
            message,
        },
        left_inside: 0,
    }
}
