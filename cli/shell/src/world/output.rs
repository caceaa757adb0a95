//! The whole of a captured stream, for those who read reports.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::foreign;
use crate::oracle::collect::BOUNDS;
use crate::process::{Captured, CommandRun};

/// A report is read up to this size; what is longer cannot be trusted to be whole.
const READ_MAX_BYTES: u64 = BOUNDS.report_bytes as u64;

/// A report file. Of one that is too large, just enough that its reader sees so.
pub(super) fn report(path: &Path) -> io::Result<Vec<u8>> {
    foreign::read_start(path, READ_MAX_BYTES + 1)
}

/// The same of a file that is this process's no longer than it is open.
pub(super) fn report_from(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(READ_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A stream as far as it was kept.
pub(super) struct Stream {
    pub bytes: Vec<u8>,
    /// False when the stream was longer than what is here.
    pub whole: bool,
}

/// Reads a stream back as it was printed, from the reply or from its file.
pub(super) fn read(captured: &Captured) -> Stream {
    let (inline, file, truncated) = match &captured.unmasked {
        Some(raw) => (&raw.inline, &raw.file, raw.truncated),
        None => (&captured.inline, &captured.spilled, captured.truncated),
    };
    if let Some(inline) = inline {
        return Stream {
            bytes: inline.clone(),
            whole: true,
        };
    }
    let mut bytes = Vec::new();
    let read = file.as_ref().map(|path| {
        let mut file = File::open(path)?.take(READ_MAX_BYTES);
        file.read_to_end(&mut bytes)
    });
    let complete = matches!(read, Some(Ok(_))) && !truncated && captured.bytes <= READ_MAX_BYTES;
    if bytes.is_empty() {
        bytes.extend_from_slice(&captured.head);
        bytes.extend_from_slice(&captured.tail);
    }
    Stream { bytes, whole: complete }
}

/// Removes the private files of a run whose output was read.
pub(super) fn forget(run: &mut CommandRun) {
    for stream in [&mut run.stdout, &mut run.stderr] {
        if let Some(path) = stream.unmasked.take().and_then(|raw| raw.file) {
            let _ = fs::remove_file(path);
        }
    }
}
