//! The words governor and supervisor exchange: a 32-bit little-endian length, then one value in postcard's encoding.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bytes;
use super::command::{Cancel, CommandSpec};
use super::outcome::CommandRun;

/// Raised whenever a message changes its shape: the encoding names no fields, and the binary may be replaced by
/// another while a run lasts.
pub(super) const EDITION: u32 = 1;

/// A length beyond this is no message of ours.
const FRAME_MAX_BYTES: usize = 1 << 30;

/// The least that one look into an [`Inbox`] asks for: a plain command and the account of a quiet one fit.
const INBOX_READ_BYTES: usize = 4096;

/// Said by the governor.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way through a stack frame"
)]
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// The first message, the same in every edition: who the supervisor is, and where it leaves word of itself.
    Hello {
        edition: u32,
        nonce: String,
        #[serde(with = "bytes::option")]
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
    let mut frame = Vec::with_capacity(INBOX_READ_BYTES);
    frame.extend_from_slice(&[0; 4]);
    let mut frame = postcard::to_extend(message, frame).map_err(invalid)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too large"));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    to.write_all(&frame)
}

fn invalid(error: postcard::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Messages of one sender, as far as they have arrived.
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
    /// True when nothing is waiting to be taken.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Waits for one message; `None` when the other side has closed between two messages.
    ///
    /// # Errors
    /// When it is no message of ours, or the socket is broken.
    pub(super) fn wait<T: DeserializeOwned>(&mut self, from: impl AsFd) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            // A read that waits would also wake when the other side reads what was said to it.
            match poll(&mut [PollFd::new(&from, PollFlags::IN)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            match self.look(&from)? {
                Post::Message(message) => return Ok(Some(message)),
                Post::Partial => {}
                Post::Closed if self.bytes.is_empty() => return Ok(None),
                Post::Closed => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Takes a message that is there as a whole, or reads once, never waiting, and takes one if that made it whole.
    ///
    /// # Errors
    /// As [`Inbox::wait`].
    pub(super) fn look<T: DeserializeOwned>(&mut self, from: impl AsFd) -> io::Result<Post<T>> {
        if let Some(message) = self.take()? {
            return Ok(Post::Message(message));
        }
        let have = self.bytes.len();
        self.bytes.resize(self.missing()?.max(INBOX_READ_BYTES) + have, 0);
        let read = recv(from, &mut self.bytes[have..], RecvFlags::DONTWAIT);
        self.bytes.truncate(have + read.map_or(0, |(_, read)| read));
        match read {
            Ok((_, 0)) => Ok(Post::Closed),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Post::Partial),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(self.take()?.map_or(Post::Partial, Post::Message)),
        }
    }

    /// Takes a message that has arrived as a whole: one read may have brought more than one.
    ///
    /// # Errors
    /// When it is no message of ours.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        if self.missing()? > 0 {
            return Ok(None);
        }
        let (length, rest) = self.bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let length = u32::from_le_bytes(*length) as usize;
        let (message, unread) = postcard::take_from_bytes(rest.get(..length).unwrap_or_default()).map_err(invalid)?;
        if !unread.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a message goes on after its end",
            ));
        }
        self.bytes.drain(..4 + length);
        Ok(Some(message))
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::net::Shutdown;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// What `wire` says to an inbox that hears nothing else.
    fn heard(wire: &[u8]) -> (UnixStream, Inbox) {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(wire).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        (theirs, Inbox::default())
    }

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
        let request = Request::Run {
            run: 7,
            spec: Cow::Borrowed(&spec),
        };
        send(&mut wire, &request).unwrap();
        let (theirs, mut inbox) = heard(&wire);
        let back: Option<Request<'static>> = inbox.wait(&theirs).unwrap();
        let Some(Request::Run { run: 7, spec: arrived }) = back else {
            panic!("{back:?}")
        };
        assert_eq!(*arrived, spec);
    }

    #[test]
    fn an_end_between_messages_is_none_and_inside_one_an_error() {
        let (theirs, mut inbox) = heard(b"");
        assert!(inbox.wait::<Reply>(&theirs).unwrap().is_none());
        let mut wire = Vec::new();
        send(&mut wire, &Reply::Ready { start_ticks: 2 }).unwrap();
        wire.pop();
        let (theirs, mut inbox) = heard(&wire);
        assert!(inbox.wait::<Reply>(&theirs).is_err());
    }

    #[test]
    fn a_message_that_comes_in_pieces_is_whole_in_the_end() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut wire = Vec::new();
        let message = "a few words".to_owned();
        send(&mut wire, &Reply::Failed { message }).unwrap();
        let mut inbox = Inbox::default();
        for piece in [&wire[..2], &wire[2..4], &wire[4..9]] {
            ours.write_all(piece).unwrap();
            assert!(matches!(inbox.look::<Reply>(&theirs).unwrap(), Post::Partial));
        }
        ours.write_all(&wire[9..]).unwrap();
        let Post::Message(Reply::Failed { message }) = inbox.look(&theirs).unwrap() else {
            panic!("{inbox:?}")
        };
        assert_eq!(message, "a few words");
        drop(ours);
        assert!(matches!(inbox.look::<Reply>(&theirs).unwrap(), Post::Closed));
    }

    #[test]
    fn of_two_messages_that_come_at_once_neither_is_lost() {
        let mut wire = Vec::new();
        for start_ticks in [1, 2] {
            send(&mut wire, &Reply::Ready { start_ticks }).unwrap();
        }
        let (theirs, mut inbox) = heard(&wire);
        let first = inbox.wait(&theirs).unwrap();
        assert!(matches!(first, Some(Reply::Ready { start_ticks: 1 })));
        let second = inbox.take().unwrap();
        assert!(matches!(second, Some(Reply::Ready { start_ticks: 2 })));
        assert!(inbox.take::<Reply>().unwrap().is_none());
    }

    #[test]
    fn what_goes_on_after_its_end_is_no_message() {
        let mut wire = Vec::new();
        send(&mut wire, &Reply::Ready { start_ticks: 1 }).unwrap();
        wire[0] += 1;
        wire.push(0);
        let (theirs, mut inbox) = heard(&wire);
        assert!(inbox.wait::<Reply>(&theirs).is_err());
    }

    #[test]
    fn an_impossible_length_is_refused_before_memory_is_taken() {
        let (theirs, mut inbox) = heard(&[0xff; 8]);
        assert!(inbox.wait::<Reply>(&theirs).is_err());
    }
}
