//! The head of an answer: taken apart, and written anew for the work.

use super::body::Framing;
use super::fields::{is_plainly_broken, passed, put};
use super::request;

/// Providers answer with more than clients ask with.
const HEAD_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 128;

/// What the bytes so far say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head {
    Partial,
    /// A word before the answer; so many bytes of it.
    Passing(usize),
    Answer(Answer),
    /// No answer that may pass.
    Malformed,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// As the work gets it.
    pub(super) head: Vec<u8>,
    pub(super) framing: Framing,
    /// How long the head was that came.
    pub(super) length: usize,
}

/// Reads what the far side says; `is_head` where only a head was asked for.
pub(super) fn read(bytes: &[u8], is_head: bool) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => Head::Partial,
        Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX && is_plainly_broken(&bytes[..length]) => {
            match response.code.unwrap_or_default() {
                // Nobody asked to speak another protocol.
                101 => Head::Malformed,
                100..=199 => Head::Passing(length),
                200..=599 => written(&response, length, is_head).map_or(Head::Malformed, Head::Answer),
                _ => Head::Malformed,
            }
        }
        _ => Head::Malformed,
    }
}

fn written(response: &httparse::Response<'_, '_>, length: usize, is_head: bool) -> Option<Answer> {
    let code = response.code?;
    let headers = &*response.headers;
    let framing = match request::framing(headers).ok()? {
        _ if is_head || code == 204 || code == 304 => Framing::Nothing,
        Framing::Nothing => Framing::UntilClose,
        framing => framing,
    };
    let reason: String = response
        .reason
        .unwrap_or_default()
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
    let mut anew = format!("HTTP/1.1 {code} {reason}\r\n").into_bytes();
    for header in passed(headers) {
        put(&mut anew, header.name, header.value);
    }
    match framing {
        Framing::Length(length) => put(&mut anew, "content-length", length.to_string().as_bytes()),
        Framing::Chunked | Framing::UntilClose => put(&mut anew, "transfer-encoding", b"chunked"),
        Framing::Nothing => {}
    }
    put(&mut anew, "connection", b"close");
    anew.extend_from_slice(b"\r\n");
    Some(Answer {
        head: anew,
        framing,
        length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_framed_anew_and_loses_what_was_of_its_connection() {
        let bytes = b"HTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nContent-Type: a/b\r\nConnection: keep-alive\r\n\r\nall";
        let Head::Answer(answer) = read(bytes, false) else {
            panic!()
        };
        assert_eq!(
            String::from_utf8(answer.head).unwrap(),
            "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        );
        assert_eq!((answer.framing, answer.length), (Framing::UntilClose, bytes.len() - 3));
    }

    #[test]
    fn an_answer_without_content_has_none_whatever_it_says() {
        for (bytes, is_head) in [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n".as_slice(), true),
            (b"HTTP/1.1 204 No Content\r\n\r\n", false),
            (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", false),
        ] {
            let Head::Answer(answer) = read(bytes, is_head) else {
                panic!()
            };
            assert_eq!(answer.framing, Framing::Nothing);
        }
    }

    #[test]
    fn a_word_before_the_answer_is_told_from_it_and_no_other_protocol_begins() {
        assert_eq!(read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP", false), Head::Passing(25));
        assert_eq!(
            read(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", false),
            Head::Malformed
        );
    }

    #[test]
    fn an_answer_that_could_end_in_two_places_does_not_pass() {
        for more in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 4\r\nContent-Length: 5\r\n",
            "Transfer-Encoding: gzip\r\n",
            "A: b\n",
            "A: b\r\n folded\r\n",
        ] {
            let bytes = format!("HTTP/1.1 200 OK\r\n{more}\r\n");
            assert_eq!(read(bytes.as_bytes(), false), Head::Malformed, "{more:?}");
        }
        assert_eq!(read(b"SSH-2.0-x\r\n", false), Head::Malformed);
        assert_eq!(
            read(&b"HTTP/1.1 200 OK\r\nA: b\r\n".repeat(3_000), false),
            Head::Malformed
        );
    }
}
