//! A request of the work: taken apart, and written anew for the far side.

use super::super::authority::HEAD_MAX;
use super::aim::{Aim, Rules};
use super::body::Framing;
use super::fields::{all, is_plainly_broken, passed, put, says_who};
use super::target::Place;

/// More lines than any client sends.
const HEADERS_MAX: usize = 64;
/// What may be asked of somebody out there.
const METHODS: &[&str] = &["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// What the bytes so far say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nothing yet.
    Partial,
    Request(Request),
    /// What no request may be, and why.
    Malformed(&'static str),
}

/// One request, without its content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// As the far side gets it.
    pub(super) head: Vec<u8>,
    /// Whom it means; `None` for the gateway.
    pub(super) place: Option<Place>,
    /// It says who asks: for the gateway, never.
    pub(super) says_who: bool,
    pub(super) framing: Framing,
    /// The client waits for a word before it sends its content.
    pub(super) waits: bool,
    /// The answer has a head only.
    pub(super) is_head: bool,
    /// How long the head was that came.
    pub(super) length: usize,
}

/// Reads the beginning of a connection.
pub(super) fn read(bytes: &[u8], rules: Rules<'_>) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => Head::Partial,
        Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX => {
            match written(&request, &bytes[..length], rules) {
                Ok(request) => Head::Request(request),
                Err(why) => Head::Malformed(why),
            }
        }
        Ok(_) => Head::Malformed("its head is longer than 8 KiB"),
        Err(_) => Head::Malformed("its head is no HTTP"),
    }
}

