//! The pipes that take a command's output, made and closed while nobody waits for it.
//!
//! Both ends stay open here as long as the command runs: what ends a command is the exit of its main process, and a
//! pipe that nobody else holds would only wake the supervisor a moment before that.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};

/// Both ends of one.
pub(super) struct Pipe {
    pub(super) read: OwnedFd,
    pub(super) write: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { read, write })
    }
}

/// A pair for the next command, and those of the last one.
///
/// None serves two commands: who holds an end of it, handed over to a process outside of the tree for one, would be
/// heard among the words of the next.
#[derive(Default)]
pub(super) struct Pipes {
    ready: Option<[Pipe; 2]>,
    used: Vec<Pipe>,
}

impl Pipes {
    /// One for each stream.
    ///
    /// # Errors
    /// When the system gives no more descriptors.
    pub(super) fn take(&mut self) -> io::Result<[Pipe; 2]> {
        match self.ready.take() {
            Some(pair) => Ok(pair),
            None => Ok([Pipe::new()?, Pipe::new()?]),
        }
    }

    /// Keeps one open until there is time to close it.
    pub(super) fn put_away(&mut self, used: Pipe) {
        self.used.push(used);
    }

    /// Does what is not urgent: closes the used ones and makes the next.
    pub(super) fn tidy(&mut self) {
        self.used.clear();
        if self.ready.is_none() {
            // Refused, it is tried again when they are needed, and the refusal told then.
            self.ready = Pipe::new().and_then(|stdout| Ok([stdout, Pipe::new()?])).ok();
        }
    }
}
