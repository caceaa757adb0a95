//! The whole of a captured stream, for those who read reports.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::foreign;
use crate::oracle::collect::BOUNDS;
use crate::process::Captured;

/// A report is read up to this size; what is longer cannot be trusted to be whole.
const READ_MAX_BYTES: u64 = BOUNDS.report_bytes as u64;

/// A report file. Of one that is too large, just enough that its reader sees so.
pub(super) fn report(path: &Path) -> io::Result<Vec<u8>> {
    foreign::read_start(path, READ_MAX_BYTES + 1)
}

/// A stream as far as it was kept.
pub(super) struct Stream {
    pub bytes: Vec<u8>,
    /// False when the stream was longer than what is here.
    pub whole: bool,
}

/// Reads a stream back, from the reply or from its blob.
pub(super) fn read(captured: &Captured) -> Stream {
    if let Some(inline) = &captured.inline {
        return Stream {
            bytes: inline.clone(),
            whole: true,
        };
    }
    let mut bytes = Vec::new();
    let read = captured.spilled.as_ref().map(|path| {
        let mut file = File::open(path)?.take(READ_MAX_BYTES);
        file.read_to_end(&mut bytes)
    });
    let complete = matches!(read, Some(Ok(_))) && !captured.truncated && captured.bytes <= READ_MAX_BYTES;
    if bytes.is_empty() {
        bytes.extend_from_slice(&captured.head);
        bytes.extend_from_slice(&captured.tail);
    }
    Stream { bytes, whole: complete }
}