fn written(request: &httparse::Request<'_, '_>, head: &[u8], rules: Rules<'_>) -> Result<Request, &'static str> {
    let method = request.method.unwrap_or_default();
    let target = request.path.unwrap_or_default();
    if !is_plainly_broken(head) {
        return Err("its lines do not all end as lines of HTTP do");
    }
    if request.version != Some(1) {
        return Err("it is not HTTP/1.1");
    }
    if !METHODS.contains(&method) {
        return Err("its method is none of those that pass");
    }
    let headers = &*request.headers;
    let aim = Aim::of(target, rules)?;
    match (all(headers, "host").collect::<Vec<_>>().as_slice(), &aim.place) {
        ([host], Some(place)) if !place.is_named(host) => {
            return Err("its host is another than that of its target");
        }
        ([_], _) => {}
        _ => return Err("it does not name one host"),
    }
    let framing = framing(headers)?;
    let waits = match all(headers, "expect").collect::<Vec<_>>()[..] {
        [] => false,
        [value] if value.eq_ignore_ascii_case(b"100-continue") => true,
        _ => return Err("it expects what nobody here does"),
    };
    let mut anew = format!("{method} {} HTTP/1.1\r\nhost: {}\r\n", aim.path, aim.authority).into_bytes();
    for header in passed(headers).filter(|header| aim.lets(header.name)) {
        put(&mut anew, header.name, header.value);
    }
    if aim.is_looked_through() {
        put(&mut anew, "accept-encoding", b"identity");
    }
    match framing {
        Framing::Length(length) => put(&mut anew, "content-length", length.to_string().as_bytes()),
        Framing::Chunked => put(&mut anew, "transfer-encoding", b"chunked"),
        Framing::Nothing | Framing::UntilClose => {}
    }
    if let Some(bears) = aim.bears {
        put(&mut anew, &bears.header, bears.value().as_bytes());
    }
    put(&mut anew, "connection", b"close");
    anew.extend_from_slice(b"\r\n");
    Ok(Request {
        head: anew,
        says_who: aim.place.is_some() && headers.iter().any(|header| says_who(header.name, None)),
        place: aim.place,
        framing,
        waits,
        is_head: method == "HEAD",
        length: head.len(),
    })
}

/// The one framing of a message, where it has one.
pub(super) fn framing(headers: &[httparse::Header<'_>]) -> Result<Framing, &'static str> {
    let lengths: Vec<_> = all(headers, "content-length").collect();
    let encodings: Vec<_> = all(headers, "transfer-encoding").collect();
    match (&lengths[..], &encodings[..]) {
        ([], []) => Ok(Framing::Nothing),
        ([length], []) => plain_number(length)
            .map(Framing::Length)
            .ok_or("its length is no plain number"),
        ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        ([], [_]) => Err("its encoding is another than chunked"),
        ([_, ..], [_, ..]) => Err("it says its length in two ways"),
        _ => Err("it says its length twice"),
    }
}

fn plain_number(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let plain = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::aim::Below;
    use super::*;
    use crate::zone::plan;

    fn bears() -> plan::Bears {
        plan::Bears {
            header: "authorization".to_owned(),
            key: "sk-held".to_owned(),
        }
    }

    fn with(bytes: &[u8], paths: &[&str]) -> Head {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let bears = bears();
        let below = Below {
            authority: "model.test",
            paths: &paths,
            bears: Some(&bears),
        };
        let rules = Rules {
            below: Some(below),
            absolute: false,
        };
        read(bytes, rules)
    }

    fn why(bytes: &[u8]) -> &'static str {
        match with(bytes, &["/v1"]) {
            Head::Malformed(why) => why,
            other => panic!("{}: {other:?}", bytes.escape_ascii()),
        }
    }

    fn post(more: &str) -> Vec<u8> {
        format!("POST /v1/chat HTTP/1.1\r\nHost: 127.0.0.1:4\r\n{more}\r\n").into_bytes()
    }

    #[test]
    fn a_request_is_written_anew_with_the_key_and_without_what_the_work_said_of_itself() {
        let bytes = post(
            "Authorization: Bearer mine\r\nX-Api-Key: mine\r\nx_api_key: mine\r\nCookie: mine\r\nContent-Length: 4\r\n\
             Connection: keep-alive, x-hop\r\nX-Hop: mine\r\nKeep-Alive: mine\r\nAccept-Encoding: gzip\r\nAccept: a/b\r\n",
        );
        let Head::Request(request) = with(&[&bytes[..], b"datamore"].concat(), &["/v1"]) else {
            panic!("no request")
        };
        assert_eq!(
            String::from_utf8(request.head).unwrap(),
            "POST /v1/chat HTTP/1.1\r\nhost: model.test\r\nAccept: a/b\r\naccept-encoding: identity\r\n\
             content-length: 4\r\nauthorization: Bearer sk-held\r\nconnection: close\r\n\r\n"
        );
        assert_eq!(
            (request.framing, request.length, request.waits),
            (Framing::Length(4), bytes.len(), false)
        );
    }

    #[test]
    fn a_head_is_partial_until_its_empty_line_and_bounded() {
        let whole = post("");
        for cut in 0..whole.len() {
            assert_eq!(with(&whole[..cut], &["/v1"]), Head::Partial, "{cut}");
        }
        let long = post(&format!("A: {}\r\n", "x".repeat(HEAD_MAX)));
        assert_eq!(why(&long), "its head is longer than 8 KiB");
        why(&post(&"A: b\r\n".repeat(HEADERS_MAX)));
    }

    #[test]
    fn a_message_that_could_end_in_two_places_is_refused() {
        for more in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            "Content-Length: 4\r\nContent-Length: 4\r\n",
            "Content-Length: 4\r\ncontent_length: 5\r\n",
            "Content-Length: 4, 4\r\n",
            "Content-Length: +4\r\n",
            "Content-Length: 0x4\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding : chunked\r\n",
            " folded: 1\r\n",
            "A: b\r\n folded\r\n",
            "A: b\r\n\tfolded\r\n",
            "A: b\nContent-Length: 4\r\n",
            "A: b\rContent-Length: 4\r\n",
            "A\0: b\r\n",
            "Expect: 200-ok\r\n",
        ] {
            why(&post(more));
        }
    }

    #[test]
    fn a_target_is_a_plain_path_below_the_gateways_own() {
        let is_refused = |target: &str| {
            let bytes = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
            matches!(with(bytes.as_bytes(), &["/v1"]), Head::Malformed(_))
        };
        for target in ["/v1", "/v1/", "/v1/models?limit=2&q=a%20b", "/v1/a:b", "/v1/a..b"] {
            assert!(!is_refused(target), "{target}");
        }
        for target in [
            "/",
            "/v10",
            "/admin",
            "/v1/../admin",
            "/v1/%2e%2E/admin",
            "/v1/.%2e/admin",
            "/v1/.",
            "/v1//admin",
            "//evil.test/v1",
            "/v1/%2f..",
            "/v1/a%5cb",
            "/v1/%252e",
            "/v1/a\\b",
            "/v1/a#b",
            "/v1?a#b",
            "http://evil.test/v1",
            "https://model.test/v1",
            "model.test:443",
            "*",
            "v1",
        ] {
            assert!(is_refused(target), "{target}");
        }
        let bytes = b"GET /anything HTTP/1.1\r\nHost: x\r\n\r\n";
        assert!(matches!(with(bytes, &[""]), Head::Request(_)));
    }

    #[test]
    fn only_methods_and_versions_that_pass_do() {
        for line in [
            "CONNECT a:1 HTTP/1.1",
            "TRACE /v1 HTTP/1.1",
            "get /v1 HTTP/1.1",
            "GET /v1 HTTP/1.0",
            "PRI * HTTP/2.0",
        ] {
            why(format!("{line}\r\nHost: x\r\n\r\n").as_bytes());
        }
        why(b"GET /v1 HTTP/1.1\r\n\r\n");
        why(b"GET /v1 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");
        why(b"\x16\x03\x01\x02\x00\x01");
    }

    #[test]
    fn a_client_that_waits_before_it_sends_is_known() {
        let Head::Request(request) = with(
            &post("Expect: 100-Continue\r\nTransfer-Encoding: Chunked\r\n"),
            &["/v1"],
        ) else {
            panic!("no request")
        };
        assert!(request.waits && request.framing == Framing::Chunked);
    }

    fn plain(line: &str, more: &str) -> Head {
        let rules = Rules {
            below: None,
            absolute: true,
        };
        read(format!("{line} HTTP/1.1\r\n{more}\r\n").as_bytes(), rules)
    }

    #[test]
    fn a_request_in_absolute_form_is_written_anew_for_its_place() {
        let more = "Host: MIRROR.test\r\nProxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\n\
                    Keep-Alive: 5\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\n\
                    HTTP2-Settings: x\r\nAccept-Encoding: gzip\r\n";
        let Head::Request(request) = plain("GET http://mirror.test:80/a%2Fb?c", more) else {
            panic!("no request")
        };
        assert_eq!(
            String::from_utf8(request.head).unwrap(),
            "GET /a%2Fb?c HTTP/1.1\r\nhost: mirror.test\r\nAccept-Encoding: gzip\r\nconnection: close\r\n\r\n"
        );
        assert_eq!(request.place, Place::parse("mirror.test"));
        assert!(!request.says_who);
    }

    #[test]
    fn a_request_in_absolute_form_that_two_readers_could_read_differently_is_refused() {
        let is_refused = |line: &str, more: &str| matches!(plain(line, more), Head::Malformed(_));
        let line = "POST http://mirror.test:81/x";
        assert!(!is_refused(line, "Host: mirror.test.:81\r\n"));
        for hosts in [
            "",
            "Host: mirror.test\r\n",
            "Host: mirror.test:80\r\n",
            "Host: evil.test:81\r\n",
            "Host: mirror.test:81, evil.test\r\n",
            "Host: mirror.test:81\r\nHost: evil.test\r\n",
            "Host: mirror.test:81\r\nHost: mirror.test:81\r\n",
            "Host: u@mirror.test:81\r\n",
            "Host: \r\n",
        ] {
            assert!(is_refused(line, hosts), "{hosts:?}");
        }
        for more in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 4\r\nContent_Length: 5\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "A: b\r\n folded\r\n",
            "A: b\nX: y\r\n",
            "A: b\rX: y\r\n",
        ] {
            assert!(is_refused(line, &format!("Host: mirror.test:81\r\n{more}")), "{more:?}");
        }
        assert!(is_refused("GET /x", "Host: mirror.test:81\r\n"));
        assert!(is_refused("CONNECT http://mirror.test/", "Host: mirror.test\r\n"));
    }

    #[test]
    fn who_asks_is_known_in_either_spelling() {
        for (more, says) in [
            ("Authorization: Bearer x\r\n", true),
            ("x_api_key: x\r\n", true),
            ("Cookie: x\r\n", true),
            ("Accept: x\r\n", false),
        ] {
            let Head::Request(request) = plain("GET http://m.test/", &format!("Host: m.test\r\n{more}")) else {
                panic!("{more:?}")
            };
            assert_eq!(request.says_who, says, "{more:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            with(&bytes, &["/v1"]);
        }

        #[test]
        fn whatever_passes_is_one_message_and_bears_the_key_once(more in "[A-Za-z:, \\r\\n\\t0-9-]{0,80}") {
            if let Head::Request(request) = with(&post(&more), &["/v1"]) {
                let text = String::from_utf8(request.head).unwrap();
                prop_assert!(text.ends_with("\r\n\r\n") && text.matches("\r\n\r\n").count() == 1);
                prop_assert_eq!(text.to_ascii_lowercase().matches("\r\nauthorization:").count(), 1);
            }
        }
    }
}
