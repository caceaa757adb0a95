//! One output stream, counted, hashed, masked and kept within fixed bounds.
//!
//! ```text
//!   raw ──> count, hash ──> mask ──┬─> whole            while it is small
//!    │                             └─> head, tail, file  from then on
//!    └─> the same once more, when a reader asked for it; thrown away unless something was masked
//! ```
//!
//! The memory held is the sum of the bounds and the longest secret, whatever the size of the stream.

use std::fs;
use std::path::{Path, PathBuf};

use super::command::CaptureSpec;
use super::mask::Mask;
use super::outcome::{Captured, Unmasked};
use super::spill::Spill;

/// Which of the two.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn suffix(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

pub(super) struct Capture<'a> {
    /// None is needed for a stream that stays empty, and it is large.
    hasher: Option<Box<blake3::Hasher>>,
    bytes: u64,
    mask: Mask,
    /// Reused for the masked form of each piece.
    clean: Vec<u8>,
    kept: Kept<'a>,
    raw: Option<Kept<'a>>,
}

impl<'a> Capture<'a> {
    pub(super) fn new(spec: &'a CaptureSpec, stream: Stream, redact: &[Vec<u8>]) -> Self {
        let mask = Mask::new(redact);
        let raw = (spec.unmasked && !mask.is_idle()).then(|| Kept::whole(spec, stream));
        Self {
            hasher: None,
            bytes: 0,
            mask,
            clean: Vec::new(),
            kept: Kept::new(spec, stream),
            raw,
        }
    }

    /// Raw bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hasher.get_or_insert_default().update(piece);
        if self.mask.is_idle() {
            return self.kept.push(piece);
        }
        if let Some(raw) = &mut self.raw {
            raw.push(piece);
        }
        self.clean.clear();
        self.mask.feed(piece, &mut self.clean);
        self.kept.push(&self.clean);
    }

    /// Ends the stream. What was spilled is on stable storage when this returns.
    pub(super) fn finish(mut self) -> Captured {
        self.clean.clear();
        self.mask.finish(&mut self.clean);
        self.kept.push(&self.clean);
        let mut captured = Captured {
            bytes: self.bytes,
            redacted: self.mask.masked(),
            ..Captured::nothing()
        };
        if let Some(hasher) = self.hasher {
            captured.digest = *hasher.finalize().as_bytes();
        }
        self.kept.finish(&mut captured);
        captured.unmasked = self.raw.and_then(|raw| raw.unmasked(captured.redacted > 0));
        captured
    }
}

/// Ends the names of files with a stream as it was printed.
const UNMASKED: &str = ".unmasked";

