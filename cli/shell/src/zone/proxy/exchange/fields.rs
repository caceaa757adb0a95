//! Which header fields pass, and which are nobody's but the two ends' of one connection.

use super::super::gateway::GatewayError;
use crate::zone::plan;

/// Of one connection, or of the framing, which is made anew.
const OWN: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// By which the work could say who it is: only the gateway says that.
const OF_BEARERS: &[&str] = &[
    "authorization",
    "cookie",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "x-auth-token",
];

/// As a name is compared: some servers take an underscore for a hyphen.
fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Of a message's fields those that go on, the ones that its `connection` names left out too.
pub(super) fn passed<'h>(headers: &'h [httparse::Header<'h>]) -> impl Iterator<Item = &'h httparse::Header<'h>> {
    let mut named: Vec<String> = Vec::new();
    for value in all(headers, "connection") {
        let text = String::from_utf8_lossy(value);
        named.extend(text.split(',').map(|name| folded(name.trim())));
    }
    headers.iter().filter(move |header| {
        let name = folded(header.name);
        let own = OWN.contains(&name.as_str()) || name.starts_with("proxy-");
        !own && !named.contains(&name)
    })
}

/// Whether a field of a request would say who asks.
pub(super) fn says_who(name: &str, bears: Option<&plan::Bears>) -> bool {
    let name = folded(name);
    OF_BEARERS.contains(&name.as_str()) || bears.is_some_and(|bears| folded(&bears.header) == name)
}

/// Every value under a name.
pub(super) fn all<'h>(headers: &'h [httparse::Header<'h>], name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    let found = headers.iter().filter(move |header| folded(header.name) == name);
    found.map(|header| header.value)
}

/// Appends a line.
pub(super) fn put(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        head.extend_from_slice(part);
    }
}

/// Whether a header may bear a key, and this key.
pub(in super::super) fn may_bear(bears: &plan::Bears) -> Result<(), GatewayError> {
    let name = folded(&bears.header);
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if name.is_empty() || !plain || OWN.contains(&name.as_str()) || name.starts_with("proxy-") {
        return Err(GatewayError::Header {
            name: bears.header.clone(),
        });
    }
    let is_key = !bears.key.is_empty() && bears.key.bytes().all(|byte| byte.is_ascii_graphic());
    if is_key { Ok(()) } else { Err(GatewayError::Key) }
}

/// A head whose lines end in one way only: some readers take a bare line feed, or a bare return, for an end.
pub(super) fn is_plainly_broken(head: &[u8]) -> bool {
    head.iter().enumerate().all(|(at, byte)| match byte {
        b'\n' => at > 0 && head[at - 1] == b'\r',
        b'\r' => head.get(at + 1) == Some(&b'\n'),
        0 => false,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bears(header: &str, key: &str) -> plan::Bears {
        plan::Bears {
            header: header.to_owned(),
            key: key.to_owned(),
        }
    }

    #[test]
    fn what_is_of_one_connection_ends_with_it() {
        let header = |name, value: &'static [u8]| httparse::Header { name, value };
        let headers = [
            header("Connection", b"close, X-Hop"),
            header("X-Hop", b"1"),
            header("Transfer_Encoding", b"chunked"),
            header("Proxy-Authorization", b"x"),
            header("TE", b"trailers"),
            header("Accept", b"text/plain"),
        ];
        let names: Vec<&str> = passed(&headers).map(|header| header.name).collect();
        assert_eq!(names, ["Accept"]);
    }

    #[test]
    fn nobody_but_the_gateway_says_who_asks() {
        for name in ["Authorization", "X-API-Key", "x_api_key", "Cookie", "X-Own-Key"] {
            assert!(says_who(name, Some(&bears("x-own-key", "k"))), "{name}");
        }
        assert!(!says_who("Accept", None) && !says_who("x-own-key", None));
    }

    #[test]
    fn a_key_is_borne_by_a_header_of_its_own_and_breaks_no_line() {
        assert!(may_bear(&bears("X-Api-Key", "sk-1")).is_ok());
        for (header, key) in [
            ("", "sk-1"),
            ("a b", "sk-1"),
            ("Host", "sk-1"),
            ("Content-Length", "5"),
            ("Transfer-Encoding", "chunked"),
            ("x-api-key", ""),
            ("x-api-key", "sk\r\nX: y"),
            ("x-api-key", "sk 1"),
        ] {
            assert!(may_bear(&bears(header, key)).is_err(), "{header}: {key}");
        }
    }

    #[test]
    fn a_line_ends_in_one_way() {
        assert!(is_plainly_broken(b"GET / HTTP/1.1\r\nA: b\r\n\r\n"));
        for head in [
            b"GET / HTTP/1.1\nA: b\r\n\r\n".as_slice(),
            b"\nGET /",
            b"A: b\rC: d\r\n",
            b"A: \0\r\n",
            b"A: b\r",
        ] {
            assert!(!is_plainly_broken(head), "{head:?}");
        }
    }
}
