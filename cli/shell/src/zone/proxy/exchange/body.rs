//! The content of a message, read by one framing and written by another of our own.

/// How a message says where its content ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Nothing,
    Length(u64),
    Chunked,
    /// With the connection: for answers only.
    UntilClose,
}

/// A framing that means nothing, or two things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) &'static str);

/// The longest line between chunks, and all lines after the last.
const LINE_MAX: usize = 1024;
const TRAILERS_MAX: usize = 8 * 1024;

/// Content that is on its way.
#[derive(Debug)]
pub(super) struct Body {
    framing: Framing,
    state: State,
    /// The part of a line that has come.
    line: Vec<u8>,
    trailers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So much more content.
    Data(u64),
    /// The line that says how long the next chunk is.
    Size,
    /// The empty line after a chunk.
    AfterData,
    /// Lines after the last chunk, the last of them empty.
    Trailers,
    /// Whatever comes.
    All,
    Done,
}

impl Body {
    pub(super) fn new(framing: Framing) -> Self {
        let state = match framing {
            Framing::Nothing | Framing::Length(0) => State::Done,
            Framing::Length(length) => State::Data(length),
            Framing::Chunked => State::Size,
            Framing::UntilClose => State::All,
        };
        Self {
            framing,
            state,
            line: Vec::new(),
            trailers: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether it is complete, now that its connection has ended.
    pub(super) fn may_end(&self) -> bool {
        matches!(self.state, State::Done | State::All)
    }

    /// Whether its length is not known before its end.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.framing, Framing::Chunked | Framing::UntilClose)
    }

    /// The content in these bytes. What comes after the end is nobody's.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut content = Vec::new();
        while !bytes.is_empty() && self.state != State::Done {
            match self.state {
                State::Done => {}
                State::All => content.extend_from_slice(std::mem::take(&mut bytes)),
                State::Data(left) => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let (taken, rest) = bytes.split_at(length);
                    content.extend_from_slice(taken);
                    bytes = rest;
                    self.state = self.after(left - length as u64);
                }
                State::Size | State::AfterData | State::Trailers => {
                    self.line.push(bytes[0]);
                    bytes = &bytes[1..];
                    self.read_line()?;
                }
            }
        }
        Ok(content)
    }

    fn after(&self, left: u64) -> State {
        match (left, self.framing) {
            (0, Framing::Chunked) => State::AfterData,
            (0, _) => State::Done,
            (left, _) => State::Data(left),
        }
    }

    /// Goes on where a line is complete.
    fn read_line(&mut self) -> Result<(), Broken> {
        if self.line.len() > LINE_MAX {
            return Err(Broken("a line between its chunks has no end"));
        }
        if self.line.last() != Some(&b'\n') {
            return Ok(());
        }
        let Some(line) = self.line.strip_suffix(b"\r\n") else {
            return Err(Broken("a line between its chunks does not end as one"));
        };
        self.state = match self.state {
            State::Size => match size(line)? {
                0 => State::Trailers,
                length => State::Data(length),
            },
            State::AfterData if line.is_empty() => State::Size,
            State::AfterData => return Err(Broken("a chunk is longer than it says")),
            _ if line.is_empty() => State::Done,
            _ => {
                self.trailers += line.len();
                if self.trailers > TRAILERS_MAX {
                    return Err(Broken("there is no end of what follows its last chunk"));
                }
                State::Trailers
            }
        };
        self.line.clear();
        Ok(())
    }
}

/// What a chunk's line says of its length; what it says beside that is left out.
fn size(line: &[u8]) -> Result<u64, Broken> {
    let wrong = Broken("the length of a chunk is no number");
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let text = std::str::from_utf8(digits).map_err(|_| wrong)?;
    // What stands between a number and its semicolon, or before a number, is read in two ways.
    if !(1..=15).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    if line.iter().any(|byte| *byte == b'\r' || *byte == b'\n') {
        return Err(wrong);
    }
    u64::from_str_radix(text, 16).map_err(|_| wrong)
}

/// The end of content that was written in chunks.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Content as one chunk.
pub(super) fn chunk(content: &[u8]) -> Vec<u8> {
    let size = format!("{:x}\r\n", content.len());
    [size.as_bytes(), content, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(framing: Framing, parts: &[&[u8]]) -> Result<(Vec<u8>, bool), Broken> {
        let mut body = Body::new(framing);
        let mut content = Vec::new();
        for part in parts {
            content.extend(body.take(part)?);
        }
        Ok((content, body.is_done()))
    }

    #[test]
    fn content_ends_where_its_framing_says_and_what_follows_is_nobodys() {
        assert_eq!(read(Framing::Nothing, &[b"more"]), Ok((vec![], true)));
        assert_eq!(
            read(Framing::Length(4), &[b"da", b"taGET /"]),
            Ok((b"data".to_vec(), true))
        );
        assert_eq!(read(Framing::Length(5), &[b"data"]), Ok((b"data".to_vec(), false)));
        let chunks = b"4;a=b\r\ndata\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET /";
        assert_eq!(
            read(Framing::Chunked, &[chunks]),
            Ok((b"data0123456789".to_vec(), true))
        );
        assert_eq!(read(Framing::UntilClose, &[b"a", b"b"]), Ok((b"ab".to_vec(), false)));
    }

    #[test]
    fn chunks_that_two_readers_could_read_differently_are_broken() {
        for bytes in [
            b"4\ndata\r\n0\r\n\r\n".as_slice(),
            b" 4\r\ndata\r\n",
            b"4 \r\ndata\r\n",
            b"+4\r\ndata\r\n",
            b"0x4\r\ndata\r\n",
            b"\r\ndata\r\n",
            b"4\r\ndatamore\r\n",
            b"4\r\ndata\n",
            b"ffffffffffffffff\r\n",
            b"00000000000000004\r\ndata\r\n",
            b"4;\r;x\r\ndata",
            b"-1\r\n",
        ] {
            assert!(read(Framing::Chunked, &[bytes]).is_err(), "{}", bytes.escape_ascii());
        }
        assert!(read(Framing::Chunked, &[&[b'1'; LINE_MAX + 2]]).is_err());
        let endless = [b"0\r\n".to_vec(), b"A: b\r\n".repeat(3_000)].concat();
        assert!(read(Framing::Chunked, &[&endless]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_in_chunks_reads_the_same_however_it_is_cut(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6), cut in 0usize..200,
        ) {
            let mut bytes: Vec<u8> = parts.iter().flat_map(|part| chunk(part)).collect();
            bytes.extend_from_slice(LAST_CHUNK);
            let (one, other) = bytes.split_at(cut % bytes.len());
            prop_assert_eq!(read(Framing::Chunked, &[one, other]), Ok((parts.concat(), true)));
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(Framing::Chunked, &[&bytes]);
        }
    }
}
