//! Go's cover profile: `mode:`, then a block a line: `FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT`.
//!
//! A block is some statements in a row; a line ran if any block on it did.

use super::error::shown;
use super::{Content, CoverageError, Draft, Format};

pub(super) static FORMAT: Format = Format {
    name: "go",
    recognise: |content| content.text().starts_with("mode:"),
    read,
};

fn read(content: &Content<'_>, draft: &mut Draft<'_>) -> Result<(), CoverageError> {
    let blocks = content.text().lines().map(str::trim);
    for line in blocks.filter(|line| !line.is_empty() && !line.starts_with("mode:")) {
        let (file, lines, ran) = block(line).ok_or_else(|| {
            let what = format!("`{}` is no block and its count", shown(line));
            CoverageError::malformed(FORMAT.name, what)
        })?;
        let slot = draft.file(&[file]);
        draft.stretch(&slot, lines, ran)?;
    }
    Ok(())
}

fn block(line: &str) -> Option<(&str, (i64, i64), bool)> {
    let (file, rest) = line.rsplit_once(':')?;
    let mut words = rest.split(' ');
    let (from, to) = words.next()?.split_once(',')?;
    let number = |place: &str| -> Option<i64> { place.split_once('.')?.0.parse().ok() };
    let statements: u64 = words.next()?.parse().ok()?;
    let count: u64 = words.next()?.parse().ok()?;
    let lines = (number(from)?, number(to)?);
    // A block without a statement is the rest of a line.
    Some((file, lines, count > 0 || statements == 0))
}
