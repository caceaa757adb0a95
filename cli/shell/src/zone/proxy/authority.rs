//! The one request that the proxy understands: `CONNECT host:port`, in the first version of HTTP.

use super::host::{self, Host};

/// The longest head, everything up to the empty line.
pub(super) const HEAD_MAX: usize = 8 * 1024;
/// More lines than any client sends.
const HEADERS_MAX: usize = 64;
/// How much of what was asked for is worth telling.
const TOLD_MAX: usize = 100;

/// What the bytes so far say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing yet.
    Partial,
    /// A request to connect, and how long its head was.
    Connect { host: Host, port: u16, length: usize },
    /// Anything else, and what of it may be told.
    Malformed { told: String },
}

/// Reads the beginning of a connection.
pub(super) fn read(bytes: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(bytes);
    let target = request.path.unwrap_or_default();
    match status {
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => Head::Partial,
        Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX && request.method == Some("CONNECT") => {
            match authority(target) {
                Some((host, port)) => Head::Connect { host, port, length },
                None => Head::Malformed { told: told(target) },
            }
        }
        _ => Head::Malformed { told: told(target) },
    }
}

fn authority(target: &str) -> Option<(Host, u16)> {
    let (host, port) = host::split(target)?;
    Some((Host::parse(host)?, port))
}

/// Whom a request meant that is not one: no path, for paths hold secrets, and nothing that a terminal obeys.
fn told(target: &str) -> String {
    let place = target.split_once("://").map_or(target, |(_, place)| place);
    let place = place.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit('@').next().unwrap_or_default();
    let plain = |letter: char| if letter.is_ascii_graphic() { letter } else { '?' };
    place.chars().take(TOLD_MAX).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target(target: &str) -> Head {
        read(format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
    }

    fn is_malformed(bytes: &[u8]) -> bool {
        matches!(read(bytes), Head::Malformed { .. })
    }

    #[test]
    fn a_request_to_connect_gives_host_port_and_where_it_ends() {
        let bytes = b"CONNECT Model.test.:443 HTTP/1.1\r\nUser-Agent: x\r\n\r\nrest";
        let host = Host::Name("model.test".to_owned());
        let length = bytes.len() - 4;
        assert_eq!(
            read(bytes),
            Head::Connect {
                host,
                port: 443,
                length
            }
        );
        assert!(matches!(read(b"CONNECT a:1 HTTP/1.0\r\n\r\n"), Head::Connect { .. }));
    }

    #[test]
    fn a_head_is_partial_until_its_empty_line() {
        for bytes in [
            "",
            "CONN",
            "CONNECT a.test:443 HTTP/1.1\r\n",
            "CONNECT a.test:443 HTTP/1.1\r\nA: b\r\n\r",
        ] {
            assert_eq!(read(bytes.as_bytes()), Head::Partial, "{bytes:?}");
        }
    }

    #[test]
    fn other_methods_and_the_absolute_form_are_malformed() {
        for line in [
            "GET http://evil.test/",
            "GET /",
            "POST http://a.test:443",
            "OPTIONS *",
            "connect a.test:443",
        ] {
            assert!(is_malformed(format!("{line} HTTP/1.1\r\n\r\n").as_bytes()), "{line}");
        }
    }

    #[test]
    fn other_protocols_are_malformed_at_once() {
        assert!(is_malformed(b"\x05\x01\x00"), "SOCKS5");
        assert!(is_malformed(b"\x04\x01\x01\xbb\x01\x01\x01\x01\x00"), "SOCKS4");
        assert!(is_malformed(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "h2");
        assert!(is_malformed(b"\x16\x03\x01\x02\x00\x01"), "TLS");
        assert!(is_malformed(b"CONNECT a.test:443 HTTP/2.0\r\n\r\n"));
        assert!(is_malformed(b"CONNECT a.test:443\r\n\r\n"));
    }

    #[test]
    fn a_target_that_is_no_host_and_port_is_malformed() {
        for text in [
            "model.test",
            "https://model.test:443",
            "u:p@model.test:443",
            "model.test:443/",
            "a%2e:1",
            "a,b:1",
            "::1:443",
        ] {
            assert!(matches!(target(text), Head::Malformed { .. }), "{text}");
        }
        assert!(is_malformed(b"CONNECT m\0.test:443 HTTP/1.1\r\n\r\n"));
        assert!(is_malformed(b"CONNECT \xc3\xa9.test:443 HTTP/1.1\r\n\r\n"));
    }

    #[test]
    fn a_head_ends_within_its_bound() {
        let head = |length: usize| {
            let start = "CONNECT a.test:443 HTTP/1.1\r\nA: ";
            format!("{start}{}\r\n\r\n", "x".repeat(length - start.len() - 4)).into_bytes()
        };
        assert!(matches!(read(&head(HEAD_MAX)), Head::Connect { length: HEAD_MAX, .. }));
        assert!(is_malformed(&head(HEAD_MAX + 1)));
        assert!(is_malformed(&head(HEAD_MAX + 1)[..HEAD_MAX]));
        let many = "A: b\r\n".repeat(HEADERS_MAX + 1);
        assert!(is_malformed(
            format!("CONNECT a.test:443 HTTP/1.1\r\n{many}\r\n").as_bytes()
        ));
    }

    #[test]
    fn what_is_told_of_a_malformed_request_is_its_host_alone() {
        let told = |target: &str| match read(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()) {
            Head::Malformed { told } => told,
            other => panic!("{other:?}"),
        };
        assert_eq!(told("http://u:secret@evil.test/secret?key=secret"), "evil.test");
        assert_eq!(told("/secret"), "");
        assert_eq!(told(&"a".repeat(1_000)).len(), TOLD_MAX);
        assert_eq!(told("http://\u{e9}vil.test/"), "?vil.test");
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes);
        }

        #[test]
        fn whatever_is_told_is_short_and_plain(target in "\\PC{0,200}") {
            let told = told(&target);
            prop_assert!(told.len() <= TOLD_MAX && told.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
