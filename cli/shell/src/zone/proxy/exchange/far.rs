//! The far side of an exchange, however it is spoken to, and the one that is spoken to in plain text.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::bell::Woken;
use super::super::ledger::Reason;
use super::super::room::Room;
use super::super::tunnel::is_passing;
use crate::clock;

/// What one read gives at most.
const CHUNK: usize = 16 * 1024;

/// Whether what was to be sent has been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Sent {
    All,
    /// The far side answers already: the rest is nobody's any more.
    Answered,
}

/// What an exchange is held with. Its descriptor becomes readable when there may be more of the answer.
pub(in super::super) trait Far: AsFd {
    /// Sends all of it, unless the answer comes before that.
    fn send(&mut self, bytes: &[u8]) -> Result<Sent, Reason>;

    /// Whether the far side has begun to answer, or has ended.
    fn is_answered(&mut self) -> Result<bool, Reason>;

    /// The next bytes of the answer; none where the far side has said that it is over. `heard` is the client, whose
    /// end is an end for this as well.
    fn receive(&mut self, heard: &TcpStream) -> Result<Vec<u8>, Reason>;
}

/// A connection in plain text.
pub(super) struct Bare<'a> {
    stream: TcpStream,
    /// Read and not asked for yet.
    came: Vec<u8>,
    is_over: bool,
    room: &'a Room,
}

impl<'a> Bare<'a> {
    pub(super) fn new(stream: TcpStream, room: &'a Room) -> Self {
        Self {
            stream,
            came: Vec::new(),
            is_over: false,
            room,
        }
    }

    /// Takes what is there; false when there is nothing yet.
    fn pull(&mut self) -> Result<bool, Reason> {
        let mut bytes = vec![0; CHUNK];
        match self.stream.read(&mut bytes) {
            Ok(length) => {
                bytes.truncate(length);
                self.is_over = length == 0;
                self.came = bytes;
                Ok(true)
            }
            Err(error) if is_passing(&error) => Ok(false),
            Err(_) => Err(Reason::Unreachable),
        }
    }

    fn patience(&self) -> u64 {
        clock::mono_ms().saturating_add(self.room.budget.idle_ms)
    }
}

impl Far for Bare<'_> {
    fn send(&mut self, mut bytes: &[u8]) -> Result<Sent, Reason> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(error) if is_passing(&error) => {
                    let source = [(self.stream.as_fd(), PollFlags::OUT | PollFlags::IN)];
                    if self.room.wait(&source, self.patience()) != Woken::Ready {
                        return Err(Reason::Unreachable);
                    }
                    if self.is_answered()? {
                        return Ok(Sent::Answered);
                    }
                }
                // Nobody reads there any more; what was said before that can still be read.
                Err(_) => return Ok(Sent::Answered),
            }
        }
        Ok(if self.is_answered()? { Sent::Answered } else { Sent::All })
    }

    fn is_answered(&mut self) -> Result<bool, Reason> {
        Ok(self.is_over || !self.came.is_empty() || self.pull()?)
    }

    fn receive(&mut self, heard: &TcpStream) -> Result<Vec<u8>, Reason> {
        let until = self.patience();
        while !self.is_answered()? {
            let sources = [(self.stream.as_fd(), PollFlags::IN), (heard.as_fd(), PollFlags::RDHUP)];
            if self.room.wait(&sources, until) != Woken::Ready || is_gone(heard) {
                return Err(Reason::Unreachable);
            }
        }
        Ok(std::mem::take(&mut self.came))
    }
}

impl AsFd for Bare<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Whether a client has hung up, so that nobody waits for the answer.
pub(in super::super) fn is_gone(client: &TcpStream) -> bool {
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut asked = [PollFd::new(client, PollFlags::RDHUP)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|_| asked[0].revents().intersects(gone))
}
