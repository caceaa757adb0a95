//! The first message of a TLS client, as far as it says whom it means to talk to.

use rustls::server::Acceptor;
use rustls::{Error, InvalidMessage, PeerMisbehaved};

use super::host::{self, Host};
use super::ledger::Reason;

/// The first byte of every TLS connection: a record with a part of the handshake.
const HANDSHAKE: u8 = 0x16;

/// Whether a client that begins so may speak TLS.
pub(super) fn looks_like_tls(first: u8) -> bool {
    first == HANDSHAKE
}

/// Listens to a client until its hello is complete.
pub(super) struct Listener {
    acceptor: Acceptor,
    begun: bool,
}

/// What was heard so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Not all of a hello.
    Part,
    /// A hello, and the server that it names, in the one spelling of names.
    Hello(Option<String>),
    /// No hello that anyone may send.
    Refused(Reason),
}

impl Listener {
    pub(super) fn new() -> Self {
        Self {
            acceptor: Acceptor::default(),
            begun: false,
        }
    }

    /// Takes the next bytes. Not to be called again after anything but a part.
    pub(super) fn hear(&mut self, mut bytes: &[u8]) -> Heard {
        let Some(first) = bytes.first() else {
            return Heard::Part;
        };
        if !self.begun && !looks_like_tls(*first) {
            return Heard::Refused(Reason::NotTls);
        }
        self.begun = true;
        while !bytes.is_empty() {
            // It refuses to hold more than the longest message there may be.
            if !self.acceptor.read_tls(&mut bytes).is_ok_and(|taken| taken > 0) {
                return Heard::Refused(Reason::NotTls);
            }
            match self.acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => return named(accepted.client_hello().server_name()),
                Err((error, _)) => return Heard::Refused(reason(&error)),
            }
        }
        Heard::Part
    }
}

/// A name that is there and none is worse than no name: it must not pass for one.
fn named(server: Option<&str>) -> Heard {
    match server.map(host::name) {
        Some(None) => Heard::Refused(Reason::Sni),
        name => Heard::Hello(name.flatten()),
    }
}

fn reason(error: &Error) -> Reason {
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidServerName)
        | Error::PeerMisbehaved(PeerMisbehaved::ServerNameMustContainOneHostName) => Reason::Sni,
        _ => Reason::NotTls,
    }
}

/// Whether a client that names this server means this host. A host that is an address cannot be named (RFC 6066, 3).
pub(super) fn means(server: Option<&str>, host: &Host) -> bool {
    match host {
        Host::Name(name) => server == Some(name),
        Host::Address(_) => server.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::client::{hello, hello_with, names};
    use super::*;

    fn heard(bytes: &[u8]) -> Heard {
        Listener::new().hear(bytes)
    }

    fn named(name: &str) -> Heard {
        Heard::Hello(Some(name.to_owned()))
    }

    #[test]
    fn a_hello_names_its_server_in_the_one_spelling() {
        assert_eq!(heard(&hello(Some("model.test"))), named("model.test"));
        assert_eq!(heard(&hello(Some("MODEL.test"))), named("model.test"));
        assert_eq!(heard(&hello(None)), Heard::Hello(None));
    }

    #[test]
    fn a_hello_is_heard_however_it_is_cut() {
        let bytes = hello(Some("model.test"));
        for cut in 1..bytes.len() {
            let mut listener = Listener::new();
            assert_eq!(listener.hear(&bytes[..cut]), Heard::Part, "{cut}");
            assert_eq!(listener.hear(&bytes[cut..]), named("model.test"), "{cut}");
        }
    }

    #[test]
    fn a_hello_is_heard_though_more_follows_it() {
        let early = [&*hello(Some("model.test")), b"\x17\x03\x03\x00\x02xx"].concat();
        assert_eq!(heard(&early), named("model.test"));
    }

    #[test]
    fn an_address_as_server_name_is_none() {
        assert_eq!(heard(&hello(Some("127.0.0.1"))), Heard::Hello(None));
    }

    #[test]
    fn two_names_or_a_broken_one_are_refused_for_the_name() {
        for bytes in [
            hello_with(&names(&["model.test", "evil.test"])),
            hello_with(&names(&["model.test\0evil.test"])),
            hello_with(&names(&["a_b .test"])),
        ] {
            assert_eq!(heard(&bytes), Heard::Refused(Reason::Sni));
        }
    }

    #[test]
    fn two_name_extensions_are_refused() {
        let twice = [names(&["model.test"]), names(&["evil.test"])].concat();
        assert!(matches!(heard(&hello_with(&twice)), Heard::Refused(_)));
    }

    #[test]
    fn whatever_is_not_tls_is_refused_at_once() {
        for bytes in ["S", "SSH-2.0-x", "GET / HTTP/1.1\r\n", "\u{17}\u{3}\u{3}", "\0"] {
            assert_eq!(heard(bytes.as_bytes()), Heard::Refused(Reason::NotTls), "{bytes:?}");
        }
        assert_eq!(heard(b"\x16SSH-2.0-x----"), Heard::Refused(Reason::NotTls));
        assert_eq!(
            heard(b"\x16\x03\x01\x00\x04\x02\x00\x00\x00"),
            Heard::Refused(Reason::NotTls),
            "server hello"
        );
    }

    #[test]
    fn a_hello_that_never_ends_is_refused() {
        let mut listener = Listener::new();
        let start = [b"\x16\x03\x01\x40\x00\x01\x00\xff\xff".as_slice(), &[0; 16_380]].concat();
        let next = [b"\x16\x03\x01\x40\x00".as_slice(), &[0; 16_384]].concat();
        assert_eq!(listener.hear(&start), Heard::Part);
        let refused = (0..8).any(|_| listener.hear(&next) == Heard::Refused(Reason::NotTls));
        assert!(refused);
    }

    #[test]
    fn a_name_means_its_host_alone_and_no_name_an_address() {
        let host = Host::parse("model.test").unwrap();
        assert!(means(Some("model.test"), &host));
        assert!(!means(Some("a.model.test"), &host) && !means(None, &host));
        let address = Host::parse("127.0.0.1").unwrap();
        assert!(means(None, &address) && !means(Some("model.test"), &address));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_listener(mut bytes in prop::collection::vec(any::<u8>(), 1..400)) {
            bytes[0] = HANDSHAKE;
            heard(&bytes);
        }

        #[test]
        fn no_damage_to_a_hello_breaks_the_listener(at in 0usize..120, byte: u8, cut in 0usize..200) {
            let mut bytes = hello(Some("model.test"));
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut % bytes.len());
            heard(&bytes);
        }
    }
}
