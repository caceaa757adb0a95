//! One connection, from its request to its row in the ledger.
//!
//! ```text
//!   head ──> listed? ──> resolved, vetted ──> 200 ──> hello, whose name? ──> dialled ──> carried
//!    400       403          403, 502                      closed              closed
//! ```
//!
//! Where there is a gateway, or an entry for plain HTTP, whatever is no request for a tunnel is an exchange.
//!
//! The far side learns nothing of a connection before its client has said whom it means, in the same words as before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;

use rustix::event::PollFlags;

use super::allow::{Scope, Speech};
use super::authority::{self, Head};
use super::bell::{Over, Woken};
use super::budget::Place;
use super::dial::dial;
use super::exchange;
use super::hello::{self, Heard, Listener};
use super::host::Host;
use super::ledger::{Passed, Reason};
use super::room::Room;
use super::tunnel::{self, End, is_passing};
use crate::clock;

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// What one read takes before the tunnel stands.
const CHUNK: usize = 8 * 1024;
/// More than the longest hello, with the records around it.
const HELLO_MAX: usize = 80 * 1024;

/// Serves one client to its end. The place is free again before the client sees the end.
pub(super) fn receive(client: &TcpStream, place: Place, room: &Room) {
    let _watch = room.bell.watch();
    let _slower_at_worst = client.set_nodelay(true);
    let mut visit = Visit {
        client,
        room,
        said: Vec::new(),
        host: String::new(),
        port: 0,
        is_answered: false,
        why: "only CONNECT host:port is understood here, and plain HTTP where an entry says `http://host:port`",
        passed: Passed::default(),
    };
    let refused = visit.run().err();
    room.ledger.note(&visit.host, visit.port, refused, visit.passed);
    drop(place);
    // A zone that has ended is told nothing; one that is ended for a cap is told why.
    let is_told = !visit.is_answered && (!room.bell.is_rung() || refused == Some(Reason::Cap));
    if let Some(reason) = refused.filter(|_| is_told) {
        visit.send(answer(reason, &visit.host, visit.port, visit.why).as_bytes());
    }
}

pub(super) struct Visit<'a> {
    pub(super) client: &'a TcpStream,
    pub(super) room: &'a Room,
    /// Read from the client and not used yet.
    pub(super) said: Vec<u8>,
    /// Who was asked for, as it may be told.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) is_answered: bool,
    /// What is wrong with a request that is malformed.
    pub(super) why: &'static str,
    pub(super) passed: Passed,
}

