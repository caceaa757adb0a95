//! Replaces secrets in a stream, wherever the reads happen to cut it.

/// What stands where a secret stood.
const MASK: &[u8] = b"***";

/// A streaming matcher over a fixed set of secrets.
///
/// Every byte that belongs to an occurrence of any secret is covered; occurrences that overlap share one `***`. A
/// byte is let through only once no secret can begin at it, so at most the longest secret is held back, and the
/// result does not depend on how the stream is cut.
pub(super) struct Mask {
    secrets: Vec<Vec<u8>>,
    /// Bytes with which some secret begins.
    begins: [bool; 256],
    /// Bytes whose fate is not decided yet.
    pending: Vec<u8>,
    /// How many of the pending bytes an earlier occurrence already covers.
    covered: usize,
    masked: u64,
}

impl Mask {
    pub(super) fn new(secrets: &[Vec<u8>]) -> Self {
        let secrets: Vec<Vec<u8>> = secrets.iter().filter(|secret| !secret.is_empty()).cloned().collect();
        let mut begins = [false; 256];
        for secret in &secrets {
            begins[usize::from(secret[0])] = true;
        }
        Self {
            secrets,
            begins,
            pending: Vec::new(),
            covered: 0,
            masked: 0,
        }
    }

    /// True when there is nothing to hide: the caller may skip the copy.
    pub(super) fn is_idle(&self) -> bool {
        self.secrets.is_empty()
    }

    /// How many occurrences were masked so far.
    pub(super) fn masked(&self) -> u64 {
        self.masked
    }

    /// Takes the next piece of the stream and appends what can be told by now.
    pub(super) fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.pending.extend_from_slice(piece);
        self.advance(false, out);
    }

    /// Appends the rest: what only looked like the beginning of a secret is none.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.advance(true, out);
    }

    fn advance(&mut self, at_end: bool, out: &mut Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.pending);
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if self.begins[usize::from(rest[0])] {
                if !at_end && self.may_still_grow(rest) {
                    break;
                }
                if let Some(length) = self.longest_at(rest) {
                    if at >= self.covered {
                        self.masked += 1;
                        out.extend_from_slice(MASK);
                    }
                    self.covered = self.covered.max(at + length);
                }
                if at >= self.covered {
                    out.push(rest[0]);
                }
                at += 1;
            } else {
                let plain = rest
                    .iter()
                    .position(|byte| self.begins[usize::from(*byte)])
                    .unwrap_or(rest.len());
                let hidden = self.covered.saturating_sub(at).min(plain);
                out.extend_from_slice(&rest[hidden..plain]);
                at += plain;
            }
        }
        self.covered = self.covered.saturating_sub(at);
        bytes.drain(..at);
        self.pending = bytes;
    }

    fn may_still_grow(&self, rest: &[u8]) -> bool {
        self.secrets
            .iter()
            .any(|secret| secret.len() > rest.len() && secret.starts_with(rest))
    }

    fn longest_at(&self, rest: &[u8]) -> Option<usize> {
        self.secrets
            .iter()
            .filter(|secret| rest.starts_with(secret))
            .map(Vec::len)
            .max()
    }
}

/// The same for a text that is at hand as a whole.
pub(crate) fn masked(secrets: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
    let mut mask = Mask::new(secrets);
    let mut out = Vec::new();
    mask.feed(text, &mut out);
    mask.finish(&mut out);
    out
}

/// Whether one of them is in the text.
pub(crate) fn holds_any(secrets: &[Vec<u8>], text: &[u8]) -> bool {
    let mut mask = Mask::new(secrets);
    let mut kept = Vec::new();
    mask.feed(text, &mut kept);
    mask.finish(&mut kept);
    mask.masked() > 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streamed(secrets: &[Vec<u8>], pieces: &[&[u8]]) -> (Vec<u8>, u64) {
        let mut mask = Mask::new(secrets);
        let mut out = Vec::new();
        for piece in pieces {
            mask.feed(piece, &mut out);
        }
        mask.finish(&mut out);
        (out, mask.masked())
    }

    /// Marks every covered byte of the whole text first, then writes it out.
    fn naive(secrets: &[Vec<u8>], text: &[u8]) -> (Vec<u8>, u64) {
        let mut covered = vec![false; text.len()];
        let mut joined = vec![false; text.len()];
        for at in 0..text.len() {
            for secret in secrets.iter().filter(|s| !s.is_empty() && text[at..].starts_with(s)) {
                for place in at..at + secret.len() {
                    covered[place] = true;
                    joined[place] |= place > at;
                }
            }
        }
        let (mut out, mut count) = (Vec::new(), 0);
        for at in 0..text.len() {
            if !covered[at] {
                out.push(text[at]);
            } else if !joined[at] {
                count += 1;
                out.extend_from_slice(MASK);
            }
        }
        (out, count)
    }

    #[test]
    fn a_secret_split_over_two_reads_is_masked() {
        assert_eq!(
            streamed(&[b"hunter2".to_vec()], &[b"pw=hun", b"ter2;"]),
            (b"pw=***;".to_vec(), 1)
        );
    }

    #[test]
    fn a_secret_split_over_every_byte_is_masked() {
        let pieces: Vec<&[u8]> = b"xhunter2y".chunks(1).collect();
        assert_eq!(streamed(&[b"hunter2".to_vec()], &pieces), (b"x***y".to_vec(), 1));
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_is_let_through() {
        assert_eq!(streamed(&[b"hunter2".to_vec()], &[b"hunt"]), (b"hunt".to_vec(), 0));
    }

    #[test]
    fn overlapping_secrets_leave_no_rest() {
        assert_eq!(
            streamed(&[b"abc".to_vec(), b"bcd".to_vec()], &[b"xabcdx"]),
            (b"x***x".to_vec(), 1)
        );
        assert_eq!(streamed(&[b"aa".to_vec()], &[b"aaa"]), (b"***".to_vec(), 1));
    }

    #[test]
    fn the_longer_of_two_secrets_wins() {
        assert_eq!(
            streamed(&[b"key".to_vec(), b"key-long".to_vec()], &[b"key-", b"long"]),
            (b"***".to_vec(), 1)
        );
        assert_eq!(
            streamed(&[b"key".to_vec(), b"key-long".to_vec()], &[b"key-", b"lost"]),
            (b"***-lost".to_vec(), 1)
        );
    }

    #[test]
    fn an_empty_secret_masks_nothing() {
        assert_eq!(streamed(&[Vec::new()], &[b"abc"]), (b"abc".to_vec(), 0));
    }

    proptest! {
        #[test]
        fn the_stream_equals_the_whole_however_it_is_cut(
            secrets in prop::collection::vec(prop::collection::vec(0u8..3, 0..5), 0..4),
            pieces in prop::collection::vec(prop::collection::vec(0u8..3, 0..9), 0..12),
        ) {
            let whole: Vec<u8> = pieces.concat();
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(streamed(&secrets, &pieces), naive(&secrets, &whole));
        }
    }
}
