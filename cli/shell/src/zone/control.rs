//! What is said over the control sockets: between launcher and init, and between init and what it starts.
//!
//! ```text
//!   launcher <── Seen, Confined, Segments, Failed, Ended ── init <── Confined, Failed, Ended ── entrant
//!            ─── Order::Go, parcel, outputs ────>      ─── Order::Go, parcel ───────>
//! ```
//!
//! One datagram is one message, so neither side can wait within one. The parcel (arguments, environment) has no size
//! that a datagram would hold, and travels as a file in memory that only the last receiver reads.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::facts::{Confined, Seen};
use super::plan::Limits;
use super::report::Ended;
use crate::process::bytes;

/// The longest message; words of people in it are cut to fit.
const MESSAGE_MAX_BYTES: usize = 64 * 1024;

/// Words longer than this are cut.
const WORDS_MAX_BYTES: usize = 4 * 1024;

/// The most descriptors that go with one message.
const DESCRIPTORS_MAX: usize = 3;

/// Said from the inside out.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Word {
    /// What the init found itself to be in; with it goes the listener, where there is one.
    Seen(Box<Seen>),
    /// The command is bound, and about to start.
    Confined(Confined),
    /// What the segments of shared memory hold by now, of which nothing outside tells.
    Segments {
        bytes: u64,
    },
    /// The zone is not what it has to be, and nothing was started.
    Failed(String),
    Ended {
        ended: Ended,
        left_inside: u32,
    },
}

impl Word {
    /// A failure in words that fit a message.
    pub(super) fn failed(what: &str, error: &dyn std::error::Error) -> Self {
        let mut words = format!("{what}: {error}");
        words.truncate(words.floor_char_boundary(WORDS_MAX_BYTES));
        Self::Failed(words)
    }
}

/// Said from the outside in.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Look around, and open a listener where the zone has a proxy.
    Look {
        listen: bool,
    },
    /// With it go the parcel and, to the init, the two outputs of the command.
    Go,
    Stop,
}

/// All that the command gets to know, and what it is held to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Parcel {
    #[serde(with = "bytes::list")]
    pub(super) argv: Vec<OsString>,
    #[serde(with = "bytes::pairs")]
    pub(super) env: Vec<(OsString, OsString)>,
    #[serde(with = "bytes::one")]
    pub(super) cwd: PathBuf,
    #[serde(with = "bytes::list")]
    pub(super) input: Vec<PathBuf>,
    pub(super) umask: u32,
    pub(super) limits: Limits,
    /// Files and directories that it may write below, beside the scratch of every zone.
    #[serde(with = "bytes::list")]
    pub(super) writable: Vec<PathBuf>,
}

impl Parcel {
    pub(super) fn pack(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("parcel", MemfdFlags::CLOEXEC)?);
        file.write_all(&postcard::to_stdvec(self).map_err(io::Error::other)?)?;
        file.rewind()?;
        Ok(file.into())
    }

    pub(super) fn unpack(packed: OwnedFd) -> io::Result<Self> {
        let mut bytes = Vec::new();
        File::from(packed).read_to_end(&mut bytes)?;
        postcard::from_bytes(&bytes).map_err(io::Error::other)
    }
}

/// One end of a control socket.
#[derive(Debug)]
pub(super) struct Line(OwnedFd);

impl Line {
    /// An end to keep, and one to give away as the standard input of a program.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (kept, given) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(kept), given))
    }

    /// The end that this program was started with.
    pub(super) fn inherited() -> io::Result<Self> {
        io::stdin().as_fd().try_clone_to_owned().map(Self)
    }

    pub(super) fn send(&self, message: &impl Serialize, with: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(with)) {
            return Err(io::Error::other("more descriptors than a message carries"));
        }
        // A peer that is gone is an error here, and no reason to die of a signal.
        sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for the next message; `None` when the other end is closed.
    pub(super) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut bytes = vec![0; MESSAGE_MAX_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let into = &mut [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.0, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(None),
                other => break other?,
            }
        };
        if received.bytes == 0 {
            return Ok(None);
        }
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(with) = message {
                descriptors.extend(with);
            }
        }
        let message = postcard::from_bytes(&bytes[..received.bytes]).map_err(io::Error::other)?;
        Ok(Some((message, descriptors)))
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_brings_its_descriptors_and_a_parcel_of_any_size() {
        let (ours, theirs) = Line::pair().unwrap();
        let theirs = Line(theirs);
        let parcel = Parcel {
            argv: vec!["true".into()],
            env: vec![("LONG".into(), "x".repeat(1 << 20).into())],
            cwd: "/".into(),
            input: vec!["/in".into()],
            umask: 0o22,
            limits: Limits {
                memory_bytes: 1,
                processes: 2,
                open_files: 3,
                file_bytes: 4,
                scratch_bytes: 5,
                volume_bytes: 6,
                processors: Some(7),
            },
            writable: vec!["/out".into()],
        };
        ours.send(&Order::Go, &[parcel.pack().unwrap().as_fd()]).unwrap();
        let (order, mut with) = theirs.receive::<Order>().unwrap().unwrap();
        assert_eq!(order, Order::Go);
        assert_eq!(Parcel::unpack(with.remove(0)).unwrap(), parcel);
        assert!(with.is_empty());
    }

    #[test]
    fn a_closed_line_is_an_end_and_no_message() {
        let (ours, theirs) = Line::pair().unwrap();
        drop(theirs);
        assert_eq!(ours.receive::<Word>().unwrap().map(|(word, _)| word), None);
        assert!(ours.send(&Order::Stop, &[]).is_err());
    }

    #[test]
    fn words_are_cut_to_fit() {
        let (ours, theirs) = Line::pair().unwrap();
        let long = io::Error::other("\u{e9}".repeat(MESSAGE_MAX_BYTES));
        let word = Word::failed("it", &long);
        ours.send(&word, &[]).unwrap();
        assert_eq!(Line(theirs).receive::<Word>().unwrap().unwrap().0, word);
    }
}
