//! The zone's way out: a listener of its own loopback, served from outside.

use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::launch::refuse;
use super::plan::Egress;
use super::proxy::{Over, Proxy, ProxyError, SystemResolver, gateway};
use super::report::{Connection, Refusal, RefusalCause};

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
    proxy: Proxy,
    /// Variables of the gateway.
    gateway: Vec<(OsString, OsString)>,
}

impl Way {
    /// Serves, of the descriptors that came with the init's word, the one that is meant.
    pub(super) fn open(mut with: Vec<OwnedFd>, egress: &Egress) -> Result<Self, Refusal> {
        let refused = |error: io::Error| refuse(format!("its proxy has no listener: {error}"));
        let listener = with.pop().ok_or_else(|| refused(io::Error::other("none came")))?;
        let listener = TcpListener::from(listener);
        let at = listener.local_addr().map_err(refused)?;
        if !at.ip().is_loopback() {
            return Err(refused(io::Error::other(format!("it listens on {at}"))));
        }
        let proxy = Proxy::serve(listener, egress, Box::new(SystemResolver)).map_err(|error| match error {
            ProxyError::Allow(error) => Refusal {
                cause: RefusalCause::AllowlistMissing,
                message: error.to_string(),
            },
            ProxyError::Gateway(_) | ProxyError::Start(_) => refuse(error.to_string()),
        })?;
        let gateway = egress.gateway.as_ref().map(|planned| gateway::variables(planned, at));
        Ok(Self {
            at,
            proxy,
            gateway: gateway.unwrap_or_default(),
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
        all.extend(self.gateway.iter().cloned());
        all
    }

    /// Nothing passes any more: why, and the cap that was passed, where it was one.
    pub(super) fn over(&self) -> Option<Over> {
        self.proxy.over()
    }

    /// Ends every connection; from here on [`Self::over`] does not change.
    pub(super) fn close(&mut self) {
        self.proxy.close();
    }

    pub(super) fn finish(self) -> Vec<Connection> {
        self.proxy.finish()
    }
}

impl AsFd for Way {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.proxy.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(allow: &[&str]) -> Egress {
        Egress {
            allow: allow.iter().map(|entry| (*entry).to_owned()).collect(),
            connections_max: 1,
            concurrent_max: 1,
            bytes_max: 1,
            idle_ms: 1_000,
            total_ms: 1_000,
            gateway: None,
        }
    }

    fn listener() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn a_list_that_allows_nothing_or_cannot_be_read_serves_nobody() {
        for allow in [&[][..], &["model.test"], &["*.com:443"], &["10.0.0.1:443"]] {
            let refused = Way::open(vec![listener().into()], &egress(allow)).err().unwrap();
            assert_eq!(refused.cause, RefusalCause::AllowlistMissing, "{allow:?}");
        }
    }

    #[test]
    fn both_spellings_of_every_variable_name_the_listener() {
        let listener = listener();
        let port = listener.local_addr().unwrap().port();
        let variables = Way::open(vec![listener.into()], &egress(&["model.test:443"]))
            .unwrap()
            .variables();
        let named = variables
            .iter()
            .filter(|(_, value)| *value == *format!("http://127.0.0.1:{port}"));
        assert_eq!(named.count(), 6);
        assert!(variables.contains(&("no_proxy".into(), DIRECT.into())));
    }

    #[test]
    fn a_listener_of_more_than_loopback_is_none() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let list = egress(&["model.test:443"]);
        assert!(Way::open(vec![listener.into()], &list).is_err());
        assert!(Way::open(Vec::new(), &list).is_err());
    }
}
