//! The supervisor's side: what the binary does when it is started as one.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, io};

use nix::sys::signal::{SigSet, Signal};
use rustix::process::{getpid, set_child_subreaper, setsid};

use super::children::Bell;
use super::environment::Environment;
use super::leftovers::Marker;
use super::protocol::{EDITION, Inbox, Reply, Request, send};
use super::running::{self, Workshop};
use super::spawn::Spawner;
use super::{syscall, table};

/// Every standard signal that is neither a fault of the program itself, nor SIGCHLD, nor beyond anyone's power.
const SHRUGGED_OFF: [Signal; 19] = [
    Signal::SIGALRM,
    Signal::SIGCONT,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGIO,
    Signal::SIGPIPE,
    Signal::SIGPROF,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGURG,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGVTALRM,
    Signal::SIGWINCH,
    Signal::SIGXCPU,
    Signal::SIGXFSZ,
];

/// Serves one governor over the socket on standard input, until that socket closes.
///
/// The process leaves the terminal, adopts every orphan below it and does not react to signals: what to end and when
/// is the governor's to say. When the governor is gone, so is every process it had started.
#[must_use]
pub fn supervise() -> ExitCode {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    match open(control) {
        Ok((mut shop, runtime_dir)) => serve(&mut shop, runtime_dir.as_deref()),
        Err(()) => ExitCode::FAILURE,
    }
}

/// Answers the governor's greeting.
fn open(control: UnixStream) -> Result<(Workshop, Option<PathBuf>), ()> {
    let mut inbox = Inbox::default();
    let Ok(Some(Request::Hello {
        edition,
        nonce,
        runtime_dir,
    })) = inbox.wait(&control)
    else {
        return Err(());
    };
    let settled = if edition == EDITION {
        settle(&nonce, runtime_dir.as_deref())
    } else {
        Err(io::Error::other("the binary was replaced by one of another version"))
    };
    match settled {
        Ok((bell, spawner, start_ticks)) => {
            send(&control, &Reply::Ready { start_ticks }).map_err(drop)?;
            Ok((Workshop::new(control, inbox, bell, spawner), runtime_dir))
        }
        Err(error) => {
            // When even this cannot be said, the closing socket says it.
            let _unheard = send(
                &control,
                &Reply::Failed {
                    message: error.to_string(),
                },
            );
            Err(())
        }
    }
}

fn settle(nonce: &str, runtime_dir: Option<&Path>) -> io::Result<(Bell, Spawner, u64)> {
    syscall::close_on_exec_from(3)?;
    setsid()?;
    let own = getpid();
    set_child_subreaper(Some(own))?;
    // Blocked, not "ignored": the spawner blocks nothing in a command, and sets whatever is ignored, by the doing of
    // nohup for one, back to what it was made for.
    SHRUGGED_OFF.into_iter().collect::<SigSet>().thread_block()?;
    let bell = Bell::install()?;
    let spawner = Spawner::new(Environment::new(env::vars_os(), nonce)?)?;
    let start_ticks = table::find(own.as_raw_pid())
        .map(|process| process.id.start_ticks)
        .ok_or_else(|| io::Error::other("/proc does not show this process: is it mounted?"))?;
    if let Some(directory) = runtime_dir {
        Marker::new(own.as_raw_pid(), start_ticks, nonce)?.write(directory)?;
    }
    Ok((bell, spawner, start_ticks))
}

fn serve(shop: &mut Workshop, runtime_dir: Option<&Path>) -> ExitCode {
    while let Ok(Some(request)) = shop.inbox.wait(&shop.control) {
        let Request::Run { run, spec } = request else {
            // A cancel that crossed the reply to its run.
            continue;
        };
        let result = Box::new(running::run(shop, run, &spec));
        if send(&shop.control, &Reply::Ended { run, result }).is_err() {
            break;
        }
        shop.pipes.tidy();
    }
    if shop.stuck.is_empty()
        && let Some(directory) = runtime_dir
    {
        Marker::remove(directory);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_governor_of_another_edition_is_told_so() {
        let (governor, control) = UnixStream::pair().unwrap();
        let hello = Request::Hello {
            edition: EDITION + 1,
            nonce: String::new(),
            runtime_dir: None,
        };
        send(&governor, &hello).unwrap();
        assert!(open(control).is_err());
        let Some(Reply::Failed { message }) = Inbox::default().wait(&governor).unwrap() else {
            panic!("no word of it")
        };
        assert!(message.contains("version"), "{message}");
    }
}
