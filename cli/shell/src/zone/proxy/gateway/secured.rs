//! The connection to the far side: TLS on a socket that never makes its thread wait where the bell is not heard.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::event::PollFlags;
use rustls::{ClientConnection, Error};

use super::super::bell::Woken;
use super::super::exchange::{Far, Sent, is_gone};
use super::super::ledger::Reason;
use super::super::room::Room;
use super::super::tunnel::is_passing;
use super::Gateway;
use crate::clock;

/// What one read gives at most.
const CHUNK: usize = 16 * 1024;
/// How long both sides may take to agree.
const HANDSHAKE_LIMIT_MS: u64 = 20_000;

/// What one look at the socket brought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pulled {
    Nothing,
    Something,
    End,
}

pub(in super::super) struct Secured<'a> {
    stream: TcpStream,
    session: ClientConnection,
    room: &'a Room,
}

impl<'a> Secured<'a> {
    /// Over this connection to the host of the gateway, once it has proven to be that.
    pub(in super::super) fn open(stream: TcpStream, gateway: &Gateway, room: &'a Room) -> Result<Self, Reason> {
        let session = ClientConnection::new(Arc::clone(&gateway.tls), gateway.server.clone());
        let mut secured = Self {
            stream,
            session: session.map_err(|_| Reason::Unreachable)?,
            room,
        };
        let until = clock::mono_ms().saturating_add(HANDSHAKE_LIMIT_MS);
        while secured.session.is_handshaking() {
            secured.push()?;
            if secured.session.is_handshaking() && secured.pull()? == Pulled::Nothing {
                secured.wait(PollFlags::IN, until)?;
            }
        }
        Ok(secured)
    }

    /// Writes what TLS itself has to say.
    fn push(&mut self) -> Result<(), Reason> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => self.wait(PollFlags::OUT, self.patience())?,
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes what is there.
    fn pull(&mut self) -> Result<Pulled, Reason> {
        match self.session.read_tls(&mut self.stream) {
            Ok(0) => {
                let _known = self.session.process_new_packets();
                if self.session.is_handshaking() {
                    return Err(Reason::Unreachable);
                }
                Ok(Pulled::End)
            }
            Ok(_) => match self.session.process_new_packets() {
                Ok(_) => Ok(Pulled::Something),
                Err(error) => {
                    // The other side is told why, if it still listens.
                    let _told = self.push();
                    Err(reason(&error))
                }
            },
            Err(error) if is_passing(&error) => Ok(Pulled::Nothing),
            Err(_) => Err(Reason::Unreachable),
        }
    }

    fn wait(&self, what: PollFlags, until_ms: u64) -> Result<(), Reason> {
        match self.room.wait(&[(self.stream.as_fd(), what)], until_ms) {
            Woken::Ready => Ok(()),
            Woken::Late | Woken::Over => Err(Reason::Unreachable),
        }
    }

    /// For how long the far side may think.
    fn patience(&self) -> u64 {
        clock::mono_ms().saturating_add(self.room.budget.idle_ms)
    }
}

impl Far for Secured<'_> {
    fn send(&mut self, bytes: &[u8]) -> Result<Sent, Reason> {
        self.session
            .writer()
            .write_all(bytes)
            .map_err(|_| Reason::Unreachable)?;
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {
                    self.wait(PollFlags::OUT | PollFlags::IN, self.patience())?;
                    if self.is_answered()? {
                        return Ok(Sent::Answered);
                    }
                }
                // Nobody reads there any more; what was said before that can still be read.
                Err(_) => return Ok(Sent::Answered),
            }
        }
        if self.is_answered()? {
            return Ok(Sent::Answered);
        }
        Ok(Sent::All)
    }

    fn is_answered(&mut self) -> Result<bool, Reason> {
        loop {
            if self
                .session
                .process_new_packets()
                .is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
            {
                return Ok(true);
            }
            match self.pull()? {
                Pulled::Nothing => return Ok(false),
                Pulled::Something => {}
                Pulled::End => return Ok(true),
            }
        }
    }

    fn receive(&mut self, heard: &TcpStream) -> Result<Vec<u8>, Reason> {
        let mut bytes = vec![0; CHUNK];
        let until = self.patience();
        loop {
            match self.session.reader().read(&mut bytes) {
                Ok(length) => {
                    bytes.truncate(length);
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // It went away without a word: more was to come, or somebody cut it off.
                Err(_) => return Err(Reason::Unreachable),
            }
            self.push()?;
            if self.pull()? == Pulled::Nothing {
                let sources = [(self.stream.as_fd(), PollFlags::IN), (heard.as_fd(), PollFlags::RDHUP)];
                if self.room.wait(&sources, until) != Woken::Ready || is_gone(heard) {
                    return Err(Reason::Unreachable);
                }
            }
        }
    }
}

impl AsFd for Secured<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn reason(error: &Error) -> Reason {
    match error {
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Reason::Certificate,
        _ => Reason::Unreachable,
    }
}