/// Removes what a life that was killed did not.
pub(crate) fn remove_unmasked(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().ends_with(UNMASKED.as_bytes()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// What is kept of a stream.
struct Kept<'a> {
    spec: &'a CaptureSpec,
    stream: Stream,
    /// As it was printed, and nothing of it but the whole.
    unmasked: bool,
    /// The whole stream while it is small, its head afterwards.
    start: Vec<u8>,
    tail: Ring,
    overflow: Option<Option<Spill>>,
}

impl<'a> Kept<'a> {
    fn new(spec: &'a CaptureSpec, stream: Stream) -> Self {
        Self {
            spec,
            stream,
            unmasked: false,
            start: Vec::new(),
            tail: Ring::new(size(spec.tail_bytes)),
            overflow: None,
        }
    }

    fn whole(spec: &'a CaptureSpec, stream: Stream) -> Self {
        Self {
            unmasked: true,
            tail: Ring::new(0),
            ..Self::new(spec, stream)
        }
    }

    /// How much of the beginning of a larger stream is held.
    fn head_max(&self) -> usize {
        if self.unmasked { 0 } else { size(self.spec.head_bytes) }
    }

    fn file(&self) -> Option<PathBuf> {
        let mark = if self.unmasked { UNMASKED } else { "" };
        let name = format!("{}.{}{mark}", self.spec.spill_stem, self.stream.suffix());
        Some(self.spec.spill_dir.as_ref()?.join(name))
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.overflow.is_none() {
            if self.start.len() + bytes.len() <= size(self.spec.inline_max_bytes) {
                return self.start.extend_from_slice(bytes);
            }
            self.begin_overflow();
        }
        let room = self.head_max().saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(&bytes[..room]);
        self.tail.push(bytes);
        if let Some(Some(spill)) = &mut self.overflow {
            spill.write(bytes);
        }
    }

    fn begin_overflow(&mut self) {
        let max_bytes = self.spec.spill_max_bytes;
        let mut spill = self.file().map(|path| Spill::create(path, max_bytes));
        if let Some(spill) = &mut spill {
            spill.write(&self.start);
        }
        self.tail.push(&self.start);
        self.start.truncate(self.head_max());
        self.start.shrink_to_fit();
        self.overflow = Some(spill);
    }

    fn finish(self, captured: &mut Captured) {
        let Some(spill) = self.overflow else {
            captured.inline = Some(self.start);
            return;
        };
        captured.inline = None;
        captured.head = self.start;
        captured.tail = self.tail.into_bytes();
        captured.truncated = true;
        if let Some(spilled) = spill.map(Spill::finish) {
            captured.truncated = !spilled.complete;
            captured.spilled = spilled.path;
            captured.spill_problem = spilled.problem;
        }
    }

    /// The same as a stream to be read once; nothing, and no file, when it is not wanted.
    fn unmasked(self, wanted: bool) -> Option<Unmasked> {
        let Some(spill) = self.overflow else {
            return wanted.then_some(Unmasked {
                inline: Some(self.start),
                file: None,
                truncated: false,
            });
        };
        let spilled = spill.map(Spill::finish_unsynced);
        let file = spilled.as_ref().and_then(|spilled| spilled.path.clone());
        if !wanted {
            file.map(fs::remove_file);
            return None;
        }
        Some(Unmasked {
            inline: None,
            file,
            truncated: !spilled.is_some_and(|spilled| spilled.complete),
        })
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The last bytes of a stream.
struct Ring {
    max: usize,
    bytes: Vec<u8>,
    /// Where the oldest byte stands once the ring is full.
    oldest: usize,
}

impl Ring {
    fn new(max: usize) -> Self {
        Self {
            max,
            bytes: Vec::new(),
            oldest: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut bytes = &bytes[bytes.len().saturating_sub(self.max)..];
        let room = (self.max - self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        while !bytes.is_empty() {
            let run = (self.max - self.oldest).min(bytes.len());
            self.bytes[self.oldest..self.oldest + run].copy_from_slice(&bytes[..run]);
            self.oldest = (self.oldest + run) % self.max;
            bytes = &bytes[run..];
        }
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.rotate_left(self.oldest);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(inline: u64, head: u64, tail: u64) -> CaptureSpec {
        CaptureSpec {
            inline_max_bytes: inline,
            head_bytes: head,
            tail_bytes: tail,
            ..CaptureSpec::default()
        }
    }

    fn captured(spec: &CaptureSpec, redact: &[Vec<u8>], pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(spec, Stream::Stdout, redact);
        for piece in pieces {
            capture.take(piece);
        }
        capture.finish()
    }

    #[test]
    fn small_output_is_whole_and_makes_no_file() {
        let room = tempfile::tempdir().unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            ..spec(8, 2, 2)
        };
        let seen = captured(&spec, &[], &[b"1234", b"5678"]);
        assert_eq!(seen.inline.as_deref(), Some(&b"12345678"[..]));
        assert!(!seen.truncated && seen.spilled.is_none());
        assert_eq!(room.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn larger_output_keeps_head_and_tail_and_spills_all_of_it() {
        let room = tempfile::tempdir().unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            spill_stem: "7-check".to_owned(),
            ..spec(4, 2, 3)
        };
        let seen = captured(&spec, &[], &[b"123", b"456", b"789"]);
        assert_eq!((seen.inline, seen.truncated, seen.bytes), (None, false, 9));
        assert_eq!((seen.head.as_slice(), seen.tail.as_slice()), (&b"12"[..], &b"789"[..]));
        let path = seen.spilled.unwrap();
        assert_eq!(path, room.path().join("7-check.stdout"));
        assert_eq!(fs::read(path).unwrap(), b"123456789");
    }

    #[test]
    fn a_spill_file_stops_at_its_ceiling_and_the_digest_does_not() {
        let room = tempfile::tempdir().unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            spill_max_bytes: 5,
            ..spec(2, 1, 1)
        };
        let seen = captured(&spec, &[], &[b"123", b"456", b"789"]);
        assert!(seen.truncated);
        assert_eq!(fs::read(seen.spilled.unwrap()).unwrap(), b"12345");
        assert_eq!(seen.digest, *blake3::hash(b"123456789").as_bytes());
    }

    #[test]
    fn a_spill_directory_that_is_missing_costs_the_file_only() {
        let spec = CaptureSpec {
            spill_dir: Some("/nowhere/at/all".into()),
            ..spec(2, 1, 1)
        };
        let seen = captured(&spec, &[], &[b"123456789"]);
        assert!(seen.truncated && seen.spilled.is_none() && seen.spill_problem.is_some());
        assert_eq!((seen.bytes, seen.tail.as_slice()), (9, &b"9"[..]));
    }

    #[test]
    fn a_link_in_place_of_the_spill_file_is_not_followed() {
        let room = tempfile::tempdir().unwrap();
        let victim = room.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, room.path().join("x.stdout")).unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            spill_stem: "x".to_owned(),
            ..spec(2, 1, 1)
        };
        captured(&spec, &[], &[b"123456789"]);
        assert_eq!(fs::read(victim).unwrap(), b"precious");
    }

    #[test]
    fn a_secret_reaches_neither_head_nor_tail_nor_file() {
        let room = tempfile::tempdir().unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            ..spec(4, 64, 64)
        };
        let seen = captured(&spec, &[b"hunter2".to_vec()], &[b"a hun", b"ter2 b hunter", b"2"]);
        assert_eq!((seen.redacted, seen.bytes), (2, 19));
        for kept in [seen.head, seen.tail, fs::read(seen.spilled.unwrap()).unwrap()] {
            assert_eq!(kept, b"a *** b ***");
        }
        assert_eq!(seen.digest, *blake3::hash(b"a hunter2 b hunter2").as_bytes());
    }

    #[test]
    fn a_stream_with_a_secret_is_handed_over_as_printed_and_one_without_only_once() {
        let room = tempfile::tempdir().unwrap();
        let spec = CaptureSpec {
            spill_dir: Some(room.path().to_owned()),
            spill_stem: "c".to_owned(),
            unmasked: true,
            ..spec(12, 2, 2)
        };
        let secrets = [b"hunter2".to_vec()];
        let small = captured(&spec, &secrets, &[b"hun", b"ter2"]).unmasked.unwrap();
        assert_eq!((small.inline.as_deref(), small.file), (Some(&b"hunter2"[..]), None));
        let large = captured(&spec, &secrets, &[b"hunter2 ", b"hunter2"]).unmasked.unwrap();
        let file = large.file.unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"hunter2 hunter2");
        assert!(!large.truncated);
        let plain = captured(&spec, &secrets, &[b"nothing to hide at all"]);
        assert!(plain.unmasked.is_none() && !file.exists());
        captured(&spec, &secrets, &[b"hunter2 ", b"hunter2"]);
        remove_unmasked(room.path());
        assert!(!file.exists());
    }

    proptest! {
        #[test]
        fn head_and_tail_are_those_of_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
            (inline, head, tail) in (0u64..40, 0u64..40, 0u64..40),
        ) {
            let whole = pieces.concat();
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let seen = captured(&spec(inline, head, tail), &[], &pieces);
            if whole.len() as u64 <= inline {
                prop_assert_eq!(seen.inline, Some(whole));
            } else {
                prop_assert_eq!(&seen.head[..], &whole[..whole.len().min(head as usize)]);
                prop_assert_eq!(&seen.tail[..], &whole[whole.len().saturating_sub(tail as usize)..]);
            }
        }
    }
}
