//! What a run of the check touches: strace stands around it and writes its calls down, and they are held to the places
//! that the engine knows (SPEC 6.7.3).
//!
//! ```text
//!   check under `strace` --> file outside of the copy --line by line--> Fold --> engine::Trace: facts, no judgement
//! ```
//!
//! The file is read in one pass and kept in no memory. What strace is not asked for does not slow the check down: where
//! the kernel can, it filters the calls. Calls whose work no trace would show are refused to the check, and it does
//! without them.

mod fold;
mod line;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use engine::event::candidate::Trace;
use engine::hermetic::reach::Roots;

use fold::Fold;

/// The program.
pub(crate) const STRACE: &str = "strace";

/// What to do where it is missing.
pub(crate) const REMEDY: &str = "install strace, and let this user trace its own processes, or switch the guard off";

/// A longer line is counted as one that cannot be read.
const LINE_MAX_BYTES: u64 = 1 << 20;

/// Calls that open, start, connect, make and move, and those for what cannot be frozen. One that this machine does not
/// have is left out.
const CALLS: &str = "trace=?open,openat,?openat2,?creat,?open_by_handle_at,execve,?execveat,?fork,?vfork,clone,?clone3,\
                     connect,bind,sendto,sendmsg,?sendmmsg,?mkdir,mkdirat,?rename,?renameat,?renameat2,?link,linkat,getrandom,?time,\
                     ?clock_gettime,?gettimeofday,?io_uring_setup";

/// What is done through a ring of calls leaves no trace.
const REFUSED: &str = "inject=?io_uring_setup:error=ENOSYS";

/// Lets the kernel tell the calls that are wanted from the rest.
const FILTER: &str = "--seccomp-bpf";

/// The words with that program that stand around a command whose calls go to `file`.
pub(crate) fn around(strace: &Path, file: &Path, filtered: bool) -> Vec<OsString> {
    let filter = filtered.then_some(FILTER);
    let fixed = ["-f", "-qq", "-y", "-e", "signal=none", "-e", CALLS, "-e", REFUSED, "-o"];
    let words = filter.into_iter().chain(fixed).map(OsString::from);
    let program = [strace.as_os_str().to_owned()].into_iter();
    program.chain(words).chain([file.into(), "--".into()]).collect()
}

/// What the trace in `file` shows of a check with these places.
///
/// # Errors
/// When there is no such file, or it cannot be read.
pub(crate) fn read(file: &Path, roots: &Roots, cwd: &[u8]) -> io::Result<Trace> {
    read_from(BufReader::new(File::open(file)?), roots, cwd)
}

/// The same of a trace from anywhere.
///
/// # Errors
/// When it cannot be read.
pub fn read_from(mut reader: impl BufRead, roots: &Roots, cwd: &[u8]) -> io::Result<Trace> {
    let mut fold = Fold::new(roots, cwd);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(fold.end());
        }
        match line.strip_suffix(b"\n") {
            Some(line) => fold.line(line),
            None => {
                // Too long, or cut off: the rest of it is no line either.
                fold.unread();
                reader.skip_until(b'\n')?;
            }
        }
    }
}
