//! The one way out of a zone: CONNECT to what is on the list, a request to the gateway or to a listed place of plain
//! HTTP, and nothing else (SPEC 14.4).
//!
//! ```text
//!   zone's loopback ── listener ── door ──┬─ visit ── tunnel ── vetted address
//!                                         ├─ visit ── exchange ── gateway, in TLS of our own     (a thread each)
//!                                         ├─ visit ── exchange ── vetted address, in plain text
//!                                         └─ ...
//!                      bell: a cap passed, a thread lost, or the end; all of them hear it, and so does the owner
//! ```
//!
//! The zone has no route and no name service. Its init passes out a listener of its loopback, and a [`Proxy`] serves
//! that from outside. Names become addresses here, once for each connection, and the address that was vetted is the
//! one that is dialled; the far side is dialled only after the client has named the same host in its TLS hello. When a
//! cap is passed everything closes at once, and the owner, woken through the descriptor of the proxy, ends the zone.
//!
//! A plain request goes to the gateway, where there is one, which adds the key that the zone does not have.
//!
//! What it cannot see: what goes through a tunnel that is allowed. The caps bound that, and nothing else does.

mod address;
mod allow;
mod authority;
mod bell;
mod budget;
mod dial;
mod door;
mod exchange;
pub(crate) mod gateway;
mod hello;
mod host;
mod ledger;
mod names;
mod room;
#[cfg(test)]
mod tests;
mod tunnel;
mod visit;

use std::error::Error;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

pub use allow::{AllowError, AllowList};
pub use bell::Over;
use gateway::Gateway;
pub use gateway::GatewayError;
pub use names::{Resolve, SystemResolver};

use super::plan::Egress;
use super::report::Connection;
use room::{Judge, Room};

/// Why a proxy does not serve.
#[derive(Debug)]
pub enum ProxyError {
    Allow(AllowError),
    Gateway(GatewayError),
    /// The system gives no descriptor or no thread.
    Start(io::Error),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow(error) => error.fmt(f),
            Self::Gateway(error) => error.fmt(f),
            Self::Start(error) => write!(
                f,
                "the proxy of the zone did not start: {error}; raise the limits on open files and processes, or free some"
            ),
        }
    }
}

impl Error for ProxyError {}

impl From<AllowError> for ProxyError {
    fn from(error: AllowError) -> Self {
        Self::Allow(error)
    }
}

impl From<GatewayError> for ProxyError {
    fn from(error: GatewayError) -> Self {
        Self::Gateway(error)
    }
}

/// A proxy that serves one zone. Its descriptor becomes readable once nothing passes any more.
pub struct Proxy {
    room: Arc<Room>,
    /// `None` once it is closed.
    door: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Serves the clients of this listener until a cap is passed or the proxy is closed. The time begins now.
    ///
    /// # Errors
    /// [`ProxyError::Allow`] for a list that is empty or cannot be read: nothing is served then.
    /// [`ProxyError::Gateway`] for a gateway that cannot be. [`ProxyError::Start`] when the system has no descriptor or thread left.
    pub fn serve(listener: TcpListener, egress: &Egress, resolver: Box<dyn Resolve>) -> Result<Self, ProxyError> {
        Self::serve_as(listener, egress, resolver, address::reach)
    }

    fn serve_as(
        listener: TcpListener,
        egress: &Egress,
        resolver: Box<dyn Resolve>,
        judge: Judge,
    ) -> Result<Self, ProxyError> {
        let gateway = egress.gateway.as_ref().map(Gateway::open).transpose()?;
        let list = match (&gateway, &egress.allow[..]) {
            // What leads through the gateway alone is allowed by that.
            (Some(_), []) => AllowList::nothing(),
            (_, allow) => AllowList::parse(allow)?,
        };
        listener.set_nonblocking(true).map_err(ProxyError::Start)?;
        let room = Arc::new(Room::new(list, gateway, egress, resolver, judge).map_err(ProxyError::Start)?);
        let theirs = Arc::clone(&room);
        let door = Builder::new()
            .name("egress-door".to_owned())
            .spawn(move || door::keep(&listener, &theirs))
            .map_err(ProxyError::Start)?;
        Ok(Self { room, door: Some(door) })
    }

    /// Why nothing passes any more, if so: the zone is to be ended.
    #[must_use]
    pub fn over(&self) -> Option<Over> {
        self.room.bell.over()
    }

    /// The cap that was passed, as reports say it.
    #[must_use]
    pub fn capped(&self) -> Option<&'static str> {
        self.over().and_then(Over::cap)
    }

    /// Ends every connection and waits for the threads. From here on [`Self::over`] does not change.
    ///
    /// Only a look-up that the system's resolver does not give back within two seconds is left behind; it holds nothing
    /// of the proxy.
    pub fn close(&mut self) {
        self.room.bell.ring();
        if let Some(door) = self.door.take() {
            names::join([door].into_iter());
            self.room.close();
        }
    }

    /// Closes it, and hands over what passed and what was refused.
    #[must_use]
    pub fn finish(mut self) -> Vec<Connection> {
        self.close();
        self.room.ledger.take()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

impl AsFd for Proxy {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.room.bell.as_fd()
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("over", &self.over())
            .finish_non_exhaustive()
    }
}
