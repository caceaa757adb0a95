//! The words governor and supervisor exchange: a 32-bit little-endian length, then one JSON value.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::command::{Cancel, CommandSpec};
use super::hex;
use super::outcome::CommandRun;

/// A length beyond this is no message of ours.
const FRAME_MAX_BYTES: usize = 1 << 30;

/// The least that one look into an [`Inbox`] asks for: the account of a quiet command fits.
const INBOX_READ_BYTES: usize = 4096;

/// Said by the governor.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way through a stack frame"
)]
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// The first message: who the supervisor is, and where it leaves word of itself.
    Hello {
        nonce: String,
        #[serde(with = "hex::option")]
        runtime_dir: Option<PathBuf>,
    },
    Run {
        run: u64,
        spec: Cow<'a, CommandSpec>,
    },
    /// Carries the number of the run it means: one that crosses the reply of that run on its way has no effect.
    Cancel {
        run: u64,
        cancel: Cancel,
    },
}

/// Said by the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Ready { start_ticks: u64 },
    Failed { message: String },
    Ended { run: u64, result: Box<CommandRun> },
}

/// Sends one message in one write.
pub(super) fn send<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too large"));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    to.write_all(&frame)
}

/// Receives one message; `None` when the other side has closed between two messages.
pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = possible(u32::from_le_bytes(length))?;
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(Some(serde_json::from_slice(&frame)?))
}

fn possible(length: u32) -> io::Result<usize> {
    let length = length as usize;
    if length > FRAME_MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the length of a message is impossible",
        ));
    }
    Ok(length)
}

/// Messages of one sender, as far as they have arrived: for whoever has other things to wait for meanwhile.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
}

/// What one look into an [`Inbox`] found.
pub(super) enum Post<T> {
    Message(T),
    /// Not all of it is there.
    Partial,
    /// The other side has closed.
    Closed,
}

impl Inbox {
    /// Reads once, never waiting, and takes a message if that made one whole.
    ///
    /// # Errors
    /// When it is no message of ours, or the socket is broken.
    pub(super) fn look<T: DeserializeOwned>(&mut self, from: impl AsFd) -> io::Result<Post<T>> {
        let have = self.bytes.len();
        self.bytes.resize(self.missing()?.max(INBOX_READ_BYTES) + have, 0);
        let read = recv(from, &mut self.bytes[have..], RecvFlags::DONTWAIT);
        self.bytes.truncate(have + read.map_or(0, |(_, read)| read));
        match read {
            Ok((_, 0)) => return Ok(Post::Closed),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Post::Partial),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        if self.missing()? > 0 {
            return Ok(Post::Partial);
        }
        let (length, rest) = self.bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let length = u32::from_le_bytes(*length) as usize;
        let message = serde_json::from_slice(rest.get(..length).unwrap_or_default())?;
        self.bytes.drain(..4 + length);
        Ok(Post::Message(message))
    }

    /// How many bytes of the first message are known to be missing.
    fn missing(&self) -> io::Result<usize> {
        let whole = match self.bytes.first_chunk() {
            Some(length) => 4 + possible(u32::from_le_bytes(*length))?,
            None => 4,
        };
        Ok(whole.saturating_sub(self.bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_command_of_arbitrary_bytes_arrives_unchanged() {
        let odd = OsString::from_vec(vec![b'a', 0xff, 0x01, b'"', b'\n']);
        let spec = CommandSpec {
            argv: vec![odd.clone(), OsString::new()],
            cwd: PathBuf::from(odd.clone()),
            env: vec![(odd.clone(), odd)],
            redact: vec![vec![0, 0xff]],
            label: "an \u{e9} label".to_owned(),
            ..CommandSpec::default()
        };
        let mut wire = Vec::new();
        send(
            &mut wire,
            &Request::Run {
                run: 7,
                spec: Cow::Borrowed(&spec),
            },
        )
        .unwrap();
        let back: Option<Request<'static>> = receive(wire.as_slice()).unwrap();
        let Some(Request::Run { run: 7, spec: arrived }) = back else {
            panic!("{back:?}")
        };
        assert_eq!(*arrived, spec);
    }

    #[test]
    fn an_end_between_messages_is_none_and_inside_one_an_error() {
        assert!(receive::<Reply>(&b""[..]).unwrap().is_none());
        let mut wire = Vec::new();
        send(&mut wire, &Reply::Ready { start_ticks: 2 }).unwrap();
        wire.pop();
        assert!(receive::<Reply>(wire.as_slice()).is_err());
    }

    #[test]
    fn a_message_that_comes_in_pieces_is_whole_in_the_end() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut wire = Vec::new();
        send(&mut wire, &Reply::Ready { start_ticks: 7 }).unwrap();
        let mut inbox = Inbox::default();
        for piece in [&wire[..2], &wire[2..4], &wire[4..9]] {
            ours.write_all(piece).unwrap();
            assert!(matches!(inbox.look::<Reply>(&theirs).unwrap(), Post::Partial));
        }
        ours.write_all(&wire[9..]).unwrap();
        let Post::Message(Reply::Ready { start_ticks: 7 }) = inbox.look(&theirs).unwrap() else {
            panic!("{inbox:?}")
        };
        drop(ours);
        assert!(matches!(inbox.look::<Reply>(&theirs).unwrap(), Post::Closed));
    }

    #[test]
    fn an_impossible_length_is_refused_before_memory_is_taken() {
        assert!(receive::<Reply>(&[0xff; 8][..]).is_err());
    }
}
