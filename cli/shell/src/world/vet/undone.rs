//! Lines of the product as they were at the start, in place of those that the work put there.

use std::ops::RangeInclusive;

use syntax::{Language, Mutant, Operator, Span};

use crate::hunks::{between, is_idle, lines};

/// A longer part is not undone: both versions of it are recorded.
const UNDONE_MAX_BYTES: usize = 4096;

/// Each part of a source that stands in place of other lines, with those lines in its place, where that is a program.
pub(super) fn all(language: Language, before: &[u8], source: &[u8]) -> Vec<Mutant> {
    let (old, new) = (lines(before), lines(source));
    let replaced = between(before, source).replaced.into_iter();
    let telling = replaced.filter(|(now, then)| !(is_idle(&new, now) && is_idle(&old, then)));
    let undone = telling.filter_map(|(now, then)| {
        let (_, text) = cut(before, &then)?;
        part(source, &now, text)
    });
    let parses = |mutant: &Mutant| syntax::functions(language, &syntax::apply(source, mutant)).is_ok();
    undone.filter(parses).collect()
}

/// These lines of a source, with others in their place.
pub(super) fn part(source: &[u8], range: &RangeInclusive<u32>, before: &[u8]) -> Option<Mutant> {
    let (start, now) = cut(source, range)?;
    if now.len().max(before.len()) > UNDONE_MAX_BYTES {
        return None;
    }
    Some(Mutant {
        line: *range.start(),
        span: Span {
            start,
            end: start + now.len(),
        },
        operator: Operator::Undo,
        original: String::from_utf8(now.to_vec()).ok()?,
        replacement: String::from_utf8(before.to_vec()).ok()?,
        minded: None,
    })
}

/// These lines of a text, and where they begin.
pub(super) fn cut<'t>(text: &'t [u8], lines: &RangeInclusive<u32>) -> Option<(usize, &'t [u8])> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let starts: Vec<usize> = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
    let first = usize::try_from(lines.start().checked_sub(1)?).ok()?;
    let start = *starts.get(first)?;
    let end = starts
        .get(usize::try_from(*lines.end()).ok()?)
        .copied()
        .unwrap_or(text.len());
    Some((start, text.get(start..end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_that_stands_for_other_lines_is_put_back_by_itself_and_none_that_breaks_the_program() {
        let python = Language::of("a.py").unwrap();
        let undone = |before: &str, after: &str| {
            let all = all(python, before.as_bytes(), after.as_bytes()).into_iter();
            all.map(|mutant| String::from_utf8(syntax::apply(after.as_bytes(), &mutant)).unwrap())
                .collect::<Vec<_>>()
        };
        let (before, after) = ("a = 1\nb = 2\nc = 3\n", "a = 7\nb = 2\nc = 8\nd = 9\n");
        assert_eq!(
            undone(before, after),
            ["a = 1\nb = 2\nc = 8\nd = 9\n", "a = 7\nb = 2\nc = 3\n"]
        );
        assert_eq!(undone("# a\nb = 2\n", "# c\nb = 2\n"), [""; 0], "remarks");
        assert_eq!(undone("a = (\nb = 2\n", "a = 1\nb = 2\n"), [""; 0], "no program");
        assert_eq!(undone("", "a = 1\n"), [""; 0], "nothing was there");
    }
}
