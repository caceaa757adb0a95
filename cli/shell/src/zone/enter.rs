//! The last step into a zone: binds itself, and becomes the command.
//!
//! A program of its own between init and command, because what binds has to be done by whoever is bound, and nothing
//! safe runs between a fork and an exec.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::execve;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{chdir, setsid, umask};
use rustix::thread::{SecureComputingMode, no_new_privs, secure_computing_mode};

use super::control::{Line, Order, Parcel, Word};
use super::facts::{Confined, field};
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
    stand_alone(parcel.input.first()).map_err(|error| Word::failed("the command cannot be set apart", &error))?;
    limits::hold(&parcel.limits).map_err(|error| Word::failed("its limits cannot be set", &error))?;
    let processors = limits::confine(parcel.limits.processors)
        .map_err(|error| Word::failed("its processors cannot be chosen", &error))?;
    umask(Mode::from_raw_mode(parcel.umask));
    chdir(&parcel.cwd).map_err(|error| {
        let at = parcel.cwd.display();
        not_started(
            &error.into(),
            format!("the working directory {at} cannot be entered: {error}"),
        )
    })?;
    let file = find(&parcel)?;
    let confined = confine(&parcel.writable, processors)?;
    line.send(&Word::Confined(confined), &[])
        .map_err(|error| Word::failed("it cannot be told that the command is bound", &error))?;
    let [file, words, env] = strings(&file, &parcel.argv, &parcel.env)
        .map_err(|error| not_started(&error.into(), "a word or variable of it holds a zero byte".to_owned()))?;
    heed_signals().map_err(|error| Word::failed("its signals cannot be set", &error))?;
    // Not what a shell does, and std with it: to hand a file that is no program to `sh`.
    let Err(error) = execve(&file[0], &words, &env);
    let shown = file[0].to_string_lossy();
    Err(not_started(
        &error.into(),
        format!("{shown} cannot be executed: {}", error.desc()),
    ))
}

/// The file, the words and the variables, as the kernel takes them; of two variables with one name the later.
pub(super) fn strings(
    file: &Path,
    argv: &[OsString],
    env: &[(OsString, OsString)],
) -> Result<[Vec<CString>; 3], NulError> {
    let one = |word: &OsStr| CString::new(word.as_bytes());
    let variables: BTreeMap<_, _> = env.iter().map(|(name, value)| (name, value)).collect();
    let pair = |(name, value): (&OsString, &OsString)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat());
    Ok([
        vec![one(file.as_os_str())?],
        argv.iter().map(|word| one(word)).collect::<Result<_, _>>()?,
        variables.into_iter().map(pair).collect::<Result<_, _>>()?,
    ])
}

/// None blocked, none ignored.
pub(super) fn heed_signals() -> io::Result<()> {
    // What was sent to the zone while it was made was not meant for the command: it was made after that.
    SigSet::empty().thread_set_mask()?;
    let status = fs::read_to_string("/proc/self/status")?;
    let ignored = field(&status, "SigIgn").and_then(|digits| u64::from_str_radix(&digits, 16).ok());
    for signal in Signal::iterator().map(|signal| signal as i32) {
        // A signal that something is set to catch is one that the next program takes as it was made to.
        if ignored.unwrap_or(0) >> (signal - 1) & 1 == 1 {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    Ok(())
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

/// No terminal, no descriptor but the outputs, and for input a file of the zone's own or none.
fn stand_alone(input: Option<&PathBuf>) -> io::Result<()> {
    close_on_exec_from(3)?;
    setsid()?;
    let input = input.map_or(Path::new("/dev/null"), PathBuf::as_path);
    rustix::stdio::dup2_stdin(File::open(input)?)?;
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

fn confine(writable: &[PathBuf], processors: u32) -> Result<Confined, Word> {
    let landlock_abi =
        landlock::bind(writable).map_err(|error| Word::failed("its files cannot be bound by Landlock", &error))?;
    seccomp::bind().map_err(|error| Word::failed("its system calls cannot be filtered", &error))?;
    // Asked of the kernel, not concluded.
    let filtered = secure_computing_mode().map_err(|error| Word::failed("it cannot be seen bound", &error))?;
    let seccomp = filtered == SecureComputingMode::Filter && no_new_privs().unwrap_or(false);
    if !seccomp {
        return Err(Word::Failed("its system calls are not filtered".to_owned()));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = field(&status, "Umask").and_then(|digits| u32::from_str_radix(&digits, 8).ok());
    Ok(Confined {
        landlock_abi,
        seccomp,
        processors,
        umask,
    })
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
