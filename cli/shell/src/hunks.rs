//! Which lines of a file are not those of its earlier version.
//!
//! A *hunk* is a maximal run of lines that the earlier version does not have in the same order. Ends of lines are no
//! difference. Long files cost about what they are long: the search gives up on the shortest answer in time, and then
//! calls more lines changed than need be.

use std::ops::RangeInclusive;

use imara_diff::{Algorithm, Diff, InternedInput};

/// What differs between two versions of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Runs of lines of the later version, counted from 1.
    pub(crate) hunks: Vec<RangeInclusive<u32>>,
    /// Lines of the earlier version that nothing stands in place of, counted from 1.
    pub(crate) gone: Vec<RangeInclusive<u32>>,
}

/// Compares two versions; an earlier one that is empty makes the whole later one a hunk.
pub(crate) fn between(before: &[u8], after: &[u8]) -> Difference {
    let (old, new) = (lines(before), lines(after));
    let mut input = InternedInput::default();
    input.update_before(old.into_iter());
    input.update_after(new.into_iter());
    let mut found = Difference::default();
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        if hunk.is_pure_removal() {
            found.gone.push(hunk.before.start + 1..=hunk.before.end);
        } else {
            found.hunks.push(hunk.after.start + 1..=hunk.after.end);
        }
    }
    found
}

/// The lines without their ends; none behind the last end.
pub(crate) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_come_in_parts_and_unchanged_ones_in_none() {
        let told = |before: &str, after: &str| between(before.as_bytes(), after.as_bytes()).hunks;
        assert!(told("a\nb\n", "a\nb\n").is_empty());
        assert!(told("a\r\nb\r\n", "a\nb\n").is_empty(), "line ends are no change");
        assert_eq!(told("a\nb\nc\nd\n", "a\nB\nc\nD\n"), [2..=2, 4..=4]);
        assert_eq!(told("a\nd\n", "a\nb\nc\nd\n"), [2..=3]);
        assert_eq!(told("", "a\nb\n"), [1..=2]);
    }

    #[test]
    fn lines_that_are_gone_are_told_apart() {
        let found = between(b"a\nb\nc\nd\n", b"a\nd\n");
        assert_eq!((found.hunks, found.gone), (vec![], vec![2..=3]));
    }

    #[test]
    fn two_long_files_without_a_line_in_common_are_compared_all_the_same() {
        let text = |salt: u32| (0..200_000).map(|n| format!("{}\n", n * 2 + salt)).collect::<String>();
        assert_eq!(between(text(0).as_bytes(), text(1).as_bytes()).hunks, [1..=200_000]);
    }
}
