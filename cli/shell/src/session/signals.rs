//! From signals to requests: the first asks the run to stop, every further one forces it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use super::RunError;
use crate::process::{Cancel, Signals, wishes};
use crate::world::StopRequests;

/// Starts watching. The thread waits, forwards, and decides nothing.
pub(crate) fn watch(workdir: &Path) -> Result<StopRequests, RunError> {
    listen().map_err(|error| RunError::Io {
        doing: "watch for signals in",
        path: workdir.to_path_buf(),
        error,
    })
}

fn listen() -> io::Result<StopRequests> {
    let signals = Signals::install()?;
    let (wisher, wishes) = wishes()?;
    let first = Arc::new(AtomicI32::new(0));
    let shared = Arc::clone(&first);
    thread::Builder::new().name("stop-requests".into()).spawn(move || {
        for signal in signals {
            let earlier = shared.compare_exchange(0, signal.number(), Ordering::SeqCst, Ordering::SeqCst);
            let request = if earlier.is_ok() { Cancel::Stop } else { Cancel::Force };
            if wisher.send(request).is_err() {
                break;
            }
        }
    })?;
    Ok(StopRequests { first, wishes })
}
