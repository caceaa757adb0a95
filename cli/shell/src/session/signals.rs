//! From signals to requests: the first asks the run to stop, every further one forces it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use super::RunError;
use crate::process::{Cancel, Signals, Wisher, wishes};
use crate::world::StopRequests;

/// Starts watching. The thread waits, forwards, and decides nothing.
pub(crate) fn watch(workdir: &Path) -> Result<StopRequests, RunError> {
    let mut one = watch_for(workdir, 1)?;
    one.pop().ok_or(RunError::Unsupported)
}

/// The same for several commands at once: each signal is a request to all of them.
pub(crate) fn watch_for(workdir: &Path, commands: usize) -> Result<Vec<StopRequests>, RunError> {
    listen(commands).map_err(|error| RunError::Io {
        doing: "watch for signals in",
        path: workdir.to_path_buf(),
        error,
    })
}

fn listen(commands: usize) -> io::Result<Vec<StopRequests>> {
    let signals = Signals::install()?;
    let first = Arc::new(AtomicI32::new(0));
    let mut wishers: Vec<Wisher> = Vec::with_capacity(commands);
    let mut requests = Vec::with_capacity(commands);
    for _ in 0..commands {
        let (wisher, wishes) = wishes()?;
        wishers.push(wisher);
        let first = Arc::clone(&first);
        requests.push(StopRequests { first, wishes });
    }
    thread::Builder::new().name("stop-requests".into()).spawn(move || {
        for signal in signals {
            let earlier = first.compare_exchange(0, signal.number(), Ordering::SeqCst, Ordering::SeqCst);
            let request = if earlier.is_ok() { Cancel::Stop } else { Cancel::Force };
            wishers.retain(|wisher| wisher.send(request).is_ok());
            if wishers.is_empty() {
                break;
            }
        }
    })?;
    Ok(requests)
}
