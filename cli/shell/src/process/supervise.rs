//! The supervisor's side: what the binary does when it is started as one.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{getpid, set_child_subreaper, setsid};
use signal_hook::consts as signals;

use super::children::Bell;
use super::leftovers::Marker;
use super::protocol::{Reply, Request, receive, send};
use super::running::{self, Workshop};
use super::{syscall, table};

/// Every standard signal that is neither a fault of the program itself, nor SIGCHLD, nor beyond anyone's power.
const SHRUGGED_OFF: [i32; 19] = [
    signals::SIGALRM,
    signals::SIGCONT,
    signals::SIGHUP,
    signals::SIGINT,
    signals::SIGIO,
    signals::SIGPIPE,
    signals::SIGPROF,
    signals::SIGQUIT,
    signals::SIGTERM,
    signals::SIGTSTP,
    signals::SIGTTIN,
    signals::SIGTTOU,
    signals::SIGURG,
    signals::SIGUSR1,
    signals::SIGUSR2,
    signals::SIGVTALRM,
    signals::SIGWINCH,
    signals::SIGXCPU,
    signals::SIGXFSZ,
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
    let Ok(Some(Request::Hello { nonce, runtime_dir })) = receive(&control) else {
        return Err(());
    };
    match settle(&nonce, runtime_dir.as_deref()) {
        Ok((bell, start_ticks)) => {
            send(&control, &Reply::Ready { start_ticks }).map_err(drop)?;
            Ok((Workshop::new(control, bell, nonce), runtime_dir))
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

fn settle(nonce: &str, runtime_dir: Option<&Path>) -> io::Result<(Bell, u64)> {
    syscall::close_on_exec_from(3)?;
    setsid()?;
    let own = getpid();
    set_child_subreaper(Some(own))?;
    // Handlers that do nothing, not "ignored": an ignored signal stays ignored in every command. That also undoes
    // what the governor inherited, from nohup for one.
    let unread = Arc::new(AtomicBool::new(false));
    for signal in SHRUGGED_OFF {
        signal_hook::flag::register(signal, Arc::clone(&unread))?;
    }
    let bell = Bell::install()?;
    let start_ticks = table::find(own.as_raw_pid())
        .map(|process| process.id.start_ticks)
        .ok_or_else(|| io::Error::other("/proc does not show this process: is it mounted?"))?;
    if let Some(directory) = runtime_dir {
        Marker::new(own.as_raw_pid(), start_ticks, nonce)?.write(directory)?;
    }
    Ok((bell, start_ticks))
}

fn serve(shop: &mut Workshop, runtime_dir: Option<&Path>) -> ExitCode {
    while let Ok(Some(request)) = receive(&shop.control) {
        let Request::Run { run, spec } = request else {
            // A cancel that crossed the reply to its run.
            continue;
        };
        let result = Box::new(running::run(shop, run, &spec));
        if send(&shop.control, &Reply::Ended { run, result }).is_err() {
            break;
        }
    }
    if shop.stuck.is_empty()
        && let Some(directory) = runtime_dir
    {
        Marker::remove(directory);
    }
    ExitCode::SUCCESS
}
