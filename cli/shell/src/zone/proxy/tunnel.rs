//! Bytes both ways, counted before they pass, until both sides have ended or a limit is reached.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;

use super::bell::Woken;
use super::ledger::Passed;
use super::room::Room;
use crate::clock;

/// What one read takes at most.
const CHUNK: usize = 32 * 1024;
/// How often one direction may move before the other has its turn.
const TURNS: usize = 8;

/// How a tunnel ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides have ended, or were silent for too long.
    Done,
    /// Its own bytes were the ones too many.
    Broke,
    /// The bell rang.
    Over,
}

/// Carries what both say, first what the client has said already.
pub(super) fn carry(client: &TcpStream, upstream: &TcpStream, said: Vec<u8>, room: &Room) -> (Passed, End) {
    let mut outward = Flow::new(client, upstream);
    let mut inward = Flow::new(upstream, client);
    let mut end = Err(End::Broke);
    if outward.accept(said, room) {
        end = Ok(());
    }
    let mut moved_ms = clock::mono_ms();
    while end.is_ok() {
        end = turn(&mut outward, &mut inward, room, &mut moved_ms);
    }
    let passed = Passed {
        inward: inward.passed,
        outward: outward.passed,
    };
    (passed, end.err().unwrap_or(End::Done))
}

fn turn<'a>(outward: &mut Flow<'a>, inward: &mut Flow<'a>, room: &Room, moved_ms: &mut u64) -> Result<(), End> {
    for flow in [&mut *outward, &mut *inward] {
        if flow.pump(room)? {
            *moved_ms = clock::mono_ms();
        }
    }
    let awaited: Vec<_> = [&*outward, &*inward].into_iter().filter_map(Flow::awaits).collect();
    if awaited.is_empty() {
        return Err(End::Done);
    }
    match room.wait(&awaited, moved_ms.saturating_add(room.budget.idle_ms)) {
        Woken::Ready => Ok(()),
        Woken::Late => Err(End::Done),
        Woken::Over => Err(End::Over),
    }
}

/// One direction.
struct Flow<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    /// Counted, and not written yet from `written` on.
    held: Vec<u8>,
    written: usize,
    phase: Phase,
    passed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Flows,
    /// Nothing more will be read; what is held is still to be written.
    Drains,
    Closed,
}

impl<'a> Flow<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream) -> Self {
        Self {
            from,
            to,
            held: Vec::new(),
            written: 0,
            phase: Phase::Flows,
            passed: 0,
        }
    }

    /// What the next step waits for; nothing once it is closed.
    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match self.phase {
            Phase::Closed => None,
            _ if self.written < self.held.len() => Some((self.to.as_fd(), PollFlags::OUT)),
            _ => Some((self.from.as_fd(), PollFlags::IN)),
        }
    }

    /// Moves what can be moved now; says whether anything did.
    fn pump(&mut self, room: &Room) -> Result<bool, End> {
        for done in 0..TURNS {
            let step = match self.phase {
                Phase::Closed => return Ok(done > 0),
                _ if self.written < self.held.len() => self.write(),
                Phase::Drains => self.close(),
                Phase::Flows => self.read(room)?,
            };
            if step == Step::Stuck {
                return Ok(done > 0);
            }
        }
        Ok(true)
    }

    fn read(&mut self, room: &Room) -> Result<Step, End> {
        let mut chunk = std::mem::take(&mut self.held);
        chunk.resize(CHUNK, 0);
        match (&mut &*self.from).read(&mut chunk) {
            Ok(0) => self.phase = Phase::Drains,
            Ok(length) => {
                chunk.truncate(length);
                if !self.accept(chunk, room) {
                    return Err(End::Broke);
                }
            }
            Err(error) if is_passing(&error) => return Ok(Step::Stuck),
            // A side that broke has ended; what it said before still goes to the other.
            Err(_) => self.phase = Phase::Drains,
        }
        Ok(Step::Moved)
    }

    /// Counts bytes and takes them; refuses them where they are too many.
    fn accept(&mut self, bytes: Vec<u8>, room: &Room) -> bool {
        let length = bytes.len() as u64;
        let may_pass = room.budget.spends(length);
        if may_pass {
            self.passed += length;
            (self.held, self.written) = (bytes, 0);
        }
        may_pass
    }

    fn write(&mut self) -> Step {
        match (&mut &*self.to).write(&self.held[self.written..]) {
            Ok(length) => {
                self.written += length;
                Step::Moved
            }
            Err(error) if is_passing(&error) => Step::Stuck,
            // Nobody listens there any more; the other direction may still have something to say.
            Err(_) => self.close(),
        }
    }

    fn close(&mut self) -> Step {
        let _closed_already = self.to.shutdown(Shutdown::Write);
        self.phase = Phase::Closed;
        Step::Moved
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Moved,
    Stuck,
}

/// Whether it is worth another try later.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
