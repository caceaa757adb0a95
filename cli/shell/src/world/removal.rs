//! A command does not go on for hours in a workdir that is no longer there.

use std::io::ErrorKind;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};

use crate::process::Cancel;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Runs a command that ends early on a signal, as `signals` tells of them, or when `workdir` has been removed.
pub(super) fn watched<T>(
    workdir: &Path,
    signals: &Receiver<Cancel>,
    command: impl FnOnce(&Receiver<Cancel>) -> T,
) -> T {
    let (sender, cancel) = unbounded();
    // Never sent to: its end is what wakes the watcher.
    let (at_work, over) = bounded::<()>(0);
    thread::scope(|scope| {
        let watcher = thread::Builder::new()
            .name("workdir".into())
            .spawn_scoped(scope, || watch(workdir, signals.clone(), &sender, &over));
        // Without a watcher the removal is seen when the command has ended.
        let outcome = command(if watcher.is_ok() { &cancel } else { signals });
        drop(at_work);
        outcome
    })
}

fn watch(workdir: &Path, mut signals: Receiver<Cancel>, cancel: &Sender<Cancel>, over: &Receiver<()>) {
    let mut told = false;
    loop {
        let request = select! {
            recv(over) -> _ => return,
            recv(signals) -> signal => match signal {
                Ok(request) => Some(request),
                Err(_) => {
                    signals = never();
                    None
                }
            },
            default(LOOK) => (!told && is_removed(workdir)).then_some(Cancel::Stop),
        };
        if let Some(request) = request {
            told |= matches!(request, Cancel::Stop);
            // A command that has ended needs no telling.
            let _unheard = cancel.send(request);
        }
    }
}

/// Any other trouble, of a network file system for one, may pass.
fn is_removed(workdir: &Path) -> bool {
    workdir.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_hears_of_signals_and_of_the_removal_of_its_workdir() {
        let dir = tempfile::tempdir().unwrap();
        let (signal, signals) = unbounded();
        watched(dir.path(), &signals, |cancel| {
            signal.send(Cancel::Force).unwrap();
            assert!(matches!(cancel.recv(), Ok(Cancel::Force)));
        });
        drop(signal);
        let workdir = dir.path().to_path_buf();
        drop(dir);
        watched(&workdir, &signals, |cancel| assert!(matches!(cancel.recv(), Ok(Cancel::Stop))));
    }
}
