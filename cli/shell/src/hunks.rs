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
    /// Hunks that stand in place of lines of the earlier version, with those.
    pub(crate) replaced: Vec<(RangeInclusive<u32>, RangeInclusive<u32>)>,
    /// Lines of the earlier version that nothing stands in place of, counted from 1.
    pub(crate) gone: Vec<RangeInclusive<u32>>,
    /// Runs of lines that both have.
    pub(crate) kept: Vec<Kept>,
}

/// Lines that are as they were, and perhaps elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The first of them in either version, counted from 1.
    before: u32,
    after: u32,
    count: u32,
}

impl Kept {
    /// The number of each line in the earlier and in the later version.
    pub(crate) fn lines(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.count).map(move |nth| (self.before + nth, self.after + nth))
    }
}

/// Letters of a source that a sentence quotes.
const QUOTED_MAX: usize = 120;

/// No product code by their names: prose, and what a tool keeps for itself.
const PROSE: &[&str] = &["md", "rst", "adoc", "txt", "log", "lock", "pyc"];
/// What a line begins with that does nothing by itself.
const IDLE: &[&str] = &["#", "//", "/*", "*", "import ", "from ", "use ", "package "];

/// Compares two versions; an earlier one that is empty makes the whole later one a hunk.
pub(crate) fn between(before: &[u8], after: &[u8]) -> Difference {
    let (old, new) = (lines(before), lines(after));
    let mut input = InternedInput::default();
    input.update_before(old.into_iter());
    input.update_after(new.into_iter());
    let mut found = Difference::default();
    // Behind the last hunk, in both versions, counted from 0.
    let (mut at, mut now) = (0, 0);
    let kept = |before: u32, after: u32, to: u32| Kept {
        before: before + 1,
        after: after + 1,
        count: to - before,
    };
    for hunk in Diff::compute(Algorithm::Histogram, &input).hunks() {
        found.kept.push(kept(at, now, hunk.before.start));
        (at, now) = (hunk.before.end, hunk.after.end);
        if hunk.is_pure_removal() {
            found.gone.push(hunk.before.start + 1..=hunk.before.end);
        } else {
            let now = hunk.after.start + 1..=hunk.after.end;
            if !hunk.is_pure_insertion() {
                found
                    .replaced
                    .push((now.clone(), hunk.before.start + 1..=hunk.before.end));
            }
            found.hunks.push(now);
        }
    }
    let end = u32::try_from(input.before.len()).unwrap_or(u32::MAX);
    found.kept.push(kept(at, now, end));
    found.kept.retain(|kept| kept.count > 0);
    found
}

/// Only blank lines, comments and imports.
pub(crate) fn is_idle(lines: &[&[u8]], range: &RangeInclusive<u32>) -> bool {
    let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let lines = lines.get(at(*range.start()).saturating_sub(1)..at(*range.end()).min(lines.len()));
    lines.unwrap_or_default().iter().all(|line| {
        let text = line.trim_ascii();
        text.is_empty() || IDLE.iter().any(|mark| text.starts_with(mark.as_bytes()))
    })
}

/// A file that says nothing of what the product does.
pub(crate) fn is_prose(path: &str) -> bool {
    let kind = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    let hidden = path
        .split('/')
        .any(|part| part.starts_with('.') || part == "__pycache__");
    hidden || kind.is_some_and(|(_, kind)| PROSE.contains(&kind))
}

/// A piece of a source as part of a sentence.
pub(crate) fn quoted(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{} ...", words.get(..end).unwrap_or_default().trim_end()),
        None => words,
    }
}

/// Lines as people name them.
pub(crate) fn told(lines: &RangeInclusive<u32>) -> String {
    match lines.start() == lines.end() {
        true => format!("line {}", lines.start()),
        false => format!("lines {} to {}", lines.start(), lines.end()),
    }
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
    fn a_hunk_is_told_with_the_lines_that_it_stands_in_place_of() {
        let found = between(b"a\nb\nc\n", b"a\nB\nB\nc\nd\n");
        assert_eq!(
            (found.hunks, found.replaced),
            (vec![2..=3, 5..=5], vec![(2..=3, 2..=2)])
        );
    }

    #[test]
    fn lines_that_are_gone_are_told_apart() {
        let found = between(b"a\nb\nc\nd\n", b"a\nd\n");
        assert_eq!((found.hunks, found.gone), (vec![], vec![2..=3]));
    }

    #[test]
    fn lines_that_stay_are_found_where_they_stand_now() {
        let pairs = |before: &str, after: &str| -> Vec<(u32, u32)> {
            let found = between(before.as_bytes(), after.as_bytes());
            found.kept.iter().flat_map(|kept| kept.lines()).collect()
        };
        assert_eq!(pairs("a\nb\n", "a\nb\n"), [(1, 1), (2, 2)]);
        assert_eq!(pairs("a\nb\nc\nd\n", "x\na\nB\nB\nc\n"), [(1, 2), (3, 5)]);
        assert_eq!(pairs("", "a\n"), []);
        assert_eq!(pairs("a\n", ""), []);
    }

    #[test]
    fn comments_and_imports_alone_are_no_change_of_the_product() {
        let source: Vec<&[u8]> = vec![b"import os", b"", b"  # why", b"x = 1"];
        assert!(is_idle(&source, &(1..=3)));
        assert!(!is_idle(&source, &(1..=4)));
        assert!(is_prose("README.md") && is_prose(".venv/a.sql") && !is_prose("schema.sql"));
    }

    #[test]
    fn several_lines_are_quoted_as_one() {
        assert_eq!(quoted("a: 1,\n\t{b}\n"), "a: 1, {b}");
        assert_eq!(quoted(&"x".repeat(200)), format!("{} ...", "x".repeat(120)));
    }

    #[test]
    fn two_long_files_without_a_line_in_common_are_compared_all_the_same() {
        let text = |salt: u32| (0..200_000).map(|n| format!("{}\n", n * 2 + salt)).collect::<String>();
        assert_eq!(between(text(0).as_bytes(), text(1).as_bytes()).hunks, [1..=200_000]);
    }
}
