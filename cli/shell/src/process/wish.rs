//! Wishes that the running command end, in a form that one `poll` hears together with the supervisor's answer.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::command::Cancel;

/// Longer than any run: what a wait that fits no clock is cut to.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Where wishes are made. They are kept in order until a command takes them.
#[derive(Debug)]
pub struct Wisher(UnixStream);

/// Where wishes arrive. Clones share them: each wish is taken once.
#[derive(Clone, Debug, Default)]
pub struct Wishes(Option<Arc<UnixStream>>);

/// A new pair.
///
/// # Errors
/// When the system gives no more descriptors.
pub fn wishes() -> io::Result<(Wisher, Wishes)> {
    let (wisher, arriving) = UnixStream::pair()?;
    arriving.set_nonblocking(true)?;
    Ok((Wisher(wisher), Wishes(Some(Arc::new(arriving)))))
}

impl Wisher {
    /// # Errors
    /// When nobody can take the wish any more.
    pub fn send(&self, wish: Cancel) -> io::Result<()> {
        (&self.0).write_all(&[match wish {
            Cancel::Stop => b's',
            Cancel::Force => b'f',
        }])
    }
}

/// What is there to take.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wish(Cancel),
    Nothing,
    /// Nobody is left who could wish.
    Never,
}

impl Wishes {
    /// Where no wish ever arrives.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// Waits for a wish, and takes it; `None` when the time is over.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> Option<Cancel> {
        let now = Instant::now();
        let until = now.checked_add(at_most).unwrap_or_else(|| now + FOREVER);
        let mut from = self;
        let nobody = Self::never();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut source: Vec<PollFd<'_>> = from.readable().into_iter().collect();
            let ready = poll(&mut source, left.try_into().ok().as_ref());
            match from.take() {
                Next::Wish(wish) => return Some(wish),
                Next::Never => from = &nobody,
                Next::Nothing => {}
            }
            if ready != Err(Errno::INTR) && Instant::now() >= until {
                return None;
            }
        }
    }

    /// Takes one wish without waiting.
    pub(super) fn take(&self) -> Next {
        let mut wish = [0];
        match self.0.as_ref().map(|stream| (&**stream).read(&mut wish)) {
            Some(Ok(1)) if wish == *b"f" => Next::Wish(Cancel::Force),
            Some(Ok(1)) => Next::Wish(Cancel::Stop),
            Some(Err(error)) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Next::Nothing
            }
            _ => Next::Never,
        }
    }

    pub(super) fn readable(&self) -> Option<PollFd<'_>> {
        let stream: BorrowedFd<'_> = self.0.as_ref()?.as_fd();
        Some(PollFd::from_borrowed_fd(stream, PollFlags::IN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_keep_their_order_and_are_taken_once() {
        let (wisher, wishes) = wishes().unwrap();
        let other = wishes.clone();
        wisher.send(Cancel::Stop).unwrap();
        wisher.send(Cancel::Force).unwrap();
        assert_eq!(wishes.take(), Next::Wish(Cancel::Stop));
        assert_eq!(other.wait(Duration::MAX), Some(Cancel::Force));
        assert_eq!(wishes.take(), Next::Nothing);
        drop(wisher);
        assert_eq!(wishes.take(), Next::Never);
        assert_eq!(Wishes::never().take(), Next::Never);
    }

    #[test]
    fn waiting_ends_with_the_time() {
        let (_wisher, wishes) = wishes().unwrap();
        assert_eq!(wishes.wait(Duration::from_millis(1)), None);
        assert_eq!(Wishes::never().wait(Duration::from_millis(1)), None);
    }
}
