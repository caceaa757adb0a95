//! Signals to the governor, turned into messages. What they mean is decided elsewhere.

use std::{fmt, fs, io, thread};

use crossbeam_channel::{Receiver, unbounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

/// A wish of the user or the system that the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Hangup,
    Interrupt,
    Terminate,
}

impl Signal {
    /// The number, as in the exit status 128 plus it.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Hangup => SIGHUP,
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
        }
    }

    fn from_number(number: i32) -> Option<Self> {
        [Self::Hangup, Self::Interrupt, Self::Terminate]
            .into_iter()
            .find(|signal| signal.number() == number)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

/// The source of signals.
#[derive(Debug)]
pub struct Signals;

impl Signals {
    /// From now on SIGINT, SIGTERM and SIGHUP no longer end the process: each is a message on the channel. Several of
    /// one kind that come faster than they are taken may arrive as one. A SIGHUP that was ignored from the start stays
    /// ignored: whoever said `nohup` wants the run to outlive the terminal.
    ///
    /// # Errors
    /// When the system refuses the handlers or the thread.
    pub fn install() -> io::Result<Receiver<Signal>> {
        let mut arriving = iterator::Signals::new([SIGINT, SIGTERM])?;
        if !is_ignored(SIGHUP) {
            arriving.handle().add_signal(SIGHUP)?;
        }
        let (sender, receiver) = unbounded();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in arriving.forever().filter_map(Signal::from_number) {
                if sender.send(signal).is_err() {
                    break;
                }
            }
        })?;
        Ok(receiver)
    }
}

/// Whether the process ignores a signal, as whoever started it may have arranged.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_signal_arrives_as_a_message() {
        let received = Signals::install().unwrap();
        for signal in [Signal::Interrupt, Signal::Terminate, Signal::Hangup] {
            signal_hook::low_level::raise(signal.number()).unwrap();
            assert_eq!(received.recv_timeout(Duration::from_secs(10)), Ok(signal));
        }
    }
}
