//! The zone's way out: a listener of its own loopback, served from outside.

use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use super::report::Connection;

/// Programs that heed variables find the proxy by these; the others find no route.
const VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// What is reached without the proxy: the zone's own loopback.
const DIRECT: &str = "localhost,127.0.0.1,::1";

pub(super) struct Way {
    at: SocketAddr,
    // PROXY GOES HERE: `Proxy::serve(listener, egress, resolver)` takes the listener over, with `capped` and `finish`
    // below its own. Until then connections wait in the listener's queue and nobody answers: nothing gets out.
    _listener: TcpListener,
}

impl Way {
    /// Of the descriptors that came with the init's word the one that is meant.
    pub(super) fn open(mut with: Vec<OwnedFd>) -> io::Result<Self> {
        let listener = with.pop().ok_or_else(|| io::Error::other("none came"))?;
        let listener = TcpListener::from(listener);
        let at = listener.local_addr()?;
        if !at.ip().is_loopback() {
            return Err(io::Error::other(format!("it listens on {at}")));
        }
        Ok(Self {
            at,
            _listener: listener,
        })
    }

    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let proxy = format!("http://{}", self.at);
        let set = |name: &str, value: &str| (name.into(), value.into());
        let mut all: Vec<_> = VARIABLES.iter().map(|name| set(name, &proxy)).collect();
        all.extend([
            set("NO_PROXY", DIRECT),
            set("no_proxy", DIRECT),
            set("NODE_USE_ENV_PROXY", "1"),
        ]);
        all
    }

    /// The cap that the zone ran into.
    pub(super) fn capped(&self) -> Option<String> {
        None
    }

    pub(super) fn finish(self) -> Vec<Connection> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_every_variable_name_the_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let variables = Way::open(vec![listener.into()]).unwrap().variables();
        let named = variables
            .iter()
            .filter(|(_, value)| *value == *format!("http://127.0.0.1:{port}"));
        assert_eq!(named.count(), 6);
        assert!(variables.contains(&("no_proxy".into(), DIRECT.into())));
    }

    #[test]
    fn a_listener_of_more_than_loopback_is_none() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        assert!(Way::open(vec![listener.into()]).is_err());
        assert!(Way::open(Vec::new()).is_err());
    }
}