impl Visit<'_> {
    fn run(&mut self) -> Result<(), Reason> {
        if self.room.reads_requests() && !self.asks_to_connect()? {
            return exchange::serve(self);
        }
        let (host, port) = self.request()?;
        (self.host, self.port) = (host.text(), port);
        let scope = self.room.list.scope(&host, port, Speech::Tunnel);
        let scope = scope.ok_or(Reason::NotListed)?;
        let addresses = self.vetted(&host, scope)?;
        self.is_answered = true;
        if !self.send(ESTABLISHED) {
            return Err(self.cut(Reason::Unreachable));
        }
        self.hello(&host, scope)?;
        let upstream = dial(&addresses, self.room).ok_or_else(|| self.cut(Reason::Unreachable))?;
        let (passed, end) = tunnel::carry(self.client, &upstream, std::mem::take(&mut self.said), self.room);
        self.passed = passed;
        match end {
            End::Broke => Err(Reason::Cap),
            // Whatever is open when the time is up has used it up.
            End::Over if self.room.bell.over() == Some(Over::Time) => Err(Reason::Cap),
            End::Done | End::Over => Ok(()),
        }
    }

    /// Whether the first word is that of a tunnel: no request that is passed on begins with its letter.
    fn asks_to_connect(&mut self) -> Result<bool, Reason> {
        if self.hear(self.patience()) {
            Ok(self.said.starts_with(b"C"))
        } else {
            Err(self.cut(Reason::Malformed))
        }
    }

    /// Reads the head; what follows it is left in `said`.
    fn request(&mut self) -> Result<(Host, u16), Reason> {
        let until = self.patience();
        loop {
            if self.said.is_empty() && !self.hear(until) {
                return Err(self.cut(Reason::Malformed));
            }
            match authority::read(&self.said) {
                Head::Partial if self.hear(until) => {}
                Head::Partial => return Err(self.cut(Reason::Malformed)),
                Head::Connect { host, port, length } => {
                    self.said.drain(..length);
                    return Ok((host, port));
                }
                Head::Malformed { told } => {
                    self.host = told;
                    return Err(Reason::Malformed);
                }
            }
        }
    }

    /// The addresses of a host that it may have.
    pub(super) fn vetted(&self, host: &Host, scope: Scope) -> Result<Vec<SocketAddr>, Reason> {
        let found = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.room.names.look_up(name, &self.room.bell),
        };
        if found.is_empty() {
            return Err(self.cut(Reason::Unreachable));
        }
        let allowed = found.into_iter().filter(|address| self.room.is_in(scope, *address));
        let allowed: Vec<_> = allowed.map(|address| SocketAddr::new(address, self.port)).collect();
        if allowed.is_empty() {
            Err(Reason::Private)
        } else {
            Ok(allowed)
        }
    }

    /// Waits until the client has said whom it means. What it said stays in `said`.
    fn hello(&mut self, host: &Host, scope: Scope) -> Result<(), Reason> {
        let until = self.patience();
        let mut listener = Listener::new();
        let mut heard = 0;
        loop {
            if self.said.len() > heard {
                if scope == Scope::Local && !hello::looks_like_tls(self.said[0]) {
                    return Ok(());
                }
                match listener.hear(&self.said[heard..]) {
                    Heard::Part if self.said.len() > HELLO_MAX => return Err(Reason::NotTls),
                    Heard::Part => heard = self.said.len(),
                    Heard::Hello(name) if hello::means(name.as_deref(), host) => return Ok(()),
                    Heard::Hello(_) => return Err(Reason::Sni),
                    Heard::Refused(reason) => return Err(reason),
                }
            }
            if !self.hear(until) {
                return Err(self.cut(Reason::NotTls));
            }
        }
    }

    /// Reads more; false when the client has ended or its time is over.
    pub(super) fn hear(&mut self, until_ms: u64) -> bool {
        let before = self.said.len();
        loop {
            if self.room.wait(&[(self.client.as_fd(), PollFlags::IN)], until_ms) != Woken::Ready {
                return false;
            }
            self.said.resize(before + CHUNK, 0);
            let read = self.client.read(&mut self.said[before..]);
            self.said.truncate(before + read.as_ref().map_or(0, |length| *length));
            match read {
                Ok(length) => return length > 0,
                Err(error) if is_passing(&error) => {}
                Err(_) => return false,
            }
        }
    }

    /// Writes a few bytes; false when the client does not take them.
    pub(super) fn send(&self, mut bytes: &[u8]) -> bool {
        let until = self.patience();
        while !bytes.is_empty() {
            match (&mut &*self.client).write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(error) if is_passing(&error) => {
                    if self.room.wait(&[(self.client.as_fd(), PollFlags::OUT)], until) != Woken::Ready {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// For how long a client may think.
    pub(super) fn patience(&self) -> u64 {
        clock::mono_ms().saturating_add(self.room.budget.idle_ms)
    }

    /// The reason for an end that the client may not have brought about.
    pub(super) fn cut(&self, otherwise: Reason) -> Reason {
        match self.room.bell.over().and_then(Over::cap) {
            Some(_) => Reason::Cap,
            None if self.room.bell.is_rung() => Reason::Unreachable,
            None => otherwise,
        }
    }
}

/// What a client is told that goes no further, with a sentence for whoever reads its output.
pub(super) fn answer(reason: Reason, host: &str, port: u16, why: &str) -> String {
    let (status, sentence) = match reason {
        Reason::Malformed => ("400 Bad Request", format!("the request is not passed on: {why}")),
        Reason::Private => (
            "403 Forbidden",
            format!("{host} has no public address, and its entry does not say local"),
        ),
        Reason::Cap => (
            "503 Service Unavailable",
            "a cap on connections, bytes or time is reached".to_owned(),
        ),
        Reason::Certificate => (
            "502 Bad Gateway",
            format!("{host} does not prove to be that host: see the run's --gateway-ca"),
        ),
        Reason::Key => (
            "502 Bad Gateway",
            format!("the answer of {host} holds the key, which no zone gets"),
        ),
        Reason::Unreachable => (
            "502 Bad Gateway",
            format!("{host} does not answer, or not in a way that passes"),
        ),
        Reason::PlainNotListed => (
            "403 Forbidden",
            format!(
                "{host}:{port} is not on the allow list of this run for plain HTTP, as `http://{host}:{port}` would be"
            ),
        ),
        Reason::SecretInPlain => (
            "403 Forbidden",
            format!(
                "a credential does not go to {host} in plain HTTP, for it is no private address: use https, or leave it out"
            ),
        ),
        Reason::NotListed | Reason::Sni | Reason::NotTls => (
            "403 Forbidden",
            format!("{host}:{port} is not on the allow list of this run"),
        ),
    };
    let length = sentence.len() + 1;
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{sentence}\n"
    )
}
