//! Signals to the governor, turned into messages. What they mean is decided elsewhere.

use std::{fmt, io, thread};

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
    /// one kind that come faster than they are taken may arrive as one.
    ///
    /// # Errors
    /// When the system refuses the handlers or the thread.
    pub fn install() -> io::Result<Receiver<Signal>> {
        let mut arriving = iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
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
