//! The one signal that ends everything: heard by every thread of the proxy, and by whoever holds the zone.

use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::clock;

/// A moment that does not come.
pub(super) const NEVER: u64 = u64::MAX;

/// Why nothing passes any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The zone made more connections than it may.
    Connections,
    /// More bytes came and went than may.
    Bytes,
    /// A connection was open, or was made, when the time was up.
    Time,
    /// A thread of the proxy broke, or the system refused what it needs.
    Lost,
}

impl Over {
    /// The cap that was passed, as reports say it; `None` for a loss.
    #[must_use]
    pub fn cap(self) -> Option<&'static str> {
        match self {
            Self::Connections => Some("connections"),
            Self::Bytes => Some("bytes"),
            Self::Time => Some("time"),
            Self::Lost => None,
        }
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    Ready,
    Late,
    /// The bell rang.
    Over,
}

/// Rings once, and is heard from then on.
#[derive(Debug)]
pub(super) struct Bell {
    event: OwnedFd,
    over: OnceLock<Over>,
    /// Gone with the ring, which those hear who wait at channels.
    silence: Mutex<Option<Sender<Infallible>>>,
    rung: Receiver<Infallible>,
}

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        let (silence, rung) = bounded(0);
        Ok(Self {
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            over: OnceLock::new(),
            silence: Mutex::new(Some(silence)),
            rung,
        })
    }

    /// Rings for a reason. The first one stands.
    pub(super) fn raise(&self, over: Over) {
        let _an_earlier_reason_stands = self.over.set(over);
        self.ring();
    }

    /// Rings because the zone has ended.
    pub(super) fn ring(&self) {
        // First of all it is true that it has rung: whoever wakes asks.
        drop(self.silence.lock().unwrap_or_else(PoisonError::into_inner).take());
        // It fails when the counter is full, and then it has been heard.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub(super) fn over(&self) -> Option<Over> {
        self.over.get().copied()
    }

    pub(super) fn is_rung(&self) -> bool {
        self.rung.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Closed, and thereby heard, once the bell has rung.
    pub(super) fn rung(&self) -> &Receiver<Infallible> {
        &self.rung
    }

    /// Sleeps until one of these is ready or the moment has come. The bell goes before both.
    pub(super) fn wait(&self, sources: &[(BorrowedFd<'_>, PollFlags)], until_ms: u64) -> Woken {
        let bell = PollFd::new(&self.event, PollFlags::IN);
        let others = sources
            .iter()
            .map(|(source, flags)| PollFd::from_borrowed_fd(*source, *flags));
        let mut awaited: Vec<PollFd<'_>> = [bell].into_iter().chain(others).collect();
        loop {
            let left = until_ms.saturating_sub(clock::mono_ms());
            match poll(&mut awaited, timeout(left).as_ref()) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                // No memory for the wait itself: nothing can be watched over any more.
                Err(_) => self.raise(Over::Lost),
            }
            let mut ready = awaited.iter().map(|source| !source.revents().is_empty());
            if ready.next() == Some(true) || self.over().is_some() {
                return Woken::Over;
            }
            if ready.any(|is| is) {
                return Woken::Ready;
            }
            if left == 0 {
                return Woken::Late;
            }
        }
    }

    /// Rings when the thread that holds this breaks.
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch(self)
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

fn timeout(milliseconds: u64) -> Option<Timespec> {
    (milliseconds < NEVER / 2).then(|| Timespec {
        tv_sec: i64::try_from(milliseconds / 1_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(milliseconds % 1_000 * 1_000_000).unwrap_or(0),
    })
}

pub(super) struct Watch<'a>(&'a Bell);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.raise(Over::Lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_its_time_and_with_the_bell() {
        let bell = Bell::new().unwrap();
        assert_eq!((bell.wait(&[], 0), bell.is_rung()), (Woken::Late, false));
        thread::scope(|scope| {
            let waits = scope.spawn(|| bell.wait(&[], NEVER));
            bell.ring();
            assert_eq!(waits.join().unwrap(), Woken::Over);
        });
        assert_eq!((bell.over(), bell.wait(&[], NEVER)), (None, Woken::Over));
        assert!(bell.is_rung() && bell.rung().recv().is_err());
    }

    #[test]
    fn the_first_reason_stands() {
        let bell = Bell::new().unwrap();
        bell.raise(Over::Bytes);
        bell.raise(Over::Lost);
        assert_eq!(bell.over(), Some(Over::Bytes));
    }

    #[test]
    fn a_thread_that_breaks_is_heard() {
        let bell = Bell::new().unwrap();
        thread::scope(|scope| {
            let broken = scope.spawn(|| {
                let _watch = bell.watch();
                panic!("on purpose");
            });
            assert!(broken.join().is_err());
        });
        assert_eq!((bell.over(), bell.wait(&[], NEVER)), (Some(Over::Lost), Woken::Over));
    }
}
